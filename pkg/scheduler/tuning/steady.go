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
	windows int  // that have passed
	rate    float64
	power   float64 // in the last window: bytes per second, and watts
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
	seconds := (now.at - s.from.at).Seconds()
	last := s.rate
	s.rate = float64(now.bytes-s.from.bytes) / seconds
	s.power = (now.joules - s.from.joules) / seconds
	s.from = now
	s.windows++
	return s.windows > 1 && (s.rate < growing*last || s.windows >= patience)
}

// shortest is the shortest window for a link with such a round trip.
func shortest(rtt scheduler.Time) scheduler.Time { return max(leastWindow, windowTrips*rtt) }
