package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// errStartOver says that what is on disk is of another object.
var errStartOver = errors.New("the object changed since the last run")

// download is a job in progress: what its owner goroutine knows.
type download struct {
	e    *Engine
	job  *Job
	to   sink
	core *scheduler.Core

	links     []linkState
	transfers []*transfer
	tell      chan message
	recorded  chan error // a checkpoint has ended
	actions   []scheduler.Action

	journal store.Identity    // of what is there already
	have    []scheduler.Range // what is there already
	resumed int64             // bytes of have

	ref       *fetch.Object    // what all responses must agree with; nil until the first
	refLink   scheduler.LinkID // NoLink: it has moved since
	refURL    *url.URL
	refRemote netip.AddrPort

	doubts     []message      // responses that wait for the other links' first; see doubtful
	doubtSince scheduler.Time // since when there are doubts; 0: there are none

	wholeMode bool             // one stream from the first byte on
	wholeBy   *transfer        // who reads it
	wholeLink scheduler.LinkID // who is next to read it
	wholeWait time.Duration    // how long to wait before that

	complete   bool
	err        error // the first that ends the download
	recording  bool  // a checkpoint is being made
	nextRecord scheduler.Time
	lossAsked  scheduler.Time // when connections were last asked for signs of loss
	sampled    sampled
}

// linkState is what a download knows of a link.
type linkState struct {
	there    bool     // false: it has not joined the run
	url      *url.URL // what to ask for
	lost     bool
	banned   bool
	resting  bool   // the scheduler gives it no work
	capped   bool   // since its allowance is spent
	why      string // it works, or rests
	noted    int64  // of its allowance, when last looked up
	spent    int64  // of its allowance, as the scheduler knows it
	used     bool
	answered bool // a response has come
	guessing bool // waits for the object's size, having guessed beyond it
	failures int  // in a row
	gained   int64
	streams  uint64 // bit s: stream s has brought something
	bytes    int64
	wasted   int64
	disorder int64 // packets that came out of order
	err      error // why it was lost
	returns  int64 // of the Link, when last asked
	arrivals int64 // of the Link, when last asked
	lastByte scheduler.Time
}

func newDownload(e *Engine, job *Job, to sink) (*download, error) {
	d := &download{
		e: e, job: job, to: to,
		links:    make([]linkState, len(e.links)),
		tell:     make(chan message, 4*len(e.links)),
		recorded: make(chan error, 1),
	}
	for i := range d.links {
		l := &d.links[i]
		l.url = job.URL
		l.returns, l.arrivals = e.links[i].returns.Load(), e.links[i].arrivals.Load()
		l.there = l.arrivals > 0
		e.routes[i].follow(&e.cfg.HTTP)
	}
	policy, err := scheduler.NewPolicy(e.cfg.Algorithm, e.cfg.StaticLimit, e.cfg.Padding)
	if err != nil {
		return nil, err
	}
	cfg := scheduler.Config{
		Links: len(e.links), Policy: policy, Size: -1,
		Overlap: e.cfg.Overlap, Window: to.window(), NoSteal: e.cfg.NoSteal, NoFailover: e.cfg.NoFailover,
		Parallelism: e.cfg.Parallelism, Energy: e.cfg.Energy, Deadline: e.cfg.Deadline,
	}
	if id, done, ok := to.resume(); ok {
		d.journal, d.have = id, done
		cfg.Size, cfg.Have = id.Size, done
		for _, r := range done {
			d.resumed += r.Len()
		}
	}
	if d.core, err = scheduler.New(cfg); err != nil {
		return nil, fmt.Errorf("the journal: %w", err)
	}
	if e.cfg.Record {
		e.cfg.Bus.Publish(event.SchedulerStarted{
			At: e.now(), File: job.ID, Algorithm: e.cfg.Algorithm, StaticLimit: e.cfg.StaticLimit, Padding: e.cfg.Padding,
			Links: cfg.Links, Size: cfg.Size, Have: cfg.Have, Overlap: cfg.Overlap, Window: cfg.Window,
			NoSteal: cfg.NoSteal, NoFailover: cfg.NoFailover, Parallelism: cfg.Parallelism,
			Energy: cfg.Energy, Deadline: cfg.Deadline,
		})
	}
	return d, nil
}

// size is the object's size in bytes; -1 while unknown.
func (d *download) size() int64 {
	if d.wholeMode {
		if d.ref == nil {
			return -1
		}
		return d.ref.Size
	}
	return d.core.Size()
}

// run gets every byte that is missing.
func (d *download) run(ctx context.Context) error {
	reqs, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	for id := range d.links {
		if d.links[id].there {
			d.linkUp(reqs, scheduler.LinkID(id))
		}
	}
	d.step(reqs, scheduler.Input{Kind: scheduler.Tick})
	if d.complete { // the last run got every byte, but not to the renaming
		d.known(&fetch.Response{EffectiveURL: d.job.URL}, d.journal.Size, true)
		d.fail(d.to.begin(d.journal))
	}
	d.loop(ctx, reqs)
	if d.wholeMode && d.err == nil {
		d.readWhole(ctx, reqs)
	}
	cancel(errOver)
	for len(d.transfers) > 0 { // all have their context's end to obey
		d.hear(reqs, <-d.tell)
	}
	if d.recording {
		d.fail(<-d.recorded)
	}
	d.sample()
	return d.end()
}

// end says what came of it, and leaves what is worth keeping to the next run.
func (d *download) end() error {
	switch {
	case d.err == nil || errors.Is(d.err, errStartOver):
		return d.err
	case d.wholeMode || d.ref == nil: // nothing that another run could use
		return d.err
	}
	if err := d.to.suspend(d.core.Done(nil)); err != nil && !errors.Is(d.err, err) {
		d.e.notice(true, "the state could not be saved: %v", err)
	}
	return d.err
}

// fail records the first error that ends the download.
func (d *download) fail(err error) {
	if err != nil && d.err == nil {
		d.err = err
	}
}
