package bench

import (
	"math"
	"testing"
)

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9
}

func TestMedianOfMedians(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, math.NaN()},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, math.NaN()},          // one full group
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5.5},             // 3 and 8
		{[]float64{1, 1, 1, 9, 9, 2, 2, 2, 9, 9, 100, 100}, 1.5},    // the rest is left out
		{[]float64{1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 2, 2, 2, 2, 2}, 2}, // a burst
	} {
		if got := MedianOfMedians(c.values); !near(got, c.want) {
			t.Errorf("MedianOfMedians(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}
