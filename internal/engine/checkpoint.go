package engine

import (
	"context"

	"github.com/mlget/mlget/pkg/scheduler"
)

// record makes a checkpoint of the large files that have got something since the
// last one, beside the download.
func (b *batch) record(reqs context.Context, now scheduler.Time) {
	if now < b.finalizer.nextRecord || b.finalizer.recording {
		return
	}
	b.finalizer.nextRecord = now + checkpointEvery
	var files []*file
	var done [][]scheduler.Range
	for _, f := range b.files {
		if f.state != running && f.state != deferred || f.got == 0 || f.size < journalFrom {
			continue
		}
		// Not what was counted: the scheduler may still have to be told of some of it.
		there := f.done()
		if n := length(there); n > f.saved {
			f.saved, f.saving = n, true
			files, done = append(files, f), append(done, there)
		}
	}
	if len(files) == 0 {
		return
	}
	b.finalizer.recording = true
	b.finalizer.running++
	go func() {
		errs := make([]error, len(files))
		for i, f := range files {
			errs[i] = f.checkpoint(done[i])
		}
		b.background <- func() { b.recorded(reqs, files, errs) }
	}()
}

// checkpoint records what is there of the file, if it is open.
func (f *file) checkpoint(done []scheduler.Range) error {
	p := &f.output
	p.mu.Lock()
	to, ok := p.to, p.opened && p.err == nil
	p.mu.Unlock()
	if !ok {
		return nil
	}
	return to.Checkpoint(done)
}

// recorded takes the end of a checkpoint.
func (b *batch) recorded(reqs context.Context, files []*file, errs []error) {
	b.finalizer.running--
	b.finalizer.recording = false
	for i, f := range files {
		f.saving = false
		if err := errs[i]; err != nil && f.state == running {
			if full(err) {
				b.fail(noRoom(err))
			}
			b.giveUp(reqs, f, err)
		}
		b.unsettled = append(b.unsettled, f)
	}
}

// length is how many bytes ranges have together.
func length(ranges []scheduler.Range) (n int64) {
	for _, r := range ranges {
		n += r.Len()
	}
	return n
}
