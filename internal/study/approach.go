package study

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/stats"
)

// Approach is the runs that were made in the same way: algorithm, links, energy
// policy, size, the directory that they came from, and what their power and energy
// come from. Runs that have neither belong to those that have.
type Approach struct {
	Name       string           `json:"name"` // as the thesis calls it; what all have in common is left out
	Source     string           `json:"source"`
	Algorithm  string           `json:"algorithm"`
	Energy     string           `json:"energy_policy"`
	SizeBytes  int64            `json:"size_bytes"`
	Runs       int              `json:"runs"`
	Incomplete int              `json:"incomplete"` // of these, those that failed or did not end; they count nowhere
	Kind       string           `json:"kind"`       // what power and energy come from: "battery", "rapl", ..., or "modelled"; empty: there are none
	Modelled   bool             `json:"modelled"`   // power and energy are the radios', by their models
	Partial    int              `json:"partial"`    // of the runs, those of which too little was measured; they count for no power and no energy
	Values     map[string]Stats `json:"values"`     // by metric
	Links      []LinkStats      `json:"links"`
	Each       []Measured       `json:"each"` // how each run was measured

	runs []*Run
}

// LinkStats is a link's part in the runs of an approach.
type LinkStats struct {
	Name    string `json:"name"`
	Tech    string `json:"tech,omitempty"`
	Seconds Stats  `json:"seconds"` // from the run's first connection to the link's last byte
	Mbps    Stats  `json:"mbps"`    // of the runs' medians: its median is the median of medians
	Share   Stats  `json:"share"`   // of the run's payload, 0 to 1
}

// All gives the runs, in the order in which they were read.
func (a *Approach) All() []*Run { return a.runs }

// complete is the runs that count.
func (a *Approach) complete() (runs []*Run) {
	for _, r := range a.runs {
		if r.Complete() {
			runs = append(runs, r)
		}
	}
	return runs
}

// Value gives what is known of a metric.
func (a *Approach) Value(name string) Stats { return a.Values[name] }

// Has says whether any run has a value of that metric.
func (a *Approach) Has(name string) bool { return a.Values[name].N > 0 }

// key is what runs of one approach have in common.
type key struct {
	source, algorithm, energy, links, setting, kind string

	size int64
}

// without is the key without what is not known of some runs.
func (k key) without() key {
	k.size, k.kind = 0, ""
	return k
}

func keyOf(r *Run) key {
	k := key{source: r.Source, setting: r.Setting, algorithm: r.Report.Algorithm, energy: r.Report.EnergyPolicy, size: r.Report.SizeBytes, kind: r.Kind()}
	if k.energy == "off" {
		k.energy = ""
	}
	names := r.Links()
	k.links = strings.Join(names, "+")
	if len(names) == 1 {
		k.algorithm = "single" // with one link there is nothing to divide
	}
	if r.Report.SizeBytes <= 0 {
		k.size = 0
	}
	return k
}

// group puts runs of the same approach together, in the thesis's order of them.
func group(runs []*Run) []*Approach {
	byKey := make(map[key]*Approach)
	var keys []key
	// Those that failed before the size was known come behind, to those of which it is,
	// and so do those without power and energy.
	known := slices.Clone(runs)
	slices.SortStableFunc(known, func(a, b *Run) int { return cmp.Compare(unknown(a), unknown(b)) })
	for _, r := range known {
		k := keyOf(r)
		for _, known := range keys {
			if (k.size == 0 || k.size == known.size) && (k.kind == "" || k.kind == known.kind) && known.without() == k.without() {
				k = known
				break
			}
		}
		a := byKey[k]
		if a == nil {
			a = &Approach{Source: k.source, Algorithm: k.algorithm, Energy: k.energy, SizeBytes: k.size, Kind: k.kind, Modelled: k.kind == Modelled}
			byKey[k] = a
			keys = append(keys, k)
		}
		a.runs = append(a.runs, r)
	}
	order := linkOrder(keys)
	differ := differences(keys)
	sources := make(map[string]int)
	for _, k := range keys {
		if _, ok := sources[k.source]; !ok {
			sources[k.source] = len(sources)
		}
	}
	slices.SortStableFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(sources[a.source], sources[b.source]), cmp.Compare(rank(a), rank(b)), cmp.Compare(slices.Index(order, a.links), slices.Index(order, b.links)), cmp.Compare(a.energy, b.energy), cmp.Compare(a.kind, b.kind))
	})
	list := make([]*Approach, len(keys))
	for i, k := range keys {
		list[i] = byKey[k]
		list[i].Name = k.name(differ)
	}
	return list
}

// unknown is how much is not known of a run: its size, and what it drew.
func unknown(r *Run) (n int) {
	if r.Report.SizeBytes <= 0 {
		n++
	}
	if r.Kind() == "" {
		n++
	}
	return n
}

// linkOrder is the order in which runs over several links name them: that of the
// single ones.
func linkOrder(keys []key) (order []string) {
	for _, several := range []bool{true, false} {
		for _, k := range keys {
			names := strings.Split(k.links, "+")
			if len(names) > 1 != several {
				continue
			}
			for _, name := range names {
				if !slices.Contains(order, name) {
					order = append(order, name)
				}
			}
		}
	}
	return order
}

