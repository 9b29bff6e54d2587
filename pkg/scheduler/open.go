package scheduler

import "math/bits"

// Over a link with a long round trip a file is worth many connections (see widen), and
// each costs a trip before a request can go out on it. While nobody knows how large the
// file is, or the link has not answered its first request, there is nothing to ask of them;
// but they can be made, so that the requests that come with the answer find them open. A
// connection costs the exchange of a packet or two, and no data. The one at work has shown
// by its handshake that the link works and how far its server is, so no link is woken, and
// none that is near or dead is contacted in vain.

const (
	// openMost is how many connections a link has at most as long as it is not known whether
	// there is work for them: a server keeps something for each, and half of those that a
	// large file gets bring it half as soon to its rate.
	openMost = 32
	// openTrip is for how much of its round trip a link has one of them for a file over TLS:
	// what servers answer to handshakes fills a slow link for as long as those connections
	// could save, and it shows too late that it is slow. No more share a file in clear, either,
	// than that or one for each openShare bytes: their first windows come all at once.
	openTrip  = 2 * tripPerStream
	openShare = 64 << 10
	// shareMost is how many bytes a link's connections share equally at most, before any of them
	// has shown how fast it is: of a larger part they ask for more as they bring it.
	shareMost = openMost * leastShare
	// shareWindows is what a connection brings in four round trips: more of a link's only file is
	// not shared out at once, since it turns out sooner which of them bring it.
	shareWindows = (1 + 2 + 4 + 8) * initialWindow
	// firstBytes is what a connection brings of a file in its first round trip: what is left
	// of an initial window when the response's head has been taken off. Windows are counted in
	// packets, and over TLS not all of the first ten are full: tickets, settings and heads are
	// sent one by one, and so are records (nginx has room for 8.6 kB, Go's server for 7.3).
	firstBytes       = initialWindow - headBytes
	firstBytesSecure = 7 << 10
	headBytes        = 1 << 10
	// recordBytes is the most that a record of TLS holds (RFC 8446, 5.1). Nothing of it is of
	// use before it is complete, for which a first window is not enough.
	recordBytes = 16 << 10
	// gaugeLook is the time between two looks at what comes of a first window: what is all there
	// by the second one came at once, as far as that can be told. gaugeMost is for how long
	// nothing may come behind the first packets until the link is taken for slow.
	gaugeLook = 3 * Millisecond
	gaugeMost = 50 * Millisecond
)

// ahead is what is known of the connections that a link opens before there is work for them.
type ahead struct {
	answered Time  // when a request was first answered; 0: none was
	room     int64 // for how many connections' first windows, with the first one's: see gauge; 0: not known
	each     int64 // bytes that each of them is asked for: see equal; 0: not known yet
}

// openAhead has connections made that are worth it.
func (c *Core) openAhead(out []Action) []Action {
	if c.cfg.Parallelism > 0 {
		return out
	}
	unknown := c.sizesUnknown()
	for i := range c.links {
		id, l := LinkID(i), &c.links[i]
		undecided := unknown || c.batch == nil && l.load.received == 0 && l.load.assigned <= shareMost
		if !undecided || !l.mayOpen() || !c.usable(l) || c.planned(id) || without("open-ahead") {
			continue
		}
		most := min(openMost, l.rtt.min/tripPerStream)
		if c.cfg.secure() {
			most = min(most, l.rtt.min/openTrip)
		}
		for rest := (uint64(1)<<most - 1) &^ (l.streams.begun | l.streams.refused); rest != 0; rest &= rest - 1 {
			s := StreamID(bits.TrailingZeros64(rest))
			l.streams.begun |= 1 << s
			l.streams.conn[s].early = c.now
			out = append(out, Action{Kind: Open, Link: id, Stream: s})
		}
	}
	return out
}

// mayOpen says whether a link is far and at work, and has not been measured yet.
func (l *link) mayOpen() bool {
	return l.load.requests > 0 && l.rtt.min >= longTrip && l.est.nSamples == 0
}

// fresh says whether a connection was made ahead and has brought nothing yet.
func (s *streams) fresh(id StreamID) bool { return s.conn[id].early > 0 && s.worked&(1<<id) == 0 }

// worthUsing is how many connections a link should use for its part of a file, by those that
// were made before the size was known; 0: the first one is as soon by itself, or has not been
// answered yet, and other links may be sooner.
func (l *link) worthUsing(t task, now Time) StreamID {
	if l.gauge(t, now); t.batch || l.streams.ahead.room == 0 {
		return 0
	}
	n, _, _ := l.shares(t.left/int64(max(1, t.links)), t.secure)
	return n
}

