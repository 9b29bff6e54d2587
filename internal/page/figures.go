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
	e := extentOf(s)
	each := func(name string, of func(*study.Approach, extent) (plot.Figure, bool)) {
		for _, a := range s.Approaches {
			f, ok := of(a, e)
			add(name, f, ok)
		}
	}
	each("throughput", func(a *study.Approach, e extent) (plot.Figure, bool) { return throughput(a, e, colours) })
	f, ok := times(s, e, colours)
	add("time", f, ok)
	each("cpu", cpu)
	f, ok = compared(s, e, study.CPUIntegral, 1, "CPU", "CPU ∫, % s of one processor")
	add("compare-cpu", f, ok)
	each("memory", memory)
	f, ok = compared(s, e, study.MemoryMedian, kibPerMB, "memory", "resident memory p50, MB")
	add("compare-memory", f, ok)
	each("power", power)
	kinds := s.ByKind()
	for _, part := range kinds {
		f, ok = compared(part, e, study.EnergyTotal, 1, "energy", "energy, main ∫, J"+kindNote(part, kinds))
		add("energy", f, ok)
	}
	for _, part := range kinds {
		f, ok = compared(part, e, study.PowerPeak, 1, "peak power", "peak power, W"+kindNote(part, kinds))
		add("peak-power", f, ok)
	}
	return figures
}

// kibPerMB makes MB, of 10^6 bytes, of the KB of metrics, of 1024: a page has one unit for
// bytes, and it is that of sizes and of "J per 100 MB".
const kibPerMB = 1024 / 1e6

// A colour means one thing on a page: links have the others, by linkColours.
const (
	runColour    = plot.Colour(3) // runs, or what this process uses
	systemColour = plot.Colour(5) // what all processes use
	timeColour   = plot.Colour(7) // download time beside another value
)

// kindNote says what the power and the energy of a part come from, where that is not
// measured, or where there are several.
func kindNote(part *study.Study, kinds []*study.Study) string {
	kind := part.Approaches[0].Kind
	if kind == study.Modelled || len(kinds) > 1 {
		return " (" + kind + ")"
	}
	return ""
}

// extent is how far the axes of a page reach: of one quantity all are the same.
type extent struct {
	seconds, mbps, cpu, rss float64 // rss in MB
	from, until, watts      float64 // of power, which is watched before and after, in s
	done                    float64 // s: the longest download or link, of bars
}

func extentOf(s *study.Study) (e extent) {
	known := func(x float64) float64 {
		if study.Value(x).Known() {
			return x
		}
		return 0
	}
	for _, a := range s.Approaches {
		for _, r := range shown(a) {
			e.seconds = max(e.seconds, r.Report.Seconds)
			for _, t := range r.Traces {
				e.mbps = max(e.mbps, usual(t.Mbps))
			}
			e.cpu = max(e.cpu, highest(points(r.CPU)), highest(points(r.System)))
			e.rss = max(e.rss, highest(points(r.RSS))/1e6)
			e.watts = max(e.watts, highest(points(r.Watts)))
			if n := len(r.Watts); n > 0 {
				e.from, e.until = min(e.from, r.Watts[0].X), max(e.until, r.Watts[n-1].X)
			}
		}
		e.done = max(e.done, known(float64(a.Value(study.Seconds).Max)))
		e.seconds = max(e.seconds, known(float64(a.Value(study.Seconds).Median)))
		for _, l := range a.Links {
			e.mbps = max(e.mbps, known(float64(l.Mbps.Median)))
			e.done = max(e.done, known(float64(l.Seconds.Median)))
		}
	}
	e.until = max(e.until, e.seconds)
	return e
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
	for _, word := range []string{"single", "naive", "algorithm", "unknown"} {
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
		X:     plot.Axis{Label: "time, s", Max: e.seconds}, Y: plot.Axis{Label: "Mbit/s", Max: e.mbps},
	}
	all := shown(a)
	for i, r := range all {
		for _, t := range r.Traces {
			if line := trace(t); len(line) > 0 {
				c.Lines = append(c.Lines, plot.Line{Colour: colours[t.Link], Points: line, Thin: a.Runs > 1, Mark: markOf(i, len(all))})
			}
		}
	}
	for _, l := range a.Links {
		colour := colours[l.Name]
		text := l.Name
		if l.Mbps.N > 0 {
			text += fmt.Sprintf(": median %.1f Mbit/s%s", l.Mbps.Median, few(l.Mbps))
			c.Rules = append(c.Rules, plot.Rule{Colour: colour, At: float64(l.Mbps.Median)})
		}
		if l.Seconds.N > 0 {
			text += fmt.Sprintf(", done %.1f s", l.Seconds.Median)
			c.Rules = append(c.Rules, plot.Rule{Colour: colour, At: float64(l.Seconds.Median), Upright: true, Dashed: true})
		}
		c.Keys = append(c.Keys, plot.Key{Colour: colour, Text: text})
	}
	c.Keys = append(c.Keys, plot.Key{Colour: plot.Ink, Dashed: true, Text: "upright: when a link was done"})
	c.Keys = append(c.Keys, runKeys(a, plot.Ink)...)
	return c, len(c.Lines) > 0
}

