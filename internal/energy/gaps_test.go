package energy

import "testing"

// TestLateRepeatIsCovered: a gauge that shows the same number is told every five
// intervals, and later on a busy machine. That is no gap, as a late reading of a gauge
// that moves is none; nothing read for longer is one.
func TestLateRepeatIsCovered(t *testing.T) {
	for _, tt := range []struct {
		interval, late int64
		covered        float64
	}{
		{10 * ms, 0, 1},
		{10 * ms, 21 * ms, 1}, // as seen of a download of 31 ms beside busy processes
		{10 * ms, 300 * ms, 1},
		{100 * ms, 300 * ms, 1},
		{sec, 300 * ms, 1},
		{10 * ms, sec, 0},
		{sec, 2 * sec, 0},
	} {
		repeat := 5 * tt.interval
		gap := repeat + tt.late
		samples := []Sample{
			{At: 0, Watts: 1.5},
			{At: repeat, Watts: 1.5},
			{At: repeat + gap, Watts: 1.5},
			{At: 2*repeat + gap, Watts: 1.5},
		}
		run := Run{Start: repeat + tt.interval, End: repeat + gap, Bytes: 1e6}
		s, ok := Summarise(Series{Samples: samples, Interval: tt.interval}, run)
		if !ok || s.Covered != tt.covered {
			t.Errorf("every %d ms, %d ms late: covers %g, want %g", tt.interval/ms, tt.late/ms, s.Covered, tt.covered)
		}
	}
}
