package get

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/policy"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/cookies"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/execpolicy"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/plan"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// Run downloads.
func Run(ctx context.Context, o *Options, args []string, stdio console.IO, started time.Time) error {
	r := &run{o: o, stdio: stdio, started: started, system: link.NewSystem("")}
	defer r.close()
	for _, step := range []func(context.Context, []string) error{
		r.readTask, r.checkFlags, r.startPolicy, r.readPower, r.startObservers,
	} {
		if err := step(ctx, args); err != nil {
			return err
		}
	}
	if r.keepsFile() {
		r.endEvents(nil)
		return r.tell(ctx, nil)
	}
	err := r.chooseLinks(ctx)
	switch {
	case err != nil:
		r.notBegun(err)
	case o.probes():
		err = r.probe(ctx)
	default:
		err = r.transfer(ctx)
	}
	r.endEvents(err)
	return r.tell(ctx, err)
}

// run is a download, or a job of many, from the command line to its end.
type run struct {
	o       *Options
	stdio   console.IO
	started time.Time
	bus     event.Bus

	task      *task
	web       fetch.Config
	jar       *cookies.Jar
	unread    []string // what is to be said of files of cookies
	proxies   proxies
	answers   *answers // nil: no flag asks for them
	mode      progress.Mode
	program   *execpolicy.Program // nil: no program decides
	endPolicy func() *event.PolicyTotals
	measure   measurement
	watchers  *watchers
	result    *outcome

	system link.System
	links  []chosen
	plans  *plans // of the links
	gates  gateways
	totals []event.LinkTotals
}

// warn reports text to the observers; unimportant text is shown with -v only.
func (r *run) warn(important bool, text string) {
	r.bus.Publish(event.Notice{Warning: important, Text: text})
}

func (r *run) close() {
	if r.endPolicy != nil {
		r.endPolicy()
	}
	r.gates.close()
	if r.task != nil {
		r.task.close()
	}
}

// readTask finds out what there is to download.
func (r *run) readTask(ctx context.Context, args []string) (err error) {
	if r.task, err = r.o.task(ctx, args, r.stdio); err != nil {
		return err
	}
	tidy(r.task.one != nil)
	return nil
}

// checkFlags refuses what cannot be meant, before anything is opened.
func (r *run) checkFlags(context.Context, []string) (err error) {
	if r.web, err = r.o.http(); err != nil {
		return err
	}
	if err = r.o.conditions.check(r.o.served, r.o.output == "-"); err != nil {
		return err
	}
	r.o.conditions.apply(r.web.Header, r.task)
	if r.proxies, err = r.o.proxy.proxies(); err != nil {
		return err
	}
	r.web.Proxies = r.proxies
	if r.jar, r.unread, err = r.o.cookies.jar(r.web.Header); err != nil {
		return err
	}
	r.web.Cookies = r.jar
	r.o.settleEnergy(r.task)
	if r.mode, err = r.o.check(); err != nil || !r.o.createDirs || r.o.outputPath() == "-" {
		return err
	}
	if err = os.MkdirAll(filepath.Dir(r.o.outputPath()), 0o777); err != nil {
		return exit.FileError{Err: fmt.Errorf("--create-dirs: %w", err)}
	}
	return nil
}

// startPolicy starts the program that --algorithm may name.
func (r *run) startPolicy(context.Context, []string) (err error) {
	if r.program, err = policy.Start(r.o.algorithm, float64(r.o.padding), r.stdio.Err); err == nil {
		r.endPolicy = sync.OnceValue(policy.Watch(r.program, r.warn))
	}
	return err
}

// readPower reads how power is measured or modelled.
func (r *run) readPower(context.Context, []string) (err error) {
	r.measure, err = r.o.power.config(&r.bus, r.started)
	return err
}

// startObservers starts the observers, and what collects the files' results.
func (r *run) startObservers(context.Context, []string) (err error) {
	if r.watchers, err = r.o.watch(&r.bus, r.mode, r.measure.models, r.stdio); err != nil {
		return err
	}
	if r.answers, err = r.o.openAnswers(r.stdio.Out, &r.bus); err != nil {
		return err
	}
	if r.answers != nil {
		r.web.Answers = r.answers
	}
	if w := r.watchers.write; w != nil {
		w.answers, w.upload = r.answers, int64(len(r.web.Body))
	}
	if r.o.compressed {
		r.warn(true, "files are fetched and saved as they are: nothing is compressed on the way, nor unpacked")
	}
	for _, said := range r.unread {
		r.warn(true, said)
	}
	if name := r.o.conditions.unmatched; name != "" {
		r.warn(true, "--time-cond: "+name+" is neither a date nor a file: no condition")
	}
	r.result = &outcome{
		bus: &r.bus, started: r.started, streamed: r.o.streams(),
		several: r.task.files() != 1, conditional: conditional(r.web.Header),
	}
	if r.o.writeOut != "" {
		r.result.statuses = make(map[event.FileID]int)
	}
	return nil
}

// chooseLinks finds the links to use.
func (r *run) chooseLinks(ctx context.Context) (err error) {
	here := slices.Equal(r.o.links, []string{link.Auto}) && r.task.here(ctx, r.web.Proxies, r.web.Addresses)
	r.links, r.plans, err = r.o.choose(ctx, r.system, here, &r.gates, r.warn)
	r.result.leftOut = r.o.leftOut
	if err == nil && r.o.request.alone() && len(r.links) > 1 {
		r.warn(false, fmt.Sprintf("the request is made once, over %s alone", r.links[0].info.Name))
		r.links = r.links[:1]
	}
	if err == nil && r.o.request.alone() {
		r.o.links = []string{r.links[0].found.Name} // none joins
	}
	return err
}

