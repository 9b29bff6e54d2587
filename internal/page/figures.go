package page

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/mlget/mlget/internal/plot"
	"github.com/mlget/mlget/internal/stats"
	"github.com/mlget/mlget/internal/study"
)

// maxLines is how many runs a figure shows as lines: more cannot be told apart, and
// would fill a page with megabytes. Medians are of all runs.
const maxLines = 20

// Figures gives all figures for which there is something to show.
func Figures(s *study.Study) (figures []Named) {
	add := func(name string, f plot.Figure, ok bool) {
		if ok {
			figures = append(figures, Named{name, f})
		}
	}
	colours := linkColours(s)
	ends := extents(s)
	each := func(name string, of func(*study.Approach, extent) (plot.Figure, bool)) {
		for _, a := range s.Approaches {
			f, ok := of(a, ends[a.Source])
			add(name, f, ok)
		}
	}
	each("throughput", func(a *study.Approach, e extent) (plot.Figure, bool) { return throughput(a, e, colours) })
	f, ok := times(s, colours)
	add("time", f, ok)
	each("cpu", cpu)
	f, ok = compared(s, study.CPUIntegral, "CPU", "CPU ∫, % s of one processor")
	add("compare-cpu", f, ok)
	each("memory", memory)
	f, ok = compared(s, study.MemoryMedian, "memory", "resident memory p50, KB")
	add("compare-memory", f, ok)
	each("power", power)
	f, ok = compared(s, study.EnergyTotal, "energy", "energy, main ∫, J"+modelledNote(s))
	add("energy", f, ok)
	f, ok = compared(s, study.PowerPeak, "peak power", "peak power, W"+modelledNote(s))
	add("peak-power", f, ok)
	return figures
}

// modelledNote says that power was not measured, where it was not.
func modelledNote(s *study.Study) string {
	for _, a := range s.Approaches {
		if a.Modelled {
			return " (modelled)"
		}
	}
	return ""
}

// extent is how far the axes of one kind of figure reach, for all approaches of a
// source: what is to be compared has the same axes.
type extent struct{ seconds, mbps, cpu, rss, watts float64 }

func extents(s *study.Study) map[string]extent {
	ends := make(map[string]extent)
	for _, a := range s.Approaches {
		e := ends[a.Source]
		for _, r := range shown(a) {
			e.seconds = max(e.seconds, r.Report.Seconds)
			for _, t := range r.Traces {
				e.mbps = max(e.mbps, usual(t.Mbps))
			}
			e.cpu, e.watts = max(e.cpu, highest(points(r.CPU))), max(e.watts, highest(points(r.Watts)))
			e.rss = max(e.rss, highest(points(r.RSS))/1024)
		}
		ends[a.Source] = e
	}
	return ends
}

// usual is how high a link's rates go, but for a few: what is sampled a moment late
// shows as a dip and a peak that never were.
func usual(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	return 1.15 * stats.Quantile(rates, 0.9)
}

func highest(points []plot.Point) (y float64) {
	for _, p := range points {
		y = max(y, p.Y)
	}
	return y
}

// until is where a time axis ends at least: where those of the others do, unless the
// approach is over so early that it would be lost in its figure.
func (e extent) until(a *study.Approach) float64 {
	var own float64
	for _, r := range shown(a) {
		own = max(own, r.Report.Seconds)
	}
	if own*3 < e.seconds {
		return own
	}
	return e.seconds
}

// shown is the runs that a figure shows, spread evenly over all.
func shown(a *study.Approach) []*study.Run {
	all := a.All()
	if len(all) <= maxLines {
		return all
	}
	some := make([]*study.Run, maxLines)
	for i := range some {
		some[i] = all[i*len(all)/maxLines]
	}
	return some
}

// titled is an approach's name with how many runs are shown.
func titled(a *study.Approach, what string) string {
	title := upper(a.Name) + ": " + what
	switch {
	case a.Runs > maxLines:
		title += fmt.Sprintf(" (%d of %d runs)", maxLines, a.Runs)
	case a.Runs > 1:
		title += fmt.Sprintf(" (%d runs)", a.Runs)
	}
	return title
}

// upper gives text a capital letter where it begins as a word, not as a name.
func upper(text string) string {
	for _, word := range []string{"single", "naive", "algorithm", "adaptive", "unknown"} {
		if strings.HasPrefix(text, word) {
			return strings.ToUpper(text[:1]) + text[1:]
		}
	}
	return text
}

