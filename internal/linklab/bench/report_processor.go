package bench

import (
	"slices"
	"strconv"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/stats"
)

// processor writes the report on what the tools take of a processor.
func (w *writer) processor(h Header, results []Result) {
	w.line("# Processor time and wake-ups")
	w.line("")
	w.line("Written by `linklab bench --processor`; do not edit. Figures of one machine at one time: compare the tools within a table, not across reports.")
	w.intro(h, results)
	w.line("")
	w.line("## mlget beside curl")
	w.line("")
	w.line("Medians of the ratios within each round; curl takes the better link.")
	w.head("", "CPU", "goal", "switches", "goal", "seconds")
	for _, p := range processorCells() {
		groups := w.groupsOf(h, p, results)
		ours, theirs := familyOf(h, groups, Mlget), familyOf(h, groups, Curl)
		if len(ours) == 0 || len(theirs) == 0 {
			continue
		}
		of := func(f func(Result) float64) string {
			return num(stats.Median(roundwise(ours, theirs, func(a, b Result) float64 { return f(a) / f(b) })), 2)
		}
		goal := none
		if p.switches > 0 {
			goal = atMost(p.switches)
		}
		w.row(p.name(), of(func(r Result) float64 { return r.CPU }), atMost(p.cpu),
			of(func(r Result) float64 { return float64(r.Switches) }), goal, of(timeOf))
	}
	for _, p := range processorCells() {
		w.processorOf(h, p, w.groupsOf(h, p, results))
	}
	w.line("")
	w.line("## How to read this")
	w.line("")
	for _, s := range []string{
		"Every round runs every tool once over the same links, in random order; each run has new links and a new server. Figures are medians of the runs that succeeded; for seconds, a run that failed counts as longer than all others.",
		"CPU: user and system time of the process, from the kernel; CPU s/GB: by 10⁹ bytes of the files. switches: how often a thread of the process gave its processor up by itself, to be woken later, from the kernel; switches/s: by the second of the run.",
		"reads, KiB/read: system calls that took bytes from connections, as mlget counts them, and how much each brought; –: not counted.",
		"J: what that would cost a phone's processor, modelled: 0.7 W while it works, and 0.2 mJ for each switch, as if each woke a core ([energy.md](../energy.md#the-processors-share)).",
		"aria2 binds to addresses, so it runs with routing rules by source address, and knows no HTTP/2. For many files: curlz-50 is `curl -Z`, aria2-16 fetches 16 files at once.",
		"Over loopback nobody waits for a link, and aria2 has one connection.",
	} {
		w.line("- %s", s)
	}
}

// atMost is a goal.
func atMost(goal float64) string { return "≤ " + strconv.FormatFloat(goal, 'f', -1, 64) }

// name is how the report calls the cell.
func (p processorCell) name() string {
	if p.files != "" {
		return p.title
	}
	return p.title + ", " + p.transport.title()
}

// groupsOf are the results of a cell by tool.
func (w *writer) groupsOf(h Header, p processorCell, results []Result) [][]Result {
	var names []string
	for _, t := range h.config().toolsFor(p.scenario, p.files) {
		names = append(names, t.Name)
	}
	return byTool(names, pickFiles(results, p.scenario, p.files, p.transport))
}

// familyOf are the results of the first tool of a family; none if none ran.
func familyOf(h Header, groups [][]Result, f Family) []Result {
	i := slices.IndexFunc(groups, func(g []Result) bool { return h.config().tool(g[0].Job).Family == f })
	if i < 0 {
		return nil
	}
	return groups[i]
}

// processorOf writes the table of a cell.
func (w *writer) processorOf(h Header, p processorCell, groups [][]Result) {
	if len(groups) == 0 {
		return
	}
	bytes := h.config().bytes(groups[0][0].Job)
	w.line("")
	w.line("## %s, %s", p.name(), megabytes(bytes))
	w.head("tool", "seconds", "CPU s", "CPU s/GB", "switches", "switches/s", "reads", "KiB/read", "J", "RSS MB", "runs")
	for _, g := range groups {
		ok := good(g)
		w.row(g[0].Tool,
			num(stats.Median(column(g, timeOf)), 2),
			num(stats.Median(column(ok, func(r Result) float64 { return r.CPU })), 3),
			cpuPerGB(ok, bytes),
			counted(ok, func(r Result) int64 { return r.Switches }),
			switchesPerSecond(ok), reads(ok), kibPerRead(ok, bytes), processorJoules(ok),
			num(stats.Median(column(ok, func(r Result) float64 { return float64(r.PeakRSS) / 1e6 })), 0),
			count(g, ok))
	}
	w.failures(groups)
}

// processorJoules is what good runs cost a phone's processor.
func processorJoules(ok []Result) string {
	p := energy.PhoneProcessor()
	return num(stats.Median(countsOf(ok, func(r Result) int64 { return r.Switches },
		func(n int64, r Result) float64 { return p.Joules(r.CPU, n) })), 2)
}

// cpuPerGB is what good runs take of a processor for each 10^9 bytes, in s.
func cpuPerGB(ok []Result, bytes int64) string {
	return num(stats.Median(column(ok, func(r Result) float64 { return r.CPU * 1e9 / float64(bytes) })), 2)
}

// counted is the median of a count that is 0 where nobody counts.
func counted(ok []Result, f func(Result) int64) string {
	return num(stats.Median(countsOf(ok, f, func(n int64, _ Result) float64 { return float64(n) })), 0)
}

func switchesPerSecond(ok []Result) string {
	return num(stats.Median(countsOf(ok, func(r Result) int64 { return r.Switches },
		func(n int64, r Result) float64 { return float64(n) / r.Seconds })), 0)
}

func reads(ok []Result) string { return counted(ok, func(r Result) int64 { return r.Reads }) }

// kibPerRead is how much each read brought of so many bytes.
func kibPerRead(ok []Result, bytes int64) string {
	return num(stats.Median(countsOf(ok, func(r Result) int64 { return r.Reads },
		func(n int64, _ Result) float64 { return float64(bytes) / float64(n) / 1024 })), 0)
}

// countsOf is what g makes of a count, in those runs that have it.
func countsOf(ok []Result, f func(Result) int64, g func(int64, Result) float64) (values []float64) {
	for _, r := range ok {
		if n := f(r); n > 0 {
			values = append(values, g(n, r))
		}
	}
	return values
}
