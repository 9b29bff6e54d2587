package scheduler

import "math/bits"

// Over a link with a long round trip a file is worth many connections (see widen), and
// each costs a trip before a request can go out on it. While nobody knows how large the
// file is there is nothing to ask of them; but they can be made, so that the requests
// that come with the size find them open. A connection costs the exchange of a packet or
// two, and no data. The one at work has shown by its handshake that the link works and
// how far its server is, so no link is woken, and none that is near or dead is knocked
// at in vain.

// openMost is how many connections a link has at most as long as it is not known whether
// there is work for them: a server keeps something for each, and half of those that a
// large file gets bring it half as soon to its rate.
const openMost = 32

// openSecure takes its place for a file over TLS: what servers answer to its handshakes fills
// a slow link for as long as those connections could save, and it shows too late that it is slow.
const openSecure = 16

// openShare takes the place of leastShare for connections that are there already: their
// handshakes cost nothing any more, and their first windows (RFC 6928) come together. With
// fewer than openFewest of them, too little is won for the connection that is cut short.
const (
	openShare  = 64 << 10
	openFewest = 4
)

// openAhead has connections made that are worth it.
func (c *Core) openAhead(out []Action) []Action {
	if c.cfg.Parallelism > 0 || !c.inTheDark() {
		return out
	}
	for i := range c.links {
		id, l := LinkID(i), &c.links[i]
		if l.requests == 0 || l.rtt < longTrip || l.est.nSamples > 0 || !c.usable(l) || c.planned(id) {
			continue
		}
		most := min(openMost, l.rtt/tripPerStream)
		if c.cfg.secure() {
			most = min(most, openSecure)
		}
		for rest := (uint64(1)<<most - 1) &^ (l.streams.begun | l.streams.refused); rest != 0; rest &= rest - 1 {
			s := StreamID(bits.TrailingZeros64(rest))
			l.streams.begun |= 1 << s
			l.streams.early[s] = c.now
			out = append(out, Action{Kind: Open, Link: id, Stream: s})
		}
	}
	return out
}

// worthUsing is how many of a link's connections a file is worth, of those that were made
// before its size was known and the first one.
func (s *streams) worthUsing(t task) StreamID {
	if t.batch || t.share < openFewest*openShare {
		return 0
	}
	n := int64(1)
	for _, at := range s.early {
		if at > 0 {
			n++
		}
	}
	return StreamID(min(n, t.share/openShare))
}

// inTheDark says whether sizes are still to be learnt before more can be asked for.
func (c *Core) inTheDark() bool {
	if c.batch == nil {
		return !c.sized()
	}
	s := &c.batch.stock
	return s.told && s.dims > 0 && s.guesses == 0
}

// ready is when a connection that was opened for requests to come takes them.
func (s *streams) ready(id StreamID, trip Time) Time {
	if s.early[id] == 0 {
		return 0
	}
	return s.early[id] + trip
}
