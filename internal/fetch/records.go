package fetch

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

const (
	// recordHead is how long the header of a TLS record is (RFC 8446, 5.1).
	recordHead = 5
	// leastAhead is what is read beneath TLS at once on a slow connection, of which there
	// may be many: a record of TLS 1.3, the largest that servers make, fits.
	leastAhead = 17 << 10
	// mostAhead is that on a fast one. Larger reads save nothing more, and leave the
	// cache of a small core.
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

// records is the connection beneath TLS. crypto/tls by itself reads about two
// records at a time, and hands on one; this reads what has come, and hands on
// the records singly, so that it knows whether the next one is there too.
type records struct {
	net.Conn
	pool *aheadPool
	own  []byte      // leastAhead bytes
	lent *[]byte     // of pool; nil: own serves
	fast atomic.Bool // more than own is worth its memory

	buf  []byte // own or *lent; buf[r:w] has been read and not yet handed on
	r, w int
	rest int   // bytes of the present record that have not been handed on
	err  error // came with bytes, and is to be told after them
}

// Read hands on bytes of one record. What crypto/tls gets stays below a record, so
// that between two of them all that has been read and is not yet decrypted is here.
func (s *records) Read(p []byte) (int, error) {
	if s.rest == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	if s.r == s.w {
		if err := s.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.buf[s.r:min(s.w, s.r+s.rest)])
	s.r += n
	s.rest -= n
	return n, nil
}

// next begins a record. A connection that ends within a header is TLS's to judge,
// so it gets what there is of it.
func (s *records) next() error {
	for s.w-s.r < recordHead {
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

// ready reports whether the record that comes next is here in whole.
func (s *records) ready() bool {
	have := s.w - s.r
	if s.rest > 0 {
		return have >= s.rest
	}
	return have >= recordHead && have >= s.size()
}

// wait reads until a Read finds a record, or as much of one as there is room for. Its
// error comes again with what is read, unless it is a deadline's.
func (s *records) wait() error {
	for s.err == nil && !s.ready() && (s.w-s.r < len(s.buf) || s.buf == nil) {
		if err := s.more(); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				s.err = err
			}
			return err
		}
	}
	return s.err
}

// more reads from the connection. There is room for what it brings.
func (s *records) more() error {
	if err := s.err; err != nil {
		s.err = nil
		return err
	}
	s.fit()
	n, err := s.Conn.Read(s.buf[s.w:])
	s.w += n
	if n > 0 {
		s.err, err = err, nil
	}
	return err
}

// fit chooses memory that suits the connection, and moves what is here to its beginning.
func (s *records) fit() {
	kept, back := s.buf[s.r:s.w], (*[]byte)(nil)
	switch fast := s.fast.Load(); {
	case s.own == nil:
		s.own = make([]byte, leastAhead)
		s.buf = s.own
	case fast && s.lent == nil:
		s.lent = s.pool.get()
		s.buf = *s.lent
	case !fast && s.lent != nil && len(kept) < leastAhead:
		s.lent, back = nil, s.lent
		s.buf = s.own
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
	wire := &records{Conn: raw, pool: pool}
	return &tlsStream{Conn: tls.Client(wire, conf), wire: wire}
}

// Read reads all that has come, as far as it is at hand, and not one record only:
// what is read at once is also written at once.
func (t *tlsStream) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	for err == nil && n > 0 && n < len(p) && t.wire.ready() {
		var k int
		k, err = t.Conn.Read(p[n:])
		n += k
	}
	t.full = n == len(p)
	return n, err
}

// wait returns when a Read need not wait, as far as one can tell, and holds no memory
// but the connection's own meanwhile. It is for whoever reads.
func (t *tlsStream) wait() error {
	if t == nil || t.full {
		return nil
	}
	return t.wire.wait()
}

// gather is told how many bytes are worth a wake-up: what comes in some milliseconds.
func (t *tlsStream) gather(n int64) {
	if t != nil {
		t.wire.fast.Store(n >= leastAhead)
	}
}

// ready reports whether a Read finds a record without asking the connection. It is
// for whoever reads.
func (t *tlsStream) ready() bool { return t != nil && t.wire.ready() }
