package scheduler

// A link's least round trip is kept for as long as the link is up, and its latency
// may have grown a hundredfold since: a phone that has gone to a slower network, a
// queue that never empties. Five things tell of it, and each is used where it can
// be trusted: how long requests took to be answered that nothing delayed, for when
// the next one should be sent, and what may be expected of it; what the latest handshakes
// measured, for how long a silence must be; that waiting so long was in vain before, for
// the same; what both answers and data take, for the same, and for how far apart bursts
// are, and losses; and the round trips of the data that comes, for when the next request should
// be sent while the end is far, and, where there are many connections, for what these
// are expected to do at the end. They fill the link's queue, so that each brings its window in a burst
// and then nothing for a round trip that is twice or three times the least one. Whoever takes
// that for lateness, or measures rates over less, has the connections take one another's
// requests, of which most is on its way already.
const (
	// lagSamples is how many of the latest waits count: the least of them, as one
	// may have been the server's or a lost packet's.
	lagSamples = 3
	// silentMost bounds what silence limits grow to by doubling.
	silentMost = 30 * Second
	// patientProbe is enough for a handshake at a round trip of 1.3 s, and for the
	// second packet of one whose first is lost (RFC 6298: after 1 s); veryPatient for
	// one of 4 s.
	patientProbe = 1300 * Millisecond
	veryPatient  = 4 * Second
	// probeMost bounds how long a probe may take. That is enough for name,
	// connection, TLS and request at a round trip of 2 s.
	probeMost = 10 * Second
)

// lag is what was seen of a link's latency of late.
type lag struct {
	waits [lagSamples]Time // of the latest requests that were alone, from request to first byte
	n     int              // how many there were
}

// saw notes that a request which nothing delayed was answered after wait.
func (g *lag) saw(wait Time) {
	g.waits[g.n%lagSamples] = wait
	g.n++
}

// least is the shortest of the latest waits; 0: there were none.
func (g *lag) least() Time {
	least := Never
	if without("answer-trip") {
		return 0
	}
	for _, w := range g.waits[:min(g.n, lagSamples)] {
		least = min(least, w)
	}
	if least == Never {
		return 0
	}
	return least
}

// answerTrip is how long the link takes to answer: its round trip, or what requests
// that were alone have waited where that is longer.
func (l *link) answerTrip() Time { return max(l.rtt, l.lag.least()) }

// shorter notes a round trip of the link, of which the least is kept; 0: none is known.
func (l *link) shorter(rtt Time) {
	if rtt > 0 && (l.rtt == 0 || rtt < l.rtt) {
		l.rtt, l.unheard = rtt, 0
	}
}

// length is the link's round trip, or what both answers and data take where that is longer:
// servers think, and queues stand, but not for both. Bursts are as far apart as that.
func (l *link) length() Time { return max(l.rtt, min(l.lag.least(), l.streams.queue.trip)) }

// round is a round trip as answers take it at present.
func (l *link) round() Time { return max(l.trip(), l.lag.least()) }

// listen notes how long a link has been waited for of which nothing has been heard.
func (l *link) listen(now Time) {
	if l.rtt == 0 && l.received == 0 && !without("unheard-reach") {
		l.unheard = max(l.unheard, now-l.lastByte)
	}
}

// reach is a round trip as far as it is known: a link that has been waited for in vain is
// likely to take as long again.
func (l *link) reach() Time { return max(l.round(), 2*l.unheard) }

// patient is a silence limit: silentRTTs round trips as the latest handshakes have
// them, at least floor, and twice as long for each wait in vain.
func (l *link) patient(floor Time, inVain uint8) Time {
	limit := longest(floor, silentRTTs, max(l.length(), l.handshake, min(l.regained, l.streams.queue.trip)))
	if limit >= silentMost || without("patience-doubles") {
		return limit
	}
	return min(silentMost, limit<<min(inVain, 8))
}

// probeLimit is how long a banned link's probe may take: probeFor, and as long as the
// wait before it once bans get longer, since the link may be slow to answer. Every other
// probe may take patientProbe, for a link whose round trips have grown: it would be
// taken for dead until bans get longer; and the last but one before they do may take
// veryPatient. A probe whose handshake is through may take as many of its round trips
// as any request may.
func (l *link) probeLimit() Time {
	limit := max(probeFor, banFor(l.bans-1))
	switch {
	case without("patient-probes"):
	case l.bans == bansInRow:
		limit = veryPatient
	case l.bans%2 == 0:
		limit = max(limit, patientProbe)
	}
	if l.shakes > l.probed && !without("probe-handshake") {
		limit = max(limit, silentRTTs*l.shook)
	}
	return max(silentRTTs*l.rtt, min(probeMost, limit))
}

// regain notes how long the link has become while it was banned: its latest requests were
// answered before that.
func (l *link) regain() {
	if l.regained = 0; l.shakes > l.probed {
		l.regained = l.shook
	}
}

// answered notes what the first byte of ch, which comes now, tells of the link's latency:
// nothing if earlier requests may have delayed it.
func (c *Core) answered(l *link, ch *chunk) {
	if ch.alone { // bytes are told of now and then
		l.lag.saw(max(0, c.now-ch.issued-max(rateWindow/2, l.record())))
	}
}

// alone says whether a request that is made now on a stream finds its connection
// open and nothing else in flight on its link.
func (l *link) alone(stream StreamID) bool {
	return l.requests == 0 && l.streams.open(stream)
}

// open says whether a request that is made now on a stream finds its connection open.
func (s *streams) open(stream StreamID) bool {
	return (s.worked&^s.broken)&(1<<stream) != 0 && s.cut[stream] == 0
}
