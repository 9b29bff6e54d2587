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
	// closesAtOnce bounds how many goroutines verify, close and suspend files.
	closesAtOnce = 8
)

// chores are what is done to files in the background, when no request of theirs is
// left: nothing waits for a disk but those who wait for that file.
type chores struct {
	done       chan chore // what has been done
	out        int        // goroutines whose word is awaited
	committing bool
	ready      []*entry // to be committed
	closing    int
	others     []*entry // to be verified, closed or suspended
}

// chore is what was done to some files.
type chore struct {
	kind  choreKind
	files []*entry
	names []string
	errs  []error
}

type choreKind uint8

const (
	committed choreKind = iota
	verified
	closed
	recorded
)

// finish gives a file in which every byte is there its name.
func (c *chores) finish(reqs context.Context, f *entry) {
	if f.job.Checksum != nil && !f.verified {
		c.close(reqs, f)
		return
	}
	f.ending = true
	c.ready = append(c.ready, f)
	c.next(reqs)
}

// close verifies a complete file, closes one that has failed, or leaves one to a
// download of its own.
func (c *chores) close(reqs context.Context, f *entry) {
	f.ending = true
	c.others = append(c.others, f)
	c.next(reqs)
}

// next begins what can be begun.
func (c *chores) next(reqs context.Context) {
	if n := min(len(c.ready), commitsAtOnce); n > 0 && !c.committing {
		files := append([]*entry(nil), c.ready[:n]...)
		c.ready = append(c.ready[:0], c.ready[n:]...)
		c.committing = true
		c.out++
		go func() { c.done <- commit(files) }()
	}
	for len(c.others) > 0 && c.closing < closesAtOnce {
		f := c.others[0]
		c.others = append(c.others[:0], c.others[1:]...)
		c.closing++
		c.out++
		switch f.fate {
		case finishing:
			go func() { c.done <- chore{kind: verified, files: []*entry{f}, errs: []error{f.verify(reqs)}} }()
		default:
			var done []scheduler.Range
			if f.worthKeeping() {
				done = f.done()
			}
			go func() { c.done <- chore{kind: closed, files: []*entry{f}, errs: []error{f.close(done)}} }()
		}
	}
}

// commit makes files durable together, and gives them their names.
func commit(files []*entry) chore {
	c := chore{kind: committed, files: files, names: make([]string, len(files)), errs: make([]error, len(files))}
	var pending []store.Pending
	var of []int
	for i, f := range files {
		f.place.mu.Lock()
		defer f.place.mu.Unlock()
		if c.errs[i] = f.place.ready(f); c.errs[i] == nil {
			pending = append(pending, store.Pending{File: f.place.to.File, Options: store.CommitOptions{Size: f.size, Name: f.name}})
			of = append(of, i)
		}
	}
	for k, done := range store.CommitAll(pending) {
		c.names[of[k]], c.errs[of[k]] = done.Name, done.Err
	}
	for i, f := range files {
		c.errs[i] = first(c.errs[i], f.place.shut())
	}
	return c
}

// ready opens the file if no byte of it has done so; mu is held.
func (p *place) ready(f *entry) error {
	if !p.opened && p.err == nil {
		p.err = p.begin(f)
	}
	if errors.Is(p.err, errThere) {
		return nil
	}
	return p.err
}

// verify compares what was written with the file's checksum.
func (f *entry) verify(ctx context.Context) error {
	p := &f.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.ready(f); err != nil {
		return err
	}
	err := f.job.Checksum.verify(ctx, p.to, f.size)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrChecksum):
		return rejected(err, p.to.Reject())
	case p.to.Whole():
		return first(err, p.to.Close())
	case f.size >= journalFrom: // interrupted: nothing need be fetched again
		return first(err, p.to.Suspend([]scheduler.Range{{End: f.size}}))
	}
	return err
}

// close closes the file, which keeps what was done of it.
func (f *entry) close(done []scheduler.Range) error {
	p := &f.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened && p.err == nil && len(done) > 0 {
		return p.to.Suspend(done)
	}
	return p.shut()
}

// shut closes it as it stands; mu is held.
func (p *place) shut() error {
	if !p.opened {
		return nil
	}
	return p.to.Close()
}

// settle takes what was done in the background.
func (b *batch) settle(reqs context.Context, c chore) {
	b.chores.out--
	switch c.kind {
	case committed:
		b.chores.committing = false
	case verified, closed:
		b.chores.closing--
	case recorded:
		b.recorded(reqs, c)
		b.chores.next(reqs)
		return
	}
	for i, f := range c.files {
		b.finished(reqs, f, c, i)
	}
	b.chores.next(reqs)
}

// finished takes what was done to one file.
func (b *batch) finished(reqs context.Context, f *entry, c chore, i int) {
	err := c.errs[i]
	switch {
	case c.kind == verified && err == nil:
		f.verified, f.ending = true, false
		b.chores.finish(reqs, f)
		return
	case c.kind == verified && errors.Is(err, store.ErrLeft):
		f.fate = aside
		b.chores.close(reqs, f)
		return
	case c.kind == verified: // it is closed, or will be
		f.fate, f.why = failed, err
		b.chores.close(reqs, f)
		return
	}
	f.place.leave(b.slots)
	switch {
	case c.kind == committed && errors.Is(err, store.ErrLeft):
		f.fate = aside
		b.leave(reqs, f)
	case c.kind == committed:
		if err != nil && full(err) {
			b.fail(noRoom(err))
		}
		b.report(f, Result{Output: c.names[i], Size: f.size}, err)
	case f.fate == aside && b.err == nil:
		b.leave(reqs, f)
	default:
		b.report(f, Result{Output: f.job.wish(), Size: f.size}, first(f.why, err, b.err))
	}
}
