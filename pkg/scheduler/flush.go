package scheduler

import "math/bits"

// A response ends with a packet that is not full. A server that gathers small packets (Nagle's
// algorithm, RFC 9293, 3.7.4; nginx with tcp_nopush, as Debian sets it up) keeps that packet until
// the last packet of the previous response has been acknowledged, unless more data follows. So the
// last of several requests on a connection completes a round trip later than it could, and the job
// with it: 0.3 s of the 0.5 s that a job of many files loses over linklab's sydney. A small request
// at the end makes more data follow.
const (
	// flushTrips is how many round trips a job may still last when that request is sent: with a
	// full queue an answer takes two.
	flushTrips = 2.5
)

// flush makes servers send the ends of responses, on links that have nothing left to ask for and a
// long round trip. A link with a cap is left out: the extra bytes would count.
func (c *Core) flush(out []Action) []Action {
	if len(c.flight.chunks) == 0 {
		return out
	}
	for id := range LinkID(len(c.links)) {
		l := &c.links[id]
		piped := l.streams.piped
		if piped == 0 || l.rtt.min < longTrip || l.terms.Cap > 0 || float64(c.flight.left()) > flushTrips*l.rtt.min.Seconds()*(View{c}).SumRate() || without("flush") {
			continue
		}
		// A link has asked for its last bytes if nothing is free, or others will have that before
		// the link could bring any of it: to wait until they do would be too late.
		if !c.freeMap.exhausted() && (c.cfg.Batch || !c.freeMap.sized || c.cfg.Policy.Request(View{c}, id) > 0) {
			continue
		}
		l.streams.piped = 0
		for ; piped != 0; piped &= piped - 1 {
			out = append(out, Action{Kind: Flush, Link: id, Stream: StreamID(bits.TrailingZeros64(piped))})
		}
	}
	return out
}
