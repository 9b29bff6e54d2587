package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/study"
)

// Table is rows of text; the first column says what a row is about.
type Table struct {
	Title string
	Note  string
	Head  []string
	Rows  [][]string
	Foot  string // what marks in the rows mean; empty: there are none
}

// Tables gives all tables for which there is something to show.
func Tables(s *study.Study) []Table {
	all := []Table{
		timesTable(s),
		ratios(s, study.Seconds, "Download time compared"),
		usageTable(s),
		ratios(s, study.CPUIntegral, "CPU ∫ compared"),
		powerTable(s),
	}
	kinds := s.ByKind()
	for _, part := range kinds {
		all = append(all, ratios(part, study.EnergyTotal, "Energy (main ∫) compared"+kindNote(part, kinds)))
	}
	all = append(all, spread(s), comparisons(s), correlations(s))
	all = slices.DeleteFunc(all, func(t Table) bool { return len(t.Rows) == 0 })
	for i := range all {
		all[i].Foot = footOf(all[i].Rows)
	}
	return all
}

// fewMark is behind what is of fewer than study.FewRuns runs.
const fewMark = "*"

// footOf says what the marks in rows mean; empty: there are none.
func footOf(rows [][]string) string {
	for _, row := range rows {
		for _, cell := range row[1:] {
			if strings.HasSuffix(cell, fewMark) {
				return fmt.Sprintf("%s of fewer than %d runs: it says little", fewMark, study.FewRuns)
			}
		}
	}
	return ""
}

// marked is a text about so many runs.
func marked(text string, runs int) string {
	if text == dash || runs == 0 || runs >= study.FewRuns {
		return text
	}
	return text + fewMark
}

// medianOf is a median with so many decimals, marked.
func medianOf(s study.Stats, decimals int) string { return marked(number(s.Median, decimals), s.N) }

// in is a value in another unit.
func in(s study.Stats, unit study.Value) study.Stats {
	s.Median *= unit
	return s
}

const dash = "–"

// number is a value with so many decimals, or a dash.
func number(v study.Value, decimals int) string {
	if !v.Known() {
		return dash
	}
	return strconv.FormatFloat(float64(v), 'f', decimals, 64)
}

func percent(v study.Value) string {
	if !v.Known() {
		return dash
	}
	return number(v*100, 1) + " %"
}

// runsOf is how many runs count, and how many do not.
func runsOf(a *study.Approach) string {
	if a.Incomplete > 0 {
		return fmt.Sprintf("%d of %d", a.Runs-a.Incomplete, a.Runs)
	}
	return strconv.Itoa(a.Runs)
}

// timesTable is the thesis's Tables 5.1, 5.3, 5.5 and 5.6.
func timesTable(s *study.Study) Table {
	links := s.Links()
	t := Table{
		Title: "Time and throughput",
		Note: "Time: median over the runs, of the whole download and of each link. Mbit/s: of each run the median over time, of these the median. " +
			"95 % CI: confidence interval of the median, by the bootstrap. σ: standard deviation of the runs' medians. Runs that failed or did not end count nowhere.",
		Head: []string{"approach", "runs", "time s", "95 % CI", "C_v"},
	}
	for _, part := range []string{"time s", "Mbit/s", "σ"} {
		for _, l := range links {
			t.Head = append(t.Head, l+" "+part)
		}
		if part == "time s" {
			t.Head = append(t.Head, "Link Δ s")
		}
	}
	for _, a := range s.Approaches {
		time := a.Value(study.Seconds)
		row := []string{a.Name, runsOf(a), medianOf(time, 2), interval(time, 2), percent(time.Variation)}
		each := func(of func(study.LinkStats) string) {
			for _, name := range links {
				text := dash
				for _, l := range a.Links {
					if l.Name == name {
						text = of(l)
					}
				}
				row = append(row, text)
			}
		}
		each(func(l study.LinkStats) string { return medianOf(l.Seconds, 2) })
		row = append(row, medianOf(a.Value(study.LinkDelta), 3))
		each(func(l study.LinkStats) string { return medianOf(l.Mbps, 2) })
		each(func(l study.LinkStats) string { return number(l.Mbps.Sigma, 2) })
		t.Rows = append(t.Rows, row)
	}
	return t
}

