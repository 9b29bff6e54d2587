package bench

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/stats"
)

// Report is the results as Markdown.
func Report(h Header, results []Result) string {
	w := &writer{}
	switch {
	case len(h.Files) > 0:
		w.files(h, results)
	case h.Energy:
		w.energy(h, results)
	case h.Processor:
		w.processor(h, results)
	case h.Against != "":
		w.builds(h, results)
	default:
		w.times(h, results)
	}
	return w.b.String()
}

// times writes the report on how fast the tools are.
func (w *writer) times(h Header, results []Result) {
	w.line("# Benchmarks")
	w.line("")
	w.line("Written by `linklab bench`; do not edit. Figures of one machine at one time: compare the tools within a table, not across reports.")
	w.intro(h, results)
	for _, s := range h.Scenarios {
		if s == loopback {
			continue
		}
		for _, t := range []Transport{Clear, TLS2} {
			w.scenario(h, s, t, pick(results, s, t))
		}
	}
	w.loopback(h, results)
	w.legend(h)
}

// writer collects lines of Markdown.
type writer struct{ b strings.Builder }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format+"\n", args...)
}

// row writes the cells of a table's row.
func (w *writer) row(cells ...string) {
	w.line("| %s |", strings.Join(cells, " | "))
}

// head writes a table's head: the first column holds names, the others numbers.
func (w *writer) head(names ...string) {
	w.line("")
	w.row(names...)
	rule := slices.Repeat([]string{"---:"}, len(names))
	rule[0] = "---"
	w.row(rule...)
}

// intro says how the results were made.
func (w *writer) intro(h Header, results []Result) {
	m := h.Machine
	w.line("")
	w.line("- Command: `%s`, %s", h.Command, h.Date.UTC().Format("2 January 2006"))
	w.line("- Machine: %s, %d cores, %.0f GB, %s", m.CPU, m.Cores, m.MemoryGB, m.Kernel)
	w.line("- Programs: %s; mlget's SHA-256 begins with %.12s", strings.Join(h.Versions, ", "), h.Build)
	served := "Bodies of " + megabytes(h.Size)
	switch {
	case h.Processor:
		served = "Bodies as the tables say"
	case len(h.Files) > 0:
		served = "Sets of files: " + strings.Join(h.Files, ", ")
	}
	w.line("- Server: %s. %s; files are written to memory, and every one is checked by its SHA-256.", h.Server, served)
	if h.ReceiveBuffer > 0 {
		w.line("- Connections have receive buffers of %d bytes at most, as an old phone's; some half of that is their window.", h.ReceiveBuffer)
	}
	if h.Quick {
		w.line("- The quick form: few executions, of few tools, of a small body. It shows the order of things; a figure to rely on needs the full form.")
	}
	var loads []float64
	for _, r := range results {
		loads = append(loads, r.Load)
	}
	if len(loads) > 0 {
		w.line("- Load average before each run, this benchmark's own share included: median %.2f, highest %.2f.", stats.Median(loads), stats.Peak(loads))
	}
	if n := len(h.config().left(results)); n > 0 {
		w.line("- **%d runs of the plan are missing: it was interrupted.**", n)
	}
	for _, n := range h.Notes {
		w.line("- %s", n)
	}
}

// config is what the header's results were made with.
func (h Header) config() Config {
	c := Config{Options: h.Options}
	for _, name := range h.Tools {
		if t, err := parseTool(name, len(h.Files) > 0); err == nil {
			c.Tools = append(c.Tools, t)
		}
	}
	return c
}

// pick takes the results of one scenario over one transport.
func pick(results []Result, scenario string, t Transport) []Result {
	var out []Result
	for _, r := range results {
		if r.Scenario == scenario && r.Transport == t {
			out = append(out, r)
		}
	}
	return out
}

// byTool groups results, tools in the order of names, runs in that of rounds.
func byTool(names []string, results []Result) (groups [][]Result) {
	for _, name := range names {
		var g []Result
		for _, r := range results {
			if r.Tool == name {
				g = append(g, r)
			}
		}
		if len(g) > 0 {
			slices.SortFunc(g, func(a, b Result) int { return a.Round - b.Round })
			groups = append(groups, g)
		}
	}
	return groups
}

// scenario writes the tables of one scenario over one transport.
func (w *writer) scenario(h Header, name string, t Transport, results []Result) {
	groups := byTool(h.Tools, results)
	if len(groups) == 0 {
		return
	}
	w.heading("## "+filepath.Base(name), t)
	w.line("Fluid bound %s s.", span(values(results, boundOf)))
	w.table(groups, h.timeColumns()...)
	w.ratios(groups)
	w.own(groups)
}

