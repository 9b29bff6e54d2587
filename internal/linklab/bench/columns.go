package bench

import (
	"math"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/stats"
)

// column is a column of a table that has a row for each tool.
type column struct {
	head string
	cell func(runs []Result) string
}

// table writes a row for each group of runs.
func (w *writer) table(groups [][]Result, columns ...column) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.head
	}
	w.head(names...)
	for _, g := range groups {
		w.row(cellsOf(g, columns)...)
	}
	w.failures(groups)
}

func cellsOf(runs []Result, columns []column) []string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.cell(runs)
	}
	return cells
}

// values are a figure of the runs, without those in which it is not known: NaN.
func values(runs []Result, f func(Result) float64) (list []float64) {
	for _, r := range runs {
		if v := f(r); !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	return list
}

// of is a column with what a statistic makes of a figure of the runs that did not fail.
func of(head string, decimals int, statistic func([]float64) float64, f func(Result) float64) column {
	return column{head, func(runs []Result) string { return num(statistic(values(good(runs), f)), decimals) }}
}

// median is a column with the median of a figure.
func median(head string, decimals int, f func(Result) float64) column {
	return of(head, decimals, stats.Median, f)
}

// medianOfAll is one in which runs that failed count, by what f makes of them.
func medianOfAll(head string, decimals int, f func(Result) float64) column {
	return column{head, func(runs []Result) string { return num(stats.Median(values(runs, f)), decimals) }}
}

// Columns that several tables have. Failed runs are longer than all others in the medians
// of the times, and take no part in the other columns.

func toolColumn() column {
	return column{"tool", func(runs []Result) string { return runs[0].Tool }}
}

func secondsColumn() column { return medianOfAll("seconds", 2, timeOf) }

func runsColumn() column {
	return column{"runs", func(runs []Result) string { return count(runs, good(runs)) }}
}

func rssColumn() column {
	return median("RSS MB", 0, func(r Result) float64 { return float64(r.PeakRSS) / 1e6 })
}

// cpuPerGB is what is taken of a processor for each 10^9 of so many bytes, in s.
func cpuPerGB(head string, bytes int64) column {
	return median(head, 2, func(r Result) float64 { return r.CPU * 1e9 / float64(bytes) })
}

// readColumns are how often a thread waited, and what each read brought of so many bytes.
func readColumns(bytes int64) []column {
	return []column{
		median("switches/s", 0, func(r Result) float64 { return switchesOf(r) / r.Seconds }),
		median("reads", 0, readsOf),
		median("KiB/read", 0, func(r Result) float64 { return float64(bytes) / readsOf(r) / 1024 }),
	}
}

// processorJoules is what a run costs a phone's processor.
func processorJoules(head string) column {
	p := energy.PhoneProcessor()
	return median(head, 2, func(r Result) float64 {
		if r.Switches == 0 {
			return math.NaN()
		}
		return p.Joules(r.CPU, r.Switches)
	})
}

// Figures of a run; NaN where they are not known.

func boundOf(r Result) float64 { return r.Bound }

// timeOf is a run's time, infinite if it failed.
func timeOf(r Result) float64 {
	if !r.OK() {
		return math.Inf(1)
	}
	return r.Seconds
}

// efficiencyOf is the bound over a run's time, 0 if it failed.
func efficiencyOf(r Result) float64 { return r.Bound / timeOf(r) }

func cpuOf(r Result) float64      { return r.CPU }
func deltaOf(r Result) float64    { return known(r.LinkDelta) }
func wasteOf(r Result) float64    { return known(r.Waste) }
func switchesOf(r Result) float64 { return counted(r.Switches) }
func readsOf(r Result) float64    { return counted(r.Reads) }

func known(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// counted is a count; 0 means that it is not known.
func counted(n int64) float64 {
	if n == 0 {
		return math.NaN()
	}
	return float64(n)
}

// energyOf is a figure of what the radios have spent.
func energyOf(f func(r Result, e linklab.Energy) float64) func(Result) float64 {
	return func(r Result) float64 {
		if r.Energy == nil {
			return math.NaN()
		}
		return f(r, *r.Energy)
	}
}

// dynamicOf is what the radios have spent above idling, in J.
func dynamicOf(r Result) float64 {
	return energyOf(func(_ Result, e linklab.Energy) float64 { return e.Total.Dynamic })(r)
}

// per100MB is the same for each 10^8 of so many bytes.
func per100MB(bytes int64) func(Result) float64 {
	return func(r Result) float64 { return energy.JoulesPer100MB(dynamicOf(r), bytes) }
}

// perJoule is the throughput in Mbit/s over the energy of the whole job: what the EHT
// algorithm seeks to raise.
func perJoule(bytes int64) func(Result) float64 {
	return func(r Result) float64 { return energy.MbpsPerJoule(dynamicOf(r), bytes, int64(r.Seconds*1e9)) }
}
