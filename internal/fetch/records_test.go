package fetch

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// morsels is a connection that brings its bytes in pieces of given sizes, then err.
type morsels struct {
	net.Conn
	left  []byte
	sizes func() int
	err   error
}

func (m *morsels) Read(p []byte) (int, error) {
	if len(m.left) == 0 {
		return 0, m.err
	}
	n := copy(p, m.left[:min(len(m.left), max(1, m.sizes()))])
	m.left = m.left[n:]
	if len(m.left) == 0 && m.sizes()%2 == 0 {
		return n, m.err // together with the last bytes
	}
	return n, nil
}

// record is one of TLS, of n bytes with its header.
func record(n int, fill byte) []byte {
	r := bytes.Repeat([]byte{fill}, n)
	copy(r, []byte{23, 3, 3})
	binary.BigEndian.PutUint16(r[3:], uint16(n-recordHead))
	return r
}

// TestRecords: every byte comes out, no read passes a record's end, and a record is said
// to be there when it is.
func TestRecords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []byte
	var ends []int
	for i := range 60 {
		size := []int{recordHead, recordHead + 1, 31, 1400, 16<<10 + 22, 18<<10 + 5, 65535 + recordHead}[random.IntN(7)]
		all = append(all, record(size, byte(i))...)
		ends = append(ends, len(all))
	}
	for _, most := range []int{1, 3, 1 << 10, 20 << 10, 1 << 20} {
		all := all
		if most <= 3 { // byte by byte, a dozen is enough
			all = all[:ends[11]]
		}
		src := &morsels{left: all, sizes: func() int { return 1 + random.IntN(most) }, err: io.EOF}
		s := &records{Conn: src, mark: newReadMark(src, true), pool: &aheadPool{}}
		at, record := 0, 0
		p := make([]byte, 40<<10)
		for at < len(all) {
			if random.IntN(3) == 0 {
				err := s.wait()
				begun := s.lent == nil && s.rest > 0 // where there is no socket to gather what follows
				if err != nil && !errors.Is(err, errCut) || err == nil && !s.ready() && !begun {
					t.Fatalf("at %d: waited for %d bytes only, %v", at, s.w-s.r, err)
				}
			}
			ready, unread := s.ready(), len(src.left)
			here := len(all) - at - unread // bytes that have been read from src
			if want := here >= ends[record]-at; ready != want {
				t.Fatalf("at %d, with %d bytes here: ready %v", at, here, ready)
			}
			s.fast.Store(random.IntN(2) == 0)
			n, err := s.Read(p[:1+random.IntN(len(p))])
			if err != nil || !bytes.Equal(p[:n], all[at:at+n]) {
				t.Fatalf("at %d: %v, or other bytes", at, err)
			}
			if at += n; at > ends[record] {
				t.Fatalf("a read passed the end of a record at %d, to %d", ends[record], at)
			}
			if at == ends[record] {
				record++
			}
			if ready && len(src.left) != unread {
				t.Fatalf("at %d: the connection was read although a record was there", at)
			}
		}
		if n, err := s.Read(p); n != 0 || !errors.Is(err, errCut) {
			t.Errorf("at the end %d, %v", n, err)
		}
	}
}

// TestRecordsDeadline: what was read before a deadline is not lost, and its end no end.
func TestRecordsDeadline(t *testing.T) {
	all := append(record(100, 1), record(20, 2)...)
	for i := range 2 * len(all) {
		cut, waits := i/2, i%2 > 0
		src := &morsels{left: all[:cut], sizes: func() int { return 7 }, err: os.ErrDeadlineExceeded}
		s := &records{Conn: src, mark: newReadMark(src, true), pool: &aheadPool{}}
		var got []byte
		p := make([]byte, 64)
		for again := false; len(got) < len(all); {
			if waits && errors.Is(s.wait(), os.ErrDeadlineExceeded) {
				again = true
				src.left, src.err = all[cut:], io.EOF
			}
			n, err := s.Read(p)
			if len(got) < 100 && len(got)+n > 100 {
				t.Fatalf("cut at %d: a read passed the end of a record", cut)
			}
			got = append(got, p[:n]...)
			switch {
			case err == nil:
			case again || !errors.Is(err, os.ErrDeadlineExceeded):
				t.Fatalf("cut at %d: %v", cut, err)
			default:
				again = true
				src.left, src.err = all[cut:], io.EOF
			}
		}
		if !bytes.Equal(got, all) {
			t.Errorf("cut at %d: other bytes", cut)
		}
	}
}

