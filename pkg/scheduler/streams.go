package scheduler

import (
	"math"
	"math/bits"
)

// One TCP connection fills most links, and a second one on LTE does harm: it has
// to build up its carrier aggregation anew (skjolden, 4.4.3.3). There are
// exceptions, and in all of them more connections are tried only on what was seen: two
// follow, others are in explore.go and queuedetector.go.
//
// A link with a long round trip is idle for most of a connection's slow start:
// at 300 ms it takes two seconds to fill 64 Mbit/s. So many connections start
// there together that their first windows come as fast as over a short one.
//
// A link that loses packets at random cannot be filled by one connection, whose
// rate falls with the root of the loss (Mathis et al., CCR 1997: about MSS/RTT *
// 1.22/√p); several carry several times as much. A link whose queue overflows
// loses packets too, now and then, and gains nothing from more connections:
// whether they stay is decided by what they bring.
const (
	// longTrip is the round trip from which on a link starts with many connections:
	// one for each tripPerStream of it. The first windows of ten packets each
	// (RFC 6928) are then 23 Mbit/s, whatever the round trip.
	longTrip      = 100 * Millisecond
	tripPerStream = 5 * Millisecond
	// A link of which nothing has been heard for longTrip has one at least as long, and
	// gets farStreams for each farStep of it: those that a long trip is worth have to be
	// there early, and one that is short after all has them for nothing.
	farStep    = 50 * Millisecond
	farStreams = 16
	// leastShare is how many bytes there must be left for each connection: about what
	// it brings in the first five round trips of its slow start.
	leastShare = int64(512) << 10
	// Where there are many files, a connection is good for one as for another, and as long
	// as their sizes are not known so are the bytes that are left: these take the place of
	// longTrip, for a link that has not been heard of, and of leastShare.
	batchLongTrip   = farStep
	batchLeastShare = int64(128) << 10

	// A trial begins with firstTrial connections. It waits for trialRTTs round
	// trips, at least trialFloor, until the new ones have left slow start, and
	// then measures for as long. When the rate has risen by the factor
	// streamGain they stay, and twice as many are tried as soon as no queue
	// stands. When it has not, and no trial before has helped, they are given up
	// by and by (see narrow.go); after one that helped they stay.
	firstTrial = 8
	// trialStreams is the most that are tried, or twice as many as the link began with, but
	// where packets are lost at random and each still brings fastPackets in a round trip:
	// with fewer a loss takes it a timeout (RFC 5681, 3.2).
	trialStreams = 32
	fastPackets  = 4
	trialRTTs    = 6
	trialFloor   = 100 * Millisecond
	streamGain   = 1.25
	// streamRest is how long a link that did not gain is left alone, at first; each
	// time it is twice as long. A connection that has lost its first packet only
	// now may be fast still.
	streamRest = Second
	// worthTrips round trips, at least worthFloor and at most worthMost, is how long the
	// download must still take for a trial to pay if the link were alone: what it costs is
	// counted in round trips, too. It must take longer than the trial with the others.
	worthTrips = 15
	worthFloor = 300 * Millisecond
	worthMost  = 2 * Second
)

// streams is how many connections a link has, and what was learnt about it.
type streams struct {
	most    StreamID // it may use
	wide    StreamID // as many as it began with, if it is far; else 0
	tls     Time     // round trips of its connections' TLS handshakes
	lasting bool     // connections outlive requests that are cut short
	single  bool     // each request needs a connection of its own
	worked  uint64   // bit s: stream s has brought something
	refused uint64   // bit s: stream s was not served while others were
	begun   uint64   // bit s: stream s was asked for something, or opened
	broken  uint64   // bit s: a request of stream s was cut short, and nothing has come since
	piped   uint64   // bit s: stream s was asked for something behind something else, and not flushed
	loss    loss
	queue   queueDetector
	heard   [MaxStreams]Time // when each received its last byte, or was asked for its first
	astray  [MaxStreams]Time // since when it brought but what nobody wants any more; 0: it did not
	// A request before this one was cut short, and none from it on has brought
	// anything; 0: none was.
	cut    [MaxStreams]ChunkID
	inVain [MaxStreams]uint8 // releases in a row for silence, with nothing received
	// What each connection has brought, in bytes.
	opened [MaxStreams]int64
	early  [MaxStreams]Time // when it was opened for requests to come; 0: it was not
	bound  int              // how many the server has been seen to serve at a time while it answered no other
	// When a request was first answered; 0: none was.
	answered Time
	room     int64 // for how many connections' first windows, with the first one's: see gauge; 0: not known
	each     int64 // bytes that each that was made ahead is asked for: see equal; 0: not known yet

	narrowing narrowing
	explore   exploring

	trial     bool
	tried     Time      // when the latest trial began; 0: none has
	helped    bool      // more streams have brought more
	before    StreamID  // how many there were before the trial
	base      float64   // bytes per second before it
	settled   Time      // when the measurement begins
	measured  countMark // with which it began
	restUntil Time
	trials    int // that were in vain
}

