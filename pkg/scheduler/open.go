package scheduler

import "math/bits"

// Over a link with a long round trip a file is worth many connections (see widen), and each costs
// a round trip before a request can be sent on it. While the file's size is unknown, or the link
// has not answered its first request, there is nothing to request on them; but they can be opened,
// so that the requests that follow the answer find them ready. An open connection costs a packet
// or two, and no data. The handshake of the first one has shown that the link works and how far
// its server is, so no sleeping link is woken, and no near or dead one is tried in vain.
//
// The constants were chosen by hand over the simulator's suites unless a source is named; see
// open-ahead, gauge and equal-shares in docs/scheduler.md.
const (
	// openMost is how many connections a link has at most before it is known whether there is
	// work for them: a server keeps state for each, and half of those that a large file gets reach
	// its rate half as soon.
	openMost = 32
	// openTrip is for how much of its round trip a link has one of them for a file over TLS: the
	// servers' handshakes fill a slow link for as long as those connections could save, and that
	// it is slow shows too late. A file in clear is shared by no more than that, or one for each
	// openShare bytes: their first windows come all at once.
	openTrip  = 2 * tripPerStream
	openShare = 64 << 10
	// shareMost is how many bytes a link's connections share equally at most, before any of them
	// has shown how fast it is: of more they ask for their parts as they bring them.
	shareMost = openMost * leastShare
	// shareWindows is what a connection brings in four round trips: of a link's only file, more is
	// not shared out at once, since it shows sooner which connections bring it.
	shareWindows = (1 + 2 + 4 + 8) * initialWindow
	// firstBytes is what a connection brings of a file in its first round trip: an initial window
	// less the response's head. Windows are counted in packets, and over TLS not all of the first
	// ten are full: tickets, settings and heads are sent one by one, and so are records (nginx has
	// room for 8.6 kB, Go's server for 7.3).
	firstBytes       = initialWindow - headBytes
	firstBytesSecure = 7 << 10
	headBytes        = 1 << 10
	// gaugeLook is the time between two looks at what comes of a first window: bytes that are all
	// there at the second look came at once, as far as can be told. If nothing follows the first
	// packets for gaugeMost, the link is taken to be slow.
	gaugeLook = 3 * Millisecond
	gaugeMost = 50 * Millisecond
)

// ahead is the state of the connections that a link opens before there is work for them.
type ahead struct {
	answered Time  // when a request was first answered; 0: none was
	room     int64 // for how many connections' first windows, the first one's included: see gauge; 0: not known
	each     int64 // bytes that each of them is asked for: see equalShare; 0: not known yet
}

// openAhead opens the connections that are worth it.
func (c *Core) openAhead(out []Action) []Action {
	if c.cfg.Parallelism > 0 {
		return out
	}
	unknown := c.flight.sizesUnknown()
	for i := range c.links {
		id, l := LinkID(i), &c.links[i]
		undecided := unknown || !c.cfg.Batch && l.load.received == 0 && l.load.assigned <= shareMost
		if !undecided || !l.mayOpen() || !(View{c}).usable(l) || c.batch.planned(id) || without("open-ahead") {
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

// fresh says whether a connection was opened ahead and has brought nothing yet.
func (s *streams) fresh(id StreamID) bool { return s.conn[id].early > 0 && s.worked&(1<<id) == 0 }

// worthUsing is how many connections a link should use for its part of a file, of those that were
// opened before the size was known; 0: the first one alone takes no longer, or has not been
// answered yet, and other links may be sooner.
func (l *link) worthUsing(t task, now Time) StreamID {
	if l.gauge(t, now); t.batch || l.streams.ahead.room == 0 {
		return 0
	}
	n, _, _ := l.shares(t.left/int64(max(1, t.links)), t.secure)
	return n
}

// gauge finds out how many connections' first windows fit into what a link carries in a round
// trip, when it has been answered: the packets of a window are sent together, and arrive as far
// apart as the link is slow (Keshav, SIGCOMM 1991). Over TLS only whole records are seen.
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

// shares divides so many bytes among a link's connections: n is how many there are, each is what
// those that were opened ahead are asked for, and keeps what the first one keeps; n is 0 if the
// first one alone takes no longer. All of them bring twice as much in each round trip as in the
// one before (RFC 5681, 3.1), and end together, since a response that is cut short in slow start
// was sent in vain. The first connection began a round trip earlier, but with a request for too
// much: the sooner it is given up, the less of that is wasted. It keeps what its first round trip
// brings, and the rest of a record.
func (l *link) shares(bytes int64, secure bool) (n StreamID, each, keeps int64) {
	first := int64(firstBytes)
	if keeps = first; secure {
		first, keeps = firstBytesSecure, recordSize // no record is of use before it is complete
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

// gauging says whether a connection that was opened ahead waits until it is known how many of them
// share the file, which is soon: what it were asked for now would be taken from it.
func (l *link) gauging(stream StreamID, now Time) bool {
	a := &l.streams.ahead
	return !without("gauge-wait") && a.room == 0 && a.answered > 0 && now < a.answered+gaugeMost && l.est.rate <= 0 && l.streams.fresh(stream)
}

// equalShare is what a connection that was opened ahead is asked for when its link is to have so
// many bytes more: as much as each of the others; 0: they do not share these bytes.
func (l *link) equalShare(stream StreamID, bytes int64, t task) int64 {
	bytes = min(bytes+l.load.assigned, t.left)
	if !t.sized || bytes > shareMost || l.est.rate > 0 || !l.streams.fresh(stream) || without("equal-shares") {
		return 0
	}
	if l.streams.ahead.each > 0 { // the same for all of them: what the link is to have shrinks as they are asked
		return l.streams.ahead.each
	}
	_, each, _ := l.shares(t.left, t.secure) // of all, whatever the policy says for a start
	if each > shareWindows || t.links > 1 {
		_, each, _ = l.shares(bytes, t.secure)
	}
	l.streams.ahead.each = each
	return each
}

// split lets a connection that was opened ahead take over its share of what its link's first one
// was asked for, before their rates are known. The first one is closed then, over HTTP/2 too,
// since the server may have handed all of its response to the kernel.
func (f *flight) split(id LinkID, stream StreamID, out []Action) []Action {
	l := &f.links[id]
	if f.cfg.Batch || l.est.rate > 0 || !l.streams.fresh(stream) || l.load.queues[stream].requests > 0 {
		return out
	}
	ch := f.mostOwed(id)
	n, each, keeps := l.shares(l.load.assigned, f.cfg.secure())
	if n == 0 || without("split") || ch == nil || ch.left() == 0 || ch.rng.Len()-each < keeps-int64(n) { // each is rounded
		return out
	}
	victim, before := ch.stream, len(out)
	out = f.cutOff(id, stream, ch, min(each, ch.left()), out)
	out[before].Close = true
	l.streams.lose(victim, f.next)
	return out
}

// sizesUnknown says whether sizes are still to be learnt before more can be asked for.
func (f *flight) sizesUnknown() bool {
	if s := f.freeMap; f.cfg.Batch {
		return s.sized && s.guesses.unconfirmed.parts > 0 && s.guesses.parts == 0
	}
	return !f.freeMap.sized
}

// ready is when a connection that was opened ahead can take requests; 0 for others.
func (s *streams) ready(id StreamID, trip Time) Time {
	if s.conn[id].early == 0 {
		return 0
	}
	return s.conn[id].early + trip
}
