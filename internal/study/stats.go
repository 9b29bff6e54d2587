package study

import (
	"math"

	"github.com/mlget/mlget/internal/stats"
)

// Stats describes a value over several runs. With one run there is no deviation.
type Stats struct {
	N         int   `json:"n"` // runs of which the value is known
	Median    Value `json:"median"`
	Mean      Value `json:"mean"`
	Sigma     Value `json:"sigma"`     // standard deviation of a sample
	Variation Value `json:"variation"` // C_v: sigma over mean
	P05       Value `json:"p05"`
	P25       Value `json:"p25"`
	P75       Value `json:"p75"`
	P90       Value `json:"p90"`
	Min       Value `json:"min"`
	Max       Value `json:"max"`
	// CI95Low and CI95High are the 95 % confidence interval of the median, by the bootstrap;
	// not known with fewer than three runs.
	CI95Low  Value `json:"ci95_low"`
	CI95High Value `json:"ci95_high"`
}

// FewRuns is below how many runs medians, correlations and tests say little.
const FewRuns = 5

// Few says whether the value is of so few runs that it says little.
func (s Stats) Few() bool { return s.N > 0 && s.N < FewRuns }

// describe gives the Stats of the values that are known.
func describe(values []float64) Stats {
	known := make([]float64, 0, len(values))
	for _, v := range values {
		if Value(v).Known() {
			known = append(known, v)
		}
	}
	q := func(share float64) Value { return Value(stats.Quantile(known, share)) }
	low, high := stats.MedianInterval(known)
	return Stats{
		CI95Low: Value(low), CI95High: Value(high),
		N: len(known), Median: q(0.5), Mean: Value(stats.Mean(known)),
		Sigma: Value(stats.Sigma(known)), Variation: Value(stats.Variation(known)),
		P05: q(0.05), P25: q(0.25), P75: q(0.75), P90: q(0.9), Min: q(0), Max: q(1),
	}
}

// integral is the area below points, in Y·s, by straight lines between them; NaN
// with fewer than two.
func integral(points []Point) float64 {
	if len(points) < 2 {
		return math.NaN()
	}
	var sum float64
	for i := 1; i < len(points); i++ {
		sum += (points[i].X - points[i-1].X) * (points[i].Y + points[i-1].Y) / 2
	}
	return sum
}

// within is the values of the points from 0 to end, in s.
func within(points []Point, end float64) (values []float64) {
	for _, p := range points {
		if p.X >= 0 && p.X <= end {
			values = append(values, p.Y)
		}
	}
	return values
}
