package study

import (
	"math"
	"slices"

	"github.com/mlget/mlget/internal/stats"
)

// Names of metrics that figures and tables are made of; Metrics has all.
const (
	Seconds         = "seconds"
	Throughput      = "throughput_mbps"
	LinkDelta       = "link_delta_seconds"
	CPUSeconds      = "cpu_seconds"
	CPUMedian       = "cpu_percent_p50"
	CPUP05          = "cpu_percent_p05"
	CPUP90          = "cpu_percent_p90"
	CPUMax          = "cpu_percent_max"
	CPUIntegral     = "cpu_percent_seconds"
	MemoryMedian    = "memory_kb_p50"
	MemoryPeak      = "memory_kb_peak"
	MemoryIntegral  = "memory_kb_seconds"
	PowerBase       = "power_base_watts"
	PowerMedian     = "power_median_watts"
	PowerP90        = "power_p90_watts"
	PowerPeak       = "power_peak_watts"
	EnergyTotal     = "energy_total_joules"
	EnergyDynamic   = "energy_dynamic_joules"
	EnergyTail      = "energy_tail_joules"
	EnergyPer100MB  = "energy_joules_per_100mb"
	Utilisation     = "utilisation_percent"
	TailSeconds     = "tail_seconds"
	Waste           = "wasted_bytes"
	Requests        = "requests"
	ThroughputSigma = "throughput_sigma_mbps"
)

// Metric is one number of a run.
type Metric struct {
	Name  string // as in the constants of this package
	Title string // for people
	Unit  string // empty: a number of things

	of func(*Run) float64 // NaN: not known
}

// Drawn says that the metric is of what the device drew.
func (m Metric) Drawn() bool {
	return m.Unit == "W" || m.Unit == "J" || m.Name == TailSeconds || m.Name == Utilisation
}

// counted is the metric of one run, as far as it counts for figures over many: what the
// device drew does where enough of the run was measured.
func (m Metric) counted(r *Run) float64 {
	if m.Drawn() && r.Partial() {
		return math.NaN()
	}
	return m.of(r)
}

// Metrics gives all metrics, in the order in which tables have them.
func Metrics() []Metric {
	cpu := func(of func([]float64) float64) func(*Run) float64 {
		return func(r *Run) float64 { return of(within(r.CPU, r.Report.Seconds)) }
	}
	quantile := func(q float64) func([]float64) float64 {
		return func(values []float64) float64 { return stats.Quantile(values, q) }
	}
	return []Metric{
		{Seconds, "download time", "s", func(r *Run) float64 { return positive(r.Report.Seconds) }},
		{Throughput, "throughput", "Mbit/s", func(r *Run) float64 { return positive(r.Report.ThroughputMbps) }},
		{ThroughputSigma, "σ of throughput within a run", "Mbit/s", (*Run).throughputSigma},
		{LinkDelta, "Link Δ", "s", (*Run).linkDelta},
		{Waste, "waste", "B", func(r *Run) float64 { return float64(r.Report.WastedBytes) }},
		{Requests, "requests", "", func(r *Run) float64 { return float64(r.Report.Requests) }},
		{CPUSeconds, "CPU time", "s", func(r *Run) float64 { return positive(r.Report.CPUSeconds) }},
		{CPUMedian, "CPU p50", "%", cpu(quantile(0.5))},
		{CPUP05, "CPU p05", "%", cpu(quantile(0.05))},
		{CPUP90, "CPU p90", "%", cpu(quantile(0.9))},
		{CPUMax, "CPU max", "%", cpu(quantile(1))},
		{CPUIntegral, "CPU ∫", "% s", (*Run).cpuIntegral},
		{MemoryMedian, "memory p50", "KB", func(r *Run) float64 { return stats.Median(r.resident()) / 1024 }},
		{MemoryPeak, "memory peak", "KB", func(r *Run) float64 { return positive(float64(r.Report.MaxRSSBytes)) / 1024 }},
		{MemoryIntegral, "memory ∫", "KB s", (*Run).memoryIntegral},
		{PowerBase, "base power", "W", power(func(r *Run) float64 { return r.Report.Power.BaseWatts })},
		{PowerMedian, "power p50", "W", power(func(r *Run) float64 { return r.Report.Power.MedianWatts })},
		{PowerP90, "power p90", "W", power(func(r *Run) float64 { return r.Report.Power.P90Watts })},
		{PowerPeak, "power peak", "W", power(func(r *Run) float64 { return r.Report.Power.PeakWatts })},
		{EnergyTotal, "energy, main ∫", "J", joules(func(r *Run) float64 { return r.Report.Energy.TotalJoules })},
		{EnergyDynamic, "energy above base", "J", joules(func(r *Run) float64 { return r.Report.Energy.DynamicJoules })},
		{EnergyTail, "energy, tail ∫", "J", joules((*Run).tailJoules)},
		{TailSeconds, "tail", "s", joules((*Run).tailSeconds)},
		{Utilisation, "of full load", "%", joules(func(r *Run) float64 { return positive(100 * r.Report.Energy.Utilisation) })},
		{EnergyPer100MB, "energy per 100 MB", "J", joules(func(r *Run) float64 { return positive(r.Report.Energy.JoulesPer100MB) })},
	}
}

