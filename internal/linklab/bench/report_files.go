package bench

import (
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/stats"
)

// files writes the report on jobs of many files. It begins at the second level:
// it is a part of a document (see splice).
func (w *writer) files(h Header, results []Result) {
	w.line("Written by `linklab bench --files`; do not edit. Figures of one machine at one time: compare the tools within a table, not across reports. All joules are modelled (docs/energy-models.md).")
	w.intro(h, results)
	w.papers(h, results)
	w.connections(h, results)
	for _, s := range h.Scenarios {
		for _, set := range h.Files {
			for _, t := range []Transport{Clear, TLS2} {
				w.filesOf(h, s, set, t, pickFiles(results, s, set, t))
			}
		}
	}
	w.line("")
	w.line("### How to read this")
	w.line("")
	for _, s := range []string{
		"Every round runs every tool once over the same links, in random order; each run has new links, a new server and idle radios. Figures are medians; for seconds, a run that failed counts as longer than all others. A run is good only if every file is there with the right hash.",
		"of bound: the fluid bound over the seconds (docs/linklab.md); Mbit/s: the files' bytes over the seconds, from the process's start to its end.",
		"× wget, × mlget: how many times as fast as wget, which fetches one file after the other over one connection that it keeps; how many times as long as mlget takes; medians over rounds.",
		"J/100 MB: what all radios spent above idling, tails included, for each 10⁸ bytes; J − wget: how much less than wget's. Mbit/s per J: the throughput over the job's energy, which is what `eht` seeks to raise. mlget is told the links' radio models (--energy-model), which are those that are counted: `lowe` goes by them to the cheaper link.",
		"conns: TCP connections asked for. Waste: what the links carried above the files in full packets, in percent; headers and handshakes are in it.",
		"aria2-16: 16 files at once over one connection each; aria2-16x4 over up to 4 each; wget2-5: 5 threads, its default; curlz-50: `curl -Z` with 50 transfers at once, its default; curl: one after the other. mlget-j16: mode manual. Over two links aria2 binds to both in turn, with routing rules by source address; wget, wget2 and curl take the link with the default route, wlan0.",
	} {
		w.line("- %s", s)
	}
}

// pickFiles takes the results of one set of files.
func pickFiles(results []Result, scenario, set string, t Transport) []Result {
	return slices.DeleteFunc(pick(results, scenario, t), func(r Result) bool { return r.Files != set })
}

// filesOf writes the table of one set over the links of one scenario.
func (w *writer) filesOf(h Header, name, set string, t Transport, results []Result) {
	groups := byTool(h.Tools, results)
	if len(groups) == 0 {
		return
	}
	bytes := h.config().bytes(results[0].Job)
	w.heading("### "+set+", "+filepath.Base(name), t)
	w.line("%s; fluid bound %s s.", megabytes(bytes), span(values(results, boundOf)))
	wget, mlget := groupOf(groups, "wget"), groupOf(groups, "mlget")
	w.table(groups, toolColumn(), secondsColumn(),
		of("σ", 2, stats.Sigma, timeOf),
		medianOfAll("Mbit/s", 1, mbpsOf(bytes)),
		medianOfAll("of bound", 3, efficiencyOf),
		column{"× wget", func(g []Result) string { return num(stats.Median(roundwise(wget, g, timeRatio)), 1) }},
		column{"× mlget", func(g []Result) string { return num(stats.Median(roundwise(g, mlget, timeRatio)), 2) }},
		median("J/100 MB", 1, per100MB(bytes)),
		column{"J − wget", func(g []Result) string { return percent(joulesPer100MB(g, bytes)/joulesPer100MB(wget, bytes) - 1) }},
		median("Mbit/s per J", 2, perJoule(bytes)),
		median("conns", 0, func(r Result) float64 { return float64(r.Connections) }),
		median("Link Δ", 2, deltaOf), median("waste %", 2, wasteOf), median("CPU s", 2, cpuOf), rssColumn(), runsColumn())
}

// groupOf are the results of a tool; none if it did not run.
func groupOf(groups [][]Result, tool string) []Result {
	for _, g := range groups {
		if g[0].Tool == tool {
			return g
		}
	}
	return nil
}

// mbpsOf is the throughput of a run that fetched so many bytes, 0 if it failed.
func mbpsOf(bytes int64) func(Result) float64 {
	return func(r Result) float64 { return float64(bytes) * 8 / 1e6 / timeOf(r) }
}

func mbps(runs []Result, bytes int64) float64 { return stats.Median(values(runs, mbpsOf(bytes))) }

func joulesPer100MB(runs []Result, bytes int64) float64 {
	return stats.Median(values(good(runs), per100MB(bytes)))
}

// roundwise compares two tools' good results of the same round over the same links, as far
// as the comparison is known.
func roundwise(a, b []Result, f func(a, b Result) float64) (values []float64) {
	for _, x := range a {
		for _, y := range b {
			job := y.Job
			job.Tool = x.Tool
			if x.Job == job && x.OK() && y.OK() {
				if v := f(x, y); !math.IsNaN(v) {
					values = append(values, v)
				}
			}
		}
	}
	return values
}

func timeRatio(a, b Result) float64 { return a.Seconds / b.Seconds }

// ratioOf is the ratio of a figure; NaN where one of the two is not known.
func ratioOf(f func(Result) float64) func(a, b Result) float64 {
	return func(a, b Result) float64 {
		if f(b) == 0 {
			return math.NaN()
		}
		return f(a) / f(b)
	}
}

// percent writes a share with its sign.
func percent(share float64) string {
	text := num(share*100, 0)
	if text == none {
		return none
	}
	return text + " %"
}

// paper is what Guner and Kosar's text tells of a set from Sydney over Wi-Fi to
// a Galaxy S5 (section 4): one file at a time, and 16 to 32.
type paper struct {
	kind       string
	one, many  float64 // Mbit/s
	savedJoule float64 // share of the energy, with 16 files at once
}

func papersFigures() []paper {
	return []paper{{"html", 2.6, 42, 0.70}, {"image", 5.6, 48, 0.68}, {"video", 13, 61, 0.38}}
}

// papers sets the paper's figures beside those of the same link here.
func (w *writer) papers(h Header, results []Result) {
	begun := false
	for _, p := range papersFigures() {
		for _, set := range h.Files {
			if kind, _, _ := strings.Cut(set, "/"); kind != p.kind {
				continue
			}
			groups := byTool(h.Tools, pickFiles(results, "sydney", set, Clear))
			if len(groups) == 0 {
				continue
			}
			if !begun {
				begun = true
				w.line("")
				w.line("### Beside the paper")
				w.line("")
				w.line("Guner and Kosar, Galaxy S5, Sydney, Wi-Fi: Mbit/s with one file at a time and with 16 to 32, and the energy that 16 at once save; beside it the scenario `sydney`.")
				w.head("set", "paper, 1", "wget", "paper, many", "aria2-16", "aria2-32", "mlget", "paper saves", "aria2-16 saves", "mlget saves")
			}
			bytes := h.config().bytes(Job{Files: set})
			rate := func(tool string) string { return num(mbps(groupOf(groups, tool), bytes), 1) }
			base := joulesPer100MB(groupOf(groups, "wget"), bytes)
			saves := func(tool string) string {
				return percent(1 - joulesPer100MB(groupOf(groups, tool), bytes)/base)
			}
			w.row(set, num(p.one, 1), rate("wget"), num(p.many, 0), rate("aria2-16"), rate("aria2-32"), rate("mlget"),
				percent(p.savedJoule), saves("aria2-16"), saves("mlget"))
		}
	}
}
