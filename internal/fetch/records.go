package fetch

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

const (
	// recordHead is how long the header of a TLS record is (RFC 8446, 5.1).
	recordHead = 5
	// leastAhead is how many bytes must arrive at once for reading ahead into memory to be
	// worth while: more than a record of TLS 1.3, the largest that servers make.
	leastAhead = 17 << 10
	// mostAhead is the most to read beneath TLS at once on a fast connection. Larger reads save
	// nothing more, and leave the cache of a small core.
	mostAhead = 8 * leastAhead
)

// aheadPool lends memory of mostAhead bytes, as *[]byte, to connections for as long as
// they are fast.
type aheadPool struct{ sync.Pool }

func (p *aheadPool) get() *[]byte {
	if b, ok := p.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, mostAhead)
	return &b
}

// records is the connection beneath TLS. crypto/tls by itself reads about two records at a
// time, and hands on one. Of a fast connection this type reads all that has arrived, and hands
// on the records singly, so that it knows whether the next one is there too. Of a slow one, of
// which there may be dozens, it reads a record's header, and leaves the rest in the socket
// until all of it is there: partial records need no memory and wake no reader.
type records struct {
	net.Conn
	mark *readMark // of Conn
	pool *aheadPool
	fast atomic.Bool // memory of the pool is worth while
	lent *[]byte     // of the pool; nil: head serves
	head [recordHead]byte

	buf   []byte // head or *lent; buf[r:w] has been read and not yet handed on
	r, w  int
	rest  int   // bytes of the present record that have not been handed on
	whole bool  // the socket has all of them that are not here
	full  bool  // the latest read filled all the room
	err   error // came with bytes, and is to be told after them

	atHand bool // nothing is waited for: where neither we nor the socket have more, its deadline has passed
}

// Read hands on bytes of one record. crypto/tls gets less than a record at a time, so that
// between two of them all bytes that are read and not yet decrypted are here.
func (s *records) Read(p []byte) (int, error) {
	if s.rest == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	p = p[:min(len(p), s.rest)]
	if s.r == s.w {
		if s.fit(); s.lent == nil {
			return s.straight(p)
		}
		if err := s.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.buf[s.r:s.w])
	s.r += n
	s.handed(n)
	return n, nil
}

// straight reads bytes of the present record, of which none is here, without a copy.
func (s *records) straight(p []byte) (int, error) {
	if err := s.gathered(); err != nil {
		return 0, err
	}
	n, err := s.receive(p)
	s.handed(n)
	return n, err
}

// handed books n bytes of the present record.
func (s *records) handed(n int) {
	if s.rest -= n; s.rest == 0 {
		s.whole = false
	}
}

// next begins a record. A connection that ends within a header is TLS's to judge,
// so it gets what there is of it.
func (s *records) next() error {
	for s.w-s.r < recordHead {
		s.fit()
		if err := s.more(); err != nil {
			if s.r == s.w || errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
			s.rest = s.w - s.r
			s.err = err
			return nil
		}
	}
	s.rest = s.size()
	return nil
}

// size is that of the record whose header is ahead, in bytes, header included.
func (s *records) size() int {
	return recordHead + int(binary.BigEndian.Uint16(s.buf[s.r+recordHead-2:]))
}

// ready reports whether the record that comes next is here in whole, or in the socket.
func (s *records) ready() bool {
	have := s.w - s.r
	if s.rest > 0 {
		return s.whole || have >= s.rest
	}
	return have >= recordHead && have >= s.size()
}

// readyAfterMore is ready once what the socket has is read, too, where the latest read left
// some of it and there is memory.
func (s *records) readyAfterMore() bool {
	if s.ready() {
		return true
	}
	if !s.full || s.lent == nil || s.err != nil || s.mark.queued() == 0 {
		return false
	}
	s.fit()
	if err := s.more(); err != nil {
		s.err = err // to be told by the next read
	}
	return s.ready()
}

