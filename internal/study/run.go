package study

import (
	"fmt"
	"math"

	"github.com/mlget/mlget/internal/report"
)

// Run is what is kept of one run: its report and, where there is a record, what
// happened over time, in a bounded number of points.
type Run struct {
	Name   string        // of the file
	Source string        // of the directory that it came from
	Report report.Report // without its files' rows
	// Setting is what a sweep varied; empty: the run is of none.
	Setting string
	Broken  string // why its record could not be read to its end; empty: it could

	// All times are in s since the run's first connection.
	Traces []Trace // one for each link; none without a record
	CPU    []Point // of this process: share of one processor in %, between two readings
	System []Point // of all processes, likewise: more than 100 with several processors
	RSS    []Point // resident set in bytes
	Watts  []Point // power that the device drew

	// CPUSeconds is the time of processors from the first connection to the last byte,
	// in s; NaN or 0: not known.
	CPUSeconds float64

	usualBase float64 // W; not 0: the other runs' base power, with which its own is out of line
}

// Point is a value at a time.
type Point struct {
	X float64 // s
	Y float64
}

// Trace is what a link carried over time: payload, waste included.
type Trace struct {
	Link string
	Tech string    // "wifi", "lte", ..., if it is known
	Step float64   // s that one value is the mean of; the first begins at 0
	Mbps []float64 // 10^6 bit/s
}

// Complete says whether the run came to its end and was successful, so that its
// figures can be compared with others'.
func (r *Run) Complete() bool {
	return r.Broken == "" && r.Report.ExitCode == 0 && r.Report.Seconds > 0
}

// Modelled is the Kind of runs whose power and energy are those of the radios, by
// their models.
const Modelled = "modelled"

// Kind says what the run's power and energy come from: "battery", "rapl" and the like,
// or Modelled; empty: there are none. Figures of different kinds are not of the same
// thing.
func (r *Run) Kind() string {
	e, p := r.Report.Energy, r.Report.Power
	switch {
	case e != nil && e.Modelled, e == nil && p != nil && p.Source == "model":
		return Modelled
	case p != nil && p.Source != "":
		return p.Source
	case p != nil, e != nil:
		return "measured"
	}
	return ""
}

// Partial says that too little of the run was measured for what the device drew to be
// compared with other runs'.
func (r *Run) Partial() bool { return r.Report.Energy != nil && r.Report.Energy.Partial }

// Links gives the names of the run's links.
func (r *Run) Links() []string {
	names := make([]string, len(r.Report.Links))
	for i, l := range r.Report.Links {
		names[i] = l.Name
	}
	return names
}

// Measured says of one run how its power and energy were measured.
type Measured struct {
	File     string   `json:"file"`
	Complete bool     `json:"complete"`
	Links    []string `json:"links"`
	Kind     string   `json:"kind"`     // as Approach's
	Covered  Value    `json:"covered"`  // share of its time that readings tell of, 0 to 1
	Partial  bool     `json:"partial"`  // too little: it counts for no power and no energy
	TailCut  bool     `json:"tail_cut"` // its tail was not watched to its end
	// BaseOutOfLine says that its base power is not the other runs': what it drew above
	// that is in doubt.
	BaseOutOfLine bool `json:"base_out_of_line"`
}

// Measured says how the run was measured.
func (r *Run) Measured() Measured {
	m := Measured{File: r.Name, Complete: r.Complete(), Links: r.Links(), Kind: r.Kind(), Covered: Value(math.NaN()), Partial: r.Partial(), BaseOutOfLine: r.usualBase > 0}
	if e := r.Report.Energy; e != nil {
		m.Covered, m.TailCut = Value(e.Covered), e.TailCut
	}
	return m
}

// problem is what is wrong with the run, for people; empty: nothing.
func (r *Run) problem() string {
	switch {
	case r.Broken != "":
		return r.Broken
	case r.Report.Error != "":
		return r.Report.Error
	case !r.Complete():
		return "nothing was downloaded"
	case r.Partial():
		return fmt.Sprintf("only %.0f %% of its time was measured: its power and energy do not count", 100*r.Report.Energy.Covered)
	case r.usualBase > 0:
		return fmt.Sprintf("its base power of %.3f W is out of line with the other runs' %.3f W: its joules are in doubt", r.Report.Power.BaseWatts, r.usualBase)
	}
	return ""
}

// active is the part of a link's trace in which it carried anything, without the
// first and the last value: those are of a part of their time only. Nothing is left
// where fewer than three steps carried anything.
func (t *Trace) active() []float64 {
	first, last, carried := 0, 0, 0
	for i, mbps := range t.Mbps {
		if mbps == 0 {
			continue
		}
		if carried == 0 {
			first = i
		}
		last = i
		carried++
	}
	if carried < 3 {
		return nil
	}
	return t.Mbps[first+1 : last]
}
