package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/mlget/mlget/internal/errno"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// guessSize is how many bytes of a file of unknown size are asked for at first:
	// most files are smaller, and the first response tells.
	guessSize = int64(1) << 20
	// maxOpen bounds the files that are open at once, as openMost does.
	maxOpen = 512
	// journalFrom is the size in bytes from which on a file is journalled while it is
	// on its way, and kept when the batch is interrupted.
	journalFrom = int64(8) << 20
)

// errThere says that an earlier run has completed the file.
var errThere = errors.New("it is there already")

// fileState is what becomes of a file of a batch.
type fileState uint8

const (
	running   fileState = iota // the scheduler has it
	deferred                   // it waits for a time
	failed                     // it is given up, when its last request has ended
	solo                       // it is downloaded by itself, when its last request has ended
	finishing                  // every byte is there
)

// file is a file of a batch, from its job to its end. It belongs to the owner, except for its output.
type file struct {
	b        *batch
	job      *Job
	site     *site
	index    int   // in batch.files
	begun    bool  // its first request has been made, and it was published
	requests int   // in flight
	got      int64 // bytes, waste included
	state    fileState
	cause    error // why it was given up

	layout
	fileObject
	setbacks
	refusals
	completion
	output output
}

// layout is where a file's bytes lie in the address space, and which do not.
type layout struct {
	class         scheduler.Class
	pieces        []piece
	remaining     []scheduler.Range // what is missing and is not laid out, where the size is known
	deferredUntil scheduler.Time    // when that is laid out, all or what no request brings meanwhile
	extent        int64             // how much has been laid out so far
	mayExist      bool              // there is a file that may be it already: no more than a byte is asked for
}

// fileObject is what servers have said of a file.
type fileObject struct {
	size      int64          // -1: no response has told
	known     identity.Known // what all answers must agree with, once size is known
	name      string         // that the server proposes
	page      bool           // the first response was HTML
	vote      sizeVote
	witnesses witnesses
	disagree  linkSet // over which links several sizes were told
}

// setbacks count a file's failures, by reason.
type setbacks struct {
	breaks         int       // failures of the network or of name servers, in a row
	gained         int64     // bytes since the latest of breaks
	lastFailure    error     // the latest that counted against a link, if nothing has come since
	excused        int       // failures that were put down to too many connections
	overloads      int       // times that its server was too busy for it because of others
	forbidden      forbidden // while others were served, which may be the reason
	askedLater     int       // answers that asked to come again later
	serverFailures int       // answers that its server has failed, before its first byte
	failedOver     linkSet   // over which these came
	doubts         int       // responses that could be a portal's page
	noDescriptors  int       // times that there was no descriptor to open it
}

// refusals are over which links a file is served, and over which it is denied.
type refusals struct {
	served       linkSet // over which some of it has come
	denied       linkSet
	denial       error   // the latest one
	retryLinks   linkSet // of denied: those that are to be asked again at retryLinksAt
	retryLinksAt scheduler.Time
}

// completion is what is being done to a file in the background.
type completion struct {
	closing  bool  // it is being verified, committed or closed
	verified bool  // its checksum is right
	saving   bool  // a checkpoint is being made
	saved    int64 // bytes, at the latest checkpoint
}

// output is where a file's bytes go. The first request that has bytes opens it.
type output struct {
	mu     mutex
	slot   bool // it has one of the batch's
	opened bool
	err    error
	to     fileSink
	id     identity.Identity // written by the owner before the first response is taken
}

// open gives the sink for a transfer's bytes. It is not for the owner's goroutine, as it may wait for the
// disk or for other files. The transfer does not count as stalled meanwhile.
func (f *file) open(ctx context.Context, t *transfer) (sink, error) {
	t.waits.Store(true)
	defer t.waits.Store(false)
	p := &f.output
	if err := p.lock(ctx, f.b.slots); err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	if !p.opened && p.err == nil {
		p.err = p.begin(f)
		if err := p.err; !p.opened && errno.IsScarce(err) { // it may be opened later
			p.err = nil
			p.giveSlotBack(f.b.slots)
			return nil, err
		}
	}
	return p.to, p.err
}

