package scheduler

import (
	"math"
	"math/bits"
)

// One TCP connection fills most links, and a second one on LTE does harm, since it has to build up
// its carrier aggregation anew (skjolden, 4.4.3.3). There are exceptions, and in each more
// connections are tried only after a sign of it was seen. Two follow; others are in explore.go,
// queuedetector.go and rttshift.go.
//
// A link with a long round trip is idle for most of a connection's slow start: at 300 ms it takes
// two seconds to fill 64 Mbit/s. So many connections start there together that their first windows
// come as fast as over a short one.
//
// A link that loses packets at random cannot be filled by one connection, whose rate falls with the
// root of the loss (Mathis et al., CCR 1997: about MSS/RTT * 1.22/√p); several carry several times
// as much. A link whose queue overflows loses packets too, now and then, and gains nothing: whether
// the connections stay is decided by what they bring.
const (
	// A link with a round trip of longTrip or more starts with a connection for each tripPerStream
	// of it. The first windows of ten packets each (RFC 6928) are then 23 Mbit/s, whatever the
	// round trip.
	longTrip      = 100 * Millisecond
	tripPerStream = 5 * Millisecond
	// A link that has been silent for longTrip from the start has a round trip at least as long,
	// and gets farStreams for each farStep of it: connections that are worth having must be there
	// early, and for a link that is near after all they cost nothing. Chosen by hand.
	farStep    = 50 * Millisecond
	farStreams = 16
	// leastShare is how many bytes must be left for each connection: about what it brings in the
	// first five round trips of its slow start.
	leastShare = int64(512) << 10
	// Where there are many files, one connection serves several of them, and the bytes that are
	// left are unknown as long as sizes are: these take the place of longTrip, for a link that has
	// been silent, and of leastShare. Chosen by hand.
	batchLongTrip   = farStep
	batchLeastShare = int64(128) << 10
	// batchStreams is how many connections a link begins with where there are many files, as
	// many as browsers have (six a host): a server works on them at the same time.
	batchStreams = 6
)

// streams is how many connections a link has, and why.
type streams struct {
	most    StreamID // connections that it may use
	initial StreamID // as many as it began with, if it is far; else 0
	server  server
	worked  uint64 // bit s: stream s has brought something
	refused uint64 // bit s: the server does not serve stream s while it serves others
	begun   uint64 // bit s: stream s was asked for something, or opened
	broken  uint64 // bit s: a request of stream s was cut short, and nothing has come since
	piped   uint64 // bit s: stream s was asked for something behind something else, and not flushed
	conn    [MaxStreams]conn
	ahead   ahead

	detectors
	narrowing narrowing
	explore   exploring
	trial     trial
}

// detectors see signs that a link could carry more over more connections.
type detectors struct {
	loss     loss
	queue    queueDetector
	rttShift rttShift
}

// server is how a link's server treats connections.
type server struct {
	tls     Time // round trips of a TLS handshake
	lasting bool // they outlive requests that are cut short
	single  bool // each request needs one of its own
	bound   int  // how many it has been seen to serve at a time while it answered no other
	// If single: when the latest connection brought its first byte; 0: none replaced another.
	replaced Time
}

// conn is what is known of one connection.
type conn struct {
	heard   Time    // when it received its last byte, or was asked for its first
	cut     ChunkID // a request before this one was cut short, and none from it on has brought anything; 0: none was
	inVain  uint8   // releases in a row for silence, with nothing received
	brought int64   // bytes
	early   Time    // when it was opened for requests to come; 0: it was not
}

// task is what remains to be done: what a connection, or a trial of more of them, must be worth.
type task struct {
	left   int64   // bytes still to come, over all links
	free   int64   // of these, bytes that no link was asked for
	share  int64   // bytes that the connections which a link begins with have to share: see Core.task
	links  int     // usable ones
	sized  bool    // the size is known
	rate   float64 // bytes per second of all usable links
	batch  bool    // the bytes are of many files
	secure bool    // each connection has to be worth a TLS handshake
}

// lasts is how many seconds all links need for the rest.
func (t task) lasts() float64 { return float64(t.left) / t.rate }