// rank is a key's place in the thesis's tables.
func rank(k key) int {
	order := []string{"naive", "1", "2", "3"}
	switch at := slices.Index(order, k.algorithm); {
	case k.algorithm == "single" && !strings.Contains(k.links, "+"):
		return 0
	case k.algorithm == "single":
		return 1
	case at < 0:
		return 2 + len(order)
	default:
		return 2 + at
	}
}

// differences says in what keys differ: only that is in names. Of links, those of
// more than one matter.
func differences(keys []key) (d struct{ source, links, size, kind bool }) {
	var several string
	same := make(map[key]bool)
	for _, k := range keys {
		d.source = d.source || k.source != keys[0].source
		d.size = d.size || k.size != keys[0].size
		alike := k
		alike.kind = ""
		d.kind = d.kind || same[alike]
		same[alike] = true
		if strings.Contains(k.links, "+") {
			if several == "" {
				several = k.links
			}
			d.links = d.links || k.links != several
		}
	}
	return d
}

func (k key) name(differ struct{ source, links, size, kind bool }) string {
	var name string
	several := strings.Contains(k.links, "+")
	switch {
	case k.setting != "":
		name = k.setting
	case k.algorithm == "single" && !several:
		name = "single-link " + cmp.Or(k.links, "(none)")
	case k.algorithm == "single":
		name = "single, others in reserve"
	case k.algorithm == "1", k.algorithm == "2", k.algorithm == "3":
		name = "algorithm " + k.algorithm
	default:
		name = cmp.Or(k.algorithm, "unknown")
	}
	if differ.links && several {
		name += " over " + k.links
	}
	if k.energy != "" {
		name += ", " + k.energy
	}
	if differ.size && k.size > 0 {
		name += ", " + size(k.size)
	}
	if differ.kind && k.kind != "" {
		name += ", " + k.kind
	}
	if differ.source {
		name = k.source + ": " + name
	}
	return name
}

// size is a number of bytes as a page has them: in MB, of 10^6, as rates are in Mbit/s.
func size(bytes int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if bytes >= unit.bytes {
			return strconv.FormatFloat(float64(bytes)/float64(unit.bytes), 'g', 4, 64) + " " + unit.name
		}
	}
	return strconv.FormatInt(bytes, 10) + " B"
}

// measure fills in what the runs come to.
func (a *Approach) measure() {
	complete := a.complete()
	a.Runs, a.Incomplete = len(a.runs), len(a.runs)-len(complete)
	a.Values = make(map[string]Stats)
	for _, m := range Metrics() {
		values := make([]float64, len(complete))
		for i, r := range complete {
			values[i] = m.counted(r)
		}
		a.Values[m.Name] = describe(values)
	}
	for _, r := range complete {
		if r.Partial() {
			a.Partial++
		}
	}
	for _, r := range a.runs {
		a.Each = append(a.Each, r.Measured())
	}
	a.measureLinks(complete)
}

// measureLinks describes each link that any run has.
func (a *Approach) measureLinks(complete []*Run) {
	var names []string
	techs := make(map[string]string)
	for _, r := range a.runs {
		for _, l := range r.Report.Links {
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
		for _, t := range r.Traces {
			techs[t.Link] = t.Tech
		}
	}
	for _, name := range names {
		var finished, medians, shares []float64
		for _, r := range complete {
			l, total := linkOf(r, name)
			if l == nil || total == 0 {
				continue
			}
			finished = append(finished, positive(l.FinishedSeconds))
			shares = append(shares, float64(l.Bytes)/float64(total))
			medians = append(medians, r.medianMbps(name))
		}
		a.Links = append(a.Links, LinkStats{
			Name: name, Tech: techs[name],
			Seconds: describe(finished), Mbps: describe(medians), Share: describe(shares),
		})
	}
}

// linkOf gives a link's part in a run, and the payload of all.
func linkOf(r *Run, name string) (l *report.Link, total int64) {
	for i := range r.Report.Links {
		total += r.Report.Links[i].Bytes
		if r.Report.Links[i].Name == name {
			l = &r.Report.Links[i]
		}
	}
	return l, total
}

// medianMbps is the median of what a link carried over time; without a record, or in
// too short a time, its mean is all that is known; NaN: it carried nothing.
func (r *Run) medianMbps(link string) float64 {
	for i := range r.Traces {
		if t := &r.Traces[i]; t.Link == link {
			if steps := t.active(); len(steps) > 0 {
				return stats.Median(steps)
			}
		}
	}
	if l, _ := linkOf(r, link); l != nil {
		return positive(l.ThroughputMbps)
	}
	return math.NaN()
}

// LinkPart is what a link brought in the run: bytes of payload, s until its last byte,
// and the median of its rate over time in 10^6 bit/s. NaN where it is not known.
func (r *Run) LinkPart(name string) (bytes, finished, mbps Value) {
	l, _ := linkOf(r, name)
	if l == nil {
		nan := Value(math.NaN())
		return nan, nan, nan
	}
	return Value(l.Bytes), Value(positive(l.FinishedSeconds)), Value(r.medianMbps(name))
}
