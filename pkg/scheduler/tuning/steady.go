package tuning

import "github.com/mlget/mlget/pkg/scheduler"

const (
	// growing is the factor by which a rate must rise from one window to the next
	// to count as still rising: slow start, or a link that builds up its rate.
	growing = 1.1
	// scattered is the factor by which two windows in a row differ where a rate scatters so
	// that more of them are to be seen before it is judged. Chosen by hand: steady links
	// differ by 3 %, an emulated link on a busy machine by 30.
	scattered = 1.15
	// patience is how many windows a rate may rise or scatter for.
	patience = 8
	// windowTrips is how many round trips a window lasts at least, and leastWindow
	// how long at all: long against the bursts in which bytes come.
	windowTrips = 4
	leastWindow = 500 * scheduler.Millisecond
)

// mark is a state of the counters.
type mark struct {
	at     scheduler.Time
	bytes  int64
	joules float64
	until  scheduler.Time // when joules was true: a gauge lags behind
}

// steady finds out when a rate has ceased to rise, window after window.
type steady struct {
	begun   bool
	from    mark // the beginning of the present window
	last    mark // and of the last one
	prior   mark // and of the one before that
	windows int  // that have passed
	rate    float64
	power   float64 // in the last window: bytes per second, and watts
	doubted mark    // where the window before began; zero: the last one is not in doubt
}

// begin starts anew.
func (s *steady) begin() { *s = steady{} }

// watch takes the counters, and says whether a window has just ended in which the
// rate was no longer rising by that factor: rate and power are then those of that
// window.
func (s *steady) watch(now mark, window scheduler.Time, rising float64) bool {
	switch {
	case !s.begun:
		s.begun, s.from = true, now
		return false
	case now.at-s.from.at < window || now.bytes == s.from.bytes || now.until == s.from.until:
		return false
	}
	from, last := s.from, s.rate
	if s.doubted != (mark{}) {
		from = s.doubted
	}
	s.measure(from, now)
	s.prior, s.last, s.from = s.last, s.from, now
	s.windows++
	if s.doubted != (mark{}) {
		return true
	}
	return s.windows > 1 && (s.rate < rising*last || s.windows >= patience)
}

// measure sets rate and power to those between two marks.
func (s *steady) measure(from, to mark) {
	s.rate = float64(to.bytes-from.bytes) / (to.at - from.at).Seconds()
	s.power = (to.joules - from.joules) / (to.until - from.until).Seconds()
}

// both makes rate and power those of the last two windows, where there was one before
// the last and the rate has ceased to rise. A doubt then adds a third.
func (s *steady) both() {
	if s.windows > 1 && s.windows < patience && s.doubted == (mark{}) {
		s.last = s.prior
		s.measure(s.last, s.from)
	}
}

// scatters says whether the last two windows differ so much that the next one should be added
// to them.
func (s *steady) scatters() bool {
	if s.windows < 2 || s.windows >= patience {
		return false
	}
	before := float64(s.last.bytes-s.prior.bytes) / (s.last.at - s.prior.at).Seconds()
	after := float64(s.from.bytes-s.last.bytes) / (s.from.at - s.last.at).Seconds()
	return max(before, after) > scattered*min(before, after)
}

// doubt says whether the last window should not be judged by itself, and the next one
// is to be added to it. A queue that overflows holds back a second's bytes for a round
// trip or two, and lets them come at once after that; a worse rate is believed only
// when it lasts.
func (s *steady) doubt() bool {
	if s.doubted != (mark{}) {
		return false
	}
	s.doubted = s.last
	return true
}

// shortest is the shortest window for a link with such a round trip.
func shortest(rtt scheduler.Time) scheduler.Time { return max(leastWindow, windowTrips*rtt) }
