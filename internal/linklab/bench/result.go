package bench

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab"
)

// Result is what one job has come to.
type Result struct {
	Job
	Bound   float64 `json:"bound_seconds"`   // fluid bound of this round; 0 on loopback
	Seconds float64 `json:"seconds"`         // from the process's start to its end
	Startup float64 `json:"startup_seconds"` // until its first packet over a link; 0 on loopback
	Failure string  `json:"failure"`         // empty: the whole file, with the right hash
	Detail  string  `json:"detail"`          // what the tool said about its failure
	CPU     float64 `json:"cpu_seconds"`     // user and system time of the process
	PeakRSS int64   `json:"peak_rss_bytes"`
	// Switches is how often a thread of the process gave its processor up by itself, to be
	// woken later; 0: not counted.
	Switches int64 `json:"voluntary_switches,omitempty"`
	// Reads is how many system calls took bytes from connections, as mlget reports it; 0: not
	// known.
	Reads int64 `json:"reads,omitempty"`

	// LinkDelta is the time in s between the last data of the first and of the
	// last link to finish, of the links that are there at the end; nil where
	// fewer than two carried data.
	LinkDelta *float64 `json:"link_delta_seconds"`
	// Waste is how much more than the file in full packets, in percent of it,
	// the links delivered: bytes that came twice or were thrown away. nil
	// where it is not known.
	Waste *float64     `json:"waste_percent"`
	Links []LinkResult `json:"links,omitempty"`
	// Connections is how many TCP connections were asked for; one that was asked
	// for again counts again.
	Connections int64 `json:"connections,omitempty"`
	// Energy is what the radios have spent until they were idle again; nil where
	// no link has a power model.
	Energy *linklab.Energy `json:"energy,omitempty"`

	OwnLinkDelta *float64  `json:"own_link_delta_seconds"` // as mlget reports it
	OwnWaste     *int64    `json:"own_wasted_bytes"`       // as mlget reports it
	Started      time.Time `json:"started"`
	Load         float64   `json:"load"` // load average of the last minute, before the start
}

// LinkResult is what one link has delivered to the client.
type LinkResult struct {
	Name  string  `json:"name"`
	Bytes int64   `json:"bytes"`        // of IP packets
	Last  float64 `json:"last_seconds"` // when data came last, from the first packet on; 0: never
}

// OK says that the tool did what it was asked for.
func (r Result) OK() bool { return r.Failure == "" }

// noEnd begins the failure of a run that took too long.
const noEnd = "no end in "

// endless says that the run was stopped because it took too long.
func (r Result) endless() bool { return strings.HasPrefix(r.Failure, noEnd) }

// Header is the first line of a file of results: what they are results of.
type Header struct {
	Schema int    `json:"bench"`
	Build  string `json:"mlget_sha256"` // of the program, so that no two builds are mixed
	Options
	Tools  []string `json:"tools"`
	Server string   `json:"server"`

	// Digests are those of the scenarios that are files, which may change.
	Digests map[string]string `json:"scenarios_sha256,omitempty"`

	Machine  Machine   `json:"machine"`
	Versions []string  `json:"versions"` // of the tools and the server
	Notes    []string  `json:"notes"`    // what was left out, and why
	Command  string    `json:"command"`
	Date     time.Time `json:"date"`
}

// schema is the version of the results' format.
const schema = 1

// Check refuses other versions, and what no comparison can be of.
func (h Header) Check() error {
	if h.Schema != schema || h.Rounds < 1 || h.Size < 1 {
		return fmt.Errorf("no header of version %d", schema)
	}
	for _, name := range h.Files {
		if _, err := dataset.Parse(name); err != nil {
			return err
		}
	}
	return nil
}

// Settings are what must be the same. More rounds of the same are no difference.
func (h Header) Settings() any {
	h.Notes, h.Versions, h.Command, h.Date, h.Rounds = nil, nil, "", time.Time{}, 0
	return h
}

// longestRun bounds the times of a result in s, and its energies in J.
const longestRun = 1e6

// figures are those that an energy consists of. What idling all the time would
// have cost is taken away in some, so that they may be less than 0 by a rounding.
func figures(j linklab.Joules) []float64 {
	const rounding = 1e-6
	return []float64{j.Idle, j.Promotion, j.Transfer, j.Tail, j.Dynamic + rounding, j.After + rounding}
}

// Check refuses figures that no run can have.
func (r Result) Check() error {
	if r.Scenario == "" || r.Tool == "" || r.Round < 0 || r.PeakRSS < 0 || r.Switches < 0 || r.Reads < 0 || r.Connections < 0 {
		return errors.New("no result")
	}
	values := []float64{r.Bound, r.Seconds, r.Startup, r.CPU, r.Load}
	for _, p := range []*float64{r.LinkDelta, r.OwnLinkDelta} {
		if p != nil {
			values = append(values, *p)
		}
	}
	for _, l := range r.Links {
		values = append(values, l.Last)
	}
	if e := r.Energy; e != nil {
		values = append(values, e.Seconds, e.TailSeconds, e.BaseWatts, e.DeviceJoules)
		for _, l := range e.Links {
			values = append(values, figures(l.Joules)...)
		}
		values = append(values, figures(e.Total)...)
	}
	for _, v := range values {
		if math.IsNaN(v) || v < 0 || v > longestRun {
			return fmt.Errorf("%g: not a possible figure", v)
		}
	}
	if r.OK() && r.Seconds == 0 {
		return errors.New("a file in no time")
	}
	return nil
}