// maxRatios is how many approaches a table of ratios compares: a larger one cannot be
// read.
const maxRatios = 12

// ratios is the thesis's Tables 5.2, 5.4, 5.7, 6.5, 7.2 and their like: what an
// approach needs in percent of what another one needs.
func ratios(s *study.Study, metric, title string) Table {
	var with []*study.Approach
	for _, a := range s.Approaches {
		if a.Has(metric) {
			with = append(with, a)
		}
	}
	if len(with) < 2 || len(with) > maxRatios {
		return Table{}
	}
	var unit string
	for _, m := range study.Metrics() {
		if m.Name == metric {
			unit = m.Unit
		}
	}
	t := Table{
		Title: title,
		Note:  "What the row's approach needs in percent of what the column's needs, by the medians: below 100 the row is better. Average: of the row's values.",
		Head:  []string{"approach", "median " + unit},
	}
	for _, a := range with {
		t.Head = append(t.Head, a.Name)
	}
	t.Head = append(t.Head, "average")
	for _, a := range with {
		row := []string{a.Name, medianOf(in(a.Value(metric), unitOf(metric)), 2)}
		var sum study.Value
		for _, b := range with {
			if a == b {
				row = append(row, dash)
				continue
			}
			ratio := a.Value(metric).Median / b.Value(metric).Median
			sum += ratio
			row = append(row, marked(percent(ratio), min(a.Value(metric).N, b.Value(metric).N)))
		}
		t.Rows = append(t.Rows, append(row, percent(sum/study.Value(len(with)-1))))
	}
	return t
}

// usageTable is the thesis's Table 6.1.
func usageTable(s *study.Study) Table {
	t := Table{
		Title: "CPU and memory",
		Note: "Of this process, in % of one processor and in MB; of each run the percentile over time, of these the median. C_v: σ over mean of the runs' medians. " +
			"∫: CPU time in % s, which the system counts exactly; memory over time.",
		Head: []string{"approach", "time s", "CPU p50 %", "C_v", "CPU ∫", "max", "p90", "p05", "memory p50 MB", "C_v", "memory ∫ MB s", "peak MB"},
	}
	for _, a := range s.Approaches {
		if !a.Has(study.CPUIntegral) && !a.Has(study.MemoryPeak) {
			continue
		}
		m := func(name string, decimals int) string { return medianOf(in(a.Value(name), unitOf(name)), decimals) }
		t.Rows = append(t.Rows, []string{
			a.Name, m(study.Seconds, 2),
			m(study.CPUMedian, 2), percent(a.Value(study.CPUMedian).Variation), m(study.CPUIntegral, 2), m(study.CPUMax, 2), m(study.CPUP90, 2), m(study.CPUP05, 2),
			m(study.MemoryMedian, 2), percent(a.Value(study.MemoryMedian).Variation), m(study.MemoryIntegral, 1), m(study.MemoryPeak, 2),
		})
	}
	return t
}

// powerTable is the thesis's Tables 7.1, 7.3, 7.4 and 7.5, and 7.9 where the full
// load of the device is known.
func powerTable(s *study.Study) Table {
	t := Table{
		Title: "Power and energy",
		Note: "W and J; medians over the runs. Main ∫: energy of the device during the download, base power included, as in the thesis; above base: without it. " +
			"Tail ∫: above base, after the last byte. J per 100 MB: above base. Partial: less than 90 % of the run was measured, which counts for no figure.",
		Head: []string{"approach", "time s", "peak W", "p90 W", "p50 W", "base W", "main ∫ J", "C_v", "above base J", "tail ∫ J", "J per 100 MB", ""},
	}
	isKnown := slices.ContainsFunc(s.Approaches, func(a *study.Approach) bool { return a.Has(study.Utilisation) })
	if isKnown {
		t.Head = append(t.Head, "of full load %")
	}
	for _, a := range s.Approaches {
		if !a.Has(study.PowerMedian) && !a.Has(study.EnergyDynamic) {
			continue
		}
		m := func(name string) string { return medianOf(a.Value(name), 2) }
		how := "measured"
		if a.Modelled {
			how = study.Modelled
		}
		if a.Partial > 0 {
			how += fmt.Sprintf(", %d partial", a.Partial)
		}
		t.Rows = append(t.Rows, []string{
			a.Name, m(study.Seconds), m(study.PowerPeak), m(study.PowerP90), m(study.PowerMedian), m(study.PowerBase),
			m(study.EnergyTotal), percent(a.Value(study.EnergyTotal).Variation), m(study.EnergyDynamic), m(study.EnergyTail), m(study.EnergyPer100MB), how,
		})
		if isKnown {
			last := &t.Rows[len(t.Rows)-1]
			*last = append(*last, m(study.Utilisation))
		}
	}
	return t
}

