package engine

import (
	"context"
	"errors"
	"io"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Why a transfer is cancelled: errReleased, the scheduler has withdrawn it; errMoved, its link has
// moved; errOver, the download has ended. errRefused: the owner did not take its response.
var (
	errReleased = errors.New("released by the scheduler")
	errOver     = errors.New("the download is over")
	errRefused  = errors.New("the response was not taken")
	errMoved    = errors.New("the link has another address or device")
)

// wholeObject is the end of a transfer that reads a body of unknown length.
const wholeObject = int64(1)<<62 - 1

// transfer is one request in flight, and the goroutine that makes it.
type transfer struct {
	request
	exchange
	counters
	account
}

// request is what a transfer asks for. The owner sets it, and changes it at most before it lets
// the response be read.
type request struct {
	chunk     scheduler.ChunkID
	link      scheduler.LinkID
	stream    scheduler.StreamID
	fileID    event.FileID
	file      *file // of a batch
	url       *url.URL
	base      int64 // the scheduler's address of the object's first byte
	off       int64 // of the first byte that counts
	overlap   int64 // bytes before off that are asked for as well, to be compared: see proof
	duplicate bool  // another request is asked for these bytes, too: it is of use only if it is finished
	single    bool  // asks for the whole object, without a range
	first     bool  // no byte of the object has come, and none is left of an earlier run
	probe     bool  // it is not the scheduler's: only its overlap, or what it tells of the size, is wanted
}

// exchange is by what means a transfer gets its bytes. The owner sets it when it launches the
// transfer.
type exchange struct {
	client *fetch.Client
	turn   *fetch.Turn
	cancel context.CancelCauseFunc
	waker  *waker
	sent   scheduler.Time
	to     sink // of a batch: once the file is open
	eager  bool // bytes are read as they come, not gathered: a consumer waits for them
	exact  bool // a body of unknown length has to end at end
}

// counters are what the goroutine and the owner tell each other, without a lock: end, lastOfConn
// and paced are the owner's to write, the others the goroutine's.
type counters struct {
	end        atomic.Int64 // the byte at which to stop
	lastOfConn atomic.Bool  // its connection ends with it
	paced      atomic.Bool  // its reader is to rest for uplinkRest after each block

	got          atomic.Int64 // bytes received, all of them written
	firstByte    atomic.Int64 // a scheduler.Time; 0: none yet
	lastByte     atomic.Int64 // of a byte before end
	waits        atomic.Bool  // it waits for a stream's consumer, a file or an allowance, not for the link
	compared     atomic.Int64 // bytes that were there already, and were compared
	overlapGot   atomic.Int64 // bytes of the overlap received
	overlapBytes []byte       // the overlap; the owner may read the first overlapGot of them
}

// account is what the owner knows of a transfer. The goroutine reads resp once it may.
type account struct {
	resp        *fetch.Response // nil until it was judged
	taken       bool            // its response was taken
	refusal     error           // why its response was refused, where that counts against its link; nil: it does not
	answer      accept.ID       // 0: a validator proves it, or it was not taken
	objectKnown bool            // of a question: the object was known when the answer came
	released    bool            // the scheduler has forgotten this transfer
	useful      int64           // bytes that are of use, once it has been released
	ended       bool            // its goroutine has ended

	reported   int64          // bytes that the scheduler knows of
	reportedAt scheduler.Time // when the last of them came
	behindGap  int64          // bytes behind a lost packet of which the scheduler has not been told
	progress   scheduler.Time // when it last made progress; see watchStalls

	endedBefore int  // how many requests to its server over its link had ended when it began
	hadCompany  bool // others of these have ended since
}

// message is what a transfer tells its owner.
type message struct {
	t *transfer
	// resp is a response that wants an answer: may it be read? nil: the
	// transfer has ended, with err.
	resp   *fetch.Response
	answer chan<- bool
	err    error
}

// noteResponse keeps the response. Its range may have been shortened since it was asked for.
func (t *transfer) noteResponse(resp *fetch.Response) {
	t.resp = resp
	resp.Shorten(t.end.Load())
}

// shorten makes the range end at end.
func (t *transfer) shorten(end int64) {
	t.end.Store(end)
	if t.resp != nil {
		t.resp.Shorten(end)
		t.resp.Gather(1) // it may be waiting for more than that
	}
}

// run makes the request and stores what comes. Its last act is to tell the owner that it has ended.
func (e *Engine) run(ctx context.Context, t *transfer, tell chan<- message) {
	resp, err := e.open(ctx, t, tell)
	if err == nil && t.file != nil {
		t.to, err = t.file.open(ctx, t)
	}
	if err == nil {
		err = e.receive(ctx, t, resp, t.to)
	}
	switch {
	case resp == nil:
	case errors.Is(err, errThere):
		resp.Discard(worthwhile) // the rest of a response of which one byte was asked for
	default:
		if t.lastOfConn.Load() {
			t.cancel(fetch.ErrSpent)
		}
		resp.Discard(0) // a range that was cut short: its rest is not wanted
	}
	tell <- message{t: t, err: err}
}

// open makes the request and asks the owner whether to read the response, which
// is returned also where that is not so.
func (e *Engine) open(ctx context.Context, t *transfer, tell chan<- message) (*fetch.Response, error) {
	off, end := t.off, t.end.Load()
	if t.single {
		end = -1
	}
	t.turn.First = t.first
	resp, err := t.turn.Get(ctx, off-t.overlap, end)
	if err != nil {
		return nil, err
	}
	answer := make(chan bool, 1)
	tell <- message{t: t, resp: resp, answer: answer}
	select {
	case take := <-answer:
		if take {
			return resp, nil
		}
		return resp, errRefused
	case <-ctx.Done():
		return resp, &fetch.Error{Class: fetch.Canceled, Err: context.Cause(ctx)}
	}
}

// receive brings the body to its place in large blocks, behind the overlap, which is kept in memory.
func (e *Engine) receive(ctx context.Context, t *transfer, resp *fetch.Response, to sink) error {
	c := e.newCarrier(t, resp, to)
	defer c.close()
	most := int64(e.readSize(t.link))
	left := &e.links[t.link].allowance
	if t.overlap > 0 {
		t.overlapBytes = make([]byte, t.overlap)
	}
	got := -t.overlap // bytes that count; below 0: as many are still to come of the overlap
	for {
		at := t.off + got
		want := min(most, t.end.Load()-at)
		if got < 0 {
			want = min(most, -got)
		}
		if want <= 0 {
			return t.atEnd(at, resp)
		}
		want, err := left.take(ctx, t, want)
		switch {
		case err != nil:
			return err
		case want == 0 && t.end.Load() == wholeObject && ended(resp):
			t.end.Store(at)
			return nil
		case want == 0:
			return ErrCapped
		}
		n := int64(0)
		if got < 0 {
			n, err = t.readOverlap(resp, t.overlap+got, want)
			got += n
		} else if n, err = c.carry(ctx, want, at); n > 0 {
			got += n
			e.count(t, at, got, n)
		}
		left.receive(want, n) // after got: see noteSpent
		if n > 0 {
			if werr := e.waitRate(ctx, t.link, int(n)); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return t.bodyEnds(t.off + got)
		case err != nil:
			return err
		case t.paced.Load():
			time.Sleep(uplinkRest)
		}
	}
}

// count tells the owner that n bytes have come at an offset, got in all.
func (e *Engine) count(t *transfer, at, got, n int64) {
	now := int64(e.now())
	if got == n {
		t.firstByte.Store(now)
	}
	if at < t.end.Load() {
		t.lastByte.Store(now)
	}
	t.got.Store(got)
	t.waker.bytesCame(scheduler.Time(now))
}

// atEnd says whether a body may be left at the byte where the transfer ends.
func (t *transfer) atEnd(at int64, resp *fetch.Response) error {
	if t.exact && !ended(resp) {
		return contradiction("the body goes on behind byte %d, where it was to end", at)
	}
	return nil
}

// bodyEnds says whether a body may end at a byte, and notes its length where that was not known.
func (t *transfer) bodyEnds(at int64) error {
	switch end := t.end.Load(); {
	case end == wholeObject:
		t.end.Store(at)
	case t.exact && at < end:
		return contradiction("the body ends at byte %d of %d", at, end)
	}
	return nil
}

// readOverlap reads up to want bytes of the overlap, of which got are there. An error behind it is met
// again.
func (t *transfer) readOverlap(resp *fetch.Response, got, want int64) (int64, error) {
	n, err := resp.Read(t.overlapBytes[got : got+want])
	got += int64(n)
	t.overlapGot.Store(got)
	if got == t.overlap {
		err = nil
	}
	return int64(n), err
}

// ended says whether a body of unknown length has no byte more: as far as its reader may
// go, it may have got all of it.
func ended(resp *fetch.Response) bool {
	var one [1]byte
	_, err := io.ReadFull(resp, one[:])
	return errors.Is(err, io.EOF)
}

// store writes p at its place, when there is room for it.
func (e *Engine) store(ctx context.Context, t *transfer, to sink, p []byte, at int64) error {
	if s := to.stream(); s != nil {
		t.waits.Store(true)
		err := s.room(ctx, at+int64(len(p)))
		t.waits.Store(false)
		if err != nil {
			return err
		}
	}
	_, err := to.WriteAt(p, at)
	return err
}
