package scheduler

import "math/bits"

// reissue withdraws a request that was not answered, and makes it anew on a stream of another.
func (f *flight) reissue(thief LinkID, stream StreamID, ch *chunk, out []Action) []Action {
	l, before := &f.links[ch.link], *ch
	if l.est.nMarks == 0 && ch.link != thief {
		l.load.preempted++
	}
	l.streams.cutShort(ch.stream, f.next)
	out = f.withdraw(f.find(ch.id), out)
	at := f.freeMap.open[before.class].index(before.rng.Off)
	out = f.start(thief, stream, f.freeMap.take(before.class, false, at, before.rng.Len()), out)
	f.latest().follows(&before)
	return out
}

// follows notes that a request replaces another one, over another connection or link.
func (c *chunk) follows(before *chunk) {
	c.takenOver = before.takenOver
	if c.link == before.link {
		c.reissued = before.reissued + 1
		return
	}
	c.takenOver++
}

// mayHelp says whether a connection may help with ch. If a plan bounds how many files are in progress,
// a file has only as many connections as the plan gives it.
func (b *batch) mayHelp(f *flight, id LinkID, stream StreamID, ch *chunk) bool {
	if b.files == 0 || !b.planned(id) {
		return true
	}
	share := max(1, b.plans[id].Classes[ch.class].Parallelism)
	return bits.OnesCount64(f.at(ch.slot, id)&^(1<<stream)) < share
}