// few says of how few runs a median is.
func few(s study.Stats) string {
	if !s.Few() {
		return ""
	}
	return fmt.Sprintf(" (n = %d)", s.N)
}

// markOf is the mark of the i-th of n runs: of more than there are marks, none has one.
func markOf(i, n int) plot.Mark {
	if n == 1 || n > plot.Marks {
		return 0
	}
	return plot.Mark(i + 1)
}

// runKeys tell the runs of an approach apart.
func runKeys(a *study.Approach, c plot.Colour) (keys []plot.Key) {
	all := shown(a)
	switch {
	case len(all) == 1:
		return nil
	case len(all) > plot.Marks:
		return []plot.Key{{Colour: c, Text: "thin lines: one run each"}}
	}
	for i := range all {
		keys = append(keys, plot.Key{Colour: c, Mark: markOf(i, len(all)), Text: fmt.Sprintf("run %d", i+1)})
	}
	return keys
}

// overTime adds one value of each run over time.
func overTime(c *plot.Chart, a *study.Approach, colour plot.Colour, of func(*study.Run) []plot.Point) {
	all := shown(a)
	for i, r := range all {
		if line := of(r); len(line) > 1 {
			c.Lines = append(c.Lines, plot.Line{Colour: colour, Points: line, Thin: a.Runs > 1, Mark: markOf(i, len(all))})
		}
	}
}

// median adds the median of medians.
func median(c *plot.Chart, s study.Stats, format string) {
	if s.N == 0 {
		return
	}
	c.Rules = append(c.Rules, plot.Rule{Colour: plot.Ink, At: float64(s.Median)})
	text := "median " + fmt.Sprintf(format, float64(s.Median)) + few(s)
	if s.Variation.Known() && !strings.Contains(format, ";") {
		text += fmt.Sprintf(", C_v %.1f %%", 100*s.Variation)
	}
	c.Keys = append(c.Keys, plot.Key{Colour: plot.Ink, Text: text})
}

// cpu and memory are the thesis's Figures 6.1 to 6.6.
func cpu(a *study.Approach, e extent) (plot.Figure, bool) {
	c := &plot.Chart{
		Title: titled(a, "CPU"),
		X:     plot.Axis{Label: "time, s", Max: e.seconds}, Y: plot.Axis{Label: "% of one processor", Max: e.cpu},
	}
	overTime(c, a, runColour, func(r *study.Run) []plot.Point { return until(points(r.CPU), r.Report.Seconds) })
	c.Keys = append(c.Keys, plot.Key{Colour: runColour, Text: "this process"})
	process := len(c.Lines)
	overTime(c, a, systemColour, func(r *study.Run) []plot.Point { return until(points(r.System), r.Report.Seconds) })
	if len(c.Lines) > process {
		c.Keys = append(c.Keys, plot.Key{Colour: systemColour, Text: "all processes"})
	}
	median(c, a.Value(study.CPUMedian), "%.1f %%")
	c.Keys = append(c.Keys, runKeys(a, plot.Ink)...)
	return c, process > 0
}

