package cli

import (
	"os"
	"sync"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/internal/report"
)

// watchers are those who follow a run.
type watchers struct {
	wait    sync.WaitGroup
	builder report.Builder
	record  *os.File
	err     error // the record's
}

// watch starts the observers.
func (o *getOptions) watch(bus *event.Bus, mode progress.Mode, models energy.Models, stdio IO) (*watchers, error) {
	w := &watchers{builder: report.Builder{Models: models}}
	if o.recordFile != "" {
		f, err := os.Create(o.recordFile)
		if err != nil {
			return nil, fileError{err}
		}
		w.record = f
		sub := bus.Subscribe()
		w.wait.Go(func() {
			w.err = record.Run(sub, f)
			if err := f.Close(); w.err == nil {
				w.err = err
			}
		})
	}
	sub := bus.Subscribe()
	w.wait.Go(func() { w.builder.Watch(sub) })
	shown := bus.Subscribe()
	w.wait.Go(func() {
		progress.Run(shown, stdio.Err, progress.Config{Mode: mode, Quiet: o.quiet, Verbose: o.verbose})
	})
	return w, nil
}

// finish waits for the observers and writes the reports.
func (w *watchers) finish(o *getOptions, stdio IO) error {
	w.wait.Wait()
	r := w.builder.Report()
	if !o.quiet && worthSummary(r) {
		_ = report.WriteSummary(stdio.Err, r) // for people: if nobody reads it, the files are there all the same
	}
	if o.json {
		if err := r.WriteJSON(stdio.Out); err != nil {
			return fileError{err}
		}
	}
	if o.reportFile != "" {
		if err := writeReport(o.reportFile, r); err != nil {
			return fileError{err}
		}
	}
	if w.err != nil {
		return fileError{w.err}
	}
	return nil
}

// worthSummary says whether a summary tells more than the error does.
func worthSummary(r report.Report) bool {
	moved := r.WastedBytes
	for _, l := range r.Links {
		moved += l.Bytes
	}
	return len(r.Links) > 0 && (r.ExitCode == exitOK || moved > 0)
}

func writeReport(name string, r report.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := r.WriteJSON(f); err != nil {
		_ = f.Close() // the first error counts
		return err
	}
	return f.Close()
}
