package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
)

// Header is the first line of a file of results: what they are results of.
type Header struct {
	Schema  int      `json:"sweep"`
	Grid    Grid     `json:"grid"`
	Seed    uint64   `json:"seed"`
	Target  string   `json:"target"`            // what is downloaded, in words that name it for good
	Args    []string `json:"args,omitempty"`    // mlget's further flags
	Version string   `json:"version,omitempty"` // mlget's
}

// Schema is the version of the format of results.
const Schema = 1

// longestLine bounds a line of results in bytes.
const longestLine = 1 << 16

// Errors of files of results.
var (
	ErrResults = errors.New("not a file of a sweep's results")
	ErrOther   = errors.New("the results there are of another sweep")
)

// Journal keeps results in a file, one JSON object a line.
type Journal struct {
	f       *os.File
	Results []Result // those that it holds
}

// OpenJournal opens the file of results at path. One that is new or empty gets
// the header; one of another sweep is refused with ErrOther, and one of something
// else with ErrResults. A line whose writing was interrupted is cut off.
func OpenJournal(path string, h Header) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	j := &Journal{f: f}
	if err := j.begin(h); err != nil {
		return nil, errors.Join(fmt.Errorf("results in %s: %w", path, err), f.Close())
	}
	return j, nil
}

func (j *Journal) begin(h Header) error {
	old, results, n, err := ReadResults(j.f)
	switch {
	case errors.Is(err, io.EOF): // empty
		return j.write(h)
	case err != nil:
		return err
	case !reflect.DeepEqual(old, h):
		return fmt.Errorf("%w: see its first line", ErrOther)
	}
	j.Results = results
	if err := j.f.Truncate(n); err != nil {
		return err
	}
	_, err = j.f.Seek(n, io.SeekStart)
	return err
}

// ReadResults reads a header and results. A last line without its end does not
// count; n is the number of bytes before it. An empty file is io.EOF.
func ReadResults(r io.Reader) (h Header, results []Result, n int64, err error) {
	in := bufio.NewReaderSize(r, longestLine)
	for line := 1; ; line++ {
		text, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && line == 1 && len(text) > 0:
			return h, nil, 0, fmt.Errorf("%w: no header", ErrResults)
		case errors.Is(err, io.EOF) && line == 1:
			return h, nil, 0, io.EOF
		case errors.Is(err, io.EOF):
			return h, results, n, nil
		case err != nil: // too long, or not readable
			return h, nil, 0, fmt.Errorf("%w: line %d: %w", ErrResults, line, err)
		}
		if line == 1 {
			if err = decode(text, &h); err == nil && h.Schema != Schema {
				err = fmt.Errorf("version %d", h.Schema)
			}
			if err == nil {
				err = h.Grid.Check()
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

// Add keeps a result at once.
func (j *Journal) Add(r Result) error {
	if err := j.write(r); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	j.Results = append(j.Results, r)
	return nil
}

func (j *Journal) write(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = j.f.Write(append(text, '\n'))
	}
	return err
}

// Close closes the file.
func (j *Journal) Close() error { return j.f.Close() }
