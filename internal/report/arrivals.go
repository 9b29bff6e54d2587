package report

import (
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// peakWindow is over how long a link's peak is measured at least: two samples and more,
	// so that a sample that came late tells no other rate.
	peakWindow = 500 * scheduler.Millisecond
	// markEvery is how far apart marks are at least, so that a window's fit.
	markEvery = 80 * scheduler.Millisecond
	markCount = 16
)

// arrivals is the kernel's count on a link over time, in segments with data. A program gets the
// bytes behind a lost packet all at once, when that packet has come again: by its own count
// they are a burst that the link never carried. Segments are counted when they arrive.
type arrivals struct {
	marks [markCount]arrival // ring, newest at n-1
	n     int
	peak  float64 // segments per second
}

type arrival struct {
	at       scheduler.Time
	segments int64
}

// add takes what was counted by a sample.
func (a *arrivals) add(at scheduler.Time, tcp event.TCPSegments) {
	now := arrival{at, tcp.DataIn}
	if a.n > 0 {
		last := a.mark(a.n - 1)
		if at-last.at < markEvery || tcp.DataIn < last.segments {
			return
		}
	}
	for i := a.n - 1; i >= max(0, a.n-markCount); i-- {
		m := a.mark(i)
		if age := at - m.at; age >= peakWindow {
			a.peak = max(a.peak, float64(now.segments-m.segments)/age.Seconds())
			break
		}
	}
	*a.mark(a.n) = now
	a.n++
}

func (a *arrivals) mark(i int) *arrival { return &a.marks[i%markCount] }

// bytesPerSecond is the peak of a link that has carried so many bytes in so many segments; 0
// where the system does not count them, or there was no time for a peak.
func (a *arrivals) bytesPerSecond(bytes, segments int64) float64 {
	if segments <= 0 {
		return 0
	}
	return a.peak * float64(bytes) / float64(segments)
}
