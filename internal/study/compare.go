package study

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/mlget/mlget/internal/stats"
)

// Comparison is a paired test of two approaches: each run of the one is compared with the
// run of the other that has the same number.
type Comparison struct {
	A      string `json:"a"` // names of approaches
	B      string `json:"b"`
	Metric string `json:"metric"`
	Pairs  int    `json:"pairs"`
	// Difference is the median of the pairs' differences, a less b, in the metric's unit, with
	// its 95 % confidence interval by the bootstrap.
	Difference Value `json:"difference"`
	CI95Low    Value `json:"ci95_low"`
	CI95High   Value `json:"ci95_high"`
	W          Value `json:"w"`      // Wilcoxon's signed-rank statistic
	P          Value `json:"p"`      // two-sided
	PHolm      Value `json:"p_holm"` // adjusted for the number of comparisons of the metric
}

// maxCompared is how many approaches of a source are compared with one another.
const maxCompared = 12

// compare tests all pairs of approaches of a source in the metrics that decide.
func compare(approaches []*Approach) (list []Comparison) {
	of := make(map[string]func(*Run) float64)
	for _, m := range Metrics() {
		of[m.Name] = m.counted
	}
	count := make(map[string]int)
	for _, a := range approaches {
		count[a.Source]++
	}
	approaches = slices.DeleteFunc(slices.Clone(approaches), func(a *Approach) bool { return count[a.Source] > maxCompared })
	for _, metric := range []string{Seconds, EnergyDynamic, CPUIntegral} {
		var some []Comparison
		for i, a := range approaches {
			for _, b := range approaches[i+1:] {
				if a.Source != b.Source || a.Kind != b.Kind && metric == EnergyDynamic {
					continue
				}
				var differences []float64
				for _, pair := range pairs(a.complete(), b.complete()) {
					if d := of[metric](pair[0]) - of[metric](pair[1]); Value(d).Known() {
						differences = append(differences, d)
					}
				}
				if len(differences) < 3 {
					continue
				}
				c := Comparison{A: a.Name, B: b.Name, Metric: metric, Pairs: len(differences), Difference: Value(stats.Median(differences))}
				low, high := stats.MedianInterval(differences)
				_, w, p := stats.Wilcoxon(differences)
				c.CI95Low, c.CI95High, c.W, c.P = Value(low), Value(high), Value(w), Value(p)
				some = append(some, c)
			}
		}
		p := make([]float64, len(some))
		for i := range some {
			p[i] = float64(some[i].P)
		}
		for i, adjusted := range stats.Holm(p) {
			some[i].PHolm = Value(adjusted)
		}
		list = append(list, some...)
	}
	return list
}

// pairs are the runs of two approaches that belong together: those that a campaign made in
// the same round, which have its number in their names; without numbers the first ones, the
// second ones, and so on, by the times at which they began.
func pairs(a, b []*Run) (list [][2]*Run) {
	byNumber := make(map[string]*Run)
	for _, r := range b {
		if n := r.number(); n != "" {
			byNumber[n] = r
		}
	}
	for _, r := range a {
		if other := byNumber[r.number()]; other != nil {
			list = append(list, [2]*Run{r, other})
		}
	}
	if len(list) > 0 {
		return list
	}
	byTime := func(runs []*Run) []*Run {
		runs = slices.Clone(runs)
		slices.SortStableFunc(runs, func(x, y *Run) int {
			return cmp.Or(x.Report.Started.Compare(y.Report.Started), cmp.Compare(x.Name, y.Name))
		})
		return runs
	}
	a, b = byTime(a), byTime(b)
	for i := range min(len(a), len(b)) {
		list = append(list, [2]*Run{a[i], b[i]})
	}
	return list
}

// number is that of a campaign's round, out of the name of its file; empty: there is none.
func (r *Run) number() string {
	if m := regexp.MustCompile(`\.([0-9]{3})\.jsonl?$`).FindStringSubmatch(r.Name); m != nil {
		return m[1]
	}
	return ""
}