// outlasts says whether all links need longer than that for the rest.
func (t task) outlasts(span Time) bool { return float64(t.left) > float64(t.rate*span.Seconds()) }

// nearEnd says whether the download will be over before a probe could tell much.
func (t task) nearEnd() bool { return float64(t.left) < float64(t.rate*silentAgain.Seconds()) }

// startDecides says whether there is no more to do than what connections are asked for at the
// start decides.
func (t task) startDecides() bool { return t.left <= shareMost*int64(t.links) }

// tune sets how many streams a link has that has requests in flight.
func (s *streams) tune(now Time, l *link, t task) {
	base := s.loss.episode
	s.loss.watch(now, l)
	s.queue.watch(now, l)
	if l.est.nSamples > 0 && !s.trial.running && !s.trial.helped && s.explore.step != pairing {
		s.dropSurplus(l)
	}
	switch {
	case s.trial.running:
		s.judge(now, l)
	case l.est.nSamples == 0:
		s.widen(now, l, t)
	case s.loss.random() && !l.queued():
		if !s.queue.mayDrop(now, l.rtt.path()) { // slow start may have filled the link before
			base = s.queue.clear
		}
		steady := l.est.steady(now, l.rtt.path())
		worth := float64(t.left) > steady*l.trialWorth().Seconds() && t.lasts() > 2*l.trialSpan().Seconds()
		if worth && l.isEvidence(base) && now >= s.trial.restUntil && !without("loss-trial") {
			s.try(now, l.rateSince(base, now))
		}
	}
}

// widen gives a link with a long round trip many streams to start with.
func (s *streams) widen(now Time, l *link, t task) {
	most, least, long := int64(0), leastShare, longTrip
	if t.batch {
		least, long = batchLeastShare, batchLongTrip
	}
	switch {
	case l.rtt.min == 0 && l.load.received == 0: // no connection yet: it takes that long at least
		if trip := now - l.health.lastByte; trip >= long {
			most = min(MaxStreams, farStreams*int64(trip/farStep))
		}
	case l.rtt.min >= longTrip:
		most = min(MaxStreams, int64(l.rtt.min/tripPerStream))
	}
	if without("widen") {
		most = 0
	}
	s.initial = max(s.initial, s.most, StreamID(min(most, t.share/least)), l.worthUsing(t, now))
	s.most = s.initial
}

// dropSurplus leaves as many of the streams that a link began with as their first windows fit into
// what it carries in a round trip: more brought nothing. Until others are tried, streams that were
// given up are taken back when the link turns out to carry more, unless its bytes wait in a queue:
// then the remaining ones fill it.
func (s *streams) dropSurplus(l *link) {
	if l.rtt.min < longTrip { // its first answer was only late
		s.initial = 0
	}
	most := s.most
	if without("fold") {
		return
	}
	if s.trial.began == 0 && !l.rtt.queued(l.rtt.data) {
		most = max(most, s.initial)
	}
	room := l.est.capacity() * l.rtt.min.Seconds() / initialWindow
	s.most = max(1, min(most, StreamID(min(MaxStreams, room+1))))
}

// longest is so many round trips, but not less than floor.
func longest(floor Time, trips float64, rtt Time) Time {
	return max(floor, Time(trips*float64(rtt)))
}

// hear notes that a stream has received so many bytes.
func (s *streams) hear(ch *chunk, bytes int64, now Time) {
	if ch.got == bytes && s.server.single { // the connection is another one
		s.conn[ch.stream].brought, s.server.replaced = 0, now
	}
	s.conn[ch.stream].brought += bytes
	s.conn[ch.stream].heard = now
	s.worked |= 1 << ch.stream
	s.broken &^= 1 << ch.stream
	s.conn[ch.stream].inVain = 0
	if ch.id >= s.conn[ch.stream].cut {
		s.conn[ch.stream].cut = 0
	}
}

// cutShort notes that a request has been cut short, and with it the connection, unless
// that lasts.
func (s *streams) cutShort(id StreamID, next ChunkID) {
	if !s.server.lasting {
		s.lose(id, next)
	}
}

// lose notes that a connection has been lost: requests from next on open another.
func (s *streams) lose(id StreamID, next ChunkID) {
	s.conn[id] = conn{heard: s.conn[id].heard, inVain: s.conn[id].inVain, cut: next}
}