// TestRecordsWaitKeepsTheError: a connection says only once why it has ended.
func TestRecordsWaitKeepsTheError(t *testing.T) {
	reset := errors.New("reset by peer")
	src := &morsels{err: reset}
	s := &records{Conn: src, mark: newReadMark(src, true), pool: &aheadPool{}}
	if err := s.wait(); !errors.Is(err, reset) {
		t.Errorf("waited, and got %v", err)
	}
	src.err = io.EOF
	if _, err := s.Read(make([]byte, 10)); !errors.Is(err, reset) {
		t.Errorf("read, and got %v", err)
	}
}

// FuzzRecords: whatever comes is handed on as it is, and so is its end.
func FuzzRecords(f *testing.F) {
	f.Add(append(record(100, 1), record(5, 2)...), []byte{3, 50}, uint16(30))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), []byte{1}, uint16(5))
	f.Add([]byte{23, 3}, []byte{}, uint16(1))
	f.Fuzz(func(t *testing.T, in, sizes []byte, most uint16) {
		i := 0
		src := &morsels{left: in, err: io.ErrUnexpectedEOF, sizes: func() int {
			if i++; len(sizes) == 0 {
				return 1 << 20
			}
			return int(sizes[i%len(sizes)])
		}}
		s := &records{Conn: src, mark: newReadMark(src, true), pool: &aheadPool{}}
		s.fast.Store(most%2 == 0)
		waits := most%4 < 2
		p := make([]byte, max(1, int(most)))
		var got []byte
		for {
			if waits {
				_ = s.wait() // its error comes again
			}
			n, err := s.Read(p)
			got = append(got, p[:n]...)
			if err != nil {
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("ended with %v", err)
				}
				break
			}
		}
		if !bytes.Equal(got, in) {
			t.Errorf("%d bytes of %d, or others", len(got), len(in))
		}
	})
}

// tank is a connection that keeps what is written to it for the reader of its other end.
type tank struct {
	net.Conn
	mu    *sync.Mutex
	some  *sync.Cond
	out   *bytes.Buffer
	in    *bytes.Buffer
	reads int
}

func (c *tank) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	for c.in.Len() == 0 {
		c.some.Wait()
	}
	return c.in.Read(p)
}

func (c *tank) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.some.Broadcast()
	return c.out.Write(p)
}

func (c *tank) SetWriteDeadline(time.Time) error { return nil }

// fullTank is a TLS connection on which a body has come, in records of 16 KiB.
func fullTank(t *testing.T, b testbody.Body) (c *tlsStream, near *tank, want []byte) {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.StartTLS() // for its certificate
	defer srv.Close()
	mu := &sync.Mutex{}
	some := sync.NewCond(mu)
	near = &tank{mu: mu, some: some, in: &bytes.Buffer{}, out: &bytes.Buffer{}}
	far := &tank{mu: mu, some: some, in: near.out, out: near.in}
	want = part(t, b, 0, b.Size)
	written := make(chan error, 1)
	go func() {
		c := tls.Server(far, &tls.Config{Certificates: srv.TLS.Certificates, DynamicRecordSizingDisabled: true}) //nolint:gosec // a test's
		_, err := c.Write(want)
		written <- err
	}()
	c = newTLSStream(near, &tls.Config{InsecureSkipVerify: true}, &aheadPool{}) //nolint:gosec // a test's
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	return c, near, want
}

// TestTLSReadsAllThatCame: what is there is read with few calls of the connection, and
// comes in large blocks, not by records.
func TestTLSReadsAllThatCame(t *testing.T) {
	b := testbody.Body{Size: 4 << 20, Seed: 60}
	c, near, want := fullTank(t, b)
	c.gather(1 << 20)
	before := near.reads
	got := make([]byte, b.Size)
	blocks := 0
	for at := 0; at < len(got); blocks++ {
		n, err := c.Read(got[at:])
		if err != nil {
			t.Fatal(err)
		}
		at += n
	}
	if sum(got) != sum(want) {
		t.Error("other bytes")
	}
	records, reads := len(want)>>14, near.reads-before
	t.Logf("%d records: %d reads of the connection, %d blocks", records, reads, blocks)
	if reads > records/5 || blocks > records/5 {
		t.Errorf("%d records took %d reads of the connection and came in %d blocks", records, reads, blocks)
	}
}

// TestTLSWait: after a wait, a Read of a fast connection needs it no more, and it does not
// wait before what has been decrypted already.
func TestTLSWait(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 61}
	for _, size := range []int{5_000, 20 << 10} {
		c, near, want := fullTank(t, b)
		c.gather(1 << 20)
		var got []byte
		for p := make([]byte, size); len(got) < len(want); {
			if err := c.wait(); err != nil {
				t.Fatal(err)
			}
			before := near.reads
			n, err := c.Read(p)
			if err != nil || near.reads != before {
				t.Fatalf("by %d: %d reads of the connection after a wait, %v", size, near.reads-before, err)
			}
			got = append(got, p[:n]...)
		}
		if sum(got) != sum(want) {
			t.Errorf("by %d: other bytes", size)
		}
	}
}
