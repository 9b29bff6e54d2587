package report

import (
	"math"
	"testing"
	"time"
)

// TestEnergyBoundsContainTheTruth: whatever the power does, the truth is between the bounds of
// the figure, where there is one.
func TestEnergyBoundsContainTheTruth(t *testing.T) {
	usual := func(s, e time.Duration) curve { return download(0.8, 1.8, 0.9, s, e, e+4*sec) }
	for _, c := range []struct {
		name       string
		kind       gaugeKind
		long       time.Duration
		curve      func(start, end time.Duration) curve
		limit      float64 // of the joules
		tail       float64 // of the tail's
		isSpread   bool    // the bounds may be wide
		mayRefused bool
	}{
		{"a radio that wakes up", gaugeKind{refresh: 20 * ms, noise: 0.003}, 6 * sec, func(s, e time.Duration) curve {
			return curve{[]time.Duration{s, s + 300*ms, e, e + 4*sec}, []float64{0.8, 1.4, 2.6, 1.7}}
		}, 0.02, 0.1, false, false},
		{"steps of its own", gaugeKind{refresh: 100 * ms}, 10 * sec, func(s, e time.Duration) curve {
			return curve{[]time.Duration{s, s + 2300*ms, s + 5*sec, s + 7700*ms, e, e + 4*sec}, []float64{0.8, 2.6, 3.6, 1.9, 3, 1.7}}
		}, 0.1, 0.1, true, false},
		{"power that goes on for a while", gaugeKind{refresh: 20 * ms}, 6 * sec, func(s, e time.Duration) curve {
			return curve{[]time.Duration{s, e + 500*ms, e + 4*sec}, []float64{0.8, 2.6, 1.7}}
		}, 0.02, 0.1, false, false},
		{"no tail", gaugeKind{refresh: sec, noise: 0.003}, 6 * sec, func(s, e time.Duration) curve { return download(0.8, 1.8, 0, s, e, e) }, 0.02, 0, true, false},
		{"a short run", gaugeKind{refresh: 20 * ms, noise: 0.003}, 1500 * ms, usual, 0.02, 0.1, false, false},
		{"a shorter run", gaugeKind{refresh: 20 * ms, noise: 0.003}, 400 * ms, usual, 0.02, 0.1, true, false},
		{"a run of one look", gaugeKind{refresh: sec, noise: 0.003}, 1500 * ms, usual, 0.02, 0.1, true, false},
		{"a gauge that is a little slow", gaugeKind{refresh: 1300 * ms, noise: 0.003}, 6 * sec, usual, 0.02, 0.2, true, false},
		{"a slow gauge without noise", gaugeKind{refresh: 3 * sec}, 6 * sec, usual, 0.02, 0, true, true},
		{"a gauge of 1 s without noise", gaugeKind{refresh: sec}, 6 * sec, usual, 0.02, 0.1, true, false},
		{"noise", gaugeKind{refresh: 20 * ms, noise: 0.02}, 15 * sec, usual, 0.02, 0.1, false, false},
	} {
		for seed := range uint64(4) {
			m := run(seed, c.kind, sec, c.long, 4*sec)
			m.curve = c.curve(m.start, m.end)
			r := m.play(t)
			if r.Energy == nil {
				if !c.mayRefused {
					t.Errorf("%s: %q", c.name, r.EnergyUnavailable)
				}
				continue
			}
			dynamic, tail := m.truth()
			e := r.Energy
			low, high := *e.LowJoules, *e.HighJoules
			if low > dynamic || high < dynamic || !c.isSpread && high-low > 0.15*dynamic {
				t.Errorf("%s: within %.2f to %.2f J, really %.2f", c.name, low, high, dynamic)
			}
			if math.Abs(e.DynamicJoules/dynamic-1) > c.limit || c.tail > 0 && math.Abs(e.TailJoules/tail-1) > c.tail {
				t.Errorf("%s: %.2f J and %.2f J of tail, really %.2f and %.2f", c.name, e.DynamicJoules, e.TailJoules, dynamic, tail)
			}
		}
	}
}
