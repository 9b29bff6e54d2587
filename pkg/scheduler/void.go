package scheduler

// learn learns sizes from what is about to be voided: the first bytes of a guess
// whose end nobody wants are as many as there are.
func (c *Core) learn(r Range) {
	for i := range c.flight.chunks {
		if ch := &c.flight.chunks[i]; ch.guess && !ch.piece.within(r).Empty() {
			if r.Off > ch.piece.Off {
				c.freeMap.learn(ch.piece.Len(), r.Off-ch.piece.Off)
			}
			c.resolve(ch.piece)
		}
	}
	s := &c.freeMap
	for k := range s.open {
		for _, p := range s.open[k].live() {
			if p.guess && !p.piece.within(r).Empty() {
				c.resolve(p.piece)
			}
		}
	}
}

// resolve notes that the size of a piece's file is known.
func (c *Core) resolve(piece Range) {
	c.freeMap.resolve(piece)
	for i := range c.flight.chunks {
		if ch := &c.flight.chunks[i]; ch.guess && ch.piece == piece {
			c.sure(ch)
		}
	}
}

// void shortens or withdraws the requests for bytes that nobody wants any more.
func (c *Core) void(r Range, out []Action) []Action {
	for i := len(c.flight.chunks) - 1; i >= 0; i-- {
		ch := &c.flight.chunks[i]
		rest := ch.rest()
		gone := rest.within(r)
		if ch.copy || gone.Empty() {
			continue
		}
		if gone.End < rest.End {
			out = c.voidBefore(i, gone, out)
			continue
		}
		if j := c.flight.find(ch.duplicate); ch.duplicate != NoChunk && j >= 0 {
			duplicate := &c.flight.chunks[j]
			if duplicate.rng.Off+duplicate.got >= gone.Off && gone.Off > rest.Off {
				out = c.voidWon(i, j, gone.Off, out)
				continue
			}
			if duplicate.rng.Off+duplicate.got < gone.Off {
				c.copied -= duplicate.rng.End - gone.Off
				duplicate.rng.End = gone.Off
				out = append(out, shrink(duplicate))
			}
		}
		out = c.curtail(i, gone.Off, out)
	}
	return out
}

// curtail makes a request end at end, where it has not come to yet, or just has:
// what is beyond is not wanted.
func (c *Core) curtail(i int, end int64, out []Action) []Action {
	ch := &c.flight.chunks[i]
	n := ch.rng.End - end
	c.shorten(ch, n)
	c.freeMap.settle(ch.slot, n, 0)
	return c.shrunk(i, out)
}

// voidBefore voids what is not at the end of a request: what is behind it is free
// again.
func (c *Core) voidBefore(i int, gone Range, out []Action) []Action {
	ch := &c.flight.chunks[i]
	if j := c.flight.find(ch.duplicate); ch.duplicate != NoChunk && j >= 0 {
		out = c.withdraw(j, out) // it stands behind
		ch = &c.flight.chunks[i]
	}
	behind := ch.part(Range{gone.End, ch.rng.End})
	c.shorten(ch, behind.Len())
	c.freeMap.give(ch.class, behind)
	return c.curtail(i, gone.Off, out)
}

// voidWon ends a request and its copy, which has all that is wanted of it.
func (c *Core) voidWon(i, j int, end int64, out []Action) []Action {
	ch, won := &c.flight.chunks[i], &c.flight.chunks[j]
	l, w := &c.links[ch.link], &c.links[won.link]
	out = append(out,
		Action{Kind: Cancel, Link: ch.link, Chunk: ch.id, Range: Range{ch.rng.Off, won.rng.Off}},
		Action{Kind: Cancel, Link: won.link, Chunk: won.id, Range: Range{won.rng.Off, end}})
	l.load.owe(ch.stream, -ch.left())
	l.load.assigned -= ch.rng.End - won.rng.Off
	w.load.assigned += end - won.rng.Off
	c.freeMap.received += max(0, end-ch.rng.Off-ch.got)
	c.freeMap.settle(ch.slot, ch.left(), 0)
	c.copied -= won.rng.End - end
	ch.rng.End, ch.got, ch.duplicate = won.rng.Off, won.rng.Off-ch.rng.Off, NoChunk
	won.rng.End, won.got, won.duplicate = end, end-won.rng.Off, NoChunk
	out = c.end(j, out) // it stands behind
	return c.end(i, out)
}