// lock locks the place for a request, which has waited for a slot then if the file needs one. The
// file's other requests wait for the lock meanwhile: they go on when the file is open.
func (p *output) lock(ctx context.Context, slots chan struct{}) error {
	if err := send(ctx, p.mu); err != nil {
		return err
	}
	if p.slot || p.opened || p.err != nil {
		return nil
	}
	if err := send(ctx, slots); err != nil {
		p.mu.Unlock()
		return err
	}
	p.slot = true
	return nil
}

// mutex is a lock that can be waited for until a context ends.
type mutex chan struct{}

func (m mutex) Lock()   { m <- struct{}{} }
func (m mutex) Unlock() { <-m }

// send sends to a channel, unless ctx ends before.
func send(ctx context.Context, to chan<- struct{}) error {
	select {
	case to <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &fetch.Error{Class: fetch.Canceled, Err: context.Cause(ctx)}
	}
}

// begin opens the file and prepares it for its bytes; mu is held.
func (p *output) begin(f *file) error {
	to, err := store.Open(f.job.Target, f.job.URL)
	if err != nil {
		return err
	}
	p.opened, p.to = true, fileSink{to}
	if n := to.Notice(); n != "" {
		f.b.e.notice(true, "%s", n)
	}
	if _, _, left := to.Resume(); left {
		return store.ErrLeft
	}
	if err := to.Begin(p.id); err != nil {
		return err
	}
	if to.Whole() {
		return errThere
	}
	return nil
}

// giveSlotBack gives back the slot of a file that has been closed.
func (p *output) giveSlotBack(slots chan struct{}) {
	if p.slot {
		<-slots
		p.slot = false
	}
}

// waits says whether there is something of the file that waits until deferredUntil.
func (f *file) waits() bool {
	return f.state == deferred || f.state == running && len(f.remaining) > 0
}

// receive counts bytes.
func (f *file) receive(n int64) {
	f.got += n
	f.b.tuner.received[f.class] += n
}

// missing appends to dst, in order, the ranges of the file that have not been received, whether they are
// laid out or not.
func (f *file) missing(dst []scheduler.Range) []scheduler.Range {
	dst = append(dst, f.remaining...)
	var found []scheduler.Range
	for i := range f.pieces {
		p := &f.pieces[i]
		found = f.b.core.Missing(p.at, found[:0])
		for _, r := range found {
			dst = append(dst, scheduler.Range{Off: p.offset(r.Off), End: p.offset(r.End)})
		}
	}
	if f.extent < f.size {
		dst = append(dst, scheduler.Range{Off: f.extent, End: f.size})
	}
	slices.SortFunc(dst, func(a, b scheduler.Range) int { return cmp.Compare(a.Off, b.Off) })
	joined := dst[:0]
	for _, r := range dst {
		if n := len(joined); n > 0 && joined[n-1].End == r.Off {
			joined[n-1].End = r.End
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// complete says whether every byte of the file has been received.
func (f *file) complete() bool {
	if f.size < 0 || len(f.remaining) > 0 {
		return false
	}
	for i := range f.pieces {
		f.b.space.gaps = f.b.core.Missing(f.pieces[i].at, f.b.space.gaps[:0])
		if len(f.b.space.gaps) > 0 {
			return false
		}
	}
	return true
}

// done is the ranges of the file that have been received, sorted. Its size is known.
func (f *file) done() []scheduler.Range {
	missing := f.remaining
	if len(f.pieces) > 0 {
		missing = f.missing(nil)
	}
	return without([]scheduler.Range{{End: f.size}}, missing)
}

// reached is up to where bytes of the file have been received.
func (f *file) reached() int64 {
	if f.size < 0 {
		return 0
	}
	if there := f.done(); len(there) > 0 {
		return there[len(there)-1].End
	}
	return 0
}

// worthKeeping says whether another run should go on with what is there.
func (f *file) worthKeeping() bool {
	return f.size >= journalFrom && f.output.opened && f.output.err == nil
}
