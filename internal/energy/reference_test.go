package energy

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/mlget/mlget/internal/stats"
)

// reference is testdata/reference.json, which testdata/gen.py writes.
type reference struct {
	Integrals []struct {
		Name      string
		NS        []int64
		Watts     []float64
		Simpson   float64
		Trapezoid float64
	}
	Statistics []struct {
		X, Y                            []float64
		Quantiles                       map[string]float64
		Mean, Sigma, Variation, Pearson float64
	}
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// nearlyEven says whether no reading is more than twice as far from one neighbour as
// from the other.
func nearlyEven(ns []int64) bool {
	for i := 2; i < len(ns); i++ {
		a, b := ns[i-1]-ns[i-2], ns[i]-ns[i-1]
		if a > 2*b || b > 2*a {
			return false
		}
	}
	return true
}

// TestAgainstScipy holds Integrate against scipy's simpson, where readings are nearly
// even.
func TestAgainstScipy(t *testing.T) {
	var ref reference
	load(t, "testdata/reference.json", &ref)
	even := 0
	for _, c := range ref.Integrals {
		samples := make([]Sample, len(c.NS))
		for i := range samples {
			samples[i] = Sample{At: c.NS[i], Watts: c.Watts[i]}
		}
		got, covered := Integrate(samples, c.NS[0], c.NS[len(c.NS)-1])
		if covered != 1 {
			t.Errorf("%s: covers %g", c.Name, covered)
		}
		if nearlyEven(c.NS) {
			even++
			same(t, c.Name, got, c.Simpson)
		}
	}
	if even < 10 {
		t.Errorf("only %d cases are nearly even", even)
	}
}

// TestAgainstNumpy holds the statistics against numpy and scipy.stats.
func TestAgainstNumpy(t *testing.T) {
	var ref reference
	load(t, "testdata/reference.json", &ref)
	for _, c := range ref.Statistics {
		for q, want := range c.Quantiles {
			share, err := strconv.ParseFloat(q, 64)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "quantile "+q, stats.Quantile(c.X, share), want)
		}
		same(t, "mean", stats.Mean(c.X), c.Mean)
		same(t, "sigma", stats.Sigma(c.X), c.Sigma)
		same(t, "variation", stats.Variation(c.X), c.Variation)
		same(t, "pearson", stats.Pearson(c.X, c.Y), c.Pearson)
	}
}

// same allows for the order in which sums are taken.
func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: got %.15g, want %.15g", what, got, want)
	}
}

// TestThesisCorrelations computes two coefficients that the thesis prints. (Its
// third, -0.82 for the p90 of table 7.6, does not follow from the numbers in
// that table.)
func TestThesisCorrelations(t *testing.T) {
	tests := []struct {
		name string
		x, y []float64
		want float64
	}{
		{"table 7.6, peak", []float64{14.94, 16.55, 27.29, 22.18, 29.18}, []float64{6.08, 5.36, 4.25, 4.79, 4.11}, -0.97},
		{
			"table 7.7",
			[]float64{278.18, 135.05, 131.59, 52.97, 37.24, 33.79, 33.32, 28.16, 26.25, 26.06, 24.86},
			[]float64{3.01, 2.89, 3.02, 3.12, 3.26, 3.15, 3.39, 3.24, 3.32, 3.64, 3.74},
			-0.62,
		},
	}
	for _, tt := range tests {
		if got := stats.Pearson(tt.x, tt.y); math.Abs(got-tt.want) > 0.006 {
			t.Errorf("%s: got %.3f, want %.2f", tt.name, got, tt.want)
		}
	}
}
