package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how many samples Bootstrap draws: enough for the second digit of the ends of
// an interval (Efron and Tibshirani 1993, 14.3).
const resamples = 1000

// MedianInterval is the 95 % confidence interval of the median: the bootstrap's percentile
// interval (Efron 1979), of resamples that a fixed seed draws. NaN with fewer than three
// values, or if one is NaN.
func MedianInterval(values []float64) (low, high float64) {
	n := len(values)
	if n < 3 || slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN(), math.NaN()
	}
	random := rand.New(rand.NewPCG(uint64(n), 1979))
	medians, sample := make([]float64, resamples), make([]float64, n)
	for i := range medians {
		for k := range sample {
			sample[k] = values[random.IntN(n)]
		}
		medians[i] = Median(sample)
	}
	return Quantile(medians, 0.025), Quantile(medians, 0.975)
}

// exactPairs is up to how many differences Wilcoxon computes its probability exactly.
const exactPairs = 50

// Wilcoxon is the signed-rank test of pairs' differences (Wilcoxon 1945), two-sided: w is
// the smaller of the sums of ranks of those above and below 0, and p how probable it is
// that w is no larger where neither side is favoured. Differences of 0 are left out, equal
// ones have the mean of their ranks; n is how many there are then. p is exact, ties
// included, for up to 50 of them, else by the normal distribution, with corrections for
// ties and continuity. Without a difference p is 1.
func Wilcoxon(differences []float64) (n int, w, p float64) {
	var d []float64
	for _, x := range differences {
		switch {
		case math.IsNaN(x):
			return 0, math.NaN(), math.NaN()
		case x != 0:
			d = append(d, x)
		}
	}
	if n = len(d); n == 0 {
		return 0, 0, 1
	}
	slices.SortFunc(d, func(a, b float64) int {
		switch a, b := math.Abs(a), math.Abs(b); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	// Twice the ranks are whole numbers, also where several share theirs.
	doubled, above, ties := make([]int, n), 0, 0.0
	for i := 0; i < n; {
		j := i
		for j < n && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		for k := i; k < j; k++ {
			doubled[k] = i + j + 1
			if d[k] > 0 {
				above += doubled[k]
			}
		}
		same := float64(j - i)
		ties += same*same*same - same
		i = j
	}
	least := min(above, n*(n+1)-above)
	w = float64(least) / 2
	if n <= exactPairs {
		return n, w, signedRanks(doubled, least)
	}
	size := float64(n)
	mean := size * (size + 1) / 4
	sigma := math.Sqrt(size*(size+1)*(2*size+1)/24 - ties/48)
	return n, w, min(1, math.Erfc((mean-w-0.5)/sigma/math.Sqrt2))
}

// signedRanks is twice the share of all choices of signs of which those above 0 have ranks
// of no more than least in sum; the ranks are doubled.
func signedRanks(doubled []int, least int) (p float64) {
	// ways[s] is the share of the choices so far with the sum s.
	ways := make([]float64, least+1)
	ways[0] = 1
	for _, r := range doubled {
		for s := least; s >= 0; s-- {
			ways[s] /= 2
			if s >= r {
				ways[s] += ways[s-r] / 2
			}
		}
	}
	for _, share := range ways {
		p += share
	}
	return min(1, 2*p)
}

// Holm adjusts probabilities of several tests so that the chance of one error among them
// all is bounded (Holm 1979), in their order.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	adjusted, least := make([]float64, len(p)), 0.0
	for k, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-k)))
		adjusted[i] = least
	}
	return adjusted
}