// window is how many bytes a connection brings in a round trip, at least.
func (s *streams) window(id StreamID) int64 { return max(initialWindow, s.conn[id].brought) }

// trips is how many round trips a request takes to its first byte.
func (s *streams) trips(id StreamID) Time {
	switch {
	case s.conn[id].early > 0:
		return 1
	case s.conn[id].cut > 0, s.server.single:
		return reconnectRTTs + s.server.tls
	case s.worked&(1<<id) == 0:
		return connectRTTs + s.server.tls
	}
	return 1
}

// idleTrips is trips, but as many as for a connection that is still to be made while what an idle
// stream was asked for before is still on its way.
func (s *streams) idleTrips(id StreamID) Time {
	if s.broken&(1<<id) != 0 {
		return max(connectRTTs, s.trips(id))
	}
	return s.trips(id)
}

// refuse leaves a stream out from now on.
func (s *streams) refuse(id StreamID) { s.refused |= 1 << id }

func (s *streams) served(id StreamID) bool { return s.refused&(1<<id) == 0 }

// first is the first stream that is served; the last one where none is.
func (s *streams) first() (id StreamID) {
	for id < MaxStreams-1 && !s.served(id) {
		id++
	}
	return id
}

// tooMany says whether the link can do without a stream for which the server was too busy while it
// answered so many others: it keeps as many as the server has been seen to answer at a time.
func (s *streams) tooMany(answered int) bool {
	s.server.bound = max(s.server.bound, answered)
	return s.serving() > s.server.bound
}

// serving is how many streams may be used, refused ones left out.
func (s *streams) serving() int {
	return max(1, int(s.most)-bits.OnesCount64(s.refused&(1<<s.most-1)))
}

// flowing says whether a stream other than id has received something within silentFloor.
func (s *streams) flowing(id StreamID, now Time) bool {
	for o := range StreamID(MaxStreams) { // more than now may have been used
		if o != id && s.worked&(1<<o) != 0 && now-s.conn[o].heard < silentFloor {
			return true
		}
	}
	return false
}

// needless says whether ch, which got nothing, is on a stream that never brought anything while
// others of its link do: a server may bound the connections that it serves. The link loses nothing
// without it.
func (s *streams) needless(ch *chunk, now Time) bool {
	return !without("needless") && ch.got == 0 && s.worked&(1<<ch.stream) == 0 && s.flowing(ch.stream, now)
}

// anyOverdue says whether a stream of a link may have been silent for too long, which is cheaper to
// see than for each request.
func (l *link) anyOverdue(now Time) bool {
	least := l.rtt.silenceLimit(silentAgain, 0) + l.turnTime()
	for i := range l.load.queues {
		if l.load.queues[i].requests > 0 && now-l.streams.conn[i].heard > least {
			return true
		}
	}
	return false
}

// releaseSilent withdraws the requests of streams that are silent while others of their link are
// not: a single connection can die, or never be made.
func (f *flight) releaseSilent(id LinkID, out []Action) []Action {
	l := &f.links[id]
	s := &l.streams
	if !l.anyOverdue(f.now) || without("prune") {
		return out
	}
	turn := l.turnTime()
	inVain := uint64(0) // bit s: stream s has waited for nothing
	for i := 0; i < len(f.chunks); i++ {
		ch := &f.chunks[i]
		limit := silentAgain
		if s.worked&(1<<ch.stream) == 0 {
			limit = silentConnect
		}
		if ch.link != id || f.now-s.conn[ch.stream].heard <= l.rtt.silenceLimit(limit, s.conn[ch.stream].inVain)+turn || !s.flowing(ch.stream, f.now) {
			continue
		}
		if s.needless(ch, f.now) {
			s.refuse(ch.stream)
		}
		if ch.got == 0 {
			inVain |= 1 << ch.stream
		}
		out = f.withdraw(i, out)
		i--
	}
	for stream := range StreamID(MaxStreams) {
		if inVain&(1<<stream) != 0 && s.conn[stream].inVain < math.MaxUint8 {
			s.conn[stream].inVain++
		}
	}
	return out
}