// trace is what a link carried, at the middle of each step; the part of a step before
// the first and after the last byte is not drawn as a slope to nothing.
func trace(t study.Trace) []plot.Point {
	line := make([]plot.Point, 0, len(t.Mbps))
	last := len(t.Mbps) - 1
	for i, v := range t.Mbps {
		if i == last && i > 0 {
			break // its time was not over
		}
		line = append(line, plot.Point{X: (float64(i) + 0.5) * t.Step, Y: v})
	}
	return line
}

func points(list []study.Point) []plot.Point {
	line := make([]plot.Point, len(list))
	for i, p := range list {
		line[i] = plot.Point(p)
	}
	return line
}

// throughput is the thesis's Figures 5.1 to 5.6.
func throughput(a *study.Approach, e extent, colours map[string]plot.Colour) (plot.Figure, bool) {
	c := &plot.Chart{
		Title: titled(a, "throughput"),
		X:     plot.Axis{Label: "time, s", Max: e.until(a)}, Y: plot.Axis{Label: "Mbit/s", Max: e.mbps},
	}
	for _, r := range shown(a) {
		for _, t := range r.Traces {
			if line := trace(t); len(line) > 0 {
				c.Lines = append(c.Lines, plot.Line{Colour: colours[t.Link], Points: line, Thin: a.Runs > 1})
			}
		}
	}
	for _, l := range a.Links {
		colour := colours[l.Name]
		text := l.Name
		if l.Mbps.N > 0 {
			text += fmt.Sprintf(": median %.2f Mbit/s", l.Mbps.Median)
			c.Rules = append(c.Rules, plot.Rule{Colour: colour, At: float64(l.Mbps.Median)})
		}
		if l.Seconds.N > 0 {
			text += fmt.Sprintf(", done after %.2f s", l.Seconds.Median)
			c.Rules = append(c.Rules, plot.Rule{Colour: colour, At: float64(l.Seconds.Median), Upright: true, Dashed: true})
		}
		c.Keys = append(c.Keys, plot.Key{Colour: colour, Text: text})
	}
	return c, len(c.Lines) > 0
}

// overTime is a figure of one value of each run over time, each in a colour.
func overTime(a *study.Approach, until float64, what, label string, of func(*study.Run) []plot.Point) *plot.Chart {
	c := &plot.Chart{Title: titled(a, what), X: plot.Axis{Label: "time, s", Max: until}, Y: plot.Axis{Label: label}}
	for i, r := range shown(a) {
		if line := of(r); len(line) > 1 {
			c.Lines = append(c.Lines, plot.Line{Colour: plot.Colour(i % 8), Points: line, Thin: a.Runs > 1})
		}
	}
	return c
}

// median adds the median of medians.
func median(c *plot.Chart, s study.Stats, format string) {
	if s.N == 0 {
		return
	}
	c.Rules = append(c.Rules, plot.Rule{Colour: plot.Ink, At: float64(s.Median)})
	text := "median " + fmt.Sprintf(format, float64(s.Median))
	if s.Variation.Known() && !strings.Contains(format, ";") {
		text += fmt.Sprintf(", C_v %.1f %%", 100*s.Variation)
	}
	c.Keys = append(c.Keys, plot.Key{Colour: plot.Ink, Text: text})
}

// cpu and memory are the thesis's Figures 6.1 to 6.6.
func cpu(a *study.Approach, e extent) (plot.Figure, bool) {
	c := overTime(a, e.until(a), "CPU", "% of one processor", func(r *study.Run) []plot.Point { return until(points(r.CPU), r.Report.Seconds) })
	c.Y.Max = e.cpu
	median(c, a.Value(study.CPUMedian), "%.1f %%")
	return c, len(c.Lines) > 0
}

func memory(a *study.Approach, e extent) (plot.Figure, bool) {
	c := overTime(a, e.until(a), "memory", "resident, MB", func(r *study.Run) []plot.Point {
		line := until(points(r.RSS), r.Report.Seconds+0.5)
		for i := range line {
			line[i].Y /= 1e6
		}
		return line
	})
	c.Y.Max = e.rss * 1024 / 1e6
	s := a.Value(study.MemoryMedian)
	s.Median *= 1024 / 1e6
	median(c, s, "%.2f MB")
	return c, len(c.Lines) > 0
}

// until is the points from the start of a download to its end.
func until(line []plot.Point, end float64) (part []plot.Point) {
	for _, p := range line {
		if p.X >= 0 && p.X <= end {
			part = append(part, p)
		}
	}
	return part
}

