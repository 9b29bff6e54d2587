package scheduler

// While nobody knows how large an object is, each link is asked for a range behind the
// one before. The object may end before that. The link that is nearest, whose answer is
// the first, is told so then, and has nothing to do while those that were asked for the
// object itself may not even have made their connections. What it is told says where the
// object ends, but not which object that is: links may reach different ones. So it is
// trusted only with what costs little. Nobody is asked for bytes behind that end, and
// whoever was told of it fetches, too, what others were asked for and have not
// answered. Who brings bytes says how many there are in all.

// endsBefore notes that the object ends before chunk i, as its link was told.
func (c *Core) endsBefore(i int, in Input, out []Action) []Action {
	ch := c.flight.chunks[i]
	l := &c.links[ch.link]
	l.rtt.observeMin(in.RTT)
	out = c.flight.end(i, out)
	l.streams.worked |= 1 << ch.stream // its connection stands
	l.streams.broken &^= 1 << ch.stream
	if !c.freeMap.sized {
		c.endHint = max(c.endHint, in.Bytes)
	}
	return out
}

// duplicateUnanswered lets an idle link that knows where the object ends fetch, too, the first of
// what nobody has answered, if its own answer should be there sooner.
func (c *Core) duplicateUnanswered(thief LinkID, stream StreamID, out []Action) []Action {
	l := &c.links[thief]
	if c.endHint == 0 || c.cfg.once() || l.load.requests > 0 || l.rtt.min == 0 {
		return out
	}
	var first *chunk
	for i := range c.flight.chunks {
		ch := &c.flight.chunks[i]
		if ch.duplicate == NoChunk && ch.rng.Off < c.endHint && c.flight.untouched(ch) && (first == nil || ch.rng.Off < first.rng.Off) {
			first = ch
		}
	}
	if first == nil {
		return out
	}
	o := &c.links[first.link]
	theirs := max(c.now, first.issued+o.streams.trips(first.stream)*o.rtt.reach())
	if first.rng.Len() > c.most(thief) || c.now+l.streams.trips(stream)*l.rtt.min >= theirs {
		return out
	}
	if without("duplicate-unanswered") {
		return out
	}
	return c.flight.duplicate(thief, stream, first, out)
}

// duplicateRemainder has what little is left of a range which reaches beyond the end, now that this is
// known, fetched by the link as well that was asked for what comes before. A link that is
// far may not have made its connection when the other one, which has answered, has
// everything else.
func (c *Core) duplicateRemainder(out []Action) []Action {
	if c.cfg.NoSteal || c.cfg.once() {
		return out
	}
	for i := range c.flight.chunks {
		ch := &c.flight.chunks[i]
		if ch.duplicate != NoChunk || !c.flight.untouched(ch) || ch.left() > c.cfg.most() {
			continue
		}
		for j := range c.flight.chunks {
			before := &c.flight.chunks[j]
			l := before.link
			if before.rng.End == ch.rng.Off && l != ch.link && !before.copy && c.links[l].rtt.min > 0 && ch.left() <= c.most(l) && !without("duplicate-remainder") {
				return c.flight.duplicate(l, before.stream, ch, out) // only the last range reaches beyond the end
			}
		}
	}
	return out
}
