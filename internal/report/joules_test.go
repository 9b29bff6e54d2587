package report

import (
	"math"
	"strings"
	"testing"
	"time"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// sixSeconds is a download of 6 s that takes 1.8 W more than a base of 0.8 W, and a
// tail of 4 s. It begins at some moment after 5 s.
func sixSeconds(seed uint64, k gaugeKind, interval time.Duration) measured {
	return run(seed, k, interval, 6*sec, 4*sec)
}

func run(seed uint64, k gaugeKind, interval, long, tail time.Duration) measured {
	start := 5*sec + time.Duration(seed*137%1000)*ms
	end := start + long
	return measured{
		curve: download(0.8, 1.8, 0.9, start, end, end+tail), gauges: []gaugeKind{k},
		start: start, end: end, watched: end + tail + 4*sec, interval: interval, seed: seed,
	}
}

// TestJoulesOfGauges holds the energy of a download, and of its tail, against the
// integral of the device's power. The power of a real download is not as even; what
// is judged is what the gauge and the moments of its readings do to it.
func TestJoulesOfGauges(t *testing.T) {
	for _, interval := range []time.Duration{sec, 100 * ms} {
		limit := 0.02
		if interval == 100*ms {
			limit = 0.01
		}
		for _, k := range []gaugeKind{
			{refresh: 20 * ms},
			{refresh: 20 * ms, noise: 0.005, step: 0.004},
			{refresh: 100 * ms, noise: 0.005},
			{refresh: 100 * ms, mean: true},
			{refresh: 1000 * ms, noise: 0.003},
			{refresh: 1000 * ms, mean: true, noise: 0.003},
			{refresh: 1000 * ms, mean: true, step: 0.001},
			{refresh: 20 * ms, counter: true},
			{refresh: 1000 * ms, counter: true},
		} {
			if k.refresh > interval && !k.counter {
				continue // it is slower than asked
			}
			var sum, worst, worstTail float64
			const rounds = 3
			for seed := range uint64(rounds) {
				m := sixSeconds(seed, k, interval)
				r := m.play(t)
				if r.Energy == nil || r.Energy.Modelled {
					t.Fatalf("%v every %v: %+v, %q", k, interval, r.Power, r.EnergyUnavailable)
				}
				dynamic, tail := m.truth()
				off, offTail := r.Energy.DynamicJoules/dynamic-1, r.Energy.TailJoules/tail-1
				sum += off
				worst, worstTail = max(worst, math.Abs(off)), max(worstTail, math.Abs(offTail))
			}
			t.Logf("%v every %v: at most %.1f %% off, on average %+.1f; tail %.1f", k, interval, 100*worst, 100*sum/rounds, 100*worstTail)
			if worst > limit || worstTail > 0.1 {
				t.Errorf("%v every %v: %.1f %% off, on average %+.1f; tail %.1f", k, interval, 100*worst, 100*sum/rounds, 100*worstTail)
			}
		}
	}
}

// TestSlowGauge: a gauge that looks more seldom than it is asked is recognised by its
// steps, whatever else changes quickly beside it. Its figure has bounds that hold the
// truth, and where a run is shorter than ten of its steps there is no figure.
func TestSlowGauge(t *testing.T) {
	for _, c := range []struct {
		name     string
		gauges   []gaugeKind
		interval time.Duration
		long     time.Duration
		refused  bool
	}{
		{"1 s, asked every 0.1 s, 6 s", []gaugeKind{{refresh: sec, noise: 0.003}}, 100 * ms, 6 * sec, true},
		{"1 s, asked every 0.1 s, 15 s", []gaugeKind{{refresh: sec, noise: 0.003}}, 100 * ms, 15 * sec, false},
		{"means of 1 s, asked every 0.1 s, 15 s", []gaugeKind{{refresh: sec, mean: true, noise: 0.003}}, 100 * ms, 15 * sec, false},
		{"3 s, asked every second, 6 s", []gaugeKind{{refresh: 3 * sec, noise: 0.003}}, sec, 6 * sec, true},
		{"3 s, asked every second, 40 s", []gaugeKind{{refresh: 3 * sec, noise: 0.003}}, sec, 40 * sec, false},
		{"a quick one and one of 3 s, 6 s", []gaugeKind{{refresh: 100 * ms, noise: 0.003}, {refresh: 3 * sec, noise: 0.003}}, sec, 6 * sec, true},
		{"a quick one and one of 3 s, 40 s", []gaugeKind{{refresh: 100 * ms, noise: 0.003}, {refresh: 3 * sec, noise: 0.003}}, sec, 40 * sec, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(4) {
				m := run(seed, c.gauges[0], c.interval, c.long, 12*sec)
				m.gauges = c.gauges
				m.start += 10 * sec
				m.end += 10 * sec
				m.watched += 10 * sec
				for i := range m.curve.ends {
					m.curve.ends[i] += 10 * sec
				}
				r := m.play(t)
				if c.refused {
					if r.Energy != nil || r.Power == nil || !strings.Contains(r.EnergyUnavailable, "the gauge looks every ") {
						t.Errorf("seed %d: %+v, %+v, %q", seed, r.Power, r.Energy, r.EnergyUnavailable)
					}
					continue
				}
				if r.Energy == nil {
					t.Fatalf("seed %d: %+v, %q", seed, r.Power, r.EnergyUnavailable)
				}
				dynamic, _ := m.truth()
				low, high := *r.Energy.LowJoules, *r.Energy.HighJoules
				t.Logf("seed %d: %.2f J, within %.2f to %.2f; really %.2f", seed, r.Energy.DynamicJoules, low, high, dynamic)
				if dynamic < low || dynamic > high || high-low > 0.5*dynamic {
					t.Errorf("seed %d: %.2f J, within %.2f to %.2f; really %.2f", seed, r.Energy.DynamicJoules, low, high, dynamic)
				}
				if line := energyLine(r); !strings.Contains(line, "; the gauge looks every ") {
					t.Errorf("%q", line)
				}
			}
		})
	}
}
