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

const (
	// sampleEvery is how often observers are told where a download stands.
	sampleEvery = 200 * scheduler.Millisecond
	// checkpointEvery is how much progress, in time, a crash may cost.
	checkpointEvery = scheduler.Second
	// idleWake bounds how long the owner sleeps, so that stalls are seen.
	idleWake = 250 * scheduler.Millisecond
)

// errStartOver says that what is on disk is of another object.
var errStartOver = errors.New("the object changed since the last run")

// download is a job in progress: what its owner goroutine knows.
type download struct {
	e    *Engine
	job  *Job
	to   sink
	core *scheduler.Core
	url  *url.URL

	links     []linkState
	transfers []*transfer
	tell      chan message
	recorded  chan error // a checkpoint has ended
	actions   []scheduler.Action

	ref        *fetch.Object // what all responses must agree with; nil until the first
	refLink    scheduler.LinkID
	refURL     *url.URL
	refRemote  netip.AddrPort
	pinned     bool // all links were sent to one server address
	have       []scheduler.Range
	journal    store.Identity
	resumed    int64
	parked     []message      // responses that hold the whole object; see decideWhole
	parkedAt   scheduler.Time // since when the first of them waits
	wholeMode  bool           // one stream from the first byte on
	wholeBy    *transfer      // who reads it
	complete   bool
	err        error // the first that ends the download
	recording  bool  // a checkpoint is being made
	nextRecord scheduler.Time
	nextSample scheduler.Time
}

// linkState is what a download knows of a link.
type linkState struct {
	lost     bool
	banned   bool
	used     bool
	answered bool // a response, or an error, has come
	failures int  // in a row
	bytes    int64
	wasted   int64
	err      error // why it was lost
	lastByte scheduler.Time
}

func newDownload(e *Engine, job *Job, to sink) (*download, error) {
	d := &download{
		e: e, job: job, to: to, url: job.URL,
		links:    make([]linkState, len(e.links)),
		tell:     make(chan message, 4*len(e.links)),
		recorded: make(chan error, 1),
	}
	policy, err := scheduler.NewPolicy(e.cfg.Algorithm, e.cfg.StaticLimit, e.cfg.Padding)
	if err != nil {
		return nil, err
	}
	cfg := scheduler.Config{
		Links: len(e.links), Policy: policy, Size: -1,
		Overlap: e.cfg.Overlap, Window: to.window(), NoSteal: e.cfg.NoSteal, NoFailover: e.cfg.NoFailover,
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
			NoSteal: cfg.NoSteal, NoFailover: cfg.NoFailover,
		})
	}
	return d, nil
}

// size is the object's size in bytes; -1 while unknown.
func (d *download) size() int64 {
	if d.wholeMode && d.ref != nil {
		return d.ref.Size
	}
	return d.core.Size()
}