// wait returns when a Read finds a record, as far as the socket can tell. Its error comes
// again with what is read, unless it is a deadline's.
func (s *records) wait() error {
	for s.err == nil && !s.ready() {
		s.fit()
		var err error
		switch {
		case s.lent != nil || s.rest == 0 && s.w < recordHead:
			err = s.more()
		case s.rest == 0:
			s.rest = s.size()
		default:
			return s.gathered()
		}
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				s.err = err
			}
			return err
		}
	}
	return s.err
}

// gathered returns when the socket has what is not here of the present record, if it can
// tell.
func (s *records) gathered() (err error) {
	if !s.whole && s.err == nil && !s.atHand {
		s.whole, err = s.mark.waitFor(s.rest - (s.w - s.r))
	}
	return err
}

// more reads from the connection, into the free room.
func (s *records) more() error {
	n, err := s.receive(s.buf[s.w:])
	s.w += n
	return err
}

// receive reads from the connection, and tells an error that comes with bytes after them.
func (s *records) receive(p []byte) (int, error) {
	if err := s.err; err != nil {
		s.err = nil
		return 0, err
	}
	if s.atHand && !s.whole {
		return 0, os.ErrDeadlineExceeded // which TLS takes for no end
	}
	n, err := s.Conn.Read(p)
	s.full = n == len(p)
	if errors.Is(err, io.EOF) {
		err = errCut // TLS takes an end between two records for the one that a close_notify announces
	}
	if n > 0 {
		s.err, err = err, nil
	}
	return n, err
}

// fit chooses memory that suits the connection, and moves what is here to its beginning.
func (s *records) fit() {
	kept, back := s.buf[s.r:s.w], (*[]byte)(nil)
	switch fast := s.fast.Load(); {
	case fast && s.lent == nil:
		s.lent = s.pool.get()
		s.buf = *s.lent
	case !fast && s.lent != nil && len(kept) == 0:
		s.lent, back = nil, s.lent
		s.buf = s.head[:]
	case s.buf == nil:
		s.buf = s.head[:]
	}
	s.r, s.w = 0, copy(s.buf, kept)
	if back != nil {
		s.pool.Put(back)
	}
}

// tlsStream is TLS on records.
type tlsStream struct {
	*tls.Conn
	wire *records
	full bool // the latest Read may have left some of its record to the next one
}

func newTLSStream(raw net.Conn, conf *tls.Config, pool *aheadPool) *tlsStream {
	wire := &records{Conn: raw, mark: newReadMark(raw, true), pool: pool}
	return &tlsStream{Conn: tls.Client(wire, conf), wire: wire}
}

// Read reads all that has come, as far as it is at hand, and not one record only:
// what is read at once is also written at once.
func (t *tlsStream) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	for err == nil && n > 0 && n < len(p) && t.wire.readyAfterMore() {
		var k int
		k, err = t.readAtHand(p[n:]) // the record may hold nothing that is handed on
		n += k
	}
	t.full = n == len(p)
	return n, err
}

// readAtHand reads what is there without waiting for more; 0 bytes and no error are nothing.
func (t *tlsStream) readAtHand(p []byte) (int, error) {
	t.wire.atHand = true
	n, err := t.Conn.Read(p)
	t.wire.atHand = false
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}

// spoken reports whether bytes were read from the connection that no response took. early says
// that session tickets may have come.
func (t *tlsStream) spoken(early bool) bool {
	if t == nil {
		return false
	}
	var one [1]byte
	n, err := t.readAtHand(one[:])
	return n > 0 || err != nil || !early && (t.wire.r < t.wire.w || t.wire.rest > 0)
}

// wait returns when a Read need not wait, as far as can be told, and holds no memory but the
// connection's own meanwhile. Only the connection's reader may call it.
func (t *tlsStream) wait() error {
	if t == nil || t.full {
		return nil
	}
	return t.wire.wait()
}

// gather sets how many bytes are worth a wake-up: those of some milliseconds, or 1 to be read
// at once, which says nothing about how many arrive.
func (t *tlsStream) gather(n int64) {
	if t != nil && n > 1 {
		t.wire.fast.Store(n >= leastAhead)
	}
}

// ready reports whether a Read finds a record without asking the connection. Only the
// connection's reader may call it.
func (t *tlsStream) ready() bool { return t != nil && t.wire.ready() }
