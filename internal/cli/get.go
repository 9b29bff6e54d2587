package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// autoConcurrency is how many files are fetched at once where nothing is said.
const autoConcurrency = 4

// runGet downloads.
func runGet(ctx context.Context, o *getOptions, args []string, stdio IO, started time.Time) error {
	jobs, err := o.jobs(args, stdio)
	if err != nil {
		return err
	}
	web, err := o.http()
	if err != nil {
		return err
	}
	mode, err := o.check()
	if err != nil {
		return err
	}
	var bus event.Bus
	measure, err := o.power.config(&bus, started)
	if err != nil {
		return err
	}
	watchers, err := o.watch(&bus, mode, measure.models, stdio)
	if err != nil {
		return err
	}
	warn := func(important bool, text string) { bus.Publish(event.Notice{Warning: important, Text: text}) }
	var results []error
	var totals []event.LinkTotals
	links, specs, err := o.choose(ctx, warn)
	if err == nil {
		run := o.runStarted(started, links, len(jobs))
		bus.Publish(run)
		sampler := measure.start(run)
		used := o.sampleUsage(&bus, started)
		nets, terms := networks(links, measure.models)
		cfg := o.engine(web, &bus, started)
		shared := engine.NewLinks(&bus, started, nets, terms, cfg.BlockSize)
		shared = engine.WithSpares(shared, o.spares(links))
		roster := &roster{
			options: o, specs: specs, system: link.System{}, bus: &bus, started: started, warn: warn,
			seats: seats(shared), members: members(links), models: measure.models,
		}
		stop := roster.watch(ctx)
		measured := linger(ctx, sampler, o.power.baseline, warn, " before the first connection")
		limited, cancel := o.limitTime(ctx, started.Add(measured))
		defer cancel()
		if o.maxTime > 0 {
			cfg.Deadline = scheduler.Time(measured + o.maxTime)
		}
		results = downloadAll(limited, cfg, shared, jobs, o.atOnce(len(jobs)))
		stop()
		for _, l := range shared[:len(roster.members)] {
			totals = append(totals, l.Totals())
		}
		err = firstOf(results)
		linger(ctx, sampler, o.power.tail, warn, " after the end; an interrupt ends it")
		sampler.Stop()
		used()
	} else {
		bus.Publish(o.runStarted(started, nil, len(jobs)))
		notBegun(&bus, started, jobs, err)
	}
	bus.Publish(runEnded(started, err, totals))
	bus.Close()
	watchErr := watchers.finish(ctx, o, stdio, results)
	switch {
	case err == nil:
		return watchErr
	case len(jobs) > 1 && len(results) > 0: // each was printed when it happened
		return saidIfSeveral(stdio.Err, jobs, results, err)
	case isWeb(err):
		return jobError{jobs[0].URL, err}
	}
	return err
}

// limitTime ends ctx when --max-time after begun is over.
func (o *getOptions) limitTime(ctx context.Context, begun time.Time) (context.Context, context.CancelFunc) {
	if o.maxTime <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, begun.Add(o.maxTime), errMaxTime)
}

// jobs makes a job of every URL.
func (o *getOptions) jobs(args []string, stdio IO) ([]*engine.Job, error) {
	urls, err := o.urls(args, stdio.In)
	if err != nil {
		return nil, err
	}
	if len(urls) > 1 && (o.output != "" || o.checksum != "") {
		return nil, usagef("--output and --checksum are for one URL, not for %d", len(urls))
	}
	if o.output == "-" && o.json {
		return nil, usagef("--json and --output - both want standard output; --report FILE writes the report elsewhere")
	}
	var sum *engine.Checksum
	if o.checksum != "" {
		if sum, err = engine.ParseChecksum(o.checksum); err != nil {
			return nil, usagef("--checksum: %w", err)
		}
	}
	jobs := make([]*engine.Job, len(urls))
	for i, u := range urls {
		jobs[i] = &engine.Job{
			ID: event.FileID(i), URL: u, Checksum: sum,
			Target: store.Target{Dir: o.dir, Name: o.output, Explicit: o.output != "", Continue: o.resume},
		}
		if o.output == "-" {
			jobs[i].Stdout = stdio.Out
		}
	}
	return jobs, nil
}

