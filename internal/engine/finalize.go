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
	running    int // goroutines
	committing bool
	recording  bool           // a checkpoint is being made
	nextRecord scheduler.Time // when the next one is due
	ready      []*file        // to be committed
	nextCommit scheduler.Time // when they are, unless there is a reason to do so before
	scarce     bool           // there was no descriptor to open a file
	closing    int            // goroutines that verify, close and suspend files
	closable   []*file        // to be verified, closed or suspended
}

// due says whether the files that are ready should be committed by now, where so many have not
// ended and so many may be open.
func (c *finalizer) due(now scheduler.Time, files, open int) bool {
	return len(c.ready) > 0 && !c.committing &&
		(now >= c.nextCommit || c.scarce || len(c.ready) == files || len(c.ready) >= open/readyPart)
}

// finish gives a file in which every byte is there its name, some time after a commit is due.
func (b *batch) finish(reqs context.Context, f *file) {
	if f.job.Checksum != nil && !f.verified {
		b.close(reqs, f)
		return
	}
	f.closing = true
	b.finalizer.ready = append(b.finalizer.ready, f)
}

// close verifies a complete file, closes one that has failed, or leaves one to a
// download of its own.
func (b *batch) close(reqs context.Context, f *file) {
	f.closing = true
	b.finalizer.closable = append(b.finalizer.closable, f)
	b.closeNext(reqs)
}

// closeNext begins to verify and close files, as far as there may be goroutines for it.
func (b *batch) closeNext(reqs context.Context) {
	c := &b.finalizer
	for len(c.closable) > 0 && c.closing < closesAtOnce {
		f := c.closable[0]
		c.closable = append(c.closable[:0], c.closable[1:]...)
		c.closing++
		c.running++
		if f.state == finishing {
			go func() {
				err := f.verify(reqs)
				b.background <- func() { b.verified(reqs, f, err) }
			}()
			continue
		}
		var done []scheduler.Range
		if f.worthKeeping() {
			done = f.done()
		}
		go func() {
			err := f.close(done)
			b.background <- func() { b.closed(reqs, f, err) }
		}()
	}
}

// commit begins to commit the files that are ready, if no others are being committed.
func (b *batch) commit(reqs context.Context, now scheduler.Time) {
	c := &b.finalizer
	n := min(len(c.ready), commitsAtOnce)
	if n == 0 || c.committing {
		return
	}
	files := append([]*file(nil), c.ready[:n]...)
	c.ready = append(c.ready[:0], c.ready[n:]...)
	c.committing, c.nextCommit = true, now+commitEvery
	c.running++
	go func() {
		done := commitFiles(files)
		b.background <- func() { b.committed(reqs, files, done) }
	}()
}

// commitFiles makes files durable together, and gives them their names.
func commitFiles(files []*file) []store.Committed {
	all := make([]store.Committed, len(files))
	var pending []store.Pending
	var of []int
	for i, f := range files {
		f.output.mu.Lock()
		defer f.output.mu.Unlock()
		if all[i].Err = f.output.openNow(f); all[i].Err == nil {
			pending = append(pending, store.Pending{File: f.output.to.File, Options: store.CommitOptions{Size: f.size, Name: f.name}})
			of = append(of, i)
		}
	}
	for k, done := range store.CommitAll(pending) {
		all[of[k]] = done
	}
	for i, f := range files {
		all[i].Err = firstError(all[i].Err, f.output.closeNow())
	}
	return all
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

// committed takes the end of a commit.
func (b *batch) committed(reqs context.Context, files []*file, done []store.Committed) {
	b.finalizer.running--
	b.finalizer.committing = false
	for i, f := range files {
		f.output.giveSlotBack(b.slots)
		err := done[i].Err
		if errors.Is(err, store.ErrLeft) {
			f.state = solo
			b.queueSolo(reqs, f)
			continue
		}
		if err != nil && full(err) {
			b.fail(noRoom(err))
		}
		b.report(f, Result{Output: done[i].Name, Size: f.size}, err)
	}
}

// verified takes what the check of a file's checksum has come to.
func (b *batch) verified(reqs context.Context, f *file, err error) {
	b.finalizer.running--
	b.finalizer.closing--
	switch {
	case err == nil:
		f.verified, f.closing = true, false
		b.finish(reqs, f)
	case errors.Is(err, store.ErrLeft):
		f.state = solo
		b.close(reqs, f)
	default: // it is closed, or will be
		f.state, f.cause = failed, err
		b.close(reqs, f)
	}
	b.closeNext(reqs)
}

// closed takes the end of a file that was closed.
func (b *batch) closed(reqs context.Context, f *file, err error) {
	b.finalizer.running--
	b.finalizer.closing--
	f.output.giveSlotBack(b.slots)
	if f.state == solo && b.err == nil {
		b.queueSolo(reqs, f)
	} else {
		b.report(f, Result{Output: f.job.outputName(), Size: f.size}, firstError(f.cause, err, b.err))
	}
	b.closeNext(reqs)
}
