package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// h2Stream is one request on an HTTP/2 connection, and then its response's body.
type h2Stream struct {
	hc   *h2Conn
	ctx  context.Context // governs the stream
	req  *http.Request
	id   uint32
	wake chan struct{} // holds one token at most, put there when waits becomes false
	stop func() bool   // takes back the interrupting at the context's end

	// Guarded by the connection's mu.
	waits   bool           // for its turn to read, or for another stream that reads
	reads   bool           // what it waits for is payload
	cause   error          // why the wait ended
	header  *http.Response // nil: has not come
	interim int            // 1xx responses before it
	timer   *time.Timer    // ends the wait for it
	due     time.Time      // when
	slept   bool           // it was put off, since the process had not been running
	err     error          // why the server, or we, have ended it early
	ended   bool           // the server has sent all of it
	gone    bool           // we have done with it

	sent       time.Time
	left       int64   // payload bytes that are still to come in frames; -1: not known
	surplus    int64   // of these, at their end, are not wanted
	rest       int64   // payload bytes that Read has still to return; -1: not known
	credit     int64   // payload bytes that the server may send
	sendCredit int64   // what it lets us send
	unread     backlog // arrived while the stream was not read
	direct     int     // bytes that the latest step put where the reader wants them
}

// takeLocked gives the reader of the stream what there is; ready is false when it
// has to wait. mu is held.
func (s *h2Stream) takeLocked(p []byte) (n int, ready bool, err error) {
	if s.direct > 0 {
		n, s.direct = s.direct, 0
	} else if p != nil && s.cause == nil {
		n = s.unread.read(p, &s.hc.c.pieces)
	}
	if n > 0 {
		if s.rest > 0 {
			s.rest -= int64(n)
		}
		if s.rest == 0 || (s.ended && s.unread.size() == 0) {
			err = io.EOF
		}
		return n, true, err
	}
	switch {
	case s.cause != nil:
		return 0, true, s.cause
	case p == nil && s.header != nil:
		return 0, true, nil
	case s.err != nil:
		return 0, true, s.err
	case p != nil && (s.ended || s.rest == 0):
		return 0, true, io.EOF
	case s.hc.err != nil:
		return 0, true, s.hc.err
	}
	return 0, false, nil
}

// limit bounds how long the wait for the header may take.
func (s *h2Stream) limit() {
	s.hc.mu.Lock()
	defer s.hc.mu.Unlock()
	most := s.hc.c.cfg.ResponseTimeout
	s.due = time.Now().Add(most)
	s.timer = time.AfterFunc(most, s.expire)
}

// unlimited ends that, and says whether the time was over before the header came.
func (s *h2Stream) unlimited() (late bool) {
	s.hc.mu.Lock()
	defer s.hc.mu.Unlock()
	s.timer.Stop()
	return errors.Is(s.cause, errLate)
}

// expire ends the wait for the header, unless it has come meanwhile. Time in which the process
// was suspended does not count, once, as in exchange.await.
func (s *h2Stream) expire() {
	hc := s.hc
	hc.mu.Lock()
	switch {
	case s.header != nil || s.gone:
		hc.mu.Unlock()
	case !s.slept && time.Since(s.due) >= oversleeping:
		s.slept = true
		s.timer.Reset(hc.c.cfg.ResponseTimeout)
		hc.mu.Unlock()
	default:
		s.interruptLocked(errLate)
		hc.mu.Unlock()
		hc.unblock()
	}
}

// Read reads what has arrived; large reads go straight to the connection.
func (s *h2Stream) Read(p []byte) (int, error) { return s.hc.await(s, p) }

func (s *h2Stream) finish() { s.end(false) }

// abort ends the stream, which resets it unless all of it has come.
func (s *h2Stream) abort() { s.end(closes(s.ctx)) }

// end gives the stream back; suspect says that its connection seems dead.
func (s *h2Stream) end(suspect bool) {
	if s.stop != nil {
		s.stop()
	}
	hc := s.hc
	hc.mu.Lock()
	s.gone = true
	hc.forgetLocked(s)
	hc.handOnLocked(s)
	hc.c.inVain(s.unread.size())
	s.unread.drop(&hc.c.pieces)
	// Where all bytes have come, the end of the stream is on its way: a reset would
	// only count as abuse with servers that count them.
	reset := s.id != 0 && s.err == nil && !s.ended && s.left != 0 && hc.err == nil
	if s.id != 0 && s.err == nil && !s.ended {
		hc.strays += s.credit // of padding, at least
	}
	hc.mu.Unlock()
	hc.mark.want(1) // a reader may be waiting for bytes that will not come now
	if reset && !suspect {
		hc.sending(hc.out.reset(s.id, http2.ErrCodeCancel))
	}
	hc.released(suspect)
}

func (s *h2Stream) drainable(time.Duration) bool { return false }

func (s *h2Stream) conn() net.Conn { return dialled(s.hc.raw) }

// lying: what has been read is counted when the stream ends, and what comes after that when
// the connection reads it.
func (s *h2Stream) lying() int64 { return 0 }
