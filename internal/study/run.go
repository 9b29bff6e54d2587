package study

import (
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

// problem is what is wrong with the run, for people; empty: nothing.
func (r *Run) problem() string {
	switch {
	case r.Broken != "":
		return r.Broken
	case r.Report.Error != "":
		return r.Report.Error
	case !r.Complete():
		return "nothing was downloaded"
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
