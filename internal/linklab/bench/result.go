package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
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
	Schema       int      `json:"bench"`
	Build        string   `json:"mlget_sha256"` // of the program, so that no two builds are mixed
	Quick        bool     `json:"quick"`
	Scenarios    []string `json:"scenarios"`
	Tools        []string `json:"tools"`
	Rounds       int      `json:"runs"`
	Size         int64    `json:"size_bytes"`
	LoopbackSize int64    `json:"loopback_size_bytes"`
	TLS          bool     `json:"tls"`
	Energy       bool     `json:"energy,omitempty"`
	Files        []string `json:"files,omitempty"` // the sets of files; none: a body of Size
	Seed         uint64   `json:"seed"`
	Server       string   `json:"server"`

	Machine  Machine   `json:"machine"`
	Versions []string  `json:"versions"` // of the tools and the server
	Notes    []string  `json:"notes"`    // what was left out, and why
	Command  string    `json:"command"`
	Date     time.Time `json:"date"`
}

// schema is the version of the results' format.
const schema = 1

// longestLine bounds a line of results in bytes.
const longestLine = 1 << 16

// ErrResults says that a file does not hold results.
var ErrResults = errors.New("not a file of benchmark results")

// ReadResults reads a header and results, one JSON object a line. A last line
// without its end was being written when the run was interrupted: it does not
// count, and n is the number of bytes before it.
func ReadResults(r io.Reader) (h Header, results []Result, n int64, err error) {
	in := bufio.NewReaderSize(r, longestLine)
	for line := 1; ; line++ {
		text, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // too long, or not readable
			return h, nil, 0, fmt.Errorf("%w: line %d: %w", ErrResults, line, err)
		}
		if line == 1 {
			err = decode(text, &h)
			if err == nil && (h.Schema != schema || h.Rounds < 1 || h.Size < 1) {
				err = fmt.Errorf("no header of version %d", schema)
			}
			for _, name := range h.Files {
				if err == nil {
					_, err = dataset.Parse(name)
				}
			}
		} else {
			var res Result
			if err = decode(text, &res); err == nil {
				err = res.check()
			}
			results = append(results, res)
		}
		if err != nil {
			return h, nil, 0, fmt.Errorf("%w: line %d: %w", ErrResults, line, err)
		}
		n += int64(len(text))
	}
	if n == 0 {
		return h, nil, 0, fmt.Errorf("%w: no header", ErrResults)
	}
	return h, results, n, nil
}

func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one object")
	}
	return nil
}

// longestRun bounds the times of a result in s, and its energies in J.
const longestRun = 1e6

// figures are those that an energy consists of. What idling all the time would
// have cost is taken away in some, so that they may be less than 0 by a rounding.
func figures(j linklab.Joules) []float64 {
	const rounding = 1e-6
	return []float64{j.Idle, j.Promotion, j.Transfer, j.Tail, j.Dynamic + rounding, j.After + rounding}
}

// check refuses figures that no run can have.
func (r Result) check() error {
	if r.Scenario == "" || r.Tool == "" || r.Round < 0 || r.PeakRSS < 0 || r.Connections < 0 {
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

// journal appends results to a file.
type journal struct {
	f *os.File
}

// openJournal opens the file of results at path for appending. What it holds
// already is given back; of an interrupted line the beginning is cut off. A
// file that is new or empty gets the header.
func openJournal(path string, h Header) (journal, []Result, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return journal{}, nil, fmt.Errorf("results: %w", err)
	}
	j := journal{f}
	results, err := j.begin(h)
	if err != nil {
		return journal{}, nil, errors.Join(fmt.Errorf("results in %s: %w", path, err), f.Close())
	}
	return j, results, nil
}

func (j journal) begin(h Header) ([]Result, error) {
	info, err := j.f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, j.write(h)
	}
	old, results, n, err := ReadResults(j.f)
	if err != nil {
		return nil, err
	}
	if err := old.sameAs(h); err != nil {
		return nil, err
	}
	if err := j.f.Truncate(n); err != nil {
		return nil, err
	}
	_, err = j.f.Seek(n, io.SeekStart)
	return results, err
}

// ErrOther says that results were made otherwise than those that should go on.
var ErrOther = errors.New("were made with other settings or another build")

// sameAs says whether results of both headers may stand side by side. More
// rounds of the same are no difference.
func (h Header) sameAs(o Header) error {
	settings := func(h Header) map[string]json.RawMessage {
		h.Notes, h.Versions, h.Command, h.Date, h.Rounds = nil, nil, "", time.Time{}, 0
		var m map[string]json.RawMessage
		text, err := json.Marshal(h)
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			return nil // cannot be: there are only plain values
		}
		return m
	}
	a, b := settings(h), settings(o)
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !bytes.Equal(a[name], b[name]) {
			differ = append(differ, fmt.Sprintf("%s was %s and is now %s", name, a[name], b[name]))
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("%w: %s", ErrOther, strings.Join(differ, "; "))
	}
	return nil
}

// write appends one line.
func (j journal) write(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = j.f.Write(append(text, '\n'))
	}
	return err
}

func (j journal) close() error { return j.f.Close() }
