package fetch

import (
	"errors"
	"os"
	"time"
)

// await reads the connection until s has what it waits for: its header if p is nil, else
// payload, which is put into p. There is no reading goroutine: one of the waiting streams reads
// for all. Payload of another waiting stream is left for that stream to read itself; payload of
// one that is not waiting is kept for it.
func (hc *h2Conn) await(s *h2Stream, p []byte) (int, error) {
	hc.mu.Lock()
	for {
		n, ready, err := s.takeLocked(p)
		if ready {
			grant, ping := s.grantLocked(time.Now())
			hc.handOnLocked(s)
			hc.mu.Unlock()
			if grant > 0 || ping {
				hc.sending(hc.out.update(s.id, grant, ping))
			}
			return n, err
		}
		if hc.reader == nil {
			hc.reader = s
		}
		if hc.reader != s {
			s.waits, s.reads = true, p != nil
			hc.mu.Unlock()
			<-s.wake
			hc.mu.Lock()
			continue
		}
		hc.mu.Unlock()
		got, err := hc.step(s, p)
		for got > 0 && got < len(p) && err == nil && hc.reads(s) && hc.in.ready() {
			var k int
			k, err = hc.step(s, p[got:])
			got += k
		}
		if err != nil && (hc.in.torn || !errors.Is(err, os.ErrDeadlineExceeded)) {
			hc.fail(wireError(err))
		}
		hc.mu.Lock()
		s.direct = got
	}
}

// reads reports whether it is still s's turn, with payload to come.
func (hc *h2Conn) reads(s *h2Stream) bool {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	return hc.reader == s && !s.ended && s.err == nil && s.cause == nil
}

func (s *h2Stream) tells() bool { return true }

// wait returns when a Read finds something, or has to look itself. Where payload of s
// comes next, it stays s's turn.
func (s *h2Stream) wait(int) (there int64) { //nolint:unparam // it is a waiter
	hc := s.hc
	hc.mu.Lock()
	for !s.foundLocked() {
		if hc.reader == nil {
			hc.reader = s
		}
		if hc.reader != s {
			s.waits, s.reads = true, true
			hc.mu.Unlock()
			<-s.wake
			hc.mu.Lock()
			continue
		}
		hc.mu.Unlock()
		mine := hc.data.open && hc.data.stream == s && hc.data.rest > 0
		var err error
		switch {
		case !mine:
			_, err = hc.step(s, nil)
		case len(hc.in.ahead()) == 0 && !hc.in.ready():
			certain := hc.certain()
			hc.mark.reading(certain, certain)
			err = hc.in.tls.wait()
		}
		if err != nil && (hc.in.torn || !errors.Is(err, os.ErrDeadlineExceeded)) {
			hc.fail(wireError(err))
		}
		if mine && err == nil {
			return 0
		}
		hc.mu.Lock()
	}
	hc.handOnLocked(s)
	hc.mu.Unlock()
	return 0
}

// foundLocked says whether a Read would not wait; mu is held.
func (s *h2Stream) foundLocked() bool {
	_, ready, _ := s.takeLocked([]byte{})
	return ready || s.unread.size() > 0
}

// handOnLocked ends s's turn, if it is s's, and gives it to a stream that waits,
// first of all to the one whose payload comes next. mu is held.
func (hc *h2Conn) handOnLocked(s *h2Stream) {
	if hc.reader != s {
		return
	}
	next := hc.data.stream
	if next == nil || !next.waits {
		next = nil
		for _, t := range hc.streams {
			if t.waits {
				next = t
				break
			}
		}
	}
	hc.turnLocked(next)
}

// turnLocked gives the turn to read to next, a waiting stream, or to none; mu is held.
func (hc *h2Conn) turnLocked(next *h2Stream) {
	if hc.interrupted {
		hc.interrupted = false
		_ = hc.raw.SetReadDeadline(time.Time{}) // fails if the connection has ended: the next read says so
	}
	hc.reader = next
	if next != nil {
		next.wakeLocked()
	}
}

// wakeLocked lets the stream look again if it waits; mu is held.
func (s *h2Stream) wakeLocked() {
	if s.waits {
		s.waits = false
		s.wake <- struct{}{}
	}
}

// interrupt ends the stream's wait with the error why.
func (s *h2Stream) interrupt(why error) {
	s.hc.mu.Lock()
	s.interruptLocked(why)
	s.hc.mu.Unlock()
	s.hc.unblock()
}

// interruptLocked is interrupt for a stream that is not held up while sending; mu is held.
func (s *h2Stream) interruptLocked(why error) {
	hc := s.hc
	if s.cause == nil {
		s.cause = why
	}
	s.wakeLocked()
	if hc.reader == s {
		// All reads can be resumed after a deadline, except those of a header block in several
		// frames: see wire.torn.
		hc.interrupted = true
		_ = hc.raw.SetReadDeadline(time.Unix(1, 0)) // fails if the connection has ended, which wakes too
	}
}
