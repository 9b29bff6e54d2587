package get

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/policy"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// Run downloads.
func Run(ctx context.Context, o *Options, args []string, stdio console.IO, started time.Time) error {
	t, err := o.task(ctx, args, stdio)
	if err != nil {
		return err
	}
	defer t.close()
	tidy(t.one != nil)
	web, err := o.http()
	if err != nil {
		return err
	}
	o.settleEnergy(t)
	mode, err := o.check()
	if err != nil {
		return err
	}
	program, err := policy.Start(o.algorithm, float64(o.padding), stdio.Err)
	if err != nil {
		return err
	}
	var bus event.Bus
	warn := func(important bool, text string) { bus.Publish(event.Notice{Warning: important, Text: text}) }
	endProgram := policy.Watch(program, warn)
	defer endProgram()
	measure, err := o.power.config(&bus, started)
	if err != nil {
		return err
	}
	watchers, err := o.watch(&bus, mode, measure.models, stdio)
	if err != nil {
		return err
	}
	result := &outcome{bus: &bus, started: started, streamed: o.streams()}
	if o.writeOut != "" {
		result.statuses = make(map[event.FileID]int)
	}
	var totals []event.LinkTotals
	system := link.NewSystem("")
	links, specs, err := o.choose(ctx, system, t.here(), warn)
	result.leftOut = o.leftOut
	if err == nil {
		run := o.runStarted(started, links, t.files())
		bus.Publish(run)
		tellOfProxy(web.Proxies, t.urls, links, warn)
		meter := o.meter(&bus)
		sampler := measure.start(run)
		used := o.sampleUsage(&bus, started)
		nets, terms := networks(links, measure.models)
		cfg := o.engine(web, &bus, started)
		cfg.Meter = meter
		if program != nil {
			cfg.Program = program
		}
		cfg.Meter = meter
		shared := engine.NewLinks(&bus, started, nets, terms, cfg.BlockSize)
		shared = engine.WithSpares(shared, o.spares(links))
		roster := &roster{
			options: o, specs: specs, system: system, bus: &bus, started: started, warn: warn,
			seats: seats(shared), members: members(links), models: measure.models,
		}
		stop := roster.watch(ctx)
		measured := linger(ctx, sampler, o.power.baseline, warn, " before the first connection")
		limited, cancel := o.limitTime(ctx, started.Add(measured))
		defer cancel()
		if o.maxTime > 0 {
			cfg.Deadline = scheduler.Time(measured + o.maxTime)
		}
		pages := newPages(&cfg.HTTP, shared[:len(nets)], o.timeout, o.tries)
		sampler.Closely(onset * o.power.sample.Interval)
		err = result.close(o.download(limited, cfg, shared, pages, t, result, warn))
		pages.close()
		stop()
		for _, l := range shared[:len(roster.members)] {
			totals = append(totals, l.Totals())
		}
		sampler.Closely(0)
		linger(ctx, sampler, o.power.tail, warn, " after the end; an interrupt ends it")
		sampler.Stop()
		used()
	} else {
		bus.Publish(o.runStarted(started, nil, t.files()))
		notBegun(&bus, started, t, err)
	}
	ended := runEnded(started, err, totals)
	ended.Policy = endProgram()
	bus.Publish(ended)
	bus.Close()
	watchErr := watchers.finish(ctx, o, stdio, result)
	switch {
	case err == nil:
		return watchErr
	case links == nil:
		return err
	}
	result.say(stdio.Err, t.one == nil)
	if watchErr != nil {
		exit.Print(stdio.Err, watchErr, "")
	}
	return exit.PrintedError{Err: err}
}

// limitTime ends ctx when --max-time after begun is over.
func (o *Options) limitTime(ctx context.Context, begun time.Time) (context.Context, context.CancelFunc) {
	if o.maxTime <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, begun.Add(o.maxTime), exit.ErrMaxTime)
}

// check finds what is wrong with flags that only make sense together.
func (o *Options) check() (mode progress.Mode, err error) {
	if o.links, err = flags.NamedLinks(o.links); err != nil {
		return mode, err
	}
	if mode, err = progress.ParseMode(o.progress); err != nil {
		return mode, exit.UsageError{Err: err}
	}
	if err = cmp.Or(policy.Check(o.algorithm), flags.CheckEnergy(o.energy),
		flags.OnlyOf("--mode", tuning.Names(), o.mode)); err != nil {
		return mode, err
	}
	switch {
	case o.blockSize.Bytes > 64<<20:
		return mode, exit.Usagef("--block-size: %s is more than 64M", o.blockSize.Text)
	case sameFile(o.reportFile, o.recordFile), sameFile(o.outputPath(), o.reportFile), sameFile(o.outputPath(), o.recordFile):
		return mode, exit.Usagef("--output, --report and --record must be different files")
	case sameFile(o.outputPath(), o.inputFile), sameFile(o.reportFile, o.inputFile), sameFile(o.recordFile, o.inputFile), sameFile(o.metrics.textfile, o.inputFile):
		return mode, exit.Usagef("--input-file would be overwritten")
	case o.output != "" && (os.IsPathSeparator(o.output[len(o.output)-1]) || o.isDirectory()):
		return mode, exit.UsageError{Err: fmt.Errorf("--output: %s is a directory", o.output), Hint: "-P DIR saves in a directory"}
	case o.ipv4 && o.ipv6:
		return mode, exit.Usagef("-4 and -6 exclude each other")
	}
	return mode, nil
}

