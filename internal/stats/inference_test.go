package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWilcoxonTable holds critical values against the published table for 5 %, two-sided
// (Wilcoxon and Wilcox 1964; Conover 1999, table A12): at the value the test is
// significant, one above it is not.
func TestWilcoxonTable(t *testing.T) {
	for n, critical := range map[int]int{
		6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 16: 29, 17: 34, 18: 40, 19: 46, 20: 52, 25: 89, 30: 137,
	} {
		for _, w := range []int{critical, critical + 1} {
			got, sum, p := Wilcoxon(withSum(n, w))
			if got != n || sum != float64(w) || (p <= 0.05) != (w == critical) {
				t.Errorf("n %d, W %d: n %d, W %v, p %v", n, w, got, sum, p)
			}
		}
	}
}

// withSum is differences 1 to n of which those above 0 have ranks of w in sum.
func withSum(n, w int) []float64 {
	d := make([]float64, n)
	for r := n; r >= 1; r-- {
		d[r-1] = -float64(r)
		if r <= w {
			w -= r
			d[r-1] = float64(r)
		}
	}
	return d
}

// TestWilcoxonDocumented: the plants of Darwin's that SciPy's documentation of
// scipy.stats.wilcoxon has, with its figures.
func TestWilcoxonDocumented(t *testing.T) {
	d := []float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75}
	if n, w, p := Wilcoxon(d); n != 15 || w != 24 || math.Abs(p-0.041259765625) > 1e-12 {
		t.Errorf("n %d, W %v, p %v", n, w, p)
	}
}

// TestWilcoxonCounts compares with a count of all signs, ties and zeros included.
func TestWilcoxonCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		d := make([]float64, 1+random.IntN(10))
		for i := range d {
			d[i] = float64(random.IntN(9) - 4)
		}
		n, w, p := Wilcoxon(d)
		var ranks []float64
		for _, x := range d {
			if x == 0 {
				continue
			}
			rank := 0.5
			for _, y := range d {
				switch {
				case y == 0:
				case math.Abs(y) < math.Abs(x):
					rank++
				case math.Abs(y) == math.Abs(x):
					rank += 0.5
				}
			}
			ranks = append(ranks, rank)
		}
		if n != len(ranks) {
			t.Fatalf("%v: n %d", d, n)
		}
		few := 0
		for signs := range 1 << n {
			sum := 0.0
			for i, r := range ranks {
				if signs>>i&1 == 1 {
					sum += r
				}
			}
			if sum <= w {
				few++
			}
		}
		want := min(1, 2*float64(few)/float64(int(1)<<n))
		if n == 0 {
			want = 1
		}
		if math.Abs(p-want) > 1e-12 {
			t.Errorf("%v: p %v, want %v", d, p, want)
		}
	}
}

// TestWilcoxonOfMany: beyond the exact ones p goes on where it was.
func TestWilcoxonOfMany(t *testing.T) {
	_, _, exact := Wilcoxon(withSum(50, 434)) // the table's critical value for 5 %
	if exact > 0.05 {
		t.Errorf("p %v at the critical value of 50 pairs", exact)
	}
	_, _, p := Wilcoxon(withSum(51, 453))
	if _, _, above := Wilcoxon(withSum(51, 500)); p > 0.06 || p < 0.04 || above < p {
		t.Errorf("p %v, and %v for a larger W", p, above)
	}
	if _, _, p := Wilcoxon([]float64{1, math.NaN()}); !math.IsNaN(p) {
		t.Error(p)
	}
}

// TestMedianInterval: of samples of a normal distribution the interval has the true median
// in about 95 of 100 cases; the percentile interval of few values is known to be a little
// short of it.
func TestMedianInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	const cases = 400
	within := 0
	for range cases {
		values := make([]float64, 25)
		for i := range values {
			values[i] = 10 + random.NormFloat64()
		}
		if low, high := MedianInterval(values); low <= 10 && 10 <= high {
			within++
		}
	}
	if share := float64(within) / cases; share < 0.90 || share > 0.99 {
		t.Errorf("the median is in %.1f %% of the intervals", 100*share)
	}
	if low, high := MedianInterval([]float64{3, 3, 3}); low != 3 || high != 3 {
		t.Error(low, high)
	}
	if low, _ := MedianInterval([]float64{1, 2}); !math.IsNaN(low) {
		t.Error(low)
	}
}

// TestHolm: the example of Holm's procedure with p of 0.01, 0.04, 0.03, 0.005, worked by hand.
func TestHolm(t *testing.T) {
	want := []float64{0.03, 0.06, 0.06, 0.02}
	for i, p := range Holm([]float64{0.01, 0.04, 0.03, 0.005}) {
		if math.Abs(p-want[i]) > 1e-12 {
			t.Errorf("%d: %v, want %v", i, p, want[i])
		}
	}
}
