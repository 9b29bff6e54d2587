package scheduler

// A stream's consumer waits for its head, the first byte that is missing. While a link falls
// silent that was asked for the head, the others fetch what lies behind it, up to the window; and
// when the head is free again, they have megabytes to bring first. So such a link is released
// sooner than one of a file, and the head is asked for at once over a connection of its own.
const (
	// headFloor takes the place of silentFloor for a link that has the head: it leaves room for
	// one retransmission timeout of TCP (0.2 s) and a round trip.
	headFloor = 300 * Millisecond
)

// starves says whether the consumer of a stream is about to have read all that lies before the
// head.
func (a *assignment) starves() bool {
	return a.cfg.Window > 0 && a.freeMap.sized && a.flight.head()-a.drained < a.cfg.Window/reserveParts
}

// holdsUp says whether a link that was delivering has been silent for so long that the consumer
// of a stream, who waits for what the link was asked for, sees it.
func (a *assignment) holdsUp(id LinkID) bool {
	l := &a.links[id]
	if a.cfg.Window == 0 || l.est.nMarks == 0 || l.health.idle(a.flight.now) <= l.rtt.silenceLimit(headFloor, l.health.inVain) {
		return false
	}
	ch := a.flight.first()
	return ch != nil && ch.link == id && a.starves() && !without("head-first")
}

// fetchHead asks for the head of a stream if nobody has been asked for it: over the link that
// carries most, over a connection that has nothing else to bring.
func (a *assignment) fetchHead(out []Action) []Action {
	if a.cfg.Parallelism > 0 || a.freeMap.empty() || !a.starves() || a.freeMap.head() > a.flight.head() || without("head-first") {
		return out
	}
	best, most := NoLink, 0.0
	for i := range a.links {
		if l := &a.links[i]; a.view.usable(l) && l.est.nMarks > 0 && !a.holdsUp(LinkID(i)) && l.est.rate > most {
			best, most = LinkID(i), l.est.rate
		}
	}
	if best == NoLink {
		return out
	}
	l, stream := &a.links[best], StreamID(0)
	for stream < MaxStreams && l.load.queues[stream].requests > 0 {
		stream++
	}
	if stream == MaxStreams || !l.streams.served(stream) { // its server answers no more at a time
		return out
	}
	return a.request(best, stream, out)
}
