package power

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// patience is how long Stop waits for a reading that does not end.
	patience = time.Second
	// maxNotices bounds how many different faults are reported.
	maxNotices = 5
	// closePace is the interval between readings while they are taken closely: a
	// tenth of the usual one, which times an edge of the power to 0.1 s. A reading
	// costs some 0.1 ms of CPU.
	closePace = 100 * time.Millisecond
	// maxMoments is how many calls of Closely wait while a reading does not end.
	maxMoments = 4
	// lostAfter is after how many failures in a row a source is reported as lost: a single one
	// may happen.
	lostAfter = 3
)

// Reasons why a source gave no usable readings.
var (
	errOff      = errors.New("switched off by --power none")
	errExternal = errors.New("on external power: what the battery tells is not what the device draws")
	errTooShort = errors.New("the run ended before there was a reading")
	errStuck    = errors.New("its counters do not move")
	errHangs    = errors.New("a gauge does not answer")
	errLost     = errors.New("no more readings for now")
)

// Sampler takes readings until it is stopped.
type Sampler struct {
	cfg    Config
	cancel context.CancelFunc
	ended  chan struct{}      // nothing is read any more
	close  chan time.Duration // for how long readings are to be close
	useful atomic.Bool        // a reading told what the device draws
}

// Start chooses a source and begins to sample it, both in the background: at once, then at
// every interval, and once more at the end. The choice, or the reason why there is none, is an
// event, as are the readings. cfg is checked.
func Start(cfg Config) *Sampler {
	return start(cfg, choose)
}

func start(cfg Config, choose func(context.Context, Config) (source, error)) *Sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sampler{cfg: cfg, cancel: cancel, ended: make(chan struct{}), close: make(chan time.Duration, maxMoments)}
	go func() {
		defer close(s.ended)
		s.run(ctx, choose)
	}()
	return s
}

// Closely takes a reading now, and for d takes them at least ten times a second, or
// as often as the source allows. It is for the moments at which the power changes,
// and for the time in which a run is at rest: the interval of a download's readings
// would tell neither when the power changed nor how often the gauge looks. It does
// not wait.
func (s *Sampler) Closely(d time.Duration) {
	select {
	case s.close <- d:
	default: // a reading hangs, and another one would too
	}
}

// Linger waits for d, so that there are readings from before the first connection
// or after the last byte. It returns early when ctx ends or there is nothing to
// read.
func (s *Sampler) Linger(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	s.Wait(ctx)
}

// Wait returns when ctx ends or there is nothing to read.
func (s *Sampler) Wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.ended:
	}
}

// Stop ends the sampling; every reading has been published when it returns. A
// reading that hangs in a driver is left to itself after a second; if there was none
// before, that is why.
func (s *Sampler) Stop() {
	s.cancel()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-s.ended:
	case <-t.C:
		if !s.useful.Load() {
			p := publisher{cfg: s.cfg}
			p.describe(description{}, errHangs)
		}
	}
}

func (s *Sampler) run(ctx context.Context, choose func(context.Context, Config) (source, error)) {
	cfg := s.cfg
	p := publisher{cfg: cfg, stale: staleAfter * cfg.Interval, useful: &s.useful}
	if cfg.Source == None {
		p.describe(description{}, errOff)
		return
	}
	src, err := choose(ctx, cfg)
	if err != nil {
		p.describe(description{}, err)
		p.fault(cfg.Source, err, cfg.Source != Auto)
		return
	}
	defer src.close()
	p.what = src.describe()
	interval := max(cfg.Interval, p.what.least)
	if p.what.most >= time.Second { // a shorter interval follows from the readings, and needs no mention
		interval = min(interval, p.what.most)
	}
	p.cfg.Interval, p.stale = interval, staleAfter*interval
	p.describe(p.what, nil)
	s.read(ctx, &p, src)
	if !p.what.slow {
		p.take(ctx, src)
	}
	p.finish(src)
}

// read takes readings until ctx ends.
func (s *Sampler) read(ctx context.Context, p *publisher, src source) {
	pace := p.cfg.Interval
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	var until time.Time // readings are close; zero: they are not
	closely := s.close
	if p.what.slow {
		closely = nil // a reading takes longer than the moment that it is for
	}
	for {
		p.take(ctx, src)
		next := p.cfg.Interval
		if time.Now().Before(until) {
			next = max(min(next, closePace), p.what.least)
		}
		if most := src.describe().most; most > 0 {
			next = max(min(next, most), MinInterval)
		}
		if next != pace {
			pace = next
			ticker.Reset(pace)
		}
		select {
		case <-ticker.C:
		case d := <-closely:
			until = time.Now().Add(d)
		case <-ctx.Done():
			return
		}
	}
}

