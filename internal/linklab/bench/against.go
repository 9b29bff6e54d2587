package bench

import (
	"path/filepath"
	"slices"

	"github.com/mlget/mlget/internal/stats"
)

// otherBuild is the tool that --against names: another build of mlget.
const otherBuild = "against"

// constantRate are the scenarios whose links never change and lose no packets, so that the
// two runs of a pair meet the same.
func constantRate() []string { return []string{"high-speed", "high-speed-s6", "low-speed", "long-fat"} }

// alternate orders the two builds: ABBA, so that what drifts favours neither.
func alternate(tools []Tool, round int) {
	if round%2 == 1 {
		slices.Reverse(tools)
	}
}

// builds writes the report on two builds of mlget.
func (w *writer) builds(h Header, results []Result) {
	w.line("# Two builds of mlget")
	w.line("")
	w.line("Written by `linklab bench --against`. Ratios of this build to the other one, whose SHA-256 begins with %.12s: medians over the pairs, with the 95 %% interval of the median (bootstrap).", h.Against)
	if h.Against == h.Build {
		w.line("")
		w.line("**Both are the same program: what is seen here is the noise of the measurement.**")
	}
	w.intro(h, results)
	w.head("scenario", "time", "95 %", "CPU", "95 %", "RSS", "Link Δ, s", "other's", "pairs")
	var groups [][]Result
	for _, s := range h.Scenarios {
		for _, t := range h.config().transports(s) {
			g := byTool(h.Tools, pick(results, s, t))
			if len(g) == len(h.Tools) {
				w.row(comparison(filepath.Base(s)+", "+string(t), g[0], g[1])...)
			}
			groups = append(groups, g...)
		}
	}
	inAll := func(tool string) []Result {
		return slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Tool != tool })
	}
	w.row(comparison("all", inAll("mlget"), inAll(otherBuild))...)
	w.failures(groups)
	w.line("")
	w.line("A pair is a run of each over the same links (the same seed), one after the other, in the order ABBA. Link Δ: median, and the other build's.")
}

// comparison is a row of two builds' table.
func comparison(title string, ours, theirs []Result) []string {
	of := func(f func(Result) float64) []float64 { return roundwise(ours, theirs, ratioOf(f)) }
	times, cpu, delta := of(timeOf), of(cpuOf), median("", 3, deltaOf)
	return []string{
		title, num(stats.Median(times), 4), interval(times), num(stats.Median(cpu), 3), interval(cpu),
		num(stats.Median(of(func(r Result) float64 { return float64(r.PeakRSS) })), 3),
		delta.cell(ours), delta.cell(theirs), num(float64(len(times)), 0),
	}
}

// interval is the 95 % interval of the median.
func interval(values []float64) string {
	low, high := stats.MedianInterval(values)
	return num(low, 4) + " to " + num(high, 4)
}
