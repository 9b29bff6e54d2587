package scheduler

import "math/bits"

// move withdraws a request that was not answered, and makes it anew on a stream of
// another.
func (c *Core) move(thief LinkID, stream StreamID, ch *chunk, out []Action) []Action {
	k, rng, l, before := ch.class, ch.rng, &c.links[ch.link], *ch
	if l.est.nMarks == 0 && ch.link != thief {
		l.load.preempted++
	}
	l.streams.cutShort(ch.stream, c.flight.next)
	out = c.flight.withdraw(c.flight.find(ch.id), out)
	s := &c.freeMap
	out = c.flight.startPart(thief, stream, k, s.take(k, false, s.open[k].index(rng.Off), rng.Len()), out)
	c.flight.latest().follows(&before)
	return out
}

// follows notes that a request is another one made anew, over another connection or link.
func (c *chunk) follows(before *chunk) {
	c.taken = before.taken
	if c.link == before.link {
		c.moved = before.moved + 1
		return
	}
	c.taken++
}

// mayHelp says whether a connection may help with ch: where files at once are
// bounded, only as many are at one as the plan says.
func (c *Core) mayHelp(id LinkID, stream StreamID, ch *chunk) bool {
	if c.batch.files == 0 || !c.planned(id) {
		return true
	}
	share := max(1, c.batch.plans[id].Classes[ch.class].Parallelism)
	return bits.OnesCount64(c.flight.at(ch.slot, id)&^(1<<stream)) < share
}