// run gets every byte that is missing.
func (d *download) run(ctx context.Context) error {
	reqs, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	for id := range d.links {
		d.step(reqs, scheduler.Input{
			Kind: scheduler.LinkUp, Link: scheduler.LinkID(id),
			Bandwidth: d.e.links[id].Bandwidth, RTT: d.e.roundTrip(scheduler.LinkID(id), nil),
		})
	}
	d.step(reqs, scheduler.Input{Kind: scheduler.Tick})
	if d.complete { // the last run got every byte, but not to the renaming
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

// loop drives the scheduler until the object is complete, whole is the way to
// get it, or something is wrong.
func (d *download) loop(ctx, reqs context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for d.err == nil && !d.complete && !d.wholeMode {
		timer.Reset(time.Duration(d.untilWake()))
		select {
		case m := <-d.tell:
			d.hear(reqs, m)
		case err := <-d.recorded:
			d.recording = false
			d.fail(err)
		case <-d.to.moved():
			d.step(reqs, scheduler.Input{Kind: scheduler.Drained, Bytes: d.to.drained()})
		case <-timer.C:
		case <-ctx.Done():
			d.fail(context.Cause(ctx))
			return
		}
		d.lookAround(reqs)
	}
}

// untilWake is how long nothing but a message can be of interest.
func (d *download) untilWake() scheduler.Time {
	wake := d.core.NextWake()
	now := d.e.now()
	if wake == scheduler.Never || wake-now > idleWake {
		return idleWake
	}
	return max(0, wake-now)
}

// lookAround reads the counters, lets the scheduler think, and sees to what
// happens now and then.
func (d *download) lookAround(reqs context.Context) {
	now := d.e.now()
	for _, t := range d.transfers {
		d.report(reqs, t)
	}
	d.step(reqs, scheduler.Input{Kind: scheduler.Tick})
	d.watchStalls(now)
	d.decideWhole(reqs, now)
	if now >= d.nextSample {
		d.nextSample = now + sampleEvery
		d.sample()
	}
	if !d.recording && now >= d.nextRecord && d.ref != nil && !d.wholeMode && d.to.window() == 0 {
		d.nextRecord = now + checkpointEvery
		d.recording = true
		done := d.core.Done(nil)
		go func() { d.recorded <- d.to.checkpoint(done) }()
	}
	d.checkLost()
}

// report tells the scheduler what a transfer has received since last time.
func (d *download) report(reqs context.Context, t *transfer) {
	got := t.got.Load()
	if t.released || t.parked || got == t.told {
		return
	}
	t.told = got
	now := d.e.now()
	t.progress = now
	d.links[t.link].lastByte = now
	d.links[t.link].failures = 0
	d.step(reqs, scheduler.Input{Kind: scheduler.Progress, Link: t.link, Chunk: t.chunk, Bytes: got})
}

// step gives the scheduler an input and carries out its actions.
func (d *download) step(reqs context.Context, in scheduler.Input) {
	if d.wholeMode {
		return // there is nothing left to schedule
	}
	now := d.e.now()
	d.actions = d.core.Step(now, in, d.actions[:0])
	if d.e.cfg.Record {
		d.e.cfg.Bus.Publish(event.Step{At: now, File: d.job.ID, Input: in, Actions: append([]scheduler.Action(nil), d.actions...)})
	}
	var banned scheduler.LinkID = scheduler.NoLink
	for _, a := range d.actions {
		if a.Kind == scheduler.Ban {
			banned = a.Link
		}
	}
	for _, a := range d.actions {
		switch a.Kind {
		case scheduler.Start:
			if d.err == nil {
				d.start(reqs, a)
			}
		case scheduler.Shrink:
			if t := d.find(a.Chunk); t != nil {
				t.end.Store(a.Range.End)
			}
		case scheduler.Cancel:
			if t := d.find(a.Chunk); t != nil {
				t.released = true
				cause := errReleased
				if a.Link == banned {
					cause = fetch.ErrStalled // its connection is of no use either
				}
				t.cancel(cause)
			}
		case scheduler.Ban:
			d.links[a.Link].banned = true
			d.changed(a.Link, event.LinkBanned, "too slow or silent")
		case scheduler.Unban:
			d.links[a.Link].banned = false
			d.changed(a.Link, event.LinkUsed, "it answers again")
		case scheduler.Complete:
			d.complete = true
		}
	}
}

func (d *download) find(id scheduler.ChunkID) *transfer {
	for _, t := range d.transfers {
		if t.chunk == id {
			return t
		}
	}
	return nil
}

// start sends a request.
func (d *download) start(reqs context.Context, a scheduler.Action) {
	ctx, cancel := context.WithCancelCause(reqs)
	t := &transfer{chunk: a.Chunk, link: a.Link, off: a.Range.Off, cancel: cancel, sent: d.e.now()}
	t.end.Store(a.Range.End)
	d.launch(ctx, t)
}

func (d *download) launch(ctx context.Context, t *transfer) {
	t.progress = t.sent
	d.transfers = append(d.transfers, t)
	d.e.cfg.Bus.Publish(event.RequestStarted{
		At: t.sent, File: d.job.ID, Link: t.link, Chunk: t.chunk, Off: t.off, End: t.end.Load(),
	})
	go d.e.run(ctx, t, d.url, d.to, d.tell)
}

// fail records the first error that ends the download.
func (d *download) fail(err error) {
	if err != nil && d.err == nil {
		d.err = err
	}
}

func (d *download) changed(id scheduler.LinkID, s event.LinkState, reason string) {
	d.e.cfg.Bus.Publish(event.LinkChanged{At: d.e.now(), Link: id, State: s, Reason: reason})
	if s != event.LinkUsed || reason != "" {
		d.e.notice(s == event.LinkLost, "%s: %s: %s", d.e.links[id].Net.Name(), s, reason)
	}
}

// sample tells observers where the download stands.
func (d *download) sample() {
	s := event.Sample{At: d.e.now(), File: d.job.ID, Size: d.size(), Links: make([]event.LinkSample, len(d.links))}
	for id := range d.links {
		l := scheduler.LinkID(id)
		s.Links[id] = event.LinkSample{
			Bytes: d.links[id].bytes, Wasted: d.links[id].wasted,
			Rate: d.core.Rate(l), Bandwidth: d.core.Bandwidth(l),
			RTT: time.Duration(d.e.roundTrip(l, nil)), InFlight: d.core.Requests(l),
		}
	}
	for _, t := range d.transfers {
		s.Links[t.link].Bytes += t.got.Load()
	}
	switch {
	case d.wholeBy != nil:
		s.Done = d.wholeBy.got.Load()
	case s.Size >= 0:
		s.Done = s.Size - d.core.Left()
	}
	d.e.cfg.Bus.Publish(s)
}
