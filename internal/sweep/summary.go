package sweep

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/mlget/mlget/internal/stats"
)

// Figure is a number that may be unknown: then it is NaN, and null in JSON.
type Figure float64

func (f Figure) known() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON gives the number or null.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// text is the figure with so many decimals.
func (f Figure) text(decimals int) string {
	if !f.known() {
		return none
	}
	return strconv.FormatFloat(float64(f), 'f', decimals, 64)
}

// Summary is what the trials of one setting have come to: medians over those that did not
// fail.
type Summary struct {
	Setting
	Runs           int    `json:"runs"`
	Failed         int    `json:"failed"`
	Mbps           Figure `json:"mbps"`
	MbpsDeviation  Figure `json:"mbps_deviation"`   // sample standard deviation
	JoulesPer100MB Figure `json:"joules_per_100mb"` // dynamic energy
	TailJoules     Figure `json:"tail_joules"`
	MbpsPerJoule   Figure `json:"mbps_per_joule"`
	MedianWatts    Figure `json:"median_watts"`
	PeakWatts      Figure `json:"peak_watts"`
	CPU            Figure `json:"cpu_seconds"`
	Connections    Figure `json:"connections"`
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
		of := func(f func(Result) float64) Figure { return Figure(stats.Median(values(f))) }
		optional := func(f func(Result) *float64) Figure {
			return of(func(r Result) float64 {
				if p := f(r); p != nil {
					return *p
				}
				return math.NaN()
			})
		}
		sum.Mbps = of(Result.mbps)
		sum.MbpsDeviation = Figure(stats.Sigma(values(Result.mbps)))
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
