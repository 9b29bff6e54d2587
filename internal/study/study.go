// Package study makes one thing of many runs: it reads records and reports, puts
// runs of the same approach together, and gives the figures that the thesis gives
// of its measurements [3.4]: medians of medians, deviations, percentiles, integrals
// and correlations.
//
// Contract: Read uses goroutines of its own and has ended them when it returns; all
// else belongs to the caller's goroutine. The same files give the same Study.
package study

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/stats"
)

// Schema is the version of a Study's JSON.
const Schema = 1

// Study is what is known of a number of runs.
type Study struct {
	Schema       int           `json:"schema"`
	Approaches   []*Approach   `json:"approaches"`
	Correlations []Correlation `json:"correlations"`
	Comparisons  []Comparison  `json:"comparisons"`
	Problems     []string      `json:"problems,omitempty"` // what is wrong with runs, or could not be read
}

// Correlation is Pearson's coefficient of two metrics over all complete runs.
type Correlation struct {
	X string `json:"x"` // a metric's name
	Y string `json:"y"`
	// Kind is what the runs' power and energy come from, where these are of several
	// kinds; they are never pooled.
	Kind string `json:"kind,omitempty"`
	N    int    `json:"n"` // runs that have both
	R    Value  `json:"r"` // -1 to 1
}

// Value is a number that may be unknown: then it is NaN, and null in JSON.
type Value float64

// Known says whether there is a number.
func (v Value) Known() bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// MarshalJSON gives the number with six decimals, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known() {
		return []byte("null"), nil
	}
	x := float64(v)
	if math.Abs(x) < 1e9 {
		x = math.Round(x*1e6) / 1e6
	}
	return json.Marshal(x)
}

// New makes a study of runs. faults are those of files that are no run at all.
func New(runs []*Run, faults []error) *Study {
	s := &Study{Schema: Schema, Approaches: group(runs)}
	for _, err := range faults {
		s.Problems = append(s.Problems, err.Error())
	}
	markBases(runs)
	var complete []*Run
	for _, a := range s.Approaches {
		for _, r := range a.runs {
			if p := r.problem(); p != "" {
				s.Problems = append(s.Problems, r.Name+": "+p)
			}
			if r.Complete() {
				complete = append(complete, r)
			}
		}
		a.measure()
	}
	s.Correlations = correlate(complete)
	s.Comparisons = compare(s.Approaches)
	return s
}

// markBases marks the runs whose base power is out of line with that of the others of
// the same device, which the directory stands for.
func markBases(runs []*Run) {
	type device struct{ directory, source string }
	type bases struct {
		runs  []*Run
		watts []float64
	}
	all := make(map[device]*bases)
	for _, r := range runs {
		watts, source, ok := r.Report.MeasuredBase()
		if !ok || !r.Complete() {
			continue
		}
		d := device{r.Source, source}
		if all[d] == nil {
			all[d] = &bases{}
		}
		all[d].runs, all[d].watts = append(all[d].runs, r), append(all[d].watts, watts)
	}
	for _, b := range all {
		for i, out := range stats.OutOfLine(b.watts, report.BaseShare) {
			if out {
				b.runs[i].usualBase = stats.Median(b.watts)
			}
		}
	}
}

// ByKind gives a study of the approaches of each kind of power and energy, as far as
// there are any: what is of different kinds is not to be compared.
func (s *Study) ByKind() (parts []*Study) {
	byKind := make(map[string]*Study)
	for _, a := range s.Approaches {
		if a.Kind == "" {
			continue
		}
		part := byKind[a.Kind]
		if part == nil {
			part = &Study{Schema: s.Schema}
			byKind[a.Kind] = part
			parts = append(parts, part)
		}
		part.Approaches = append(part.Approaches, a)
	}
	return parts
}

// Runs is how many runs there are, complete or not.
func (s *Study) Runs() (n int) {
	for _, a := range s.Approaches {
		n += len(a.runs)
	}
	return n
}

// Links gives the names of all links, in the order in which runs over several of them
// name them.
func (s *Study) Links() (names []string) {
	for _, several := range []bool{true, false} {
		for _, a := range s.Approaches {
			for _, l := range a.Links {
				if len(a.Links) > 1 == several && !slices.Contains(names, l.Name) {
					names = append(names, l.Name)
				}
			}
		}
	}
	return names
}

// Techs gives what is known of each link's technology, by the link's name.
func (s *Study) Techs() map[string]string {
	techs := make(map[string]string)
	for _, a := range s.Approaches {
		for _, r := range a.runs {
			for _, t := range r.Traces {
				if t.Tech != "" {
					techs[t.Link] = strings.ToLower(t.Tech)
				}
			}
		}
	}
	return techs
}