// isDirectory says whether the output would be a directory that is there.
func (o *Options) isDirectory() bool {
	if o.output == "-" {
		return false
	}
	fi, err := os.Stat(o.outputPath())
	return err == nil && fi.IsDir()
}

// outputPath is where the output is to go; "" and "-" stay as they are.
func (o *Options) outputPath() string {
	if o.output == "" || o.output == "-" {
		return o.output
	}
	return o.target().Path(nil)
}

// target is where a single file is to be saved.
func (o *Options) target() store.Target {
	return store.Target{Dir: o.dir, Name: o.output, Explicit: o.output != "", Continue: o.resume, Served: o.served}
}

// settleEnergy chooses the energy policy where the user has not: of many files with
// the least energy, links are part of the choice.
func (o *Options) settleEnergy(t *task) {
	switch {
	case o.energy != "":
	case t.one == nil && o.mode == tuning.LowE.String():
		o.energy = scheduler.EnergyMin.String()
	default:
		o.energy = scheduler.EnergyOff.String()
	}
}

// sameFile says whether two files are one, by their names or by what is there.
func sameFile(a, b string) bool {
	switch {
	case a == "", b == "", a == "-", b == "-", a == os.DevNull:
		return false
	case filepath.Clean(a) == filepath.Clean(b):
		return true
	}
	fi, err := os.Stat(a)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(fi, other)
}

func (o *Options) runStarted(started time.Time, links []chosen, files int) event.RunStarted {
	e := event.RunStarted{Version: program.Version(), Started: started, Algorithm: o.algorithm, Energy: o.energy, Files: files}
	e.Links = make([]event.LinkInfo, 0, len(links)) // in a record, a list without links is a list
	for _, l := range links {
		e.Links = append(e.Links, l.info)
	}
	return e
}

func runEnded(started time.Time, err error, totals []event.LinkTotals) event.RunEnded {
	e := event.RunEnded{At: scheduler.Time(time.Since(started)), Links: totals}
	if totals == nil {
		e.Links = []event.LinkTotals{}
	}
	e.CPU, e.MaxRSS = usage()
	if err != nil {
		e.ExitCode, _ = exit.Classify(err)
		e.Error = err.Error()
	}
	return e
}

// feederEnd is how long a feeder is waited for at the end. One that reads a list
// from a pipe cannot be called back while nothing comes; it ends with the process.
const feederEnd = 200 * time.Millisecond

// download does what there is to do and tells result what came of each file.
func (o *Options) download(
	ctx context.Context, cfg engine.Config, links []*engine.Link, pages *pages, t *task, result *outcome,
	warn func(important bool, text string),
) error {
	e, err := engine.New(cfg, links)
	if err != nil {
		return err
	}
	defer e.Close()
	if t.one != nil {
		cfg.HTTP.Named.Add(t.one.URL)
		res, err := e.Download(ctx, t.one)
		result.Ended(t.one, res, err)
		return nil
	}
	common := store.NewRun(o.dir)
	defer common.Close()
	f := &feeder{o: o, task: t, pages: pages, named: cfg.HTTP.Named, warn: warn, out: result, common: common, jobs: make(chan *engine.Job)}
	ctx, cancel := context.WithCancel(ctx)
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		f.run(ctx)
	}()
	defer func() {
		cancel()
		select {
		case <-fed:
		case <-time.After(feederEnd):
		}
	}()
	batch := &engine.Batch{
		Jobs: f.jobs, Ahead: &f.ahead, Ended: result,
		Concurrency: o.concurrency.N, Parallelism: o.parallelism.N,
	}
	batch.Mode, _ = tuning.ParseMode(o.mode) // check has seen to it
	return e.DownloadAll(ctx, batch)
}

// streams says whether the output takes bytes once and in order: standard output, a
// pipe, a device.
func (o *Options) streams() bool {
	if o.output == "-" {
		return true
	}
	fi, err := os.Stat(o.output)
	return o.output != "" && err == nil && !fi.Mode().IsRegular() && !fi.IsDir()
}

// notBegun tells of the files for which there is no link, as far as they are known.
func notBegun(bus *event.Bus, started time.Time, t *task, err error) {
	code, _ := exit.Classify(err)
	now, told := scheduler.Time(time.Since(started)), 0
	tell := func(named *url.URL) {
		u := *named
		u.User = nil
		id := fileID(told)
		told++
		bus.Publish(event.FileStarted{At: now, File: id, URL: u.String()})
		bus.Publish(event.FileEnded{At: now, File: id, Size: -1, ExitCode: code, Error: err.Error()})
	}
	switch {
	case t.one != nil:
		tell(t.one.URL)
		return
	case t.trees: // they are in pages that nobody has read
		return
	}
	for _, u := range t.urls {
		tell(u)
	}
	for t.list != nil && t.list.known >= 0 { // else it would be waited for
		_, u, _, err := t.list.next()
		if err != nil {
			return
		}
		tell(u)
	}
}
