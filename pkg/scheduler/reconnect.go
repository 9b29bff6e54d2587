package scheduler

import "math/bits"

// A server may serve one request a connection (Connection: close, HTTP/1.0, or as many as
// nginx's keepalive_requests allows). Each further request then costs a handshake and a
// slow start: it is sent in time for its first byte to follow the last one of the request
// before, it is not sent at all for less than comes meanwhile, and what a slow start brings
// is no evidence that the link has become slow. Nor is it where a link's only connection was
// cut short, as a takeover does over HTTP/1.1, and another one takes its place.

// slowStartRTTs is for how many round trips a connection's slow start may hide what its
// link carries: a connection that doubles its initial window has brought 3.7 MB by then,
// more than fits into a phone's link and its queue (RFC 5681, 3.1; RFC 6928).
const slowStartRTTs = 2 * reconnectRTTs

// reconnecting is how many bytes l brings until another connection's first byte, whose
// handshake and request wait in the link's queue.
func (l *link) reconnecting() float64 {
	return float64(l.est.rate * (connectRTTs * max(l.trip(), l.streams.queue.trip)).Seconds())
}

// least is the size in bytes below which a request over l is not worth its round trip, or
// the connection that it needs.
func (c *Core) least(l *link) int64 {
	least := c.cfg.minRequest()
	if l.streams.single {
		least = max(least, int64(l.est.rate*(connectRTTs*l.trip()).Seconds()))
	}
	return least
}

// beginsAgain says whether a link is in the slow start of a connection that has taken the
// place of another one.
func (l *link) beginsAgain(now Time) bool {
	return !without("begins-again") && l.streams.reopened > 0 && now < l.streams.reopened+slowStartRTTs*l.trip()
}

// succeeds says whether ch comes over the connection that takes the place of the link's only
// one, which was cut short.
func (s *streams) succeeds(ch *chunk) bool {
	return !without("succeeds") && s.most == 1 && s.cut[ch.stream] > 0 && ch.id >= s.cut[ch.stream]
}

// reconnects says whether all that a link is still to bring comes over a connection that has
// to be made first: what was on the way to the last one comes before it, and nobody reads that.
func (c *Core) reconnects(id LinkID) bool {
	for i := range c.chunks {
		if ch := &c.chunks[i]; ch.link == id {
			return c.links[id].streams.succeeds(ch)
		}
	}
	return false
}

// next is how many seconds another request on a stream would receive so many bytes for;
// if it needs a connection of its own, while that starts slowly, too (see lasts).
func (o *eta) next(s StreamID, bytes int64) float64 {
	if !o.streams.single {
		return o.lasts(s, bytes)
	}
	return max(o.lasts(s, bytes), float64(o.trip*float64(bits.Len64(uint64(bytes/initialWindow)))))
}
