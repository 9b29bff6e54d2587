// Package stats describes lists of values: quantiles, means, deviations. All
// functions are pure, leave the values as they are, and take them in any order.
package stats

import (
	"math"
	"slices"
)

// Quantile is the value below which the share q, 0 to 1, of the values lies,
// interpolated linearly between two of them as numpy's default does (type 7 of
// Hyndman and Fan 1996): 0.5 is the median, 0.05 and 0.9 are the thesis's p05 and
// p90 [3.4]. Infinite values are larger, or smaller, than all others. NaN if there
// is no value, or if one is NaN.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted) // NaNs come first
	if math.IsNaN(sorted[0]) {
		return math.NaN()
	}
	place := min(max(q, 0), 1) * float64(len(sorted)-1)
	below := int(place)
	part := place - float64(below)
	if part == 0 {
		return sorted[below]
	}
	a, b := sorted[below], sorted[below+1]
	if a == b {
		return a // also where both are infinite, whose difference is NaN
	}
	return a + float64((b-a)*part) // on every machine the same
}

// Median is the value in the middle; NaN if there is none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Peak is the largest value; NaN if there is none.
func Peak(values []float64) float64 { return Quantile(values, 1) }

// Mean is the arithmetic mean; NaN if there is no value.
func Mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Sigma is the standard deviation of a sample, with n-1 below the line; NaN if
// there are fewer than two values.
func Sigma(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	mean := Mean(values)
	var squares float64
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}

// Variation is the coefficient of variation, Sigma over Mean [thesis, 3.4]; NaN
// if there are fewer than two values or their mean is 0.
func Variation(values []float64) float64 {
	mean := Mean(values)
	if mean == 0 {
		return math.NaN()
	}
	return Sigma(values) / mean
}

// Pearson is the correlation coefficient of pairs of values, -1 to 1 [thesis,
// 3.4]: their covariance over the product of their standard deviations. NaN if
// there are fewer than two pairs, not as many x as y, or if one side never
// changes.
func Pearson(x, y []float64) float64 {
	if len(x) != len(y) || len(x) < 2 {
		return math.NaN()
	}
	mx, my := Mean(x), Mean(y)
	var xx, yy, xy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx += dx * dx
		yy += dy * dy
		xy += dx * dy
	}
	if xx == 0 || yy == 0 {
		return math.NaN()
	}
	return min(max(xy/(math.Sqrt(xx)*math.Sqrt(yy)), -1), 1)
}

// outSigmas is how many standard deviations away a value is out of line: of values that
// are spread normally one in 370 is.
const outSigmas = 3

// OutOfLine says of each value whether it is out of line with the others: further from
// their median than three standard deviations, by the median of such distances (times
// 1.4826, Hampel 1974), and than the share of the median, 0 to 1, that always may be.
// Of fewer than three values none is.
func OutOfLine(values []float64, share float64) []bool {
	out := make([]bool, len(values))
	if len(values) < 3 {
		return out
	}
	middle := Median(values)
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - middle)
	}
	limit := max(share*math.Abs(middle), outSigmas*1.4826*Median(away))
	for i := range away {
		out[i] = away[i] > limit
	}
	return out
}