// heading writes the heading of what was measured over one transport.
func (w *writer) heading(title string, t Transport) {
	if t != Clear {
		title += ", over TLS"
	}
	w.line("")
	w.line("%s", title)
	w.line("")
}

// good are the runs that did not fail.
func good(results []Result) []Result {
	return slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return !r.OK() })
}

// timeColumns are those of a scenario's table.
func (h Header) timeColumns() []column {
	columns := []column{
		toolColumn(), secondsColumn(),
		of("σ", 2, stats.Sigma, timeOf), medianOfAll("of bound", 3, efficiencyOf),
		median("Link Δ", 3, deltaOf), of("worst", 3, stats.Peak, deltaOf),
		median("waste %", 2, wasteOf), median("CPU s", 2, cpuOf), cpuPerGB("CPU s/GB", h.Size),
	}
	if h.Rounds >= 2*groupSize {
		columns = slices.Insert(columns, 2, column{"med. of med.", func(runs []Result) string {
			return num(MedianOfMedians(values(runs, timeOf)), 2)
		}})
	}
	columns = append(columns, readColumns(h.Size)...)
	return append(columns, rssColumn(), median("start ms", 0, func(r Result) float64 { return r.Startup * 1000 }), runsColumn())
}

// count is how many runs there were, and how many of them were good.
func count(runs, ok []Result) string {
	if len(ok) == len(runs) {
		return strconv.Itoa(len(runs))
	}
	return fmt.Sprintf("%d of %d", len(ok), len(runs))
}

// failures says what went wrong, a line for every tool and kind.
func (w *writer) failures(groups [][]Result) {
	first := true
	for _, g := range groups {
		var kinds []string
		times := map[string]int{}
		for _, r := range g {
			if r.OK() {
				continue
			}
			if times[r.Failure] == 0 {
				kinds = append(kinds, r.Failure)
			}
			times[r.Failure]++
		}
		for _, k := range kinds {
			if first {
				w.line("")
				first = false
			}
			w.line("- %s: %s (%d of %d)", g[0].Tool, k, times[k], len(g))
		}
	}
}

// ratios compares mlget's times to those of the others, round by round.
func (w *writer) ratios(groups [][]Result) {
	var ours, others [][]Result
	for _, g := range groups {
		if t, err := ParseTool(g[0].Tool); err == nil && t.Family == Mlget {
			ours = append(ours, g)
		} else {
			others = append(others, g)
		}
	}
	if len(ours) == 0 || len(others) == 0 {
		return
	}
	names := []string{"time / time of"}
	for _, g := range others {
		names = append(names, g[0].Tool)
	}
	w.head(names...)
	for _, g := range ours {
		cells := []string{g[0].Tool}
		for _, o := range others {
			cells = append(cells, ratio(g, o))
		}
		w.row(cells...)
	}
}

// ratio is the median of the ratios of two tools' times in the same round.
// Where the other one found no end, its time until then is taken, and the ratio
// is at most that; a round in which it failed otherwise says nothing.
func ratio(ours, theirs []Result) string {
	var values []float64
	mark := ""
	for _, a := range ours {
		for _, b := range theirs {
			if a.Round != b.Round || b.Seconds == 0 {
				continue
			}
			if !b.OK() {
				if !b.endless() {
					continue
				}
				mark = "≤ "
			}
			values = append(values, timeOf(a)/b.Seconds)
		}
	}
	v := num(stats.Median(values), 3)
	if v == none {
		return v
	}
	return mark + v
}

// own shows what mlget says about itself beside what the emulator saw.
func (w *writer) own(groups [][]Result) {
	for _, g := range groups {
		var deltas, waste []float64
		for _, r := range good(g) {
			// Where a link has died, the one says nothing.
			if r.OwnLinkDelta != nil && r.LinkDelta != nil {
				deltas = append(deltas, *r.OwnLinkDelta)
			}
			if r.OwnWaste != nil {
				waste = append(waste, float64(*r.OwnWaste)/1e6)
			}
		}
		if len(waste) == 0 {
			continue
		}
		w.line("")
		w.line("%s by its own report: Link Δ %s s, at worst %s s; wasted %s MB.",
			g[0].Tool, num(stats.Median(deltas), 3), num(stats.Peak(deltas), 3), num(stats.Median(waste), 2))
	}
}

// none stands where there is no figure.
const none = "–"

// num writes a figure with so many decimals.
func num(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return none
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// span is the smallest and the largest value, once if they look alike.
func span(values []float64) string {
	low, high := num(stats.Quantile(values, 0), 2), num(stats.Peak(values), 2)
	if low == high {
		return low
	}
	return low + " to " + high
}

// megabytes writes a size in MB, of 10^6 bytes.
func megabytes(n int64) string {
	return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + " MB"
}
