package tuning

import "github.com/mlget/mlget/pkg/scheduler"

const (
	// growing is the factor by which a rate must rise from one window to the next
	// to count as still rising: slow start, or a link that builds up its rate.
	growing = 1.1
	// patience is how many windows a rate may rise for.
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
}

// steady finds out when a rate has ceased to rise, window after window.
type steady struct {
	begun   bool
	from    mark // the beginning of the present window
	last    mark // and of the last one
	windows int  // that have passed
	rate    float64
	power   float64 // in the last window: bytes per second, and watts
	doubted mark    // where the window before began; zero: the last one is not in doubt
}

// begin starts anew.
func (s *steady) begin() { *s = steady{} }

// watch takes the counters, and says whether a window has just ended in which the
// rate was no longer rising: rate and power are then those of that window.
func (s *steady) watch(now mark, window scheduler.Time) bool {
	switch {
	case !s.begun:
		s.begun, s.from = true, now
		return false
	case now.at-s.from.at < window || now.bytes == s.from.bytes:
		return false
	}
	from, last := s.from, s.rate
	if s.doubted != (mark{}) {
		from = s.doubted
	}
	seconds := (now.at - from.at).Seconds()
	s.rate = float64(now.bytes-from.bytes) / seconds
	s.power = (now.joules - from.joules) / seconds
	s.last, s.from = s.from, now
	s.windows++
	if s.doubted != (mark{}) {
		return true
	}
	return s.windows > 1 && (s.rate < growing*last || s.windows >= patience)
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
