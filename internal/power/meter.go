package power

import (
	"slices"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// baseGrace is how long after the first request a gauge still tells what was before
	// it: a connection takes as long to be made [D].
	baseGrace = scheduler.Time(100 * time.Millisecond)
	// baseMost is how many readings from before the first request the base power is the
	// median of at most: the latest.
	baseMost = 256
)

// Spent is a device's measured energy since readings began.
type Spent struct {
	Joules float64        // above its base power
	Until  scheduler.Time // when the last reading was taken
	Every  scheduler.Time // between two readings
	Source string
}

// Meter adds up the readings of a run while it lasts, for policies that decide by measured
// energy. Base power is the median of the readings before the first request; without one it is
// unknown.
//
// Contract: one goroutine Watches, or Adds; Spent may be called from any.
type Meter struct {
	mu     sync.Mutex
	every  scheduler.Time
	source string
	begun  scheduler.Time // of the first request
	asked  bool           // there was one
	before []float64      // watts that were read before that
	last   event.Power    // the last reading
	first  scheduler.Time // when the first of the added readings was taken
	any    bool           // there is one
	joules float64        // between first and last
}

// Watch follows a run until its end.
func (m *Meter) Watch(sub *event.Subscription) {
	for batch, ok := sub.Next(nil); ok; batch, ok = sub.Next(batch) {
		for _, e := range batch {
			m.Add(e)
		}
	}
}

// Add takes in the next event.
func (m *Meter) Add(e event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e := e.(type) {
	case event.PowerSource:
		m.every = scheduler.Time(e.Interval)
		m.any = m.any && e.Unavailable == ""
	case event.RequestStarted:
		if !m.asked {
			m.asked, m.begun = true, e.At
		}
	case event.Power:
		if e.Source != Model { // policies have the models themselves
			m.read(e)
		}
	}
}

// read takes in a reading.
func (m *Meter) read(e event.Power) {
	switch {
	case e.External: // what is read is not what the device draws
		m.any = false
		return
	case e.HasWatts() && (!m.asked || e.At <= m.begun+m.grace(e)):
		if len(m.before) == baseMost {
			m.before = slices.Delete(m.before, 0, 1)
		}
		m.before = append(m.before, e.Watts)
	}
	switch {
	case !m.any || e.Source != m.last.Source || e.At <= m.last.At:
		m.any, m.first, m.joules = true, e.At, 0
	case e.Counter:
		m.joules += e.Joules - m.last.Joules
	default:
		m.joules += (e.Watts + m.last.Watts) / 2 * (e.At - m.last.At).Seconds()
	}
	m.last, m.source = e, e.Source
}

// grace is how long after the first request a reading still covers the time before.
func (m *Meter) grace(e event.Power) scheduler.Time {
	if e.Counter || len(m.before) > 0 {
		return 0
	}
	return baseGrace
}

// Spent is the energy up to the last reading; false: unknown.
func (m *Meter) Spent() (Spent, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.any || !m.asked || len(m.before) == 0 {
		return Spent{}, false
	}
	joules := m.joules - m.base()*(m.last.At-m.first).Seconds()
	return Spent{Joules: max(0, joules), Until: m.last.At, Every: m.every, Source: m.source}, true
}

// base is the base power in watts.
func (m *Meter) base() float64 {
	sorted := slices.Sorted(slices.Values(m.before))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
