package modelled

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Source is what a Sampler's events call their source.
const Source = "model"

// Config says what a Sampler publishes.
type Config struct {
	Models   energy.Models    // of the radios
	Interval time.Duration    // between readings, more than 0
	Run      event.RunStarted // the event; its time has a monotonic reading
	Bus      *event.Bus       // of the run, from which nothing else has come yet
}

// Sampler publishes while a run goes on what its radios draw by their models: as
// event.Power, in the form of a counter. The device's own power is not in it.
type Sampler struct {
	cfg  Config
	none chan struct{} // closed when there is a model for none of the links at the start
	stop chan struct{} // closed by Stop
	once sync.Once
	over chan struct{} // closed when nothing is published any more

	mu  sync.Mutex
	run *Run

	first, last float64 // J, of the readings that were published
	at          scheduler.Time
	any         bool
}

// Start begins to watch cfg.Bus, and to publish on it.
func Start(cfg Config) *Sampler {
	s := &Sampler{
		cfg: cfg, run: NewRun(cfg.Models),
		none: make(chan struct{}), stop: make(chan struct{}), over: make(chan struct{}),
	}
	s.run.Add(cfg.Run)
	sub := cfg.Bus.Subscribe()
	s.describe(cfg.Run.Links)
	go s.watch(sub)
	go s.sample()
	return s
}

// Closely does nothing: the joules of a model are exact, whenever they are read.
func (s *Sampler) Closely(time.Duration) {}

// Linger waits for d, or until ctx ends; where there is no model, not at all.
func (s *Sampler) Linger(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-s.none:
	}
}

// Stop ends the sampling with a last reading; every reading has been published
// when it returns.
func (s *Sampler) Stop() {
	s.once.Do(func() { close(s.stop) })
	<-s.over
}

// watch follows the run.
func (s *Sampler) watch(sub *event.Subscription) {
	for batch, ok := sub.Next(nil); ok; batch, ok = sub.Next(batch) {
		s.mu.Lock()
		for _, e := range batch {
			s.run.Add(e)
		}
		s.mu.Unlock()
	}
}

// describe tells which models there are.
func (s *Sampler) describe(links []event.LinkInfo) {
	var with, without []string
	for _, l := range links {
		if r, ok := s.cfg.Models.Of(l.Name, l.Tech); ok {
			with = append(with, l.Name+": "+r.Name)
		} else {
			without = append(without, l.Name)
		}
	}
	e := event.PowerSource{At: s.now(), Source: Source, Interval: s.cfg.Interval, Detail: strings.Join(with, ", ")}
	if len(with) == 0 {
		e.Unavailable = "model: there is none of the radio of " + strings.Join(without, ", ")
		s.cfg.Bus.Publish(event.Notice{At: e.At, Warning: true, Text: "power is not modelled: " + e.Unavailable})
		close(s.none)
	}
	s.cfg.Bus.Publish(e)
}

// sample publishes at every interval.
func (s *Sampler) sample() {
	defer close(s.over)
	t := time.NewTicker(s.cfg.Interval)
	defer t.Stop()
	for {
		s.take()
		select {
		case <-t.C:
			continue
		case <-s.stop:
		}
		s.take()
		return
	}
}

// take publishes a reading, if there is anything new in it.
func (s *Sampler) take() {
	s.mu.Lock()
	at, joules := s.run.Spent(s.now())
	known := s.run.modelled()
	s.mu.Unlock()
	switch {
	case !known:
		return
	case !s.any:
		s.any, s.first, s.last, s.at = true, joules, joules, at
		s.cfg.Bus.Publish(event.Power{At: at, Source: Source, Counter: true})
	case at > s.at:
		// What was taken for silence may turn out to have been cheaper still, by
		// models that charge more for a tail than for traffic.
		joules = max(joules, s.last)
		e := event.Power{At: at, Source: Source, Counter: true, Over: time.Duration(at - s.at), Joules: joules - s.first}
		e.Watts = (joules - s.last) / e.Over.Seconds()
		s.last, s.at = joules, at
		s.cfg.Bus.Publish(e)
	}
}

func (s *Sampler) now() scheduler.Time { return scheduler.Time(time.Since(s.cfg.Run.Started)) }
