package report

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestLostSource: time in which a source tells nothing is not covered. One that comes
// back is read again; what stood still and makes up for it has lost nothing; and a
// figure of less than nine tenths of the run says of itself that it is partial.
func TestLostSource(t *testing.T) {
	const forever = time.Hour
	gauge := gaugeKind{refresh: 20 * ms, noise: 0.005}
	counter := gaugeKind{refresh: 20 * ms, counter: true}
	for _, c := range []struct {
		name     string
		kind     gaugeKind
		interval time.Duration
		change   func(*gaugeKind, time.Duration) // from the start of the download
		covered  [2]float64
		limit    float64 // of the joules
		cut      bool
	}{
		{"whole", gauge, sec, func(*gaugeKind, time.Duration) {}, [2]float64{0.99, 1}, 0.02, false},
		{"gone after 4 s", gauge, sec, func(k *gaugeKind, start time.Duration) { k.gone = stretch{start + 4*sec, forever} }, [2]float64{0.1, 0.3}, 0, true},
		{"gone from 4 to 11 s", gauge, sec, func(k *gaugeKind, start time.Duration) { k.gone = stretch{start + 4*sec, start + 11*sec} }, [2]float64{0.5, 0.75}, 0.05, false},
		{"gone from 4 to 11 s, asked every 0.1 s", gauge, 100 * ms, func(k *gaugeKind, start time.Duration) { k.gone = stretch{start + 4*sec, start + 11*sec} }, [2]float64{0.5, 0.67}, 0.05, false},
		{"frozen from 4 to 7 s", gauge, sec, func(k *gaugeKind, start time.Duration) { k.frozen = stretch{start + 4*sec, start + 7*sec} }, [2]float64{0.75, 0.95}, 0.03, false},
		{"frozen from 4 to 7 s, asked every 0.1 s", gauge, 100 * ms, func(k *gaugeKind, start time.Duration) { k.frozen = stretch{start + 4*sec, start + 7*sec} }, [2]float64{0.8, 0.9}, 0.02, false},
		{"frozen before it starts, until 3 s", gauge, 100 * ms, func(k *gaugeKind, start time.Duration) { k.frozen = stretch{start - 500*ms, start + 3*sec} }, [2]float64{0.75, 0.9}, 0.12, false},
		{"a counter that stalls from 4 to 7 s", counter, sec, func(k *gaugeKind, start time.Duration) { k.frozen = stretch{start + 4*sec, start + 7*sec} }, [2]float64{0.99, 1}, 0.01, false},
		{"a counter that is gone from 4 to 11 s", counter, sec, func(k *gaugeKind, start time.Duration) { k.gone = stretch{start + 4*sec, start + 11*sec} }, [2]float64{0.99, 1}, 0.01, false},
		{"a counter that leaves 3 s out", counter, sec, func(k *gaugeKind, start time.Duration) {
			k.ignored = stretch{start + 4*sec, start + 7*sec}
			k.frozen = k.ignored
		}, [2]float64{0.75, 0.9}, 0.03, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := run(3, c.kind, c.interval, 15*sec, 4*sec)
			c.change(&m.gauges[0], m.start)
			r := m.play(t)
			if r.Energy == nil {
				t.Fatalf("%+v, %q", r.Power, r.EnergyUnavailable)
			}
			dynamic, _ := m.truth()
			e := r.Energy
			t.Logf("%.2f J, really %.2f; covered %.3f", e.DynamicJoules, dynamic, e.Covered)
			if e.Covered < c.covered[0] || e.Covered > c.covered[1] {
				t.Errorf("covered %.3f, want %v", e.Covered, c.covered)
			}
			if c.limit > 0 && math.Abs(e.DynamicJoules/dynamic-1) > c.limit {
				t.Errorf("%.2f J, really %.2f", e.DynamicJoules, dynamic)
			}
			if *e.LowJoules > dynamic || *e.HighJoules < dynamic {
				t.Errorf("within %.2f to %.2f J, really %.2f", *e.LowJoules, *e.HighJoules, dynamic)
			}
			if e.Partial != (e.Covered < 0.9) || e.TailCut != c.cut {
				t.Errorf("%+v", e)
			}
			if line := energyLine(r); strings.Contains(line, ", partial: ") != e.Partial {
				t.Errorf("%q", line)
			}
		})
	}
}
