package study

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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

// file is one that may be a run.
type file struct {
	path, source string
}

// Read reads runs: records (--record), reports (--report, --json), and directories
// of these. A file counts once, however often it is named, and so does a run of which
// there are a record and a report: the record tells more. It gives the runs in the order of the names, those
// of a directory by their names, and an error for each file that is none. Models
// are the radios' for what is modelled of records.
func Read(ctx context.Context, names []string, models energy.Models) ([]*Run, []error) {
	files, errs := find(names)
	runs, faults := make([]*Run, len(files)), make([]error, len(files))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := range next {
				runs[i], faults[i] = readFile(files[i], models)
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
	runs = once(slices.DeleteFunc(runs, func(r *Run) bool { return r == nil }))
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

// find gives the files that names stand for, each once.
func find(names []string) (files []file, errs []error) {
	seen := make(map[string]bool)
	add := func(f file) {
		path, err := filepath.Abs(f.path)
		if err != nil {
			path = f.path
		}
		if !seen[path] {
			seen[path] = true
			files = append(files, f)
		}
	}
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !info.IsDir():
			add(file{name, base(filepath.Dir(name))})
		default:
			found, err := walk(name)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("%s: %w", name, ErrNoRuns)
			}
			if err != nil {
				errs = append(errs, err)
			}
			for _, f := range found {
				add(f)
			}
		}
	}
	return files, errs
}

// base is the last part of a directory's full name.
func base(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	return filepath.Base(dir)
}

// walk gives the records of a directory, and the reports of which there is no
// record, in the order of their names. Other JSON files that lie about there are
// not taken for broken runs.
func walk(dir string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		switch ext := filepath.Ext(path); ext {
		case ".jsonl":
			files = append(files, file{path, base(dir)})
		case ".json":
			if _, err := os.Stat(strings.TrimSuffix(path, ext) + ".jsonl"); err != nil && isReport(path) {
				files = append(files, file{path, base(dir)})
			}
		}
		return nil
	})
	return files, err
}

// isReport says whether a file begins as a report does.
func isReport(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	begin := make([]byte, 200)
	n, _ := io.ReadFull(f, begin) // less than that is no report
	text := bytes.Join(bytes.Fields(begin[:n]), nil)
	return bytes.HasPrefix(text, []byte(`{"schema":`)) && bytes.Contains(text, []byte(`"version":`))
}

// readFile reads a record or a report.
func readFile(f file, models energy.Models) (*Run, error) {
	in, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	run, err := read(in, models)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	run.Name, run.Source = f.path, f.source
	return run, nil
}

// read tells a record from a report by its first line.
func read(in io.Reader, models energy.Models) (*Run, error) {
	buf := bufio.NewReader(in)
	begin, err := buf.Peek(512)
	if len(begin) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	first, _, _ := bytes.Cut(begin, []byte("\n"))
	if bytes.Contains(first, []byte(`"event"`)) {
		run, err := readRecord(buf, models)
		if errors.Is(err, record.ErrNotRecord) {
			return nil, ErrForeign
		}
		return run, err
	}
	return readReport(buf)
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
