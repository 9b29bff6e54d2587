package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/rewrite"
)

// watchers are the observers of a run.
type watchers struct {
	wait    sync.WaitGroup
	builder report.Builder
	err     error         // the record's
	metrics *metricsWatch // nil: no metrics
	write   *writeOut     // nil: nothing
}

// watch starts the observers.
func (o *Options) watch(bus *event.Bus, mode progress.Mode, models energy.Models, stdio console.IO) (*watchers, error) {
	w := &watchers{builder: report.Builder{Models: models}}
	err := o.metrics.check(o)
	if err == nil {
		err = placeOf(o.reportFile)
	}
	if err != nil {
		return nil, err
	}
	if w.write, err = o.writeOutput(stdio); err != nil {
		return nil, err
	}
	summed, shown := bus.Subscribe(), bus.Subscribe()
	if os.Getenv("GOMAXPROCS") == "" {
		sub := bus.Subscribe()
		w.wait.Go(func() { adjustProcessors(sub) })
	}
	switch {
	case o.recordFile == "-":
		w.keepRecord(stdio.Out, bus.Subscribe())
	case o.recordFile != "":
		f, err := rewrite.Create(o.recordFile)
		if err != nil {
			return nil, exit.FileError{Err: err}
		}
		w.keepRecord(f, bus.Subscribe())
	}
	// They have something to say, which all should hear.
	if w.metrics, err = o.metrics.watch(bus); err != nil {
		return nil, err
	}
	if w.write != nil {
		sub := bus.Subscribe()
		w.wait.Go(func() { w.write.watch(sub) })
	}
	w.wait.Go(func() { w.builder.Watch(summed) })
	w.wait.Go(func() {
		progress.Run(shown, stdio.Err, progress.Config{Mode: mode, Out: stdio.Out, Quiet: o.quiet, Verbose: o.verbose})
	})
	return w, nil
}

// keepRecord writes every event of sub to out, which it closes if it is a file of
// its own.
func (w *watchers) keepRecord(out io.Writer, sub *event.Subscription) {
	w.wait.Go(func() {
		w.err = record.Run(sub, out)
		f, ok := out.(*os.File)
		if !ok || f == os.Stdout {
			return
		}
		if err := f.Close(); w.err == nil {
			w.err = err
		}
	})
}

// finish waits for the observers and writes the reports. An end of ctx ends what
// is shown for longer than the run.
func (w *watchers) finish(ctx context.Context, o *Options, stdio console.IO, result *outcome) error {
	w.wait.Wait()
	err := w.report(o, stdio, result)
	last := w.metrics.finish(ctx, func(text string) { exit.Print(stdio.Err, errors.New(text), "") })
	switch {
	case err != nil:
		return exit.FileError{Err: err}
	case w.err != nil:
		return exit.FileError{Err: w.err}
	}
	return last
}

// report says what became of the run.
func (w *watchers) report(o *Options, stdio console.IO, result *outcome) error {
	r := w.builder.Report()
	if !o.quiet && !o.probes() && o.progress != string(progress.ModeJSON) && worthSummary(r) { // JSON output stays pure JSON
		_ = report.WriteSummary(stdio.Err, r, o.detail(stdio.Err)) // an unreadable standard error is no failure: the files are there
	}
	if o.json || o.reportFile == "-" {
		if err := r.WriteJSON(stdio.Out); err != nil {
			return err
		}
	}
	if o.reportFile != "" && o.reportFile != "-" {
		if err := notDownloaded(o.reportFile, r); err != nil {
			return err
		}
		if err := console.Create(o.reportFile, r.WriteJSON); err != nil {
			return err
		}
	}
	return w.write.write(r, result, stdio)
}

// detail is how much the summary says.
func (o *Options) detail(out io.Writer) report.Detail {
	return report.Detail{Columns: progress.Columns(out), Verbose: o.verbose, Energy: o.power.asked()}
}

// notDownloaded fails where the run has saved a file under the report's name.
func notDownloaded(name string, r report.Report) error {
	there, err := os.Stat(name)
	if err != nil || !there.Mode().IsRegular() {
		return nil //nolint:nilerr // writing it will tell
	}
	files := r.Files
	if len(files) == 0 {
		files = []report.File{{Output: r.Output, ExitCode: r.ExitCode}}
	}
	for _, f := range files {
		if f.ExitCode != exit.OK {
			continue
		}
		if saved, err := os.Stat(f.Output); err == nil && os.SameFile(there, saved) {
			return fmt.Errorf("--report: %s is a file that was downloaded, and stays: give the report another name", name)
		}
	}
	return nil
}

// worthSummary says whether a summary tells more than the error does.
func worthSummary(r report.Report) bool {
	moved := r.WastedBytes
	for _, l := range r.Links {
		moved += l.Bytes
	}
	return len(r.Links) > 0 && (r.ExitCode == exit.OK || moved > 0)
}

// placeOf finds out, before anything is fetched, whether a report can be written: not
// by making it, since one that is there says that a run has ended.
func placeOf(report string) error {
	if report == "" || report == "-" {
		return nil
	}
	if info, err := os.Stat(report); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil // its reader would see an end
	}
	f, err := os.OpenFile(report, os.O_WRONLY, 0)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(report))
	}
	if err != nil {
		return exit.FileError{Err: fmt.Errorf("--report: %w", err)}
	}
	return nil
}
