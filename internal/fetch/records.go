package fetch

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"os"
)

const (
	// recordHead is how long the header of a TLS record is (RFC 8446, 5.1).
	recordHead = 5
	// leastAhead is what is read beneath TLS at once on a slow connection: a record
	// of TLS 1.3, the largest that servers make, fits.
	leastAhead = 17 << 10
	// mostAhead is that on a fast one. Larger reads save nothing more, and leave the
	// cache of a small core.
	mostAhead = 8 * leastAhead
)

// records is the connection beneath TLS. crypto/tls by itself reads about two
// records at a time, and hands on one; this reads what has come, and hands on
// the records singly, so that it knows whether the next one is there too.
type records struct {
	net.Conn
	buf  []byte // buf[r:w] has been read and not yet handed on
	r, w int
	rest int   // bytes of the present record that have not been handed on
	full bool  // the latest read left no room: more may have been there
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

// more reads from the connection. What is here is no whole record.
func (s *records) more() error {
	if err := s.err; err != nil {
		s.err = nil
		return err
	}
	kept := s.buf[s.r:s.w]
	if len(s.buf) == 0 || (s.full && len(s.buf) < mostAhead) {
		s.buf = make([]byte, max(leastAhead, 2*len(s.buf)))
	}
	s.r, s.w = 0, copy(s.buf, kept)
	n, err := s.Conn.Read(s.buf[s.w:])
	s.w += n
	s.full = s.w == len(s.buf)
	if n > 0 {
		s.err, err = err, nil
	}
	return err
}

// tlsStream is TLS on records.
type tlsStream struct {
	*tls.Conn
	wire *records
}

func newTLSStream(raw net.Conn, conf *tls.Config) *tlsStream {
	wire := &records{Conn: raw}
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
	return n, err
}

// ready reports whether a Read finds a record without asking the connection. It is
// for whoever reads.
func (t *tlsStream) ready() bool { return t != nil && t.wire.ready() }
