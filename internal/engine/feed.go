package engine

import (
	"context"
	"errors"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// aheadTime, at the links' present rates, and aheadLeast, in bytes, are how much is laid out ahead of
	// what is being fetched.
	aheadTime  = 4 * scheduler.Second
	aheadLeast = int64(16) << 20
	// aheadFiles is how many files of which nothing was asked for are laid out at least, and aheadMost at
	// most.
	aheadFiles = 256
	aheadMost  = 2048
	// aheadLow is how few they have become when more are laid out. That is done for some at a time: each
	// is looked for on disk, and the first look after a pause costs more than the others.
	aheadLow = aheadFiles * 7 / 8
	// maxEntries bounds the files that have been read from Batch.Jobs and have not ended.
	maxEntries = 4096
	// solosQueued bounds those that wait to be downloaded by themselves.
	solosQueued = 512
)

// sizes is what is known of the files' sizes.
type sizes struct {
	bytes, files int64
}

func (s *sizes) add(n int64) {
	s.bytes += n
	s.files++
}

// mean is how many bytes a file of unknown size is likely to have.
func (s *sizes) mean() int64 {
	if s.files == 0 {
		return guessSize / 2
	}
	return max(1, s.bytes/s.files)
}

// wantsFiles says whether more files should be laid out.
func (b *batch) wantsFiles() bool {
	if b.supply.jobs == nil || len(b.files) >= b.filesMost() || b.supply.waiting >= aheadMost || len(b.solos.queue) >= solosQueued {
		return false
	}
	if b.supply.waiting < aheadLow || b.supply.filling && b.supply.waiting < aheadFiles {
		return true
	}
	want := 0.0
	for id := range b.links {
		want += b.core.Link(scheduler.LinkID(id)).Rate
	}
	return b.core.Free() < max(aheadLeast, int64(want*aheadTime.Seconds()))
}

// filesMost is how many files may be in progress. Where the process may have few descriptors, there has to
// be one for each: a response that waits until its file can be opened delays those behind it on its
// connection, and the open files may be waiting for these.
func (b *batch) filesMost() int {
	if n := cap(b.slots); n < maxOpen {
		return n
	}
	return maxEntries
}

// fedAtOnce bounds how many files are laid out before the next look at what has
// come.
const fedAtOnce = 64

// layOutFiles lays out the files that are at hand, as far as that is needed.
func (b *batch) layOutFiles(reqs context.Context) {
	for range fedAtOnce {
		if !b.wantsFiles() {
			break
		}
		select {
		case job, ok := <-b.supply.jobs:
			b.takeJob(reqs, job, ok)
			continue
		default:
		}
		break
	}
	b.tellExpected(reqs)
}

// takeJob lays out one more file, or none if there are no more.
func (b *batch) takeJob(reqs context.Context, job *Job, ok bool) {
	if !ok {
		b.supply.jobs = nil
		return
	}
	f := &file{b: b, job: job, site: b.siteOf(job.URL), index: len(b.files), fileObject: fileObject{size: -1}, output: output{mu: make(mutex, 1)}}
	b.files = append(b.files, f)
	fits := b.space.fits(max(job.Size, guessSize))
	if job.Size > 0 && fits {
		b.noteSize(job.Size)
	}
	// Of a file that may be there already one byte is asked for, and the response decides, even if there
	// is a part beside it.
	there, left := job.Target.Standing(job.URL)
	f.mayExist = there || job.If.any()
	switch {
	case job.Stdout != nil:
		b.giveUp(reqs, f, errors.New("standard output takes one file, not several"))
	case f.site.dead != nil:
		b.giveUp(reqs, f, f.site.dead)
	case left && !there || f.site.odd() || !fits:
		b.goSolo(reqs, f, "")
	case f.site.waits(b.e.now()):
		b.postpone(reqs, f, f.site.notBefore)
	default:
		b.layOut(reqs, f)
	}
	b.supply.filling = b.supply.waiting < aheadFiles
}

// layOut gives the scheduler what is missing of a file.
func (b *batch) layOut(reqs context.Context, f *file) {
	f.state = running
	switch {
	case f.size >= 0:
		b.layOutRemaining(reqs, f)
	case f.job.Size > 0 && !f.mayExist:
		b.addPiece(reqs, f, 0, f.job.Size, false)
	case f.mayExist:
		b.addPiece(reqs, f, 0, 1, true)
	default:
		b.addPiece(reqs, f, 0, guessSize, true)
	}
	if !f.begun {
		b.supply.waiting++
	}
	f.site.laid++
}

