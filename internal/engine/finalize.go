package engine

import (
	"context"
	"errors"

	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// commitsAtOnce bounds how many files are made durable together.
	commitsAtOnce = 256
	// commitEvery is for how long complete files wait for others, to be made durable together:
	// a fraction of what a crash may cost. Each time wakes the disk and Go's monitor.
	commitEvery = scheduler.Second / 4
	// readyPart is which part of the files that may be open may wait at most.
	readyPart = 4
	// closesAtOnce bounds how many goroutines verify, close and suspend files.
	closesAtOnce = 8
)

// finalizer verifies, commits and closes files in the background, when no request of theirs is
// left, so that no other file waits for the disk.
type finalizer struct {
	done       chan finished // what has been done
	running    int           // goroutines whose word is awaited
	committing bool
	recording  bool           // a checkpoint is being made
	nextRecord scheduler.Time // when the next one is due
	ready      []*file        // to be committed
	nextCommit scheduler.Time // when they are, if nothing asks for it before
	scarce     bool           // descriptors are: a file could not be opened for want of one
	closing    int
	closable   []*file // to be verified, closed or suspended
}

// finished is what was done to some files.
type finished struct {
	kind  finishedKind
	files []*file
	names []string
	errs  []error
}

type finishedKind uint8

const (
	committed finishedKind = iota
	verified
	closed
	recorded
)

// finish gives a file in which every byte is there its name, some time after a commit is due.
func (c *finalizer) finish(reqs context.Context, f *file) {
	if f.job.Checksum != nil && !f.verified {
		c.close(reqs, f)
		return
	}
	f.closing = true
	c.ready = append(c.ready, f)
}

// close verifies a complete file, closes one that has failed, or leaves one to a
// download of its own.
func (c *finalizer) close(reqs context.Context, f *file) {
	f.closing = true
	c.closable = append(c.closable, f)
	c.next(reqs)
}

// due says whether the files that are ready should be committed by now, where so many have not
// ended and so many may be open.
func (c *finalizer) due(now scheduler.Time, files, open int) bool {
	return len(c.ready) > 0 && !c.committing &&
		(now >= c.nextCommit || c.scarce || len(c.ready) == files || len(c.ready) >= open/readyPart)
}

// commit begins to commit the files that are ready, if no others are being committed.
func (c *finalizer) commit(now scheduler.Time) {
	n := min(len(c.ready), commitsAtOnce)
	if n == 0 || c.committing {
		return
	}
	files := append([]*file(nil), c.ready[:n]...)
	c.ready = append(c.ready[:0], c.ready[n:]...)
	c.committing, c.nextCommit = true, now+commitEvery
	c.running++
	go func() { c.done <- commit(files) }()
}

// next begins what else can be begun.
func (c *finalizer) next(reqs context.Context) {
	for len(c.closable) > 0 && c.closing < closesAtOnce {
		f := c.closable[0]
		c.closable = append(c.closable[:0], c.closable[1:]...)
		c.closing++
		c.running++
		switch f.state {
		case finishing:
			go func() { c.done <- finished{kind: verified, files: []*file{f}, errs: []error{f.verify(reqs)}} }()
		default:
			var done []scheduler.Range
			if f.worthKeeping() {
				done = f.done()
			}
			go func() { c.done <- finished{kind: closed, files: []*file{f}, errs: []error{f.close(done)}} }()
		}
	}
}

// commit makes files durable together, and gives them their names.
func commit(files []*file) finished {
	c := finished{kind: committed, files: files, names: make([]string, len(files)), errs: make([]error, len(files))}
	var pending []store.Pending
	var of []int
	for i, f := range files {
		f.output.mu.Lock()
		defer f.output.mu.Unlock()
		if c.errs[i] = f.output.openNow(f); c.errs[i] == nil {
			pending = append(pending, store.Pending{File: f.output.to.File, Options: store.CommitOptions{Size: f.size, Name: f.name}})
			of = append(of, i)
		}
	}
	for k, done := range store.CommitAll(pending) {
		c.names[of[k]], c.errs[of[k]] = done.Name, done.Err
	}
	for i, f := range files {
		c.errs[i] = firstError(c.errs[i], f.output.closeNow())
	}
	return c
}

// openNow opens the file if no byte of it has done so; mu is held.
func (p *output) openNow(f *file) error {
	if !p.opened && p.err == nil {
		p.err = p.begin(f)
	}
	if errors.Is(p.err, errThere) {
		return nil
	}
	return p.err
}

// verify compares what was written with the file's checksum.
func (f *file) verify(ctx context.Context) error {
	p := &f.output
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.openNow(f); err != nil {
		return err
	}
	return f.job.Checksum.check(ctx, p.to, f.size, f.size >= journalFrom && !p.to.Whole())
}

// close closes the file, which keeps what was done of it.
func (f *file) close(done []scheduler.Range) error {
	p := &f.output
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened && p.err == nil && len(done) > 0 {
		return p.to.Suspend(done)
	}
	return p.closeNow()
}

// closeNow closes it as it stands; mu is held.
func (p *output) closeNow() error {
	if !p.opened {
		return nil
	}
	return p.to.Close()
}

// takeFinished takes what was done in the background.
func (b *batch) takeFinished(reqs context.Context, c finished) {
	b.finalizer.running--
	switch c.kind {
	case committed:
		b.finalizer.committing = false
	case verified, closed:
		b.finalizer.closing--
	case recorded:
		b.recorded(reqs, c)
		b.finalizer.next(reqs)
		return
	}
	for i, f := range c.files {
		b.fileFinalized(reqs, f, c, i)
	}
	b.finalizer.next(reqs)
}

// fileFinalized takes what was done to one file.
func (b *batch) fileFinalized(reqs context.Context, f *file, c finished, i int) {
	err := c.errs[i]
	switch {
	case c.kind == verified && err == nil:
		f.verified, f.closing = true, false
		b.finalizer.finish(reqs, f)
		return
	case c.kind == verified && errors.Is(err, store.ErrLeft):
		f.state = solo
		b.finalizer.close(reqs, f)
		return
	case c.kind == verified: // it is closed, or will be
		f.state, f.cause = failed, err
		b.finalizer.close(reqs, f)
		return
	}
	f.output.giveSlotBack(b.slots)
	switch {
	case c.kind == committed && errors.Is(err, store.ErrLeft):
		f.state = solo
		b.queueSolo(reqs, f)
	case c.kind == committed:
		if err != nil && full(err) {
			b.fail(noRoom(err))
		}
		b.report(f, Result{Output: c.names[i], Size: f.size}, err)
	case f.state == solo && b.err == nil:
		b.queueSolo(reqs, f)
	default:
		b.report(f, Result{Output: f.job.outputName(), Size: f.size}, firstError(f.cause, err, b.err))
	}
}
