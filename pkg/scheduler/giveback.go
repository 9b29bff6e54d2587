package scheduler

// While a link has one connection, that connection is asked for megabytes. When the link turns
// out to carry more over several connections, the first one has only a part of the link's rate
// and would finish long after the others. Near the end every idle connection would take over a part
// of that request, and parts of the parts; each takeover wastes bytes that are on their way, over
// HTTP/2 even those in the server's buffer. So the first connection gives back at once, in one
// piece, what it could not bring in time.
const (
	// A connection keeps keptPart of what it can bring until all can be done. Chosen by hand.
	keptPart = 0.5
	// leastGiveBack is the least number of bytes to give back, and to have received before:
	// smaller excesses are left to the end of the download. Chosen by hand.
	leastGiveBack = int64(1) << 20
)

// giveBack frees the part of each connection's request that others will have sooner.
func (c *Core) giveBack(out []Action) []Action {
	if c.cfg.Batch || c.cfg.NoSteal || !c.freeMap.sized || c.freeMap.empty() {
		return out
	}
	for i := range c.flight.chunks {
		ch := &c.flight.chunks[i]
		l := &c.links[ch.link]
		s := &l.streams
		if s.most == 1 || s.trial.running || ch.issued > s.trial.began || ch.duplicate != NoChunk || ch.got < leastGiveBack || ch.left() <= leastGiveBack {
			continue
		}
		part := max(l.shareOf(ch.stream), 1/float64(s.most))
		keep := float64(l.est.capacity() * part * (View{c}).finishTime())
		x := min(ch.left()-int64(keptPart*keep), ch.left()-c.cfg.minRequest())
		if float64(ch.left()) > keep && x >= leastGiveBack && !without("give-back") {
			out = c.flight.freeEnd(ch, x, out)
		}
	}
	return out
}

// freeEnd makes the last x bytes of a request free again.
func (f *flight) freeEnd(ch *chunk, x int64, out []Action) []Action {
	f.links[ch.link].streams.cutShort(ch.stream, f.next)
	f.freeMap.give(ch.part(Range{ch.rng.End - x, ch.rng.End}))
	f.shorten(ch, x)
	return append(out, shrink(ch))
}
