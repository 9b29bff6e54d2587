package scheduler

// A link's only connection is asked for megabytes, which is right until it turns out that
// many carry more: then it has a part of the link's rate, and could not be done in time. If
// that were left to the end, each connection that is out of work would take over a part of
// what another has just taken over, and all that is on its way over a connection whose request
// is cut short has been sent in vain: over HTTP/2 even what waits in the server's buffer.
// So it gives back at once, in a single piece, what it could not bring.
const (
	// relievePart of what a connection can bring until all can be done is what it keeps.
	relievePart = 0.5
	// leastRelief is how many bytes it has to have too much: less is left to the end. It
	// must have brought as many before.
	leastRelief = int64(1) << 20
)

// relieve has connections give back what others will have sooner.
func (c *Core) relieve(out []Action) []Action {
	if c.batch != nil || c.cfg.NoSteal || !c.sized() || len(c.ledger.free) == 0 {
		return out
	}
	for i := range c.chunks {
		ch := &c.chunks[i]
		l := &c.links[ch.link]
		s := &l.streams
		if s.most == 1 || s.trial || ch.issued > s.tried || ch.twin != NoChunk || ch.got < leastRelief || ch.left() <= leastRelief {
			continue
		}
		part := max(l.part(ch.stream), 1/float64(s.most))
		keep := float64(l.est.capacity() * part * (View{c}).together())
		x := min(ch.left()-int64(relievePart*keep), ch.left()-c.cfg.minRequest())
		if float64(ch.left()) > keep && x >= leastRelief && !without("give-back") {
			out = c.giveBack(ch, x, out)
		}
	}
	return out
}

// giveBack makes the last x bytes of a request free again.
func (c *Core) giveBack(ch *chunk, x int64, out []Action) []Action {
	c.links[ch.link].streams.cutShort(ch.stream, c.nextID)
	c.ledger.give(Range{ch.rng.End - x, ch.rng.End})
	c.shorten(ch, x)
	return append(out, shrink(ch))
}
