package bench

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlget/mlget/internal/plot"
	"github.com/mlget/mlget/internal/rewrite"
)

// enough is what part of the best throughput counts as all of it.
const enough = 0.99

// curve is how a set of files comes over one scenario with each number of connections
// (mlget-jN), and beside it with mlget's own choice and with wget's one connection.
type curve struct {
	name        string
	points      []cost // by connections
	mlget, wget cost   // zero: it did not run
}

// cost is what a job came to.
type cost struct {
	connections int // files at once; 0: chosen by the tool
	mbps        float64
	joules      float64 // for 100 MB
}

// curves are those of all sets and scenarios of which there are at least two numbers of
// connections.
func (h Header) curves(results []Result) (all []curve) {
	for _, s := range h.Scenarios {
		for _, set := range h.Files {
			groups := byTool(h.Tools, pickFiles(results, s, set, Clear))
			size := h.config().bytes(Job{Files: set})
			of := func(g []Result) cost { return cost{mbps: mbps(g, size), joules: joulesPer100MB(g, size)} }
			c := curve{name: set + ", " + filepath.Base(s)}
			for _, g := range groups {
				switch t, err := ParseFilesTool(g[0].Tool); {
				case len(good(g)) == 0:
				case g[0].Tool == "mlget":
					c.mlget = of(g)
				case g[0].Tool == "wget":
					c.wget = of(g)
				case err == nil && t.Family == Mlget && len(t.numbers()) == 1:
					point := of(g)
					point.connections = t.numbers()[0]
					c.points = append(c.points, point)
				}
			}
			if len(c.points) > 1 {
				all = append(all, c)
			}
		}
	}
	return all
}

// full is the point with the fewest connections that reach 99 % of the best throughput of
// all numbers of them.
func (c *curve) full() (least cost) {
	best := 0.0
	for _, p := range c.points {
		best = max(best, p.mbps)
	}
	for _, p := range c.points {
		if p.mbps >= enough*best && (least.connections == 0 || p.connections < least.connections) {
			least = p
		}
	}
	return least
}

// connections writes what more connections cost, and where mlget stops.
func (w *writer) connections(h Header, results []Result) {
	all := h.curves(results)
	if len(all) == 0 {
		return
	}
	w.line("")
	w.line("### What more connections cost")
	w.line("")
	w.line("Files at once, one connection each (`mlget-jN`); \"full\" is the least number that reaches 99 %% of the best throughput of all. mlget is the default, `--mode hat`, which asks for the next file before the one before it is there.")
	w.head("set", "connections", "Mbit/s", "J/100 MB", "J − wget", "J − full")
	for _, c := range all {
		full := c.full()
		row := func(name string, p cost) {
			if p.mbps > 0 {
				w.row(c.name, name, num(p.mbps, 1), num(p.joules, 1), percent(p.joules/c.wget.joules-1), percent(p.joules/full.joules-1))
			}
		}
		for _, p := range c.points {
			name := fmt.Sprint(p.connections)
			if p == full {
				name += ", full"
			}
			row(name, p)
		}
		row("mlget", c.mlget)
		row("wget", c.wget)
	}
}

// writeFigure draws Mbit/s and joules by the number of connections into an SVG file: a
// chart for each set, with what mlget and wget come to as crosses.
func writeFigure(h Header, results []Result, path string) error {
	var figures []plot.Figure
	for _, c := range h.curves(results) {
		figures = append(figures, c.chart())
	}
	if len(figures) == 0 {
		return errors.New("--figure: of no set of files did two of mlget-j1, mlget-j2 and so on run")
	}
	var svg bytes.Buffer
	if err := plot.WriteSVG(&svg, figures, plot.Sheet{Columns: len(figures)}); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	if err := rewrite.File(path, svg.Bytes()); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}

// The colours of the figure.
const (
	ofRate   plot.Colour = 0
	ofJoules plot.Colour = 1
)

// chart is the curve's.
func (c *curve) chart() *plot.Chart {
	chart := &plot.Chart{
		Title: strings.TrimSpace(c.name),
		Keys: []plot.Key{
			{Colour: ofRate, Text: "Mbit/s"},
			{Colour: ofJoules, Text: "J per 100 MB"},
			{Colour: ofRate, Dashed: true, Text: "mlget"},
			{Colour: plot.Ink, Text: "wget"},
		},
		X: plot.Axis{Label: "connections"},
		Y: plot.Axis{Label: "Mbit/s, J per 100 MB"},
	}
	rate, joules := plot.Line{Colour: ofRate}, plot.Line{Colour: ofJoules}
	for _, p := range c.points {
		rate.Points = append(rate.Points, plot.Point{X: float64(p.connections), Y: p.mbps})
		joules.Points = append(joules.Points, plot.Point{X: float64(p.connections), Y: p.joules})
	}
	chart.Lines = append(chart.Lines, rate, joules)
	if c.mlget.mbps > 0 {
		chart.Rules = append(chart.Rules,
			plot.Rule{Colour: ofRate, At: c.mlget.mbps, Dashed: true}, plot.Rule{Colour: ofJoules, At: c.mlget.joules, Dashed: true})
	}
	if c.wget.mbps > 0 {
		chart.Lines = append(chart.Lines, cross(1, c.wget.mbps)...)
		chart.Lines = append(chart.Lines, cross(1, c.wget.joules)...)
	}
	return chart
}

// cross is a cross at a point.
func cross(x, y float64) []plot.Line {
	const wide, high = 0.5, 2.0
	return []plot.Line{
		{Colour: plot.Ink, Points: []plot.Point{{X: x - wide, Y: y - high}, {X: x + wide, Y: y + high}}},
		{Colour: plot.Ink, Points: []plot.Point{{X: x - wide, Y: y + high}, {X: x + wide, Y: y - high}}},
	}
}
