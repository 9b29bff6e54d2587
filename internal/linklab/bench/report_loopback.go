package bench

import "github.com/mlget/mlget/internal/stats"

// loopback writes the tables of the unshaped device.
func (w *writer) loopback(h Header, results []Result) {
	var names []string
	for _, t := range h.config().toolsFor(loopback, "") {
		names = append(names, t.Name)
	}
	first := true
	for _, t := range h.config().transports(loopback) {
		groups := byTool(names, pick(results, loopback, t))
		if len(groups) == 0 {
			continue
		}
		if first {
			w.line("")
			w.line("## Loopback, one link, unshaped")
			w.line("")
			w.line("%s over the loopback device, server and tool on the same cores; one connection each.", megabytes(h.LoopbackSize))
			first = false
		}
		w.line("")
		w.line("### %s", t.title())
		rate := func(r Result) float64 { return float64(h.LoopbackSize) / 1e6 / timeOf(r) }
		tool := column{"tool", func(g []Result) string {
			if tool, err := ParseTool(g[0].Tool); err == nil && t == TLS2 && !tool.traits().http2 {
				return g[0].Tool + " (HTTP/1.1)"
			}
			return g[0].Tool
		}}
		columns := []column{tool, medianOfAll("MB/s", 0, rate), of("σ", 0, stats.Sigma, rate), cpuPerGB("CPU s per GB", h.LoopbackSize)}
		w.table(groups, append(append(columns, readColumns(h.LoopbackSize)...), rssColumn(), runsColumn())...)
		w.loopbackRatios(groups)
	}
}

// loopbackRatios compares mlget to each of the others, round by round.
func (w *writer) loopbackRatios(groups [][]Result) {
	ours := groupOf(groups, "mlget")
	if ours == nil || len(groups) < 2 {
		return
	}
	w.head("mlget /", "MB/s", "CPU")
	for _, g := range groups {
		if g[0].Tool == "mlget" {
			continue
		}
		w.row(g[0].Tool, num(stats.Median(roundwise(g, ours, timeRatio)), 2), num(stats.Median(roundwise(ours, g, ratioOf(cpuOf))), 2))
	}
}

// legend says what the columns mean.
func (w *writer) legend(h Header) {
	w.line("")
	w.line("## How to read this")
	w.line("")
	for _, s := range []string{
		"Every round runs every tool once over the same links (the same seed), one after the other in random order; each run has new links and a new server.",
		"seconds: from the process's start to its end; median over the runs. A run that failed or did not end in time counts as longer than all others, and – is a median of such. σ is the sample standard deviation of those that ended.",
		"of bound: the fluid bound over the time. The bound is the least time, from the first packet, in which the links together could carry the file with 0.965 of their rates being payload, after 2 round trips (3 with TLS). With losses nobody reaches it: it does not know TCP.",
		"Link Δ: time between the last data of the first and of the last link to finish, from the emulator's counters every 5 ms, for all tools alike; median and worst. Links that are dead at the end do not count, and a tool that used one link has none. What is thrown away is data too: a tool that stops using a link without stopping the server looks better here than it is. mlget's own report, in the line below a table, counts only bytes that were kept.",
		"waste: bytes that the links delivered beyond the file in full packets, until 0.3 s after the tool's end: what came twice, what was thrown away, headers, and packets that are not full: some hundredths of a percent with one connection, some tenths over TLS with dozens. mlget's own report counts payload that was received and thrown away.",
		"CPU: user and system time of the process, from the kernel. switches/s: how often a thread of it gave its processor up by itself, from the kernel. reads, KiB/read: system calls that took bytes from connections, as mlget counts them, and what each brought; –: not counted. RSS: its peak resident set (VmHWM, read every 20 ms), 10⁶ bytes. Start: from the process's start to its first packet.",
		"time / time of: the median of the ratios within each round; below 1 mlget is faster. ≤: the other one found no end in some round, and its time until then was taken; a round in which it failed otherwise is left out.",
		"aria2 binds to addresses, so it (and axel) runs with routing rules by source address; mlget and curl bind to devices and run without. axel and wget2 use one link whatever they are told. aria2 and axel know no HTTP/2 and use HTTP/1.1 over TLS, axel without verifying the certificate: it cannot do so for an address.",
		"curl-mptcp is curl under mptcpize: one connection of the kernel's MPTCP, a subflow over each link. It has the laboratory's own server, since nginx knows no MPTCP.",
	} {
		w.line("- %s", s)
	}
	if h.Rounds >= 2*groupSize {
		w.line("- med. of med.: the median of the medians of each five runs in a row.")
	}
}
