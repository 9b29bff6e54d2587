package store

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

// socketOf is a connection whose other end is send.
func socketOf(t testing.TB, send func(w net.Conn)) syscall.RawConn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		send(c)
		_ = c.Close()
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	must(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		_ = ln.Close()
		<-done
	})
	must(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	raw, err := c.(syscall.Conn).SyscallConn()
	must(t, err)
	return raw
}

func newMover(t testing.TB) *Mover {
	t.Helper()
	m, err := NewMover()
	must(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// move moves bytes to off until there are no more or MoveAt fails.
func move(t testing.TB, f *File, m *Mover, from syscall.RawConn, off, most int64) (int64, error) {
	t.Helper()
	done := int64(0)
	for {
		n, err := m.Take(from, most)
		must(t, err)
		if n == 0 {
			return done, nil
		}
		if n > most {
			t.Fatalf("%d bytes were taken, %d were wanted", n, most)
		}
		k, err := f.MoveAt(m, n, off+done)
		if done += k; err != nil {
			return done, err
		}
		if k != n {
			t.Fatalf("%d of %d bytes and no error", k, n)
		}
	}
}

// TestMove: the bytes of a socket come to their place, in whatever portions, by
// splicing and, on a file that refuses it, by copying.
func TestMove(t *testing.T) {
	b := testbody.Body{Size: 3_000_001, Seed: 70}
	for _, c := range []struct {
		name   string
		most   int64
		drips  bool
		copies bool
	}{
		{"large portions", 1 << 20, false, false},
		{"beyond the pipe's size", 1 << 30, false, false},
		{"odd portions", 70_001, false, false},
		{"packets", 1 << 20, true, false},
		{"a file that refuses", 300_000, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, Target{Dir: dir}, hereURL)
			must(t, f.Begin(identity.Identity{Size: b.Size, ETag: `"e"`}))
			at := int64(1000)
			if c.copies { // no splicing to files that are appended to; there pwrite does that too
				_, err := unix.FcntlInt(f.file.Fd(), unix.F_SETFL, unix.O_APPEND)
				must(t, err)
				at = 0
			} else {
				write(t, f, b, ranges(0, at)[0])
			}
			m := newMover(t)
			n, err := move(t, f, m, socketOf(t, func(w net.Conn) {
				r := io.NewSectionReader(b, at, b.Size-at)
				if !c.drips {
					_, _ = io.Copy(w, struct{ io.Reader }{r})
					return
				}
				p := make([]byte, 1357)
				for {
					n, err := r.Read(p)
					if _, werr := w.Write(p[:n]); err != nil || werr != nil {
						return
					}
				}
			}), at, c.most)
			if err != nil || n != b.Size-at {
				t.Fatal(n, err)
			}
			if m.Works() == c.copies {
				t.Errorf("works: %v", m.Works())
			}
			if content(t, dir, "x.part") != bodyString(t, b) {
				t.Error("wrong bytes")
			}
		})
	}
}

// TestMoveOutside: as with WriteAt, not one byte beyond the object.
func TestMoveOutside(t *testing.T) {
	f := open(t, Target{Dir: t.TempDir()}, hereURL)
	m := newMover(t)
	if _, err := f.MoveAt(m, 1, 0); !errors.Is(err, ErrClosed) {
		t.Error("before Begin:", err)
	}
	must(t, f.Begin(identity.Identity{Size: 100, ETag: `"e"`}))
	from := socketOf(t, func(w net.Conn) { _, _ = w.Write(make([]byte, 60)) })
	n, err := m.Take(from, 1000)
	if err != nil || n != 60 {
		t.Fatal(n, err)
	}
	for _, off := range []int64{-1, 41, 100, 1 << 62} {
		if k, err := f.MoveAt(m, n, off); k != 0 || !errors.Is(err, ErrOutside) {
			t.Errorf("at %d: %d, %v", off, k, err)
		}
	}
	if k, err := f.MoveAt(m, n, 40); k != n || err != nil { // they are still there
		t.Error(k, err)
	}
}

// TestTakeEnds: Take obeys what ends a Read.
func TestTakeEnds(t *testing.T) {
	m := newMover(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close() //nolint:errcheck // a listener
	pair := func() (net.Conn, syscall.RawConn, *net.TCPConn) {
		c, err := net.Dial("tcp", ln.Addr().String())
		must(t, err)
		peer, err := ln.Accept()
		must(t, err)
		t.Cleanup(func() { _, _ = c.Close(), peer.Close() })
		raw, err := c.(syscall.Conn).SyscallConn()
		must(t, err)
		return c, raw, peer.(*net.TCPConn)
	}
	c, raw, _ := pair()
	must(t, c.SetReadDeadline(time.Now().Add(-time.Second)))
	if n, err := m.Take(raw, 10); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %d, %v", n, err)
	}
	must(t, c.SetReadDeadline(time.Time{}))
	time.AfterFunc(10*time.Millisecond, func() { _ = c.Close() })
	if n, err := m.Take(raw, 10); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed meanwhile: %d, %v", n, err)
	}
	_, raw, peer := pair()
	must(t, peer.SetLinger(0))
	must(t, peer.Close())
	if n, err := m.Take(raw, 10); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %d, %v", n, err)
	}
}

// TestMoveFullDisk: bytes that found no place are not claimed.
func TestMoveFullDisk(t *testing.T) {
	dir, ok := inOwnMounts(t)
	if !ok {
		return
	}
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(identity.Identity{Size: -1, ETag: `"e"`}))
	b := testbody.Body{Size: 2 << 20, Seed: 71}
	m, err := NewMover()
	must(t, err)
	defer m.Close() //nolint:errcheck // a pipe
	n, err := move(t, f, m, socketOf(t, func(w net.Conn) { _, _ = io.Copy(w, b.Reader()) }), 0, 1<<20)
	var e *Error
	if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &e) {
		t.Fatal(n, err)
	}
	if n <= 0 || n >= 1<<20 || content(t, dir, "x.part")[:n] != bodyString(t, b)[:n] {
		t.Errorf("%d bytes are said to be there", n)
	}
}

// TestMoverCloses: no descriptor is left behind, and none is handed to children.
func TestMoverCloses(t *testing.T) {
	m, err := NewMover()
	must(t, err)
	r := m.r
	for _, fd := range []int{r, m.w} {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Error("a child would have it", err)
		}
	}
	must(t, m.Close())
	if _, err := unix.FcntlInt(uintptr(r), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
		t.Error("it is still open:", err)
	}
}
