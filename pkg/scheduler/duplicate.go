package scheduler

// At the end of a download an idle stream may fetch what is left of a small request that is still
// under way; the first of the two to have it wins (ALGORITHMS, Tail). The duplicate is counted
// nowhere until it has won or its original has failed, so that what is free stays exact.
const (
	// duplicateRequests is how many least requests a rest may be large to be fetched twice, or to
	// be taken whole from a victim. Chosen by hand.
	duplicateRequests = 4
	// duplicateShare of the object may be fetched twice, and idleDuplicates times as much over
	// links that have nothing else to do, since all wait for that rest then. Chosen by hand; see
	// idle-budget in docs/scheduler.md.
	duplicateShare = 0.002
	idleDuplicates = 4
)

// most is the size in bytes of the largest rest that is dealt with as a whole.
func (c *Config) most() int64 { return duplicateRequests * c.minRequest() }

// worthDuplicating says whether the thief would be done with the rest of ch before its own stream is,
// which is in end seconds.
func (t *thief) worthDuplicating(ch *chunk, end float64) bool {
	rest, most := ch.left()-ch.over, t.cfg.most()
	if t.cfg.Batch { // connections that fall silent are worth more than one file's last bytes
		most = leastWhole
	}
	budget := max(most, int64(duplicateShare*float64(t.view.Size())))
	if t.own.active == 0 && !without("idle-budget") {
		budget *= idleDuplicates
	}
	if t.link.load.preempted > 0 || rest == 0 || rest > most || t.flight.copied+rest > budget {
		return false
	}
	if (!t.link.est.measured() || t.own.rate <= 0) && !t.unheard(ch) {
		return false
	}
	return t.own.soonest(t.stream, rest) < end
}

// worthReplacing says whether an idle thief should take over what a slow link has asked for twice:
// the faster of the two will have it at end. What the copy has beyond the original is thrown
// away, so the gain must be great.
func (t *thief) worthReplacing(ch *chunk, end float64) bool {
	if t.flight.chunks[t.flight.find(ch.duplicate)].link == t.id {
		return false // it is at it
	}
	rest := ch.left()
	if without("replace-duplicate") || t.own.last[t.stream] != nil || t.link.load.preempted > 0 || t.link.est.rate <= 0 || rest > t.room {
		return false
	}
	alone := t.own.soonest(t.stream, rest)
	return end > farSlower*alone && end-alone > worthRTTs*t.own.trip && !t.anotherSooner(ch.link, rest, alone)
}

// replaceDuplicate lets a link take over all of a request, and ends the duplicate of it.
func (f *flight) replaceDuplicate(thief LinkID, stream StreamID, ch *chunk, out []Action) []Action {
	original := ch.id
	out = f.unpair(ch, out)
	ch = &f.chunks[f.find(original)]
	ch.duplicate = NoChunk // unpair leaves that to its caller
	return f.takeOver(thief, stream, ch, ch.left(), out)
}

// duplicate lets a stream fetch the rest of ch too.
func (f *flight) duplicate(thief LinkID, stream StreamID, ch *chunk, out []Action) []Action {
	rest := ch.rest()
	ch.duplicate = f.next
	original := ch.id
	f.copied += rest.Len()
	out = f.start(thief, stream, ch.part(rest), out)
	copied := f.latest()
	f.doubt(copied, 0)
	copied.duplicate, copied.copy = original, true
	l := &f.links[thief]
	l.load.owe(stream, -rest.Len())
	l.load.assigned -= rest.Len()
	out[len(out)-1].Copy = true
	return out
}

// spent is what has become of a copy's budget when one of two requests for the same
// bytes is given up, of which it has received so many: these, and what is on its way
// to it. The rest may be asked for twice again.
func spent(loser *chunk, received int64) int64 {
	return max(0, received) + min(loser.left(), initialWindow)
}

// resolveDuplicate cancels the duplicate of a request that has been finished, if it has one: of
// the original counts what it had before the copy was begun.
func (f *flight) resolveDuplicate(ch *chunk, out []Action) []Action {
	i := f.find(ch.duplicate)
	if i < 0 {
		return out
	}
	ch.duplicate = NoChunk
	loser := &f.chunks[i]
	loser.duplicate = NoChunk
	a := cancel(loser)
	if loser.copy {
		return f.end(i, append(out, a))
	}
	f.copied -= ch.rng.Len() - spent(loser, loser.rng.Off+loser.got-ch.rng.Off)
	// The copy has what the original has not, and stands for it from now on.
	l, w := &f.links[loser.link], &f.links[ch.link]
	kept := ch.rng.Off - loser.rng.Off
	if f.cfg.Batch {
		l.streams.cutShort(loser.stream, f.next)
	}
	a.Range.End = ch.rng.Off
	l.load.owe(loser.stream, -loser.left())
	f.confirmSize(loser)
	f.freeMap.received += loser.left() - ch.left()
	f.freeMap.settle(loser.slot, loser.left()-ch.left(), 0)
	l.load.assigned -= loser.rng.Len() - kept
	w.load.assigned += ch.rng.Len()
	w.load.owe(ch.stream, ch.left()) // nothing, if it was finished in truth
	loser.rng.End, loser.got = ch.rng.Off, kept
	ch.copy = false
	return f.end(i, append(out, a))
}

// unpair ends what ties a request that ends unfinished to its duplicate. A copy leaves
// its original alone; a copy without one has nothing to stand for.
func (f *flight) unpair(ch *chunk, out []Action) []Action {
	i := f.find(ch.duplicate)
	if i < 0 {
		return out
	}
	f.chunks[i].duplicate = NoChunk
	if ch.copy {
		return out
	}
	return f.withdraw(i, out)
}
