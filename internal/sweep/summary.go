package sweep

import (
	"math"

	"github.com/mlget/mlget/internal/stats"
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
		// values are a figure of the trials of which it is known.
		values := func(f func(Result) float64) (v []float64) {
			for _, r := range ok {
				if x := f(r); !math.IsNaN(x) {
					v = append(v, x)
				}
			}
			return v
		}
		of := func(f func(Result) float64) float64 { return stats.Median(values(f)) }
		optional := func(f func(Result) *float64) float64 {
			return of(func(r Result) float64 {
				if p := f(r); p != nil {
					return *p
				}
				return math.NaN()
			})
		}
		sum.Mbps = of(Result.mbps)
		sum.MbpsDeviation = stats.Sigma(values(Result.mbps))
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
