package scheduler

import "math/bits"

// A server may serve one request a connection (Connection: close, HTTP/1.0, or as many as
// nginx's keepalive_requests allows). Each further request then costs a handshake and a
// slow start: it is sent in time for its first byte to follow the last one of the request
// before, it is not sent at all for less than comes meanwhile, and the slow start is no
// evidence that the link has become slow.

// slowStartRTTs is how many round trips a slow start lasts at most: a connection that doubles
// its initial window has brought 3.7 MB by then, more than fits into a mobile link and its queue
// (RFC 5681, 3.1; RFC 6928).
const slowStartRTTs = 2 * reconnectRTTs

// beginsAgain says whether the link's connection has just replaced another one and is in slow
// start: it has not yet brought what the link is known to carry in two round trips, over which
// a rate is measured. The first connection stands for all of the link.
func (l *link) beginsAgain(now Time) bool {
	began := l.streams.server.replaced
	return began > 0 && now < began+slowStartRTTs*l.rtt.known() && l.streams.conn[0].brought < 2*l.bdp() && !without("begins-again")
}

// reconnecting is how many bytes l brings until another connection's first byte, whose
// handshake and request wait in the link's queue.
func (l *link) reconnecting() float64 {
	return float64(l.est.rate * (connectRTTs * max(l.rtt.known(), l.rtt.data)).Seconds())
}

// atLeast is the size in bytes of the smallest request worth sending over l: least, or what comes
// while the connection is made that it needs.
func (l *link) atLeast(least int64) int64 {
	if l.streams.server.single {
		least = max(least, int64(l.est.rate*(connectRTTs*l.rtt.known()).Seconds()))
	}
	return least
}

// next is how many seconds another request on a stream would receive so many bytes for;
// if it needs a connection of its own, while that starts slowly, too (see lasts).
func (o *eta) next(s StreamID, bytes int64) float64 {
	if !o.streams.server.single {
		return o.lasts(s, bytes)
	}
	return max(o.lasts(s, bytes), float64(o.trip*float64(bits.Len64(uint64(bytes/initialWindow)))))
}
