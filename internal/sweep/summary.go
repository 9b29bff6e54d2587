package sweep

import (
	"math"
	"slices"
)

// Summary is what the trials of one setting have come to: medians over those
// that did not fail. NaN is a figure that nobody has.
type Summary struct {
	Setting
	Runs, Failed   int
	Mbps           float64
	MbpsDeviation  float64 // sample standard deviation
	JoulesPer100MB float64 // dynamic energy
	TailJoules     float64
	MbpsPerJoule   float64
	MedianWatts    float64
	PeakWatts      float64
	CPU            float64 // s
	Connections    float64
}

// Summarise sums up the results of every setting of the grid.
func Summarise(g Grid, results []Result) []Summary {
	var out []Summary
	for _, s := range g.Settings() {
		sum := Summary{Setting: s}
		var ok []Result
		for _, r := range results {
			switch {
			case r.Setting != s:
			case r.OK():
				ok = append(ok, r)
				sum.Runs++
			default:
				sum.Failed++
			}
		}
		of := func(f func(Result) float64) float64 { return median(ok, f) }
		optional := func(f func(Result) *float64) float64 {
			return median(ok, func(r Result) float64 {
				if p := f(r); p != nil {
					return *p
				}
				return math.NaN()
			})
		}
		sum.Mbps = of(Result.mbps)
		sum.MbpsDeviation = deviation(ok, Result.mbps)
		sum.JoulesPer100MB = of(Result.joulesPer100MB)
		sum.MbpsPerJoule = of(func(r Result) float64 { return r.mbps() / (r.joulesPer100MB() * float64(r.Bytes) / 1e8) })
		sum.TailJoules = optional(func(r Result) *float64 { return r.TailJoules })
		sum.MedianWatts = optional(func(r Result) *float64 { return r.MedianWatts })
		sum.PeakWatts = optional(func(r Result) *float64 { return r.PeakWatts })
		sum.CPU = of(func(r Result) float64 { return r.CPU })
		sum.Connections = of(func(r Result) float64 { return float64(r.Connections) })
		out = append(out, sum)
	}
	return out
}

// median is that of the known values; NaN without any.
func median(results []Result, f func(Result) float64) float64 {
	var v []float64
	for _, r := range results {
		if x := f(r); !math.IsNaN(x) {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// deviation is the sample standard deviation; NaN of fewer than two.
func deviation(results []Result, f func(Result) float64) float64 {
	n := float64(len(results))
	if n < 2 {
		return math.NaN()
	}
	mean, squares := 0.0, 0.0
	for _, r := range results {
		mean += f(r) / n
	}
	for _, r := range results {
		squares += (f(r) - mean) * (f(r) - mean)
	}
	return math.Sqrt(squares / (n - 1))
}