func memory(a *study.Approach, e extent) (plot.Figure, bool) {
	c := &plot.Chart{
		Title: titled(a, "memory"),
		X:     plot.Axis{Label: "time, s", Max: e.seconds}, Y: plot.Axis{Label: "resident, MB", Max: e.rss},
	}
	overTime(c, a, runColour, func(r *study.Run) []plot.Point {
		line := until(points(r.RSS), r.Report.Seconds+0.5)
		for i := range line {
			line[i].Y /= 1e6
		}
		return line
	})
	c.Keys = append(c.Keys, plot.Key{Colour: runColour, Text: "this process"})
	s := a.Value(study.MemoryMedian)
	s.Median *= kibPerMB
	median(c, s, "%.2f MB")
	c.Keys = append(c.Keys, runKeys(a, runColour)...)
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
	c := &plot.Chart{
		Title: titled(a, what),
		X:     plot.Axis{Label: "time, s", Min: e.from, Max: e.until}, Y: plot.Axis{Label: "W", Max: e.watts},
	}
	overTime(c, a, runColour, func(r *study.Run) []plot.Point { return points(r.Watts) })
	lines := len(c.Lines)
	c.Keys = append(c.Keys, plot.Key{Colour: runColour, Text: "the device"})
	if base := a.Value(study.PowerBase); base.N > 0 {
		c.Rules = append(c.Rules, plot.Rule{Colour: plot.Faint, At: float64(base.Median)})
		c.Keys = append(c.Keys, plot.Key{Colour: plot.Faint, Text: fmt.Sprintf("base %.2f W%s", base.Median, few(base))})
	}
	format := "%.2f W"
	if main := a.Value(study.EnergyTotal); main.N > 0 {
		format += fmt.Sprintf("; main ∫ %.1f J", main.Median)
	}
	if tail := a.Value(study.EnergyTail); tail.N > 0 {
		format += fmt.Sprintf(", tail ∫ %.1f J", tail.Median)
	}
	median(c, a.Value(study.PowerMedian), format)
	end := a.Value(study.Seconds)
	c.Keys = append(c.Keys, runKeys(a, runColour)...)
	if end.N == 0 {
		return c, lines > 0
	}
	mark := func(at float64) {
		c.Rules = append(c.Rules, plot.Rule{Colour: plot.Ink, At: at, Upright: true, Dashed: true})
	}
	mark(0)
	mark(float64(end.Median))
	text := fmt.Sprintf("start 0 s, end %.1f s", end.Median)
	if tail := a.Value(study.TailSeconds); tail.N > 0 {
		mark(float64(end.Median + tail.Median))
		text += fmt.Sprintf(", end of tail %.1f s", end.Median+tail.Median)
	}
	c.Keys = append(c.Keys, plot.Key{Colour: plot.Ink, Dashed: true, Text: text})
	return c, lines > 0
}

// times is the thesis's Figures 5.4 and 5.7: download times, and within each bar
// those of the links.
func times(s *study.Study, e extent, colours map[string]plot.Colour) (plot.Figure, bool) {
	b := &plot.Bars{Title: "Download time", Wide: plot.Axis{Label: "download time, s", Max: e.done}, Keys: barKeys(s, study.Seconds, "median of the runs")}
	seen := make(map[string]bool)
	for _, a := range s.Approaches {
		row := barRow(a, study.Seconds, 1)
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
// approach, in so much of the metric's unit, and within it, on an axis of its own, the
// download time.
func compared(s *study.Study, e extent, metric string, unit float64, title, label string) (plot.Figure, bool) {
	b := &plot.Bars{
		Title: upper(strings.ToUpper(title[:1])+title[1:]) + " and download time",
		Wide:  plot.Axis{Label: label}, Thin: plot.Axis{Label: "download time, s", Max: e.done},
		Keys: barKeys(s, metric, "median of the runs"),
	}
	b.Keys = append(b.Keys, plot.Key{Colour: timeColour, Text: "download time (axis above)"})
	for _, a := range s.Approaches {
		row := barRow(a, metric, unit)
		row.Thin = []plot.Thin{{Colour: timeColour, Value: float64(a.Value(study.Seconds).Median)}}
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
	keys := []plot.Key{{Colour: plot.Faint, Text: wide}}
	for _, a := range s.Approaches {
		if a.Value(metric).N > 2 {
			return append(keys, plot.Key{Colour: plot.Ink, Text: "box: middle half, whiskers: all"})
		}
	}
	return keys
}

func barRow(a *study.Approach, metric string, unit float64) plot.Row {
	v := a.Value(metric)
	row := plot.Row{Name: cmp.Or(a.Name, "?"), Wide: math.NaN()}
	if v.N > 0 {
		row.Wide = float64(v.Median) * unit
		row.Name += few(v)
	}
	if v.N > 2 {
		in := func(v study.Value) float64 { return float64(v) * unit }
		row.Box = &plot.Box{Min: in(v.Min), P25: in(v.P25), Median: in(v.Median), P75: in(v.P75), Max: in(v.Max)}
	}
	return row
}
