package bench

import (
	"math"
	"testing"
)

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9
}

func TestPercentile(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		values []float64
		p      float64
		want   float64
	}{
		{nil, 50, nan},
		{[]float64{7}, 0, 7},
		{[]float64{7}, 100, 7},
		{[]float64{3, 1, 2}, 50, 2},
		{[]float64{4, 1, 3, 2}, 50, 2.5},
		{[]float64{4, 1, 3, 2}, 90, 3.7},
		{[]float64{4, 1, 3, 2}, -5, 1},
		{[]float64{4, 1, 3, 2}, 105, 4},
		{[]float64{1, inf, 2}, 50, 2},
		{[]float64{1, inf}, 50, inf},
		{[]float64{inf, inf}, 50, inf},
		{[]float64{1, inf, inf}, 50, inf},
	} {
		if got := Percentile(c.values, c.p); !near(got, c.want) {
			t.Errorf("Percentile(%v, %v) = %v, want %v", c.values, c.p, got, c.want)
		}
	}
}

func TestStatisticsLeaveTheirInputAlone(t *testing.T) {
	values := []float64{3, 1, 2, 5, 4, 3, 1, 2, 5, 4}
	Median(values)
	MedianOfMedians(values)
	if values[0] != 3 || values[1] != 1 || values[9] != 4 {
		t.Errorf("%v", values)
	}
}

func TestStdDev(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, math.NaN()},
		{[]float64{1}, math.NaN()},
		{[]float64{5, 5, 5}, 0},
		{[]float64{2, 4, 4, 4, 5, 5, 7, 9}, math.Sqrt(32.0 / 7)},
	} {
		if got := StdDev(c.values); !near(got, c.want) {
			t.Errorf("StdDev(%v) = %v, want %v", c.values, got, c.want)
		}
	}
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
