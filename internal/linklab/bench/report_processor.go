package bench

import (
	"slices"
	"strconv"

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
		of := func(f func(Result) float64) string { return num(stats.Median(roundwise(ours, theirs, ratioOf(f))), 2) }
		goal := none
		if p.switches > 0 {
			goal = atMost(p.switches)
		}
		w.row(p.name(), of(cpuOf), atMost(p.cpu), of(switchesOf), goal, of(timeOf))
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
	columns := []column{
		toolColumn(), secondsColumn(), median("CPU s", 3, cpuOf), cpuPerGB("CPU s/GB", bytes), median("switches", 0, switchesOf),
	}
	w.table(groups, append(append(columns, readColumns(bytes)...), processorJoules("J"), rssColumn(), runsColumn())...)
}