// keepsFile says whether the only file is there already and is to be kept.
func (r *run) keepsFile() bool {
	if r.task.one == nil || r.o.probes() || r.o.conditions.of(r.task.one) {
		return false
	}
	r.bus.Publish(r.o.runStarted(r.started, nil, 1))
	r.result.keeps(r.task.one)
	return true
}

// transfer downloads over the links, which it keeps up to date meanwhile, and measures
// before and after.
func (r *run) transfer(ctx context.Context) error {
	o := r.o
	begin := o.runStarted(r.started, r.links, r.task.files())
	r.bus.Publish(begin)
	tellOfProxy(r.web.Proxies, r.task.urls, r.links, r.warn)
	meter := o.meter(&r.bus)
	sampler := r.measure.start(begin)
	endUsage := o.sampleUsage(&r.bus, r.started)
	cfg := o.engine(r.web, &r.bus, r.started)
	cfg.Meter = meter
	if r.program != nil {
		cfg.Program = r.program
	}
	nets, terms := networks(r.links, r.measure.models)
	shared := r.plans.links(&r.bus, r.started, r.links, nets, terms, o.spares(r.links, r.plans.specs), cfg.BlockSize)
	defer r.plans.close()
	roster := &roster{
		options: o, plans: r.plans, gates: &r.gates, system: r.system, bus: &r.bus, started: r.started, warn: r.warn,
		seats: seats(shared), members: members(r.links), models: r.measure.models,
	}
	stop := roster.watch(ctx)
	measured := linger(ctx, sampler, o.power.baseline, r.warn, " before the first connection")
	limited, cancel := o.limitTime(ctx, r.started.Add(measured))
	defer cancel()
	if o.maxTime > 0 {
		cfg.Deadline = scheduler.Time(measured + o.maxTime)
	}
	pages := newPages(&cfg.HTTP, shared[:len(nets)], o.timeout, o.tries)
	sampler.Closely(onset * o.power.sample.Interval)
	err := r.result.close(o.download(limited, cfg, shared, pages, r.task, r.result, r.warn))
	pages.close()
	stop()
	for _, l := range shared[:len(roster.members)] {
		r.totals = append(r.totals, l.Totals())
	}
	sampler.Closely(0)
	linger(ctx, sampler, o.power.tail, r.warn, " after the end; an interrupt ends it")
	sampler.Stop()
	endUsage()
	return err
}

// links are the links with which a run begins. Their plans are kept until p is closed.
func (p *plans) links(bus *event.Bus, started time.Time, begun []chosen, nets []engine.Network, terms []engine.Terms, spares, block int) []*engine.Link {
	keepers := make([]*plan.Keeper, len(nets))
	for i, l := range begun {
		keepers[i] = p.terms(l.described, l.net.Spec(), &terms[i])
	}
	links := engine.NewLinks(bus, started, nets, terms, spares, block)
	for i, l := range begun {
		p.keep(keepers[i], l.info.Name, links[i])
	}
	return links
}

// notBegun publishes the events of a run for which there is no link.
func (r *run) notBegun(err error) {
	r.bus.Publish(r.o.runStarted(r.started, nil, r.task.files()))
	notBegun(&r.bus, r.started, r.task, err)
}

// endEvents publishes the run's end, the last event.
func (r *run) endEvents(err error) {
	ended := runEnded(r.started, err, r.totals)
	ended.Policy = r.endPolicy()
	r.bus.Publish(ended)
	r.bus.Close()
}

// tell waits for the observers, and prints what went wrong.
func (r *run) tell(ctx context.Context, err error) error {
	watchErr := r.watchers.finish(ctx, r.o, r.stdio, r.result)
	for _, err := range []error{r.o.cookies.write(r.jar), r.answers.close()} {
		if watchErr == nil {
			watchErr = err
		}
	}
	switch {
	case err == nil:
		return watchErr
	case r.links == nil:
		return err
	}
	r.result.say(r.stdio.Err, r.task.one == nil)
	if watchErr != nil {
		exit.Print(r.stdio.Err, watchErr, "")
	}
	return exit.PrintedError{Err: err}
}

func (o *Options) runStarted(started time.Time, links []chosen, files int) event.RunStarted {
	e := event.RunStarted{Version: program.Version(), Started: started, Algorithm: o.algorithm, Energy: o.power.policy, Files: files}
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
	e.Switches = voluntarySwitches()
	if err != nil {
		e.ExitCode, _ = exit.Classify(err)
		e.Error = err.Error()
	}
	return e
}

// feederEnd is how long a feeder is waited for at the end. One that reads a list
// from a pipe cannot be called back while nothing comes; it ends with the process.
const feederEnd = 200 * time.Millisecond

// download runs the task and passes each file's result to result.
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
	if t.print != nil {
		return o.printAll(ctx, e, cfg.HTTP.Named, t, result)
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
		Jobs: f.jobs, Ahead: &f.ahead, Ended: f,
		Concurrency: o.concurrency.N, Parallelism: o.parallelism.N,
	}
	batch.Mode, _ = tuning.ParseMode(o.mode) // check has seen to it
	return e.DownloadAll(ctx, batch)
}

// notBegun publishes the files for which there is no link, as far as they are known.
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
	case t.trees: // they are in pages that were not read
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
