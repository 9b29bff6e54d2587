package stats

import (
	"math"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want && !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestStatistics(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	near(t, "median", Median(values), 2.5)
	near(t, "p05", Quantile(values, 0.05), 1.15)
	near(t, "p90", Quantile(values, 0.9), 3.7)
	near(t, "below 0", Quantile(values, -1), 1)
	near(t, "peak", Peak(values), 4)
	near(t, "mean", Mean(values), 2.5)
	near(t, "sigma", Sigma(values), math.Sqrt(5.0/3))
	near(t, "variation", Variation(values), math.Sqrt(5.0/3)/2.5)
	near(t, "pearson", Pearson(values, []float64{-8, -2, -6, -4}), -1)
	if !slices.Equal(values, []float64{4, 1, 3, 2}) {
		t.Error("the values were sorted in place")
	}
}

func TestInfiniteValues(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{1, inf, 2}, 2},
		{[]float64{1, inf}, inf},
		{[]float64{inf, inf}, inf},
		{[]float64{1, inf, inf}, inf},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestStatisticsOfTooLittle(t *testing.T) {
	nan := math.NaN()
	for name, got := range map[string]float64{
		"median of nothing":             Median(nil),
		"peak of nothing":               Peak(nil),
		"median with NaN":               Median([]float64{1, nan, 2}),
		"mean of nothing":               Mean(nil),
		"sigma of one":                  Sigma([]float64{1}),
		"variation of one":              Variation([]float64{1}),
		"variation around 0":            Variation([]float64{-1, 1}),
		"pearson of one":                Pearson([]float64{1}, []float64{1}),
		"pearson of unequal":            Pearson([]float64{1, 2}, []float64{1}),
		"pearson of what never changes": Pearson([]float64{1, 2}, []float64{3, 3}),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s: got %g, want NaN", name, got)
		}
	}
}

// TestOutOfLine: by hand.
func TestOutOfLine(t *testing.T) {
	for _, c := range []struct {
		values []float64
		share  float64
		want   []bool
	}{
		{nil, 0.05, []bool{}},
		{[]float64{1, 9}, 0.05, []bool{false, false}},
		{[]float64{0.8, 0.8, 1.5}, 0.05, []bool{false, false, true}},
		{[]float64{0.8, 0.83, 0.8}, 0.05, []bool{false, false, false}},
		{[]float64{1, 2, 3, 4, 5}, 0.05, []bool{false, false, false, false, false}},
		{[]float64{10, 11, 9, 10.5, 9.5, 14}, 0.05, []bool{false, false, false, false, false, true}}, // median 10.25, of the distances 0.75: 3.34
		{[]float64{1, math.NaN(), 1}, 0.05, []bool{false, false, false}},
	} {
		if got := OutOfLine(c.values, c.share); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}