// check finds what is wrong with flags that only make sense together.
func (o *getOptions) check() (progress.Mode, error) {
	mode, err := progress.ParseMode(o.progress)
	switch {
	case err != nil:
		return mode, usageError{err}
	case !slices.Contains(scheduler.Names(), o.algorithm):
		return mode, usagef("--algorithm: there is no %q; there are %v", o.algorithm, scheduler.Names())
	case !slices.Contains(scheduler.EnergyNames(), o.energy):
		return mode, usagef("--energy: there is no %q; there are %v", o.energy, scheduler.EnergyNames())
	case o.padding < 0 || o.padding > 1 || o.padding != o.padding:
		return mode, usagef("--bdp-padding: %v is not within 0 to 1", o.padding)
	case o.tries < 0 || o.timeout < 0 || o.connectTime < 0 || o.maxTime < 0:
		return mode, usagef("a limit is negative")
	case o.blockSize.bytes > 64<<20:
		return mode, usagef("--block-size: %s is more than 64M", o.blockSize.text)
	case o.parallelism > scheduler.MaxStreams:
		return mode, usagef("--parallelism: %d is more than %d", o.parallelism, scheduler.MaxStreams)
	case o.sameFile(o.reportFile, o.recordFile), o.sameFile(o.output, o.reportFile), o.sameFile(o.output, o.recordFile):
		return mode, usagef("--output, --report and --record must be different files")
	case o.ipv4 && o.ipv6:
		return mode, usagef("-4 and -6 exclude each other")
	}
	return mode, nil
}

// sameFile says whether two of the files to write are one by their names.
func (o *getOptions) sameFile(a, b string) bool {
	if a == "" || b == "" || a == "-" || b == "-" || a == os.DevNull {
		return false
	}
	if a == o.output && !filepath.IsAbs(a) {
		a = filepath.Join(o.dir, a)
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

func (o *getOptions) atOnce(files int) int {
	if o.concurrency > 0 {
		return min(files, int(o.concurrency))
	}
	return min(files, autoConcurrency)
}

func (o *getOptions) runStarted(started time.Time, links []chosen, files int) event.RunStarted {
	e := event.RunStarted{Version: Version, Started: started, Algorithm: o.algorithm, Energy: o.energy, Files: files}
	for _, l := range links {
		e.Links = append(e.Links, l.info)
	}
	return e
}

func runEnded(started time.Time, err error, totals []event.LinkTotals) event.RunEnded {
	e := event.RunEnded{At: scheduler.Time(time.Since(started)), Links: totals}
	e.CPU, e.MaxRSS = usage()
	if err != nil {
		e.ExitCode, _ = classify(err)
		e.Error = err.Error()
	}
	return e
}

// downloadAll runs the jobs, some at once, each of those over connections of its
// own, and returns their errors in their order.
func downloadAll(ctx context.Context, cfg engine.Config, links []*engine.Link, jobs []*engine.Job, atOnce int) []error {
	results := make([]error, len(jobs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			e, err := engine.New(cfg, links)
			if err != nil {
				for i := range next {
					results[i] = err
				}
				return
			}
			defer e.Close()
			for i := range next {
				results[i] = download(ctx, e, cfg, jobs[i])
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

func download(ctx context.Context, e *engine.Engine, cfg engine.Config, job *engine.Job) error {
	res, err := e.Download(ctx, job)
	end := event.FileEnded{At: scheduler.Time(time.Since(cfg.Started)), File: job.ID, Output: res.Output, Size: res.Size}
	if err != nil {
		end.ExitCode, _ = classify(err)
		end.Error = err.Error()
	}
	cfg.Bus.Publish(end)
	return err
}

// notBegun tells of files for which there is no link.
func notBegun(bus *event.Bus, started time.Time, jobs []*engine.Job, err error) {
	code, _ := classify(err)
	for _, job := range jobs {
		now := scheduler.Time(time.Since(started))
		u := *job.URL
		u.User = nil
		bus.Publish(event.FileStarted{At: now, File: job.ID, URL: u.String()})
		bus.Publish(event.FileEnded{At: now, File: job.ID, Size: -1, ExitCode: code, Error: err.Error()})
	}
}
