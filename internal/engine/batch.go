package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// Batch is many files to download as one job.
type Batch struct {
	// Jobs brings the files. It is read as files are needed, until it is closed or the context given to
	// DownloadAll ends. No job may have a Stdout.
	Jobs <-chan *Job
	// Ahead is how many jobs are still to come through Jobs, as far as is known; the sender of Jobs keeps
	// it up to date. nil: nothing is known.
	Ahead *atomic.Int64
	Ended Ended

	Mode        tuning.Mode // how connections are shared out among files
	Concurrency int         // files at once; 0: chosen
	Parallelism int         // connections of a link for one file; 0: chosen
}

// Ended is told what came of each file.
type Ended interface {
	// Ended is called once for each job that was read from Batch.Jobs, by the
	// goroutine that called DownloadAll, which waits for it.
	Ended(job *Job, res Result, err error)
}

const (
	// lookEach, for each request in flight, is the least time between two looks at all of them, and
	// lookMost its bound: there may be hundreds, and each message would otherwise cost a look at all.
	lookEach = 20 * scheduler.Microsecond
	lookMost = 5 * scheduler.Millisecond
	// stallsEvery is how often it is looked whether bodies have come to a halt.
	stallsEvery = 250 * scheduler.Millisecond
	// heardAtOnce bounds how many messages are taken before the next look around.
	heardAtOnce = 256
)

// batch is the state of a Batch in progress, for its owner goroutine. Memory is bounded by the number of
// files in progress, not by that of the Batch.
type batch struct {
	owner
	spec   *Batch
	supply supply

	space       addressSpace
	files       []*file // that have not ended
	deferred    []*file // of files: those that wait for a time
	unsettled   []*file // that may have ended: see review
	unconfirmed []*file // that are complete, but their size is not yet believed
	sites       map[string]*site
	slots       chan struct{} // one for each open file

	finalizer finalizer
	solos     solos
	tuner     tuner
	last      lastTimes
	firstErr  error // of a file
}

// supply is the files to come.
type supply struct {
	jobs     <-chan *Job // nil: there are no more
	waiting  int         // files that were laid out and of which nothing was asked for
	filling  bool        // waiting grows from aheadLow to aheadFiles
	sizes    sizes
	expected int64 // bytes to come, as the scheduler was told
}

// lastTimes is when a batch last did what it does now and then.
type lastTimes struct{ look, stalls, sample scheduler.Time }

// DownloadAll fetches the files of a batch. For the scheduler their bytes are those of one object, so
// that all links are busy until the end of the last file. Ended is told what came of each file; one
// file's failure does not stop the others. When ctx ends, or no link is left, what is worth keeping is
// kept for the next run.
//
// It returns ctx's cause, or else what ended the batch, or else the first error of a
// file; see Download for what they lead to.
func (e *Engine) DownloadAll(ctx context.Context, spec *Batch) error {
	b, err := newBatch(e, spec)
	if err != nil {
		return err
	}
	return b.run(ctx)
}

func newBatch(e *Engine, spec *Batch) (*batch, error) {
	if spec.Jobs == nil || spec.Ended == nil {
		return nil, errors.New("a batch needs jobs, and somebody to tell what came of them")
	}
	b := &batch{
		owner: newOwner(e, event.Batch), spec: spec, supply: supply{jobs: spec.Jobs},
		sites: map[string]*site{}, slots: make(chan struct{}, openMost()),
	}
	b.work = b
	var err error
	if b.tuner, err = newTuner(spec, len(e.links)); err != nil {
		return nil, err
	}
	if err := b.schedule(scheduler.Config{Size: -1, Batch: true}); err != nil {
		return nil, err
	}
	return b, nil
}

// run fetches everything.
func (b *batch) run(ctx context.Context) error {
	reqs, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	b.expect(reqs, 1) // the first file is still to come
	b.linksUp(reqs)
	b.tune(reqs, b.e.now())
	b.loop(ctx, reqs)
	cancel(firstError(b.err, errOver))
	b.windUp(reqs)
	b.solos.close()
	b.sample()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return firstError(b.err, b.firstErr)
}

// over says whether every file has ended.
func (b *batch) over() bool { return b.supply.jobs == nil && len(b.files) == 0 }

// loop drives the scheduler until every file has ended or something is wrong.
func (b *batch) loop(ctx, reqs context.Context) {
	defer b.waker.close()
	for b.proceed(reqs) {
		var more <-chan *Job
		if b.wantsFiles() {
			more = b.supply.jobs
		}
		now := b.e.now()
		look, due := b.nextLook(now)
		b.waker.sleep(b.waker.set(now, look, due))
		select {
		case <-b.waker.bell:
		case m := <-b.messages:
			b.hear(reqs, m)
			b.hearMore(reqs)
		case job, ok := <-more:
			b.takeJob(reqs, job, ok)
		case done := <-b.background:
			done()
		case <-b.waker.timer.C:
		case <-ctx.Done():
			b.fail(context.Cause(ctx))
			return
		}
		b.lookAround(reqs)
	}
}

// proceed does what can be done at once, and says whether there is something left to wait for.
func (b *batch) proceed(reqs context.Context) bool {
	b.layOutFiles(reqs)
	for len(b.unsettled) > 0 {
		last := len(b.unsettled) - 1
		f := b.unsettled[last]
		b.unsettled = b.unsettled[:last]
		b.review(reqs, f)
	}
	if now := b.e.now(); b.finalizer.due(now, len(b.files), cap(b.slots)) {
		b.commit(reqs, now)
	}
	return b.err == nil && !b.over()
}

