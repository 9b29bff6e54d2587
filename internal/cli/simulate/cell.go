package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/internal/stats"
	"github.com/mlget/mlget/internal/units"
)

// cell is the result of one combination of scenario and settings: its runs, which differ in
// their seeds only. There is at least one.
type cell []sim.Result

// repeat makes the runs of a cell. what names it, for an error.
func (o *simulateOptions) repeat(what string, cfg sim.Config, run func(sim.Config) (sim.Result, error)) (cell, error) {
	if err := cfg.Validate(); err != nil {
		return nil, exit.UsageError{Err: err}
	}
	var runs cell
	for i := range uint64(o.runs) {
		again := cfg
		again.Seed += i
		res, err := run(again)
		if err != nil {
			return nil, fmt.Errorf("%s, seed %d: %w", what, again.Seed, err)
		}
		runs = append(runs, res)
	}
	return runs, nil
}

// first stands for what all runs of the cell have in common.
func (c cell) first() *sim.Result { return &c[0] }

// values are those of a figure in all runs.
func (c cell) values(figure func(*sim.Result) float64) []float64 {
	v := make([]float64, len(c))
	for i := range c {
		v[i] = figure(&c[i])
	}
	return v
}

func (c cell) median(figure func(*sim.Result) float64) float64 {
	return stats.Median(c.values(figure))
}

func (c cell) worst(figure func(*sim.Result) float64) float64 { return slices.Min(c.values(figure)) }

// Figures of a run.

func secondsOf(r *sim.Result) float64    { return r.Seconds }
func efficiencyOf(r *sim.Result) float64 { return r.Efficiency }
func linkDeltaOf(r *sim.Result) float64  { return r.LinkDelta }
func wasteOf(r *sim.Result) float64      { return float64(r.WastedBytes) }
func requestsOf(r *sim.Result) float64   { return float64(r.Requests) }
func mbitOf(r *sim.Result) float64       { return float64(r.SizeBytes) * 8 / 1e6 / r.Seconds }

// joulesOf is a figure of a run's energy; 0 where nothing draws any.
func joulesOf(figure func(*sim.Energy) float64) func(*sim.Result) float64 {
	return func(r *sim.Result) float64 {
		if r.Energy == nil {
			return 0
		}
		return figure(r.Energy)
	}
}

func total(e *sim.Energy) float64    { return e.Joules }
func per100MB(e *sim.Energy) float64 { return e.JoulesPer100MB }
func perJoule(e *sim.Energy) float64 { return e.MbpsPerJoule }

// waste is the median of the wasted bytes, for people.
func (c cell) waste() string { return units.Bytes(int64(c.median(wasteOf))) }

// shares shows each link's share.
func (c cell) shares() string {
	parts := make([]string, len(c.first().Links))
	for i, l := range c.first().Links {
		parts[i] = fmt.Sprintf("%s %.0f%%", l.Name, c.median(shareOf(i)))
	}
	return strings.Join(parts, ", ")
}

// shareOf is the i-th link's share of the object, in percent.
func shareOf(i int) func(*sim.Result) float64 {
	return func(r *sim.Result) float64 { return 100 * float64(r.Links[i].Bytes) / float64(r.SizeBytes) }
}
