package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mlget/mlget/internal/report"
)

// Result is what one trial has come to.
type Result struct {
	Trial
	Failure string `json:"failure,omitempty"` // empty: every file came
	Measure
}

// Measure is what was measured of one download.
type Measure struct {
	Seconds float64 `json:"seconds"` // from the first connection to the last byte of payload
	Bytes   int64   `json:"bytes"`   // of payload
	CPU     float64 `json:"cpu_seconds"`
	// Joules is the dynamic energy within Seconds, TailJoules what came after it;
	// nil: it was neither measured nor modelled.
	Joules     *float64 `json:"dynamic_joules,omitempty"`
	TailJoules *float64 `json:"tail_joules,omitempty"`
	Modelled   bool     `json:"modelled,omitempty"` // of the radios alone, by their models
	// Watts are the median and the peak within Seconds, base power included.
	MedianWatts *float64 `json:"median_watts,omitempty"`
	PeakWatts   *float64 `json:"peak_watts,omitempty"`
	Connections int      `json:"connections"`
	ExitCode    int      `json:"exit_code,omitempty"` // of the download; 0: not known
}

// OK says that every file came.
func (r Result) OK() bool { return r.Failure == "" }

// mbps is the throughput in 10^6 bit/s.
func (r Result) mbps() float64 { return float64(r.Bytes) * 8 / 1e6 / r.Seconds }

// joulesPer100MB is the dynamic energy for each 10^8 bytes; NaN if unknown.
func (r Result) joulesPer100MB() float64 {
	if r.Joules == nil {
		return math.NaN()
	}
	return *r.Joules / float64(r.Bytes) * 1e8
}

// FailingError says that no download has succeeded.
type FailingError struct {
	Last Result
}

func (e *FailingError) Error() string {
	return "no download has succeeded, the last one failed: " + e.Last.Failure
}

// AnyOK gives a *FailingError if all results are of downloads that failed.
func AnyOK(results []Result) error {
	if len(results) == 0 || slices.ContainsFunc(results, Result.OK) {
		return nil
	}
	return &FailingError{results[len(results)-1]}
}

// longestRun bounds times in s, energies in J and powers in W.
const longestRun = 1e7

// Check refuses figures that no download can have.
func (r Result) Check() error {
	if r.Concurrency < 1 || r.Parallelism < 1 || r.Block < 1 || r.Round < 0 || r.Bytes < 0 || r.Connections < 0 {
		return errors.New("no result")
	}
	for _, v := range []*float64{&r.Seconds, &r.CPU, r.Joules, r.TailJoules, r.MedianWatts, r.PeakWatts} {
		// Dynamic energy may be below 0: base power was measured too high.
		if v != nil && (math.IsNaN(*v) || math.Abs(*v) > longestRun) {
			return fmt.Errorf("%g: not a possible figure", *v)
		}
	}
	if r.OK() && (r.Seconds <= 0 || r.Bytes == 0) {
		return errors.New("files in no time, or none")
	}
	return nil
}

// ErrReport says that a text is no report of a download.
var ErrReport = errors.New("not a report of mlget")

// ParseReport takes a measure from mlget's report.
func ParseReport(text []byte) (Measure, error) {
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return Measure{}, fmt.Errorf("%w: %w", ErrReport, err)
	}
	if r.Schema != report.Schema {
		return Measure{}, fmt.Errorf("%w: schema %d", ErrReport, r.Schema)
	}
	m := Measure{Seconds: r.Seconds, CPU: r.CPUSeconds, ExitCode: r.ExitCode}
	for _, l := range r.Links {
		m.Bytes += l.Bytes
		m.Connections += l.Connections
	}
	if r.Energy != nil && !r.Energy.Partial { // of a part of the run, they compare with nothing
		m.Joules, m.TailJoules, m.Modelled = &r.Energy.DynamicJoules, &r.Energy.TailJoules, r.Energy.Modelled
	}
	if r.Power != nil {
		m.MedianWatts, m.PeakWatts = &r.Power.MedianWatts, &r.Power.PeakWatts
	}
	probe := Result{Trial: Trial{Setting: Setting{1, 1, 1}}, Failure: "unknown", Measure: m}
	if err := probe.Check(); err != nil {
		return Measure{}, fmt.Errorf("%w: %w", ErrReport, err)
	}
	return m, nil
}