// review has a file verified, committed or closed when no request of it is left.
func (b *batch) review(reqs context.Context, f *file) {
	if f.requests > 0 || f.saving || f.closing {
		return
	}
	switch f.state {
	case running:
		if !f.complete() || !b.believes(reqs, f) {
			return
		}
		b.removePieces(f)
		b.fruitful()
		f.state = finishing
		b.finish(reqs, f)
	case failed, solo:
		b.close(reqs, f)
	case finishing: // an earlier run has left all of it
		b.finish(reqs, f)
	case deferred:
	}
}

// report tells what came of a file, and forgets it.
func (b *batch) report(f *file, res Result, err error) {
	b.publishStarted(f)
	last := len(b.files) - 1
	b.files[f.index] = b.files[last]
	b.files[f.index].index = f.index
	b.files[last] = nil
	b.files = b.files[:last]
	if err != nil && b.firstErr == nil && !errors.Is(err, ErrUnwanted) && !errors.Is(err, ErrDirectory) {
		b.firstErr = err
	}
	b.spec.Ended.Ended(f.job, res, err)
}

// hearMore takes the messages that are there already: each costs less than a look around does.
func (b *batch) hearMore(reqs context.Context) {
	for range heardAtOnce {
		select {
		case m := <-b.messages:
			b.hear(reqs, m)
		default:
			return
		}
	}
}

// nextLook is until when nothing but a message can be of interest, and when there is something to decide
// whether bytes come or not.
func (b *batch) nextLook(now scheduler.Time) (look, due scheduler.Time) {
	least, deferred := b.last.look+b.lookEvery(), b.nextDeferred(now)
	return min(max(b.nextWake(now), least), deferred), min(max(b.core.NextDue(), least), deferred)
}

// nextDeferred is when a file that is put off may be asked for again.
func (b *batch) nextDeferred(now scheduler.Time) scheduler.Time {
	next := scheduler.Never
	for _, f := range b.deferred {
		next = min(next, max(f.deferredUntil, now+lookMost))
	}
	return next
}

// lookEvery is the least time between two looks.
func (b *batch) lookEvery() scheduler.Time {
	return min(lookMost, scheduler.Time(len(b.transfers))*lookEach)
}

// lookAround reads the counters of the transfers, lets the scheduler decide, and does what is due.
func (b *batch) lookAround(reqs context.Context) {
	now := b.e.now()
	if b.err != nil || now < b.last.look+b.lookEvery() {
		return
	}
	b.last.look = now
	b.update(reqs, now)
	b.resumeDeferred(reqs, now)
	b.watchVotes(now)
	b.watchStalls(now)
	b.tune(reqs, now)
	b.record(reqs, now)
	if now-b.last.sample >= sampleEvery {
		b.sample()
	}
	b.fail(noLink(b.allLost()))
}

// windUp ends the files that are left when nothing more is to be fetched, and keeps of each what is worth
// keeping.
func (b *batch) windUp(reqs context.Context) {
	for len(b.transfers) > 0 { // their context has ended
		b.hear(reqs, <-b.messages)
	}
	b.closeAllOpened()
	for b.solos.running > 0 {
		(<-b.background)()
	}
	b.finalizeAll(reqs)
	for _, f := range slices.Clone(b.files) {
		switch {
		case f.closing: // it waits to be downloaded by itself
			b.report(f, Result{Size: f.size}, b.err)
		case f.state == finishing, f.state == running && f.complete() && f.vote.believed:
			f.state = finishing
			b.finish(reqs, f)
		default:
			f.cause = firstError(f.cause, b.ownError(f), b.err)
			f.state = failed
			b.close(reqs, f)
		}
	}
	b.finalizeAll(reqs)
}

// finalizeAll returns when nothing is left to be done to files.
func (b *batch) finalizeAll(reqs context.Context) {
	for b.commit(reqs, b.e.now()); b.finalizer.running > 0; b.commit(reqs, b.e.now()) {
		(<-b.background)()
	}
}

// watchStalls gives up requests whose bodies have stalled. Over HTTP/2 the body of another request on the
// same connection may come first.
func (b *batch) watchStalls(now scheduler.Time) {
	limit := scheduler.Time(b.e.cfg.StallTimeout)
	if limit <= 0 || now-b.last.stalls < stallsEvery {
		return
	}
	b.last.stalls = now
	slept := b.slept(now)
	for _, t := range b.transfers {
		if t.waits.Load() {
			t.progress = now
		}
		t.progress = min(now, t.progress+slept)
		if t.resp == nil || now-t.progress <= limit {
			continue // fetch limits the time to the beginning of a response
		}
		if t.resp.Proto != "2" || now-b.links[t.link].conns.lastByte[t.stream] > limit {
			t.cancel(fetch.ErrStalled)
		}
	}
}

// sample tells observers where the batch stands.
func (b *batch) sample() {
	s := event.Sample{At: b.e.now(), File: event.Batch, Links: b.sampleLinks()}
	if s.Size = b.core.Size(); s.Size >= 0 {
		s.Done = s.Size - b.core.Left()
		for _, f := range b.solos.queue { // the scheduler does not expect them any more
			s.Size += max(0, b.likely(f)-f.got)
		}
	}
	s.Files = b.sampleFiles()
	b.last.sample = s.At
	b.e.cfg.Bus.Publish(s)
}

// fewFiles is up to how many files each has a sample: as many as have a bar of their own.
const fewFiles = 4

// sampleFiles is where each file stands, where they are few.
func (b *batch) sampleFiles() []event.FileSample {
	if len(b.files) > fewFiles {
		return nil
	}
	files := make([]event.FileSample, len(b.files))
	for i, f := range b.files {
		files[i] = event.FileSample{File: f.job.ID, Bytes: f.got}
	}
	for _, t := range b.transfers {
		if t.file != nil && t.file.index < len(files) && b.files[t.file.index] == t.file {
			files[t.file.index].Bytes += t.got.Load()
		}
	}
	return files
}