// layOutRemaining lays out what of a file was put off.
func (b *batch) layOutRemaining(reqs context.Context, f *file) {
	for _, r := range f.remaining {
		b.addPiece(reqs, f, r.Off, r.Len(), false)
	}
	f.remaining = nil
}

// withdraw takes from the scheduler what is missing of a file, after it has counted what has come.
func (b *batch) withdraw(reqs context.Context, f *file) {
	if f.state != running || len(f.pieces) == 0 {
		return
	}
	for _, t := range b.transfers {
		if t.file == f {
			b.count(reqs, t)
		}
	}
	if f.size >= 0 {
		f.remaining = f.missing(f.remaining[:0])
		f.mayExist = false
	}
	for i := range f.pieces {
		b.step(reqs, scheduler.Input{Kind: scheduler.Voided, Piece: scheduler.Piece{Range: f.pieces[i].at}})
	}
	b.removePieces(f)
}

// removePieces takes a file out of the address space.
func (b *batch) removePieces(f *file) {
	b.space.drop(f)
	if !f.begun {
		b.supply.waiting--
	}
	f.site.laid--
}

// addPiece lays out bytes of a file.
func (b *batch) addPiece(reqs context.Context, f *file, off, length int64, guess bool) {
	size := f.size
	if size < 0 {
		size = max(f.job.Size, -1)
		if size == 0 {
			size = -1
		}
	}
	if len(f.pieces) == 0 {
		f.class = b.tuner.Class(size)
	}
	f.extent = max(f.extent, off+length)
	p := b.space.add(f, off, length)
	b.step(reqs, scheduler.Input{Kind: scheduler.Added, Piece: scheduler.Piece{
		Range: p.at, File: int32(f.job.ID), Class: f.class, Guess: guess,
	}})
}

// noteSize notes that a file has so many bytes.
func (b *batch) noteSize(size int64) {
	b.supply.sizes.add(size)
	b.tuner.Size(size)
}

// sized notes a file's size, as the first response has told it, and lays out the rest or withdraws what
// lies behind the end.
func (b *batch) sized(reqs context.Context, f *file, size int64) {
	if f.job.Size <= 0 {
		b.noteSize(size)
	}
	f.size = size
	for i := range f.pieces {
		p := &f.pieces[i]
		if last := p.offset(p.at.End); last > size {
			void := p.at
			void.Off = max(p.at.Off, p.at.End-(last-size))
			b.step(reqs, scheduler.Input{Kind: scheduler.Voided, Piece: scheduler.Piece{Range: void}})
		}
	}
	if !f.mayExist {
		b.extend(reqs, f)
	}
}

// extend lays out what of a file has not been laid out yet.
func (b *batch) extend(reqs context.Context, f *file) {
	if f.extent < f.size {
		b.addPiece(reqs, f, f.extent, f.size-f.extent, false)
	}
}

// continueExisting lays out the rest of a file that seemed to be there already, when the byte that was
// asked for has come: what is there is another object. This has to precede the scheduler's being told of
// the byte, or the file would seem to be complete.
func (b *batch) continueExisting(reqs context.Context, t *transfer) {
	f := t.file
	if !f.mayExist || f.state != running {
		return
	}
	f.mayExist = false
	if t.resp.Whole && f.size > f.extent {
		f.site.odds++
		b.goSolo(reqs, f, "the server does not serve ranges of it")
		return
	}
	b.extend(reqs, f)
}

// tellExpected tells the scheduler how much is still to come, when that has changed by
// much.
func (b *batch) tellExpected(reqs context.Context) {
	bytes := int64(0)
	if b.supply.jobs != nil {
		bytes = b.bytesToCome()
	}
	for _, f := range b.deferred {
		bytes += length(f.remaining)
		if f.size < 0 {
			bytes += b.likely(f)
		}
	}
	if change := bytes - b.supply.expected; bytes == 0 && change != 0 || max(change, -change) > b.supply.expected/16 {
		b.expect(reqs, bytes)
	}
}

func (b *batch) expect(reqs context.Context, bytes int64) {
	b.supply.expected = bytes
	b.step(reqs, scheduler.Input{Kind: scheduler.Expected, Bytes: bytes})
}

// publishStarted publishes a file when its first bytes are asked for.
func (b *batch) publishStarted(f *file) {
	if f.begun {
		return
	}
	f.begun = true
	if f.state == running && len(f.pieces) > 0 {
		b.supply.waiting--
	}
	b.e.cfg.Bus.Publish(event.FileStarted{At: b.e.now(), File: f.job.ID, URL: redact(f.job.URL), Output: f.job.outputName()})
}
