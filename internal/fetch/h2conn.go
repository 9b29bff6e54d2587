package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// assumedStreams is how many streams a server is taken to allow before it has
	// said so (RFC 9113, 6.5.2 recommends it not to allow fewer).
	assumedStreams = 100
	// maxStreamID is where a connection is given up for a new one, long before its
	// stream numbers run out at 2^31.
	maxStreamID = 1 << 30
)

// errLate says that a response took longer than Config.ResponseTimeout.
var errLate = errors.New("response timeout")

// h2Conn is an HTTP/2 connection. Only streams that wait for something read it: await says
// which one has the turn.
type h2Conn struct {
	c    *Client
	o    *origin
	raw  net.Conn // as dialled: what deadlines are set on and what is closed
	out  h2Writer
	mark *readMark

	// Belong to the stream whose turn it is to read.
	in      wire
	frames  *http2.Framer // reads from in
	data    dataFrame     // the DATA frame that in stands in
	greeted bool          // the server's first SETTINGS have come

	// mu is taken after Client.mu and after out.mu, and guards what follows.
	mu          sync.Mutex
	reader      *h2Stream   // has the turn to read; nil: none
	interrupted bool        // a deadline makes reader look up
	streams     []*h2Stream // open, in the order of their numbers
	nextID      uint32
	limit       uint32 // the server's on open streams
	used        bool   // has answered a request, or was opened before there was one
	goneAway    bool   // the server takes no more requests
	err         error  // why the connection has ended
	pace        pace
	sent        time.Time // of our SETTINGS, until they are acknowledged
	credit      int64     // payload bytes that the server may send
	strays      int64     // payload bytes that it may send on streams that we have reset
	sendCredit  int64     // what the server lets us send, which is nothing that we want
	idle        idleness  // of frames that get us no further

	seat             // set before there are requests
	met  atomic.Bool // it has answered, as Peers know

	// Guarded by Client.mu.
	active  int  // requests made or about to be
	retired bool // takes no more requests
}

// newH2 makes a connection without requests. The preface goes out with the first.
func (c *Client) newH2(o *origin, d *dialed) *h2Conn {
	hc := &h2Conn{
		c: c, o: o, raw: d.raw, mark: d.mark(), nextID: 1, limit: assumedStreams,
		credit: connWindow, sendCredit: 65535, pace: newPace(),
	}
	hc.in.init(d.stream(), d.tls, &c.pieces)
	hc.frames = http2.NewFramer(nil, &hc.in)
	hc.frames.SetMaxReadFrameSize(maxFrame)
	hc.frames.MaxHeaderListSize = maxHeaderBytes
	hc.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	hc.out.init(d.stream(), c.cfg.ResponseTimeout)
	hc.wait = d.wait
	c.cfg.Peers.join(d.key, hc)
	return hc
}

// reserve takes the right to make one request; Client.mu is held.
func (hc *h2Conn) reserve() bool {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	if hc.retired || hc.endingLocked() || hc.active >= int(min(hc.limit, maxStreamID)) {
		return false
	}
	if hc.active == 0 && !hc.met.Load() {
		hc.c.cfg.Peers.expect(hc)
	}
	hc.active++
	return true
}

// endingLocked reports whether there can be no more requests; mu is held.
func (hc *h2Conn) endingLocked() bool {
	return hc.err != nil || hc.goneAway || hc.nextID >= maxStreamID
}

// shut closes the connection and ends all that is on it.
func (hc *h2Conn) shut() { hc.fail(net.ErrClosed) }

// close closes the connection and forgets it.
func (hc *h2Conn) close() {
	hc.c.mu.Lock()
	hc.o.h2 = without(hc.o.h2, hc)
	hc.o.wake()
	hc.c.mu.Unlock()
	hc.shut()
}

// released says that a stream has ended; suspect, that the connection seems dead.
func (hc *h2Conn) released(suspect bool) {
	hc.mu.Lock()
	ending := hc.endingLocked()
	hc.mu.Unlock()
	hc.c.mu.Lock()
	hc.retired = hc.retired || suspect || ending
	hc.active--
	if hc.active == 0 {
		hc.wait.end() // the wait is over, answered or not
	}
	// crowded: another connection seems to wait at the server for this one to end.
	unused := (hc.retired || hc.server.crowded.Load()) && hc.active == 0
	hc.o.wake()
	hc.c.mu.Unlock()
	if unused {
		hc.close()
	}
}

