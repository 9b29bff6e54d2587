package engine

import "testing"

func TestGatherBytes(t *testing.T) {
	for _, c := range []struct {
		rate float64 // bytes per second
		want int64
	}{
		{0, 0},
		{8e6 / 8, 10_000},
		{82e6 / 8, 102_500},
		{1e9, gatherMost},
		{1e30, gatherMost},
	} {
		if got := gatherBytes(c.rate); got != c.want {
			t.Errorf("at %g bytes/s %d bytes, want %d", c.rate, got, c.want)
		}
	}
}