// task is what the connections of a link are counted against.
type task struct {
	left   int64   // bytes still to come, over all links
	share  int64   // of these, what the connections that a link begins with share: see Core.task
	links  int     // that may bring them
	lasts  float64 // seconds that they take all links
	batch  bool    // they are of many files
	secure bool    // they come over TLS
}

// tune sets how many streams a link has that has requests in flight.
func (s *streams) tune(now Time, l *link, t task) {
	base := s.loss.episode
	s.loss.watch(now, l)
	s.queue.watch(now, l)
	if l.est.nSamples > 0 && !s.trial && !s.helped && s.explore.step != pairing {
		s.fold(l)
	}
	switch {
	case s.trial:
		s.judge(now, l)
	case l.est.nSamples == 0:
		s.widen(now, l, t)
	case s.loss.random() && !l.queued():
		if !s.queue.mayDrop(now, l.rtt.path()) { // slow start may have filled the link before
			base = s.queue.clear
		}
		steady := l.est.steady(now, l.rtt.path())
		worth := float64(t.left) > steady*l.trialWorth().Seconds() && t.lasts > 2*l.trialSpan().Seconds()
		if worth && l.tells(base) && now >= s.restUntil && !without("loss-trial") {
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
	s.wide = max(s.wide, s.most, StreamID(min(most, t.share/least)), l.worthUsing(t, now))
	s.most = s.wide
}

// fold leaves no more of the streams that a link began with than there is room for their
// first windows in what it carries in a round trip: more brought nothing. Until others are
// tried, those that were given up are taken back when it turns out to carry more, unless
// what comes waits in a queue: those that are left fill the link then.
func (s *streams) fold(l *link) {
	if l.rtt.min < longTrip { // it was only late
		s.wide = 0
	}
	most := s.most
	if without("fold") {
		return
	}
	if s.tried == 0 && !l.rtt.waited(l.rtt.data) {
		most = max(most, s.wide)
	}
	room := l.est.capacity() * l.rtt.min.Seconds() / initialWindow
	s.most = max(1, min(most, StreamID(min(MaxStreams, room+1))))
}

// longest is so many round trips, but not less than floor.
func longest(floor Time, trips float64, rtt Time) Time {
	return max(floor, Time(trips*float64(rtt)))
}

// try begins a trial with more streams.
func (s *streams) try(now Time, base float64) {
	most := min(MaxStreams, max(trialStreams, 2*s.wide))
	if s.loss.random() && s.loss.trip >= fastPackets*float64(s.most) { // what holds each of them back is not the link
		most = MaxStreams
	}
	if s.most >= most {
		return
	}
	s.trial, s.tried, s.before, s.base = true, now, s.most, base
	s.most = min(most, max(firstTrial, 2*s.most))
	s.settled, s.narrowing.goal = 0, 0
}

// trialSpan is for how long new streams are left alone, and then measured.
func (l *link) trialSpan() Time { return longest(trialFloor, trialRTTs, l.rtt.toAnswer()) }

// trialWorth is for how long what more streams would bring must be of use.
func (l *link) trialWorth() Time {
	return min(worthMost, longest(worthFloor, worthTrips, l.rtt.toAnswer()))
}

// judge ends a trial when it has been measured.
func (s *streams) judge(now Time, l *link) {
	span := l.trialSpan()
	switch {
	case s.settled == 0:
		s.settled = now + span
		s.measured = countMark{}
	case now < s.settled:
	case s.measured.at == 0:
		s.measured = l.mark(now)
	case now >= s.measured.at+span && l.tells(s.measured):
		s.trial = false
		rate := l.rateSince(s.measured, now)
		switch {
		case rate >= streamGain*s.base:
			// What new connections bring at first does not last: when it has fallen
			// so far that no queue stands any more, there may be need of more.
			if s.helped = true; !l.queued() {
				s.try(now, rate)
			}
			return
		case !s.helped:
			s.narrowFrom(s.before, rate, l.mark(now))
		}
		s.restUntil = now + streamRest<<min(s.trials, 10)
		s.trials++
	}
}

// hear notes that a stream has received so many bytes.
func (s *streams) hear(ch *chunk, bytes int64, now Time) {
	if ch.got == bytes && s.single { // the connection is another one
		s.opened[ch.stream] = 0
	}
	s.opened[ch.stream] += bytes
	s.astray[ch.stream] = 0
	s.heard[ch.stream] = now
	s.worked |= 1 << ch.stream
	s.broken &^= 1 << ch.stream
	s.inVain[ch.stream] = 0
	if ch.id >= s.cut[ch.stream] {
		s.cut[ch.stream] = 0
	}
}

// cutShort notes that a request has been cut short, and with it the connection, unless
// that lasts.
func (s *streams) cutShort(id StreamID, next ChunkID) {
	if !s.lasting {
		s.lose(id, next)
	}
}

// lose notes that a connection has been lost: requests from next on open another.
func (s *streams) lose(id StreamID, next ChunkID) {
	s.cut[id], s.opened[id], s.early[id], s.astray[id] = next, 0, 0, 0
}

// window is how many bytes a connection brings in a round trip, at least.
func (s *streams) window(id StreamID) int64 { return max(initialWindow, s.opened[id]) }

// trips is how many round trips a request takes to its first byte.
func (s *streams) trips(id StreamID) Time {
	switch {
	case s.early[id] > 0:
		return 1
	case s.cut[id] > 0, s.single:
		return reconnectRTTs + s.tls
	case s.worked&(1<<id) == 0:
		return connectRTTs + s.tls
	}
	return 1
}

// free says whether the connection of a stream that has nothing to do is there, and nothing on
// its way to it that was asked for before.
func (s *streams) free(id StreamID) bool { return s.trips(id) == 1 && s.broken&(1<<id) == 0 }

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

// tooMany says whether the link can do without a stream for which the server was too busy while
// it answered so many others: as many are left as it has been seen to answer at a time.
func (s *streams) tooMany(answered int) bool {
	s.bound = max(s.bound, answered)
	return s.serving() > s.bound
}

// serving is how many streams there may be of which none is refused.
func (s *streams) serving() int {
	return max(1, int(s.most)-bits.OnesCount64(s.refused&(1<<s.most-1)))
}

// flowing says whether a stream other than id has received something of late.
func (s *streams) flowing(id StreamID, now Time) bool {
	for o := range StreamID(MaxStreams) { // more than now may have been used
		if o != id && s.worked&(1<<o) != 0 && now-s.heard[o] < silentFloor {
			return true
		}
	}
	return false
}

// needless says whether ch, which got nothing, is on a stream that never brought
// anything while others of its link do: a server may bound the connections that
// it serves. The link is none the worse for it.
func (c *Core) needless(ch *chunk) bool {
	s := &c.links[ch.link].streams
	return !without("needless") && ch.got == 0 && s.worked&(1<<ch.stream) == 0 && s.flowing(ch.stream, c.now)
}

// anyOverdue says whether a stream of a link may have been silent for too long: a
// look at the streams is cheaper than one at all requests.
func (c *Core) anyOverdue(id LinkID) bool {
	l := &c.links[id]
	least := l.rtt.patient(silentAgain, 0) + l.apart()
	for i := range l.load.queues {
		if l.load.queues[i].requests > 0 && c.now-l.streams.heard[i] > least {
			return true
		}
	}
	return false
}

// prune releases the requests on which a stream is silent while others of its
// link are not: a connection can die, or never come about, by itself.
func (c *Core) prune(id LinkID, out []Action) []Action {
	l := &c.links[id]
	s := &l.streams
	if !c.anyOverdue(id) || without("prune") {
		return out
	}
	apart := l.apart()
	inVain := uint64(0) // bit s: stream s has waited for nothing
	for i := 0; i < len(c.chunks); i++ {
		ch := &c.chunks[i]
		limit := silentAgain
		if s.worked&(1<<ch.stream) == 0 {
			limit = silentConnect
		}
		if ch.link != id || c.now-s.heard[ch.stream] <= l.rtt.patient(limit, s.inVain[ch.stream])+apart || !s.flowing(ch.stream, c.now) {
			continue
		}
		if c.needless(ch) {
			s.refuse(ch.stream)
		}
		if ch.got == 0 {
			inVain |= 1 << ch.stream
		}
		out = c.withdraw(i, out)
		i--
	}
	for stream := range StreamID(MaxStreams) {
		if inVain&(1<<stream) != 0 && s.inVain[stream] < math.MaxUint8 {
			s.inVain[stream]++
		}
	}
	return out
}