// spread says how the runs of each approach differ, where there are several.
func spread(s *study.Study) Table {
	t := Table{
		Title: "Spread over the runs",
		Note:  "95 % CI: confidence interval of the median, by the bootstrap (1000 samples, percentiles). σ: standard deviation of a sample.",
		Head:  []string{"approach", "value", "n", "median", "95 % CI", "mean", "σ", "C_v", "min", "p05", "p90", "max"},
	}
	for _, a := range s.Approaches {
		for _, name := range []string{study.Seconds, study.Throughput, study.LinkDelta, study.CPUSeconds, study.EnergyDynamic} {
			v := a.Value(name)
			if v.N < 2 {
				continue
			}
			t.Rows = append(t.Rows, []string{
				a.Name, metricTitle(name), strconv.Itoa(v.N), medianOf(v, 3), interval(v, 3), number(v.Mean, 3), number(v.Sigma, 3), percent(v.Variation),
				number(v.Min, 3), number(v.P05, 3), number(v.P90, 3), number(v.Max, 3),
			})
		}
	}
	return t
}

// unitOf is how much of the unit that tables have a metric's is.
func unitOf(metric string) study.Value {
	switch metric {
	case study.MemoryMedian, study.MemoryPeak, study.MemoryIntegral:
		return kibPerMB
	}
	return 1
}

// interval is a median's confidence interval.
func interval(s study.Stats, decimals int) string {
	return between(s.CI95Low, s.CI95High, decimals, s.N)
}

func between(low, high study.Value, decimals, runs int) string {
	if !low.Known() || !high.Known() {
		return dash
	}
	return marked(number(low, decimals)+" to "+number(high, decimals), runs)
}

// comparisons are the paired tests.
func comparisons(s *study.Study) Table {
	t := Table{
		Title: "Compared in pairs",
		Note: "Runs of the same round (or, without numbers in their names, the first of each, the second, and so on) are compared. Difference: median over the pairs of the first less the second, with its 95 % confidence interval by the bootstrap. " +
			"p: Wilcoxon's signed-rank test, two-sided, exact up to 50 pairs; Holm: adjusted for the number of comparisons of this value. With five pairs p cannot be below 0.0625.",
		Head: []string{"approach", "and", "value", "pairs", "difference", "95 % CI", "W", "p", "p (Holm)"},
	}
	for _, c := range s.Comparisons {
		t.Rows = append(t.Rows, []string{
			c.A, c.B, metricTitle(c.Metric), strconv.Itoa(c.Pairs), marked(number(c.Difference, 3), c.Pairs), between(c.CI95Low, c.CI95High, 3, c.Pairs),
			number(c.W, 1), marked(number(c.P, 4), c.Pairs), marked(number(c.PHolm, 4), c.Pairs),
		})
	}
	return t
}

// plainTitle is a metric's title without its unit.
func plainTitle(name string) string {
	for _, m := range study.Metrics() {
		if m.Name == name {
			return m.Title
		}
	}
	return name
}

func metricTitle(name string) string {
	for _, m := range study.Metrics() {
		if m.Name == name {
			if m.Unit == "" {
				return m.Title
			}
			return m.Title + ", " + m.Unit
		}
	}
	return name
}

func correlations(s *study.Study) Table {
	t := Table{
		Title: "Correlations",
		Note:  "Pearson's coefficient over all runs that count: 1 they rise together, -1 one falls as the other rises, 0 neither. With few runs, or approaches that differ in one thing only, it says little.",
		Head:  []string{"of", "and", "runs", "ρ"},
	}
	for _, c := range s.Correlations {
		of := plainTitle(c.X)
		if c.Kind != "" {
			of += " (" + c.Kind + ")"
		}
		t.Rows = append(t.Rows, []string{of, plainTitle(c.Y), strconv.Itoa(c.N), marked(number(c.R, 2), c.N)})
	}
	return t
}
