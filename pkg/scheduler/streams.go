package scheduler

import "math"

// One TCP connection fills most links, and a second one on LTE does harm: it has
// to build up its carrier aggregation anew (skjolden, 4.4.3.3). There are two
// exceptions, and in both more connections are tried only on what was seen.
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
	// longTrip is the round trip from which on a link starts with more than one
	// connection: one for each tripPerStream of it. The first windows of ten
	// packets each (RFC 6928) are then 12 Mbit/s, whatever the round trip. It may
	// be longer than it takes a connection to come up, so before that is known no
	// more than unmetStreams are asked for.
	longTrip      = 100 * Millisecond
	tripPerStream = 10 * Millisecond
	unmetStreams  = 16
	// leastShare is how many bytes of the object a connection must be worth.
	leastShare = int64(1) << 20
	// tunedStreams is the most connections that are chosen for one file.
	tunedStreams = 32
	// Where there are many files, each is as good as any other for a connection, so
	// that more of them cost nothing at the end: these take the place of the figures
	// above.
	batchTripPerStream = 5 * Millisecond
	batchLeastShare    = int64(128) << 10
	// A link of which nothing has been heard for farTrip, or twice that, has a trip at
	// least as long, and gets farStreams, or twice as many.
	farTrip    = 50 * Millisecond
	farStreams = 16

	// A trial begins with firstTrial connections. It waits for trialRTTs round
	// trips, at least trialFloor, until the new ones have left slow start, and
	// then measures for as long. When the rate has risen by the factor
	// streamGain they stay, and twice as many are tried.
	firstTrial = 8
	trialRTTs  = 6
	trialFloor = 100 * Millisecond
	streamGain = 1.25
	// streamRest is how long a link that did not gain is left alone, at first; each
	// time it is twice as long. A connection that has lost its first packet only
	// now may be fast still.
	streamRest = Second
	// trialWorth is how long the download must still take for a trial to pay.
	trialWorth = 2 * Second
)

// streams is how many connections a link has, and what was learnt about it.
type streams struct {
	most    StreamID // it may use
	batch   bool     // they serve many files
	worked  uint64   // bit s: stream s has brought something
	refused uint64   // bit s: stream s was not served while others were
	broken  uint64   // bit s: a request of stream s was cut short, and nothing has come since
	loss    loss
	heard   [MaxStreams]Time // when each received its last byte, or was asked for its first
	// A request before this one was cut short, and none from it on has brought
	// anything; 0: none was.
	cut    [MaxStreams]ChunkID
	inVain [MaxStreams]uint8 // releases in a row for silence, with nothing received
	// What each connection has brought, in bytes.
	opened [MaxStreams]int64

	trial     bool
	helped    bool      // more streams have brought more
	before    StreamID  // how many there were before the trial
	base      float64   // bytes per second before it
	settled   Time      // when the measurement begins
	measured  countMark // with which it began
	restUntil Time
	trials    int // that have ended
}

// countMark is a link's byte count at a time.
type countMark struct {
	at    Time
	bytes int64
}

// rate is the mean in bytes per second since m.
func (m countMark) rate(now Time, bytes int64) float64 {
	return float64(bytes-m.bytes) / (now - m.at).Seconds()
}

// tune sets how many streams a link has that has requests in flight. left is how
// many bytes of the object are still to come, over all links.
func (s *streams) tune(now Time, l *link, left int64) {
	base := s.loss.episode.rate(now, l.received)
	s.loss.watch(now, l)
	if l.est.nSamples > 0 && !s.trial && !s.helped {
		s.fold(l)
	}
	switch {
	case s.trial:
		s.judge(now, l)
	case l.est.nSamples == 0:
		s.widen(now, l, left)
	case s.loss.random() && now >= s.restUntil && float64(left) > l.est.rate*trialWorth.Seconds():
		s.try(base)
	}
}

// widen gives a link with a long round trip many streams to start with.
func (s *streams) widen(now Time, l *link, left int64) {
	trip, most := l.rtt, int64(s.limit())
	each, share := tripPerStream, leastShare
	if s.batch {
		each, share = batchTripPerStream, batchLeastShare
	}
	if trip == 0 && l.received == 0 { // no connection yet: it takes that long at least
		trip, most = now-l.lastByte, unmetStreams
		if s.batch {
			s.most = max(s.most, StreamID(min(farStreams*min(2, int64(trip/farTrip)), left/share)))
			return
		}
	}
	if trip < longTrip {
		return
	}
	most = min(most, int64(trip/each), left/share)
	s.most = max(s.most, StreamID(most))
}