// publisher turns samples into events.
type publisher struct {
	cfg     Config
	what    description
	stale   time.Duration
	samples []sample // space for what a reading gives

	last    sample       // the last that was published
	any     bool         // there is one
	repeat  sample       // the last that was not, for it repeats last
	pending bool         // there is one
	useful  *atomic.Bool // one told what the device draws
	fed     int          // how many were on external power
	failure error        // the last
	failed  int          // readings in a row
	told    []string
}

// take takes a reading and publishes what is new in it.
func (p *publisher) take(ctx context.Context, src source) {
	var err error
	p.samples, err = src.read(ctx, time.Since(p.cfg.Started), p.samples[:0])
	if err != nil && p.failed > 0 && ctx.Err() == nil {
		src.renew()
		p.samples, err = src.read(ctx, time.Since(p.cfg.Started), p.samples[:0])
	}
	for _, s := range p.samples {
		p.add(s)
	}
	if err == nil || errors.Is(err, context.Canceled) {
		p.failed = 0
		return
	}
	p.failure = err
	if errors.Is(err, errUnit) { // there is a reading all the same
		p.fault(p.what.name, err, true)
		return
	}
	if p.pending && !p.repeat.counter { // its number stood still until then; what it did later is unknown
		p.publish(p.repeat)
	}
	p.failed++
	if ctx.Err() != nil { // at the end of the run it hardly matters any more
		return
	}
	p.fault(p.what.name, err, false)
	if p.failed == lostAfter && p.any {
		p.fault(p.what.name, fmt.Errorf("%w: %w", errLost, err), true)
	}
}

// staleAfter is for how many intervals a gauge may repeat itself before that is
// taken for a reading.
const staleAfter = 5

// add publishes a sample unless it repeats the last one. A gauge is read more often than it
// changes: the same number again is the same reading, for a while; the last repetition is
// published when it changes, or a step of the power would look like a slope. A counter that
// stands still was not updated, however long that takes.
func (p *publisher) add(s sample) {
	if !s.plausible() {
		p.failure = errImplausible
		return
	}
	if p.any && s.at <= p.last.at { // or a mean would be over no time
		return
	}
	same := false
	if p.any && s.external == p.last.external {
		same = s.watts == p.last.watts
		if s.counter {
			same = s.joules == p.last.joules
		}
		if same && (s.counter || s.at-p.last.at < p.stale) {
			p.repeat, p.pending = s, true
			return
		}
	}
	if p.pending && !same && !s.counter {
		p.publish(p.repeat)
	}
	p.publish(s)
}

func (p *publisher) publish(s sample) {
	e := event.Power{
		At: scheduler.Time(s.at), Source: p.what.name, Watts: s.watts,
		Counter: s.counter, Joules: s.joules, External: s.external, Refresh: s.refresh,
	}
	if s.counter && p.any {
		e.Over = s.at - p.last.at
		e.Watts = (s.joules - p.last.joules) / e.Over.Seconds()
		if p.pending {
			e.Still = p.repeat.at - p.last.at
		}
	}
	p.last, p.any, p.pending = s, true, false
	if e.HasWatts() {
		p.useful.Store(true)
	}
	if s.external {
		p.fed++
	}
	p.cfg.Bus.Publish(e)
}

// finish publishes readings that were held back, and says so if there were none.
func (p *publisher) finish(src source) {
	p.samples = src.flush(p.samples[:0])
	for _, s := range p.samples {
		p.add(s)
	}
	if p.pending && !p.repeat.counter { // or the time since the last change would be lost
		p.publish(p.repeat)
	}
	if p.useful.Load() {
		return
	}
	reason := errTooShort
	switch {
	case p.fed > 0:
		reason = errExternal
	case p.failure != nil:
		reason = p.failure
	case p.pending:
		reason = errStuck
	}
	p.describe(p.what, reason)
}

func (p *publisher) now() scheduler.Time { return scheduler.Time(time.Since(p.cfg.Started)) }

func (p *publisher) describe(what description, reason error) {
	e := event.PowerSource{At: p.now(), Source: what.name, Interval: p.cfg.Interval, Detail: what.detail}
	if reason != nil {
		e.Unavailable = reason.Error()
		if what.name != "" {
			e.Unavailable = what.name + ": " + e.Unavailable
		}
	}
	p.cfg.Bus.Publish(e)
}

// fault reports each fault once.
func (p *publisher) fault(source string, err error, important bool) {
	text := "power is not measured: " + err.Error()
	if p.what.name != "" {
		text = "power: " + source + ": " + err.Error()
	}
	if len(p.told) < maxNotices && !slices.Contains(p.told, text) {
		p.told = append(p.told, text)
		p.cfg.Bus.Publish(event.Notice{At: p.now(), Warning: important, Text: text})
	}
}