// gauge finds out for how many connections' first windows a link that was answered has room in
// what it carries in a round trip: the packets of a window are sent together, and come as far
// apart as the link is slow (Keshav, SIGCOMM 1991). TLS shows only whole records of them.
func (l *link) gauge(t task, now Time) {
	s := &l.streams
	if s.ahead.room == 0 && without("gauge") {
		s.ahead.room = MaxStreams
	}
	switch {
	case s.ahead.room > 0:
	case t.secure && s.ahead.answered > 0 && now >= s.ahead.answered+leastWake: // the first record may be complete a round trip later
		s.ahead.room = MaxStreams
	case l.est.nMarks > 0:
		first, all := l.est.marks[0], l.load.received >= firstBytes-headBytes
		switch since := now - first.at; {
		case all && since <= gaugeLook:
			s.ahead.room = MaxStreams
		case all || since >= gaugeMost || since >= leastWake && l.load.received > first.bytes:
			rate := float64(l.load.received-first.bytes) / since.Seconds()
			s.ahead.room = 1 + int64(min(MaxStreams, rate*l.rtt.min.Seconds()/firstBytes))
		}
	}
}

// shares is how many connections a link has for so many bytes, with those that were made ahead,
// how many each of these is asked for, and how many the first one keeps. They bring twice as much
// in each round trip as in the one before (RFC 5681, 3.1), all the same, and end together: a
// response that is cut short in slow start has been sent in vain. The first connection began a
// round trip earlier, but with a request for too much: the sooner it is left, the less comes in
// vain. It keeps what its first round trip brings, and the rest of a record. 0: it has all of it
// as soon by itself.
func (l *link) shares(bytes int64, secure bool) (n StreamID, each, keeps int64) {
	first := int64(firstBytes)
	if keeps = first; secure {
		first, keeps = firstBytesSecure, recordBytes
	}
	ahead := int64(0)
	for s := range StreamID(MaxStreams) {
		if l.streams.conn[s].early > 0 && l.streams.served(s) {
			ahead++
		}
	}
	ahead = min(ahead, l.streams.ahead.room-1)
	rest, brings, window := bytes-keeps, first, int64(initialWindow)
	sharing := min(ahead, (rest+first-1)/first, max(int64(l.rtt.min/openTrip), rest/openShare))
	if sharing <= 0 {
		return 0, 0, 0
	}
	for sharing*brings < rest {
		window *= 2
		brings += window
	}
	if bytes <= brings+2*window {
		return 0, 0, 0
	}
	return StreamID(1 + ahead), (rest + sharing - 1) / sharing, keeps
}

// gauging says whether a connection that was made ahead waits until it is known how many of them
// a file is to be shared among, which is soon: what it were asked for now would be taken from it.
func (l *link) gauging(stream StreamID, now Time) bool {
	a := &l.streams.ahead
	return !without("gauge-wait") && a.room == 0 && a.answered > 0 && now < a.answered+gaugeMost && l.est.rate <= 0 && l.streams.fresh(stream)
}

// equalShare is what a connection that was made ahead is asked for when its link is to have so
// many bytes more: as much as each of the others; 0: they do not share them.
func (l *link) equalShare(stream StreamID, bytes int64, t task) int64 {
	bytes = min(bytes+l.load.assigned, t.left)
	if !t.sized || bytes > shareMost || l.est.rate > 0 || !l.streams.fresh(stream) || without("equal-shares") {
		return 0
	}
	if l.streams.ahead.each > 0 { // once for all of them: what the link is to have besides shrinks as they are asked
		return l.streams.ahead.each
	}
	_, each, _ := l.shares(t.left, t.secure) // of all, whatever the policy says for a start
	if each > shareWindows || t.links > 1 {
		_, each, _ = l.shares(bytes, t.secure)
	}
	l.streams.ahead.each = each
	return each
}

// split lets a connection that was made ahead take over its share of what its link's first one
// has been asked for, as long as nothing is known of their rates. That one is closed then,
// over HTTP/2, too: the server may have handed all of its response to the kernel.
func (c *Core) split(id LinkID, stream StreamID, out []Action) []Action {
	l := &c.links[id]
	if c.batch != nil || l.est.rate > 0 || !l.streams.fresh(stream) || l.load.queues[stream].requests > 0 {
		return out
	}
	ch := c.flight.largest(id, &l.streams)
	n, each, keeps := l.shares(l.load.assigned, c.cfg.secure())
	if n == 0 || without("split") || ch == nil || ch.left() == 0 || ch.duplicate != NoChunk || ch.rng.Len()-each < keeps-int64(n) { // each is rounded
		return out
	}
	victim, before := ch.stream, len(out)
	out = c.cutOff(id, stream, ch, min(each, ch.left()), out)
	out[before].Close = true
	l.streams.lose(victim, c.flight.next)
	return out
}

// largest is the largest range that a link has been asked for over a connection other than those
// that share it, for these do not take from each other; nil: it was asked for none.
func (f *flight) largest(id LinkID, s *streams) (most *chunk) {
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.link == id && !s.fresh(ch.stream) && (most == nil || ch.rng.Len() > most.rng.Len()) {
			most = ch
		}
	}
	return most
}

// sizesUnknown says whether sizes are still to be learnt before more can be asked for.
func (c *Core) sizesUnknown() bool {
	if c.batch == nil {
		return !c.sized()
	}
	s := &c.batch.freeMap
	return s.told && s.unconfirmed > 0 && s.guesses == 0
}

// ready is when a connection that was opened for requests to come takes them.
func (s *streams) ready(id StreamID, trip Time) Time {
	if s.conn[id].early == 0 {
		return 0
	}
	return s.conn[id].early + trip
}
