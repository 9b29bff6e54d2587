package engine

import (
	"context"
	"errors"
	"io"
	"net/url"
	"sync/atomic"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// errReleased is why a transfer is cancelled when the scheduler takes its range
// away, and errOver when the download has ended.
var (
	errReleased = errors.New("released by the scheduler")
	errOver     = errors.New("the download is over")
	errRefused  = errors.New("the response was not taken")
)

// wholeObject is the end of a transfer that reads a body of unknown length.
const wholeObject = int64(1)<<62 - 1

// transfer is one request in flight. Its goroutine writes the atomics, the
// owner reads them; end is the other way round, so that a range is shortened
// without a lock.
type transfer struct {
	chunk  scheduler.ChunkID
	link   scheduler.LinkID
	off    int64
	whole  bool // asks for the whole object, without a range
	sent   scheduler.Time
	cancel context.CancelCauseFunc

	end       atomic.Int64 // the byte at which to stop
	got       atomic.Int64 // bytes received, all of them written but those beyond end
	firstByte atomic.Int64 // a scheduler.Time; 0: none yet
	lastByte  atomic.Int64

	// What only the owner touches.
	told     int64 // bytes that the scheduler knows of
	released bool  // the scheduler has forgotten this transfer
	parked   bool  // its response is whole, and waits for the others' first
	progress scheduler.Time
}

// message is what a transfer tells its owner.
type message struct {
	t *transfer
	// resp is a response that wants a verdict on answer; nil: the transfer
	// has ended, with err.
	resp   *fetch.Response
	answer chan<- verdict
	err    error
}

// verdict is the owner's answer to a response.
type verdict uint8

const (
	refuse    verdict = iota
	take              // read the range
	takeWhole         // read the whole object from its first byte
)

// run makes the request and stores what comes.
func (e *Engine) run(ctx context.Context, t *transfer, u *url.URL, to sink, tell chan<- message) {
	resp, err := e.open(ctx, t, u, tell)
	if err == nil {
		err = e.receive(ctx, t, resp, to)
	}
	tell <- message{t: t, err: err}
	if resp != nil {
		resp.Discard(0) // a range that was cut short: its rest is not wanted
	}
}

// open makes the request and gets the owner's verdict on the response.
func (e *Engine) open(ctx context.Context, t *transfer, u *url.URL, tell chan<- message) (*fetch.Response, error) {
	end := t.end.Load()
	if t.whole {
		end = -1
	}
	resp, err := e.conns[t.link].Get(ctx, u, t.off, end)
	if err != nil {
		return nil, err
	}
	answer := make(chan verdict, 1)
	tell <- message{t: t, resp: resp, answer: answer}
	select {
	case v := <-answer:
		switch v {
		case take:
			return resp, nil
		case takeWhole:
			t.off = 0
			if resp.End >= 0 {
				t.end.Store(resp.End)
			} else {
				t.end.Store(wholeObject)
			}
			return resp, nil
		case refuse:
		}
		return resp, errRefused
	case <-ctx.Done():
		return resp, context.Cause(ctx)
	}
}

// receive reads the body in large blocks and writes each at its place.
func (e *Engine) receive(ctx context.Context, t *transfer, resp *fetch.Response, to sink) error {
	block := e.blocks.Get().(*[]byte)
	defer e.blocks.Put(block)
	got := int64(0)
	for {
		want := t.end.Load() - t.off - got
		if want <= 0 {
			return nil
		}
		n, err := resp.Read((*block)[:min(int64(len(*block)), want)])
		if n > 0 {
			at := t.off + got
			if werr := to.room(ctx, at+int64(n)); werr != nil {
				return werr
			}
			if _, werr := to.WriteAt((*block)[:n], at); werr != nil {
				return werr
			}
			got += int64(n)
			now := int64(e.now())
			if t.firstByte.Load() == 0 {
				t.firstByte.Store(now)
			}
			t.lastByte.Store(now)
			t.got.Store(got)
			if werr := e.waitRate(ctx, t.link, n); werr != nil {
				return werr
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if t.end.Load() == wholeObject {
				t.end.Store(t.off + got) // now its length is known
			}
			return nil
		default:
			return err
		}
	}
}
