package study

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/internal/report"
)

// Errors that say why a file is no run.
var (
	ErrForeign = errors.New("neither a record nor a report of mlget")
	ErrNoRuns  = errors.New("there are no records and no reports in it")
)

// maxReport bounds a report, in bytes: one of a hundred thousand files fits in.
const maxReport = 64 << 20

// Read reads runs: records (--record), reports (--report, --json), the results of sweeps
// (bench sweep --state), and directories of these. A file counts once, however often it is named, and so does a run of which
// there are a record and a report: the record tells more. It gives the runs in the order of the names, those
// of a directory by their names, and an error for each file that is none. Models
// are the radios' for what is modelled of records.
func Read(ctx context.Context, names []string, models energy.Models) ([]*Run, []error) {
	files, errs := find(names)
	files = slices.DeleteFunc(files, func(f file) bool { return f.recorded })
	found, faults := make([][]*Run, len(files)), make([]error, len(files))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := range next {
				found[i], faults[i] = readFile(files[i], models)
			}
		})
	}
	for i := range files {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	runs := once(slices.Concat(found...))
	for _, err := range faults {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return runs, errs
}

// once leaves out reports of runs of which there is a record: when a run began, to the
// nanosecond, and what it fetched say which it is.
func once(runs []*Run) []*Run {
	type key struct {
		began time.Time
		url   string
	}
	keyOf := func(r *Run) key { return key{r.Report.Started.UTC(), r.Report.URL} }
	recorded := make(map[key]bool, len(runs))
	for _, r := range runs {
		recorded[keyOf(r)] = recorded[keyOf(r)] || len(r.Traces) > 0
	}
	return slices.DeleteFunc(runs, func(r *Run) bool {
		return len(r.Traces) == 0 && recorded[keyOf(r)] && !r.Report.Started.IsZero()
	})
}

// readFile reads a record, a report, or the results of a sweep.
func readFile(f file, models energy.Models) ([]*Run, error) {
	in, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	runs, err := read(in, models)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	for _, run := range runs {
		run.Name, run.Source = f.path, f.source
	}
	return runs, nil
}

// read tells what a file is by its first line.
func read(in io.Reader, models energy.Models) ([]*Run, error) {
	buf := bufio.NewReader(in)
	begin, err := buf.Peek(512)
	if len(begin) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	first, _, _ := bytes.Cut(begin, []byte("\n"))
	var run *Run
	switch {
	case bytes.HasPrefix(first, []byte(`{"sweep":`)):
		return readSweep(buf)
	case bytes.Contains(first, []byte(`"event"`)):
		if run, err = readRecord(buf, models); errors.Is(err, record.ErrNotRecord) {
			err = ErrForeign
		}
	default:
		run, err = readReport(buf)
	}
	if err != nil {
		return nil, err
	}
	return []*Run{run}, nil
}

func readReport(in io.Reader) (*Run, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxReport+1))
	if err != nil {
		return nil, err
	}
	run := &Run{}
	err = json.Unmarshal(text, &run.Report)
	switch {
	case len(text) > maxReport, err != nil, run.Report.Schema < 1, run.Report.Version == "":
		return nil, ErrForeign
	case run.Report.Schema > report.Schema:
		return nil, fmt.Errorf("report of schema %d, this version reads up to %d", run.Report.Schema, report.Schema)
	}
	run.Report.Files = nil
	return run, nil
}
