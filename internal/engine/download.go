package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// errStartOver says that what is on disk is of another object.
var errStartOver = errors.New("the object changed since the last run")

// download is a job in progress: what its owner goroutine knows.
type download struct {
	owner
	job      *Job
	to       sink
	recorded chan error // a checkpoint has ended

	journal store.Identity    // of what is there already
	have    []scheduler.Range // what is there already
	resumed int64             // bytes of have that are not asked for again

	ref       *fetch.Object    // what all responses must agree with; nil until the first
	refLink   scheduler.LinkID // NoLink: it has moved since
	refURL    *url.URL
	refRemote netip.AddrPort

	failures int // answers that a server has failed, before the first response

	doubts     []message      // responses that wait for the other links' first; see doubtful
	doubtSince scheduler.Time // since when there are doubts; 0: there are none

	// In whole mode, when the scheduler has retired, one stream brings all of it
	// from the first byte on.
	wholeBy   *transfer        // who reads it
	wholeLink scheduler.LinkID // who is next to read it

	recording  bool // a checkpoint is being made
	nextRecord scheduler.Time
	sampled    sampled
}

func newDownload(e *Engine, job *Job, to sink) (*download, error) {
	d := &download{owner: newOwner(e, job.ID), job: job, to: to, recorded: make(chan error, 1)}
	d.work = d
	d.failures = job.failures
	cfg := scheduler.Config{Size: -1, Window: to.window(), Parallelism: e.cfg.Parallelism, TLS: job.URL.Scheme == "https"}
	if id, done, ok := to.resume(); ok {
		d.journal, d.have = id, done
		if file, ok := to.(fileSink); ok && covers(done, id.Size) {
			d.to, done = allThere{file}, butLast(done)
		}
		cfg.Size, cfg.Have = id.Size, done
		for _, r := range done {
			d.resumed += r.Len()
		}
	}
	if err := d.schedule(cfg); err != nil {
		return nil, fmt.Errorf("the journal: %w", err)
	}
	return d, nil
}

// aim implements work: addresses are offsets in the object.
func (d *download) aim(t *transfer, _ int64) {
	t.u, t.to, t.eager = d.job.URL, d.to, d.to.window() > 0
	if u := d.links[t.link].url; u != nil {
		t.u = u
	}
}

// elsewhere implements work. If the first response came over the link, it came over
// another network: should this one give another object, that says nothing about the
// first.
func (d *download) elsewhere(id scheduler.LinkID) {
	if d.refLink == id {
		d.refLink = scheduler.NoLink
	}
}

// size is the object's size in bytes; -1 while unknown.
func (d *download) size() int64 {
	if d.whole {
		if d.ref == nil {
			return -1
		}
		return d.ref.Size
	}
	return d.core.Size()
}

// object is what is known of the object.
func (d *download) object() store.CommitOptions {
	o := store.CommitOptions{Size: d.size()}
	if d.ref != nil {
		o.Name = d.ref.Name
	}
	return o
}

// run gets every byte that is missing.
func (d *download) run(ctx context.Context) error {
	reqs, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	if d.e.ofMany {
		d.sample() // what it receives from now on is its own, and not the batch's
	}
	d.linksUp(reqs)
	d.step(reqs, scheduler.Input{Kind: scheduler.Tick})
	d.loop(ctx, reqs)
	if d.whole && d.err == nil {
		d.readWhole(ctx, reqs)
	}
	cancel(errOver)
	for len(d.transfers) > 0 { // all have their context's end to obey
		d.hear(reqs, <-d.tell)
	}
	d.closeAllOpened()
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
	case d.whole || d.ref == nil: // nothing that another run could use
		return d.err
	}
	if err := d.to.suspend(d.core.Done(nil)); err != nil && !errors.Is(d.err, err) {
		d.e.notice(true, "the state could not be saved: %v", err)
	}
	return d.err
}
