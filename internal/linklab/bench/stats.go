package bench

import (
	"math"
	"slices"
)

// Percentile is the p-th percentile (0..100) of the values, interpolated
// linearly between the closest ranks (type 7 of Hyndman and Fan 1996); NaN of
// none. An infinite value is larger than every other one, so that a run that
// did not end can take part in a median.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := float64(len(sorted)-1) * min(max(p, 0), 100) / 100
	below := int(rank)
	part := rank - float64(below)
	if part == 0 {
		return sorted[below]
	}
	a, b := sorted[below], sorted[below+1]
	if a == b {
		return a // also where both are infinite, whose difference is NaN
	}
	return a + part*(b-a)
}

// Median is the middle value, or the mean of the two in the middle.
func Median(values []float64) float64 { return Percentile(values, 50) }

// StdDev is the sample standard deviation, with n-1; NaN of fewer than two
// values.
func StdDev(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return math.NaN()
	}
	mean, sum := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / (n - 1))
}

// groupSize is how many executions give one median in MedianOfMedians.
const groupSize = 5

// MedianOfMedians splits the values, in the order in which they were measured,
// into groups of five and takes the median of the groups' medians: a burst of
// disturbance spoils one group, not the figure. A last group that is not full
// is left out; NaN of fewer than two groups.
func MedianOfMedians(values []float64) float64 {
	var medians []float64
	for g := range slices.Chunk(values, groupSize) {
		if len(g) == groupSize {
			medians = append(medians, Median(g))
		}
	}
	if len(medians) < 2 {
		return math.NaN()
	}
	return Median(medians)
}

// Largest is the largest value; NaN of none.
func Largest(values []float64) float64 { return Percentile(values, 100) }