func (hc *h2Conn) link() Trace { return hc.c.trace }

// closeIdle implements pooled.
func (hc *h2Conn) closeIdle() bool {
	hc.c.mu.Lock()
	idle := hc.active == 0
	hc.retired = hc.retired || idle
	hc.c.mu.Unlock()
	if idle {
		hc.close()
	}
	return idle
}

// fail ends the connection; the first reason is kept.
func (hc *h2Conn) fail(err error) {
	hc.mu.Lock()
	first, owed := hc.err == nil, len(hc.streams) > 0
	if first {
		hc.err = err
		for _, s := range hc.streams {
			s.wakeLocked()
		}
	}
	hc.mu.Unlock()
	if first {
		hc.c.cfg.Peers.leave(hc)
	}
	var broken *http2Error
	if first && errors.As(err, &broken) {
		hc.out.goAway(broken.code)
	}
	// The raw connection: TLS would try to say goodbye first, which can block.
	hangUp(hc.raw, owed)
}

// roundTrip sends the request on a stream of its own and waits for the header.
func (hc *h2Conn) roundTrip(ctx context.Context, req *http.Request, _ asked) (*http.Response, body, error) {
	s := &h2Stream{hc: hc, ctx: ctx, req: req, wake: make(chan struct{}, 1), left: -1, rest: -1}
	fields, err := requestFields(req)
	if err != nil {
		hc.released(false)
		return nil, nil, err
	}
	s.stop = context.AfterFunc(ctx, func() { s.interrupt(context.Canceled) })
	s.limit()
	if err = hc.open(s, fields); err == nil {
		_, err = hc.await(s, nil)
	}
	if s.unlimited() {
		err = errLate
	}
	if err != nil {
		return nil, nil, s.unanswered(err)
	}
	if !hc.met.Swap(true) {
		hc.c.cfg.Peers.answered(hc)
	}
	return s.header, s, nil
}

// open puts the request on the wire.
func (hc *h2Conn) open(s *h2Stream, fields []hpack.HeaderField) error {
	// Stream numbers and header blocks must go out in the order in which they are made.
	hc.out.mu.Lock()
	defer hc.out.mu.Unlock()
	hc.mu.Lock()
	if err := cmp.Or(s.cause, hc.err); err != nil || hc.endingLocked() {
		hc.mu.Unlock()
		return cmp.Or(err, errResend)
	}
	s.id, s.credit = hc.nextID, hc.pace.window
	hc.nextID += 2
	hc.streams = append(hc.streams, s)
	s.sent = time.Now()
	if s.id == 1 {
		hc.sent = s.sent
	}
	hc.mu.Unlock()
	if err := hc.out.request(s.id, fields, s.credit); err != nil {
		err = fmt.Errorf("sending the request: %w", err)
		hc.fail(err)
		return err
	}
	return nil
}

// unanswered ends a stream that failed with err before its header, and says what
// that means for its request.
func (s *h2Stream) unanswered(err error) error {
	hc := s.hc
	late := errors.Is(err, errLate)
	s.end(late || closes(s.ctx))
	var told *Error
	switch {
	case late:
		return fmt.Errorf("no response within %v: %w", hc.c.cfg.ResponseTimeout, os.ErrDeadlineExceeded)
	case s.ctx.Err() != nil:
		return ended(s.ctx)
	case errors.Is(err, errResend), errors.As(err, &told):
		return err
	}
	hc.mu.Lock()
	defer hc.mu.Unlock()
	if hc.used && hc.err != nil {
		return errResend // it had worked before, and has ended
	}
	return err
}

// streamLocked is the open stream of a number, or nil; mu is held.
func (hc *h2Conn) streamLocked(id uint32) *h2Stream {
	for _, s := range hc.streams {
		if s.id == id {
			return s
		}
	}
	return nil
}

// forgetLocked takes s out of the open streams; mu is held.
func (hc *h2Conn) forgetLocked(s *h2Stream) {
	if i := slices.Index(hc.streams, s); i >= 0 {
		hc.streams = slices.Delete(hc.streams, i, i+1)
	}
}
