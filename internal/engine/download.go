package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// errStartOver ends an attempt because what is on disk is of another object.
var errStartOver = errors.New("the object changed since the last run")

// errOutvoted ends an attempt because another link has shown that the object does not end where the first
// response said.
var errOutvoted = errors.New("one link told a wrong size")

// download is the state of an attempt at a job, for its owner goroutine.
type download struct {
	owner
	job *Job
	to  sink

	earlier    earlier
	known      identity.Known // what all answers must agree with; at first what the journal says
	identified bool           // an answer was taken
	name       string         // that the server proposes; "": none
	first      firstAnswer
	vote       sizeVote
	proof      proof
	doubts     doubts
	failures   int // answers that a server has failed, before the first response

	single     singleStream
	checkpoint checkpoint
	sampled    sampled
}

// earlier is what an earlier run has left.
type earlier struct {
	have    []scheduler.Range // what is there already
	resumed int64             // bytes that are not asked for again
	last    scheduler.Range   // the last byte of what is there, where it is asked for again; empty: it is not
}

// firstAnswer is the response that says what the object is.
type firstAnswer struct {
	at       scheduler.Time
	link     scheduler.LinkID // over which it came; NoLink: the link has moved since
	url      *url.URL
	remote   netip.AddrPort
	page     bool // it is a page, though the URL promises another kind of file
	followed bool // a second response was taken
	disputed bool // earlier attempts, or the batch, have met several sizes or objects
}

// doubts are the responses that wait for other links' first ones; see doubtful.
type doubts struct {
	responses []message
	since     scheduler.Time // 0: there are none
}

// singleStream is how an object is read from its first byte on, by one request at a time and without the
// scheduler.
type singleStream struct {
	by       *transfer         // reads it; nil: none does
	begun    bool              // no other answer is being written any more
	first    *message          // the answer to begin with, if there is one
	link     scheduler.LinkID  // that is asked next
	requests scheduler.ChunkID // made so far
	kept     []scheduler.Range // what is there, and compared with what comes
}

// checkpoint is when the journal is written, in the background.
type checkpoint struct {
	running bool
	next    scheduler.Time
}

// newDownload prepares an attempt at a job. before is the one before, if this one goes on with what that
// has confirmed, over the links that are left. recheck says that nothing but its last byte can tell
// whether what is there is complete.
func newDownload(e *Engine, job *Job, to sink, before *download, recheck bool) (*download, error) {
	d := &download{owner: newOwner(e, job.ID), job: job, to: to}
	d.work = d
	d.failures, d.first.disputed = e.batch.failures, e.batch.disagree != 0
	cfg := scheduler.Config{Size: -1, Window: to.stream().window(), Parallelism: e.cfg.Parallelism, TLS: job.URL.Scheme == "https"}
	switch id, done, ok := to.Resume(); {
	case before != nil:
		cfg.Have = d.inherit(before)
		cfg.Size = d.known.Size()
	case job.Part != nil:
		d.known.Learn(job.Part.Object)
		d.earlier.have = job.Part.outside()
		cfg.Size, cfg.Have = job.Part.Object.Size, d.earlier.have
	case ok && recheck && length(done) == 1:
		d.recheckLast(done)
	case ok:
		if recheck {
			done = d.recheckLast(done)
		}
		d.known, d.earlier.have = identity.Resumed(id), done
		if !recheck && isWhole(done, id.Size) {
			done = d.recheckLast(done)
		}
		cfg.Size, cfg.Have = id.Size, done
	}
	d.earlier.resumed = length(cfg.Have)
	if err := d.schedule(cfg); err != nil {
		return nil, fmt.Errorf("the journal: %w", err)
	}
	if d.known.Blind() {
		d.track(cfg.Have)
	}
	if before != nil && before.identified {
		d.proof.earlierUnproven = before.proof.earlierUnproven && len(cfg.Have) > 0
	}
	return d, nil
}

// wantsAnswer implements work: as long as only one link has told the object's size, the answers of others
// are of interest.
func (d *download) wantsAnswer(t *transfer) bool {
	return d.identified && t.resp == nil && d.mayTellSize(&d.links[t.link]) && !d.sizeBelieved(d.e.now())
}

// cancelWithdrawn cancels the withdrawn requests whose answers are no longer of interest.
func (d *download) cancelWithdrawn() {
	for _, t := range d.transfers {
		if t.released && t.resp == nil && !d.wantsAnswer(t) {
			t.cancel(errReleased)
		}
	}
}

// address implements work: addresses are offsets in the object.
func (d *download) address(t *transfer, at int64) {
	t.off, t.first = at, !d.identified && len(d.earlier.have) == 0
	t.url, t.to, t.eager, t.overlap = d.job.URL, d.place(), d.to.stream() != nil, d.overlapOf(t)
	if u := d.links[t.link].url; u != nil {
		t.url = u
	}
}

// linkMoved implements work. If the first response came over the link, it came over another network: that
// the present one gives another object would say nothing about the first.
func (d *download) linkMoved(id scheduler.LinkID) {
	if d.first.link == id {
		d.first.link = scheduler.NoLink
	}
}

// size is the object's size in bytes; -1 while unknown.
func (d *download) size() int64 {
	if d.singleStream {
		return d.known.Size()
	}
	return d.core.Size()
}

// object is what is known of the object.
func (d *download) object() store.CommitOptions {
	return store.CommitOptions{Size: d.size(), Name: d.name}
}

// run gets every byte that is missing.
func (d *download) run(ctx context.Context) error {
	reqs, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	if d.e.batch.known {
		d.sample() // observers count what it receives from now on as its own, not the batch's
	}
	d.tellOverlap(reqs)
	d.linksUp(reqs)
	if d.job.Part != nil { // the window begins where the part does
		d.step(reqs, scheduler.Input{Kind: scheduler.Drained, Bytes: d.to.stream().Drained()})
	}
	d.step(reqs, scheduler.Input{Kind: scheduler.Tick})
	d.loop(ctx, reqs)
	for _, t := range d.transfers { // the answers to probes are no longer of interest
		t.released = t.released || t.probe
	}
	cancel(errOver)
	for len(d.transfers) > 0 { // their context has ended
		d.hear(reqs, <-d.messages)
	}
	d.closeAllOpened()
	if d.checkpoint.running {
		(<-d.background)()
	}
	d.sample()
	return d.end()
}

// end says what came of the attempt, and leaves what is worth keeping to the next run.
func (d *download) end() error {
	switch {
	case d.err == nil || errors.Is(d.err, errStartOver), errors.Is(d.err, errAgain), errors.Is(d.err, errOutvoted):
		return d.err
	case errors.Is(d.err, ErrLonger) && d.proof.earlierUnproven:
		d.e.giveBack(d.to)
		return d.err
	case d.singleStream || !d.identified || d.proof.contradicted || !d.sizeBelieved(d.e.now()): // nothing that another run could use
		return d.err
	}
	if err := d.to.Suspend(d.claimable()); err != nil && !errors.Is(d.err, err) {
		d.e.notice(true, "the state could not be saved: %v", err)
	}
	return d.err
}
