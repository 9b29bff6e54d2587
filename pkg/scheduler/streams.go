package scheduler

// A link that loses packets at random cannot be filled by one TCP connection,
// whose rate falls with the root of the loss (Mathis et al., CCR 1997: about
// MSS/RTT * 1.22/√p); several carry several times as much. On a link that loses
// nothing a second connection is of no use, and on LTE it does harm, because it
// has to build up its carrier aggregation anew (skjolden, 4.4.3.3). So streams
// are added only where loss is seen, and kept only where they help.
const (
	// A period of observation lasts periodRTTs round trips, at least
	// periodFloor: long enough for new connections to leave slow start.
	periodRTTs  = 12
	periodFloor = 400 * Millisecond
	// lossLimit is the share of packets out of order from which on loss, not
	// the link's rate, is what limits a connection: at 0.1 % it is 38 segments
	// per round trip.
	lossLimit = 0.001
	// segment is a full packet's payload in bytes.
	segment = 1448
	// streamGrowth is by what factor streams are added, and streamGain by what
	// factor the link's rate must rise for them to stay.
	streamGrowth = 4
	streamGain   = 1.25
	// idleShare of its bandwidth is what a link may leave unused before the
	// loss on it is taken to be the reason.
	idleShare = 0.4
	// streamRest is how long a link that did not gain is left alone.
	streamRest = 20 * Second
)

// streams is how many connections a link has, and what was learnt about it.
type streams struct {
	most      StreamID // it may use
	reordered int64    // packets out of order so far

	// The period under way began with these.
	since    Time
	bytes    int64
	disorder int64
	rate     float64 // of the period before, bytes per second
	lossy    int     // periods in a row with loss, up to the one before

	trial     bool // streams were added, and have not shown yet what they bring
	settling  bool // they are still new in this period
	before    StreamID
	base      float64 // bytes per second before the trial
	restUntil Time
}

// tune adds streams to a link where that helps. An overflowing queue loses a burst
// of packets while the link is full, and then none for seconds; random loss comes
// in period after period, and the link does far less than it has shown it can.
func (s *streams) tune(now Time, l *link) {
	if s.since == 0 || l.est.nMarks == 0 {
		s.begin(now, l.received)
		return
	}
	if now-s.since < max(periodFloor, periodRTTs*l.rtt) {
		return
	}
	rate := float64(l.received-s.bytes) / (now - s.since).Seconds()
	packets := float64(l.received-s.bytes) / segment
	if float64(s.reordered-s.disorder) > lossLimit*packets {
		s.lossy++
	} else {
		s.lossy = 0
	}
	base := max(rate, s.rate)
	s.rate = rate
	s.begin(now, l.received)
	switch {
	case s.settling:
		s.settling = false
	case s.trial:
		s.trial = false
		if rate < streamGain*s.base {
			s.most, s.restUntil = s.before, now+streamRest
		} else if s.lossy > 0 {
			s.grow(rate)
		}
	case s.lossy >= 2 && base < (1-idleShare)*l.est.capacity() && now >= s.restUntil:
		s.grow(base)
	}
}

// grow begins a trial with more streams.
func (s *streams) grow(rate float64) {
	if s.most >= MaxStreams {
		return
	}
	s.trial, s.settling = true, true
	s.base, s.before = rate, s.most
	s.most = min(MaxStreams, streamGrowth*s.most)
}

func (s *streams) begin(now Time, bytes int64) {
	s.since, s.bytes, s.disorder = now, bytes, s.reordered
}