// power is the thesis's Figures 7.2 to 7.8, the right way up: from before the start
// to the end of the tail, both marked.
func power(a *study.Approach, e extent) (plot.Figure, bool) {
	what := "power"
	if a.Modelled {
		what = "power, modelled"
	}
	c := overTime(a, 0, what, "W", func(r *study.Run) []plot.Point { return points(r.Watts) })
	c.Y.Max = e.watts
	for _, l := range c.Lines {
		c.X.Min = min(c.X.Min, l.Points[0].X)
	}
	c.X.Max = e.until(a)
	format := "%.2f W"
	if main := a.Value(study.EnergyTotal); main.N > 0 {
		format += fmt.Sprintf("; main ∫ %.1f J", main.Median)
	}
	if tail := a.Value(study.EnergyTail); tail.N > 0 {
		format += fmt.Sprintf(", tail ∫ %.1f J", tail.Median)
	}
	median(c, a.Value(study.PowerMedian), format)
	end := a.Value(study.Seconds)
	if end.N == 0 {
		return c, len(c.Lines) > 0
	}
	mark := func(at float64) {
		c.Rules = append(c.Rules, plot.Rule{Colour: 0, At: at, Upright: true, Dashed: true})
	}
	mark(0)
	mark(float64(end.Median))
	text := fmt.Sprintf("start 0 s, end %.1f s", end.Median)
	if tail := a.Value(study.TailSeconds); tail.N > 0 {
		mark(float64(end.Median + tail.Median))
		text += fmt.Sprintf(", end of tail %.1f s", end.Median+tail.Median)
	}
	c.Keys = append(c.Keys, plot.Key{Colour: 0, Dashed: true, Text: text})
	return c, len(c.Lines) > 0
}

// times is the thesis's Figures 5.4 and 5.7: download times, and within each bar
// those of the links.
func times(s *study.Study, colours map[string]plot.Colour) (plot.Figure, bool) {
	b := &plot.Bars{Title: "Download time", Wide: plot.Axis{Label: "s"}, Keys: barKeys(s, study.Seconds, "median of the runs")}
	seen := make(map[string]bool)
	for _, a := range s.Approaches {
		row := barRow(a, study.Seconds)
		for _, l := range a.Links {
			row.Thin = append(row.Thin, plot.Thin{Colour: colours[l.Name], Value: float64(l.Seconds.Median)})
			if l.Seconds.N > 0 && !seen[l.Name] {
				seen[l.Name] = true
				b.Keys = append(b.Keys, plot.Key{Colour: colours[l.Name], Text: l.Name + " done"})
			}
		}
		b.Rows = append(b.Rows, row)
	}
	return b, worthComparing(s, study.Seconds)
}

// compared is the thesis's Figures 6.4, 6.7, 7.5, 7.9 and 7.10: a value for each
// approach, and within it, on an axis of its own, the download time.
func compared(s *study.Study, metric, title, label string) (plot.Figure, bool) {
	b := &plot.Bars{
		Title: upper(strings.ToUpper(title[:1])+title[1:]) + " and download time",
		Wide:  plot.Axis{Label: label}, Thin: plot.Axis{Label: "download time, s"},
		Keys: barKeys(s, metric, "median of the runs"),
	}
	b.Keys = append(b.Keys, plot.Key{Colour: plot.Ink, Text: "download time (axis above)"})
	for _, a := range s.Approaches {
		row := barRow(a, metric)
		row.Thin = []plot.Thin{{Colour: plot.Ink, Value: float64(a.Value(study.Seconds).Median)}}
		b.Rows = append(b.Rows, row)
	}
	return b, worthComparing(s, metric)
}

// worthComparing says whether several approaches have a value.
func worthComparing(s *study.Study, metric string) bool {
	n := 0
	for _, a := range s.Approaches {
		if a.Has(metric) {
			n++
		}
	}
	return n > 1
}

func barKeys(s *study.Study, metric, wide string) []plot.Key {
	for _, a := range s.Approaches {
		if a.Value(metric).N > 2 {
			wide += "; box: middle half, whiskers: all"
			break
		}
	}
	return []plot.Key{{Colour: plot.Faint, Text: wide}}
}

func barRow(a *study.Approach, metric string) plot.Row {
	v := a.Value(metric)
	row := plot.Row{Name: a.Name, Wide: math.NaN()}
	if v.N > 0 {
		row.Wide = float64(v.Median)
	}
	if v.N > 2 {
		row.Box = &plot.Box{Min: float64(v.Min), P25: float64(v.P25), Median: float64(v.Median), P75: float64(v.P75), Max: float64(v.Max)}
	}
	row.Name = cmp.Or(row.Name, "?")
	return row
}
