package get

import (
	"context"
	"errors"
	"io"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// Shared is links that one program opens once and many downloads share, each with an engine of
// its own. They are kept up to date until Close, as in a run of get.
type Shared struct {
	bus     event.Bus
	started time.Time
	links   []*engine.Link
	stop    func()
	came    chan struct{}

	mu    sync.Mutex
	infos []event.LinkInfo // by LinkID; it only grows
}

// Parse reads the flags of a download, which has nothing to do with the command line, nor with
// the user's own settings.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.AddFlags(f)
	if err := f.Parse(args); err != nil {
		return nil, exit.UsageError{Err: err}
	}
	if f.NArg() > 0 {
		return nil, exit.Usagef("%q is no flag", f.Arg(0))
	}
	o.settleEnergy(&task{one: &engine.Job{}})
	_, err := o.check()
	return o, err
}

// Share opens the links that the flags name; if none is named and here is set, the links that
// lead to this machine itself. If there is no link yet, it waits for one, unless all are
// required. global is as in link.Options.
func (o *Options) Share(ctx context.Context, here, global bool, warn func(important bool, text string)) (*Shared, error) {
	return o.share(ctx, here, global, nil, warn)
}

// share is Share, with a follower, unless that is nil: then it does not wait for a link.
func (o *Options) share(ctx context.Context, here, global bool, f Follower, warn func(important bool, text string)) (*Shared, error) {
	o.global = global
	system := link.NewSystem("")
	s := &Shared{started: time.Now(), came: make(chan struct{}, 1)}
	measured, err := o.power.config(&s.bus, s.started)
	if err != nil {
		return nil, err
	}
	gates := new(gateways)
	begun, plans, err := o.choose(ctx, system, here && o.automatic(), gates, warn)
	if err != nil && (f != nil || o.requireAll || !errors.Is(err, link.ErrNoLink)) {
		return nil, err
	}
	if err != nil {
		warn(true, err.Error()+": downloads wait for one")
		specs, err := o.specs()
		if err != nil {
			return nil, err
		}
		plans = newPlans(ctx, specs, warn)
	}
	nets, terms := networks(begun, measured.models)
	s.links = plans.links(&s.bus, s.started, begun, nets, terms, o.spares(begun, plans.specs), int(o.blockSize.Bytes))
	for _, l := range begun {
		s.infos = append(s.infos, l.info)
	}
	roster := &roster{
		options: o, plans: plans, gates: gates, system: system, bus: &s.bus, started: s.started, warn: warn,
		members: members(begun), models: measured.models,
	}
	for i, l := range s.links {
		seat := announced{l, s.came, f}
		roster.seats = append(roster.seats, seat)
		if i < len(nets) {
			seat.use(nets[i], false)
		}
	}
	joined, heard := s.bus.Subscribe(), make(chan struct{})
	go func() {
		defer close(heard)
		s.follow(joined)
	}()
	stop := roster.watch(ctx)
	s.stop = func() {
		stop()
		plans.close()
		gates.close()
		s.bus.Close()
		<-heard
	}
	return s, nil
}

// follow learns of links that join.
func (s *Shared) follow(sub *event.Subscription) {
	for e := range sub.All() {
		if j, ok := e.(event.LinkJoined); ok {
			s.mu.Lock()
			s.infos = append(s.infos, j.Info)
			s.mu.Unlock()
		}
	}
}

// Came tells, now and then, that links have come or have come back since it last did.
func (s *Shared) Came() <-chan struct{} { return s.came }

// Name is a link's name.
func (s *Shared) Name(id int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id >= len(s.infos) {
		return ""
	}
	return s.infos[id].Name
}

// Infos are the present and past links, by LinkID. It is not to be changed.
func (s *Shared) Infos() []event.LinkInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.infos[:len(s.infos):len(s.infos)]
}

// Now is the time of events that happen now.
func (s *Shared) Now() scheduler.Time { return scheduler.Time(time.Since(s.started)) }

// Close lets the links go; there is no download over them any more.
func (s *Shared) Close() { s.stop() }

// Download downloads what leads to target over the links, as o says. bus tells what happens,
// and is closed at the end. whole says that the file may be there already, complete, so that
// this is found out first. overall, if it is not nil, limits the rate of all downloads that have
// it together, besides what o says of this one.
func (s *Shared) Download(ctx context.Context, o *Options, u *url.URL, target store.Target, whole bool, overall *rate.Limiter, bus *event.Bus) (engine.Result, error) {
	defer bus.Close()
	job := &engine.Job{URL: u, Target: target}
	none := engine.Result{Size: -1}
	web, err := o.http()
	if err != nil {
		return none, err
	}
	if web.Proxies, err = o.proxy.proxies(); err != nil {
		return none, err
	}
	var unread []string
	if web.Cookies, unread, err = o.cookies.jar(web.Header); err != nil {
		return none, err
	}
	for _, said := range unread {
		bus.Publish(event.Notice{Warning: true, Text: said})
	}
	if o.checksum != "" {
		if job.Checksum, err = engine.ParseChecksum(asChecksum(o.checksum)); err != nil {
			return none, exit.Usagef("--checksum: %w", err)
		}
	}
	web.Named.Add(u)
	cfg := o.engine(web, bus, s.started)
	cfg.Overall = overall
	e, err := engine.New(cfg, s.links)
	if err != nil {
		return none, err
	}
	defer e.Close()
	if !whole {
		return e.Download(ctx, job)
	}
	job.Target.Rerun = true
	jobs := make(chan *engine.Job, 1)
	jobs <- job
	close(jobs)
	var end ending
	batch := &engine.Batch{Jobs: jobs, Ahead: new(atomic.Int64), Ended: &end, Concurrency: o.concurrency.N, Parallelism: o.parallelism.N}
	batch.Mode, _ = tuning.ParseMode(o.mode) // check has seen to it
	if err := e.DownloadAll(ctx, batch); end.err == nil && !end.told {
		end.err = err
	}
	return end.result, end.err
}

// ending is the result of a batch's only file.
type ending struct {
	result engine.Result
	err    error
	told   bool
}

// Ended implements engine.Ended.
func (e *ending) Ended(_ *engine.Job, result engine.Result, err error) {
	e.result, e.err, e.told = result, err, true
}

// Here says whether a URL names this machine itself.
func Here(u *url.URL) bool { return namesLoopback(u.Hostname()) }