// positive is x, or NaN where it is 0 or less, which means that it is not known.
func positive(x float64) float64 {
	if x <= 0 {
		return math.NaN()
	}
	return x
}

func power(of func(*Run) float64) func(*Run) float64 {
	return func(r *Run) float64 {
		if r.Report.Power == nil {
			return math.NaN()
		}
		return of(r)
	}
}

func joules(of func(*Run) float64) func(*Run) float64 {
	return func(r *Run) float64 {
		if r.Report.Energy == nil {
			return math.NaN()
		}
		return of(r)
	}
}

// tailSeconds is how long the measured tail was; NaN if it was not watched.
func (r *Run) tailSeconds() float64 { return positive(r.Report.Energy.TailSeconds) }

// tailJoules is NaN where a device was measured, but not its tail.
func (r *Run) tailJoules() float64 {
	if e := r.Report.Energy; e.Modelled || e.TailSeconds > 0 {
		return e.TailJoules
	}
	return math.NaN()
}

// linkDelta is NaN where fewer than two links carried anything.
func (r *Run) linkDelta() float64 {
	carried := 0
	for _, l := range r.Report.Links {
		if l.Bytes > 0 {
			carried++
		}
	}
	if carried < 2 {
		return math.NaN()
	}
	return r.Report.LinkDeltaSeconds
}

// throughputSigma is how much the rates of all links vary within the run: the mean
// of their deviations.
func (r *Run) throughputSigma() float64 {
	var sigmas []float64
	for i := range r.Traces {
		if s := stats.Sigma(r.Traces[i].active()); Value(s).Known() {
			sigmas = append(sigmas, s)
		}
	}
	return stats.Mean(sigmas)
}

// cpuIntegral is what the download cost. A counter needs no integration: its area is
// exact. Without a record all that is known is the process's time, with what came
// before and after.
func (r *Run) cpuIntegral() float64 {
	if r.CPUSeconds > 0 {
		return 100 * r.CPUSeconds
	}
	return 100 * positive(r.Report.CPUSeconds)
}

// resident is the resident set while the run went on, in bytes; of one that was over
// between two readings, at the later one.
func (r *Run) resident() []float64 {
	values := within(r.RSS, r.Report.Seconds)
	if n := len(r.RSS); len(values) == 0 && n > 0 {
		values = []float64{r.RSS[n-1].Y}
	}
	return values
}

func (r *Run) memoryIntegral() float64 {
	var inside []Point
	for _, p := range r.RSS {
		if p.X >= 0 && p.X <= r.Report.Seconds {
			inside = append(inside, p)
		}
	}
	if len(inside) == 0 {
		return stats.Median(r.resident()) * r.Report.Seconds / 1024
	}
	// What lies outside of the readings goes at the nearest.
	first, last := inside[0], inside[len(inside)-1]
	whole := append([]Point{{X: 0, Y: first.Y}}, inside...)
	whole = append(whole, Point{X: r.Report.Seconds, Y: last.Y})
	return integral(whole) / 1024
}

// correlate gives the correlations that the thesis looks at [5.3, 6.3, 7.4, 8.1], over
// all runs, of what was drawn over those of each kind; those of which there are fewer
// than three are left out.
func correlate(runs []*Run) (list []Correlation) {
	pairs := [][2]string{
		{Seconds, PowerPeak},
		{Seconds, PowerP90},
		{Seconds, EnergyTotal},
		{Seconds, EnergyDynamic},
		{Seconds, CPUIntegral},
		{Seconds, CPUMedian},
		{Seconds, Utilisation},
		{CPUMedian, Utilisation},
		{Throughput, ThroughputSigma},
		{Throughput, PowerMedian},
		{Throughput, CPUMedian},
		{Throughput, MemoryMedian},
	}
	of := make(map[string]Metric)
	for _, m := range Metrics() {
		of[m.Name] = m
	}
	kinds := kindsOf(runs)
	for _, p := range pairs {
		x, y := of[p[0]], of[p[1]]
		if !x.Drawn() && !y.Drawn() {
			list = append(list, pearson(runs, x, y, "")...)
			continue
		}
		for _, kind := range kinds {
			of := runs
			named := ""
			if len(kinds) > 1 {
				of = slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.Kind() != kind })
				named = kind
			}
			list = append(list, pearson(of, x, y, named)...)
		}
	}
	return list
}

// kindsOf is what the runs' power and energy come from.
func kindsOf(runs []*Run) (kinds []string) {
	for _, r := range runs {
		if k := r.Kind(); k != "" && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// pearson is the correlation of two metrics, if there are enough runs that have both.
func pearson(runs []*Run, x, y Metric, kind string) []Correlation {
	var xs, ys []float64
	for _, r := range runs {
		x, y := x.counted(r), y.counted(r)
		if Value(x).Known() && Value(y).Known() {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	r := Value(stats.Pearson(xs, ys))
	if len(xs) < 3 || !r.Known() {
		return nil
	}
	return []Correlation{{X: x.Name, Y: y.Name, Kind: kind, N: len(xs), R: r}}
}

// Of is the metric of one run.
func (m Metric) Of(r *Run) Value { return Value(m.of(r)) }
