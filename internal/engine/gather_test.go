package engine

import "testing"

func TestGatherBytes(t *testing.T) {
	for _, c := range []struct {
		rate        float64 // bytes per second
		connections int
		step        uplinkStep
		want        int64
	}{
		{0, 1, gathering, 0},
		{8e6 / 8, 1, gathering, 10_000},
		{82e6 / 8, 1, gathering, 102_500},
		{82e6 / 8, 0, gathering, 102_500}, // none is read yet: the first will be alone
		{82e6 / 8, 10, gathering, 10_250},
		{1e9, 1, known, gatherMost},
		{1e30, 1, known, gatherMost},
		{1e9, 1, trying, gatherMost},
		{1e9, 10, peeking, 1},
		{1e9, 1, comparing, gatherMost},
		{1e9, 1, bounded, 1},
	} {
		if got := gatherBytes(c.rate, c.connections, &uplink{step: c.step}); got != c.want {
			t.Errorf("at %g bytes/s over %d connections %d bytes, want %d", c.rate, c.connections, got, c.want)
		}
	}
}