// limit is the most connections that are chosen.
func (s *streams) limit() StreamID {
	if s.batch {
		return MaxStreams
	}
	return tunedStreams
}

// fold leaves no more streams than there is room for their first windows in what
// the link carries in a round trip: more brought nothing.
func (s *streams) fold(l *link) {
	room := l.est.capacity() * l.rtt.Seconds() / initialWindow
	s.most = min(s.most, max(1, StreamID(min(float64(s.limit()), room+1))))
}

// longest is so many round trips, but not less than floor.
func longest(floor Time, trips float64, rtt Time) Time {
	return max(floor, Time(trips*float64(rtt)))
}

// try begins a trial with more streams.
func (s *streams) try(base float64) {
	if s.most >= s.limit() {
		return
	}
	s.trial, s.before, s.base = true, s.most, base
	s.most = min(s.limit(), max(firstTrial, 2*s.most))
	s.settled = 0
}

// judge ends a trial when it has been measured.
func (s *streams) judge(now Time, l *link) {
	span := longest(trialFloor, trialRTTs, l.rtt)
	switch {
	case s.settled == 0:
		s.settled = now + span
		s.measured = countMark{}
	case now < s.settled:
	case s.measured.at == 0:
		s.measured = countMark{now, l.received}
	case now >= s.measured.at+span:
		s.trial = false
		rate := s.measured.rate(now, l.received)
		switch {
		case rate >= streamGain*s.base:
			s.helped = true
			s.try(rate)
		case !s.helped:
			s.most = s.before
		}
		s.restUntil = now + streamRest<<min(s.trials, 10)
		s.trials++
	}
}

// hear notes that a stream has received so many bytes.
func (s *streams) hear(ch *chunk, bytes int64, now Time) {
	s.opened[ch.stream] += bytes
	s.heard[ch.stream] = now
	s.worked |= 1 << ch.stream
	s.broken &^= 1 << ch.stream
	s.inVain[ch.stream] = 0
	if ch.id >= s.cut[ch.stream] {
		s.cut[ch.stream] = 0
	}
}

// trips is how many round trips a request takes to its first byte.
func (s *streams) trips(id StreamID) Time {
	switch {
	case s.cut[id] > 0:
		return reconnectRTTs
	case s.worked&(1<<id) == 0:
		return connectRTTs
	}
	return 1
}

// refuse leaves a stream out from now on.
func (s *streams) refuse(id StreamID) { s.refused |= 1 << id }

func (s *streams) served(id StreamID) bool { return s.refused&(1<<id) == 0 }

// flowing says whether a stream other than id has received something of late.
func (s *streams) flowing(id StreamID, now Time) bool {
	for o := range s.most {
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
	return ch.got == 0 && s.worked&(1<<ch.stream) == 0 && s.flowing(ch.stream, c.now)
}

// busy says whether a stream has a request in flight.
func (c *Core) busy(id LinkID, stream StreamID) bool {
	if c.batch != nil {
		return c.batch.tables[id].streams[stream].requests > 0
	}
	for i := range c.chunks {
		if ch := &c.chunks[i]; ch.link == id && ch.stream == stream {
			return true
		}
	}
	return false
}

// anyOverdue says whether a stream of a batch's link may have been silent for too
// long: a look at the streams is cheaper than one at all requests.
func (c *Core) anyOverdue(id LinkID) bool {
	l := &c.links[id]
	least := l.patient(min(silentAgain, silentConnect), 0)
	for i := range c.batch.tables[id].streams {
		if c.batch.tables[id].streams[i].requests > 0 && c.now-l.streams.heard[i] > least {
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
	if s.most == 1 || c.batch != nil && !c.anyOverdue(id) {
		return out
	}
	inVain := uint64(0) // bit s: stream s has waited for nothing
	for i := 0; i < len(c.chunks); i++ {
		ch := &c.chunks[i]
		limit := silentAgain
		if s.worked&(1<<ch.stream) == 0 {
			limit = silentConnect
		}
		if ch.link != id || c.now-s.heard[ch.stream] <= l.patient(limit, s.inVain[ch.stream]) || !s.flowing(ch.stream, c.now) {
			continue
		}
		if c.needless(ch) {
			s.refuse(ch.stream)
		}
		if ch.got == 0 {
			inVain |= 1 << ch.stream
		}
		out = c.end(i, append(out, cancel(ch)))
		i--
	}
	for stream := range s.most {
		if inVain&(1<<stream) != 0 && s.inVain[stream] < math.MaxUint8 {
			s.inVain[stream]++
		}
	}
	return out
}
