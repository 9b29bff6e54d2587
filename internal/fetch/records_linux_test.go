package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// socketPair is two ends of a TCP connection.
func socketPair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it has no more to do
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = a.Close()
		_ = b.Close()
	})
	return a.(*net.TCPConn), b.(*net.TCPConn) //nolint:errcheck,forcetypeassert // as was asked for
}

// unreadBytes is how many bytes a socket has.
func unreadBytes(c syscall.Conn) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	return n, errors.Join(err, cerr)
}

// TestRecordsGather: the socket of a slow connection gathers a record, whatever the caller's
// wish, and the reader gets it whole, without being woken for its parts.
func TestRecordsGather(t *testing.T) {
	for _, first := range []int{recordHead, recordHead + 100, 9000} {
		for _, wish := range []int64{1, 1 << 20} {
			t.Run(fmt.Sprintf("first %d bytes, wishing %d", first, wish), func(t *testing.T) { gathersRecords(t, first, wish) })
		}
	}
}

func gathersRecords(t *testing.T, first int, wish int64) {
	near, far := socketPair(t)
	if err := near.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	s := &records{Conn: near, mark: newReadMark(near, true), pool: &aheadPool{}}
	looks, there := 0, s.mark.lookWhole
	s.mark.lookWhole = func(fd uintptr) bool {
		looks++
		return there(fd)
	}
	type outcome struct {
		unread, looks int
		err           error
	}
	for i, size := range []int{16<<10 + 22, 2000, 16<<10 + 22} {
		all := record(size, byte(i+1))
		waited := make(chan outcome, 1)
		go func() {
			looks = 0
			err := s.wait()
			n, nerr := unreadBytes(near)
			waited <- outcome{n, looks, errors.Join(err, nerr)}
		}()
		const pause = 3 * time.Millisecond // likelier that it waits, and wakes; nothing depends on it
		time.Sleep(pause)
		for at, to := 0, min(first, size-10); at < size; at, to = to, min(size, to+max(500, size/8)) {
			if _, err := far.Write(all[at:to]); err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause)
			s.mark.want(wish)
		}
		o := <-waited
		if o.err != nil || !s.ready() || o.unread != size-recordHead || s.lent != nil {
			t.Errorf("%d of %d bytes in the socket after a wait, %v", o.unread, size-recordHead, o.err)
		}
		if o.looks > 4 { // at first, at the end, and for what came before it waited
			t.Errorf("it looked %d times", o.looks)
		}
		got := make([]byte, size)
		if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, all) {
			t.Errorf("other bytes, or %v", err)
		}
	}
}

// TestRecordsGatherInVain: a wait for a record that does not complete ends by a deadline, the
// connection's end or a reset, and returns the bytes that are there. After a deadline the rest
// may come.
func TestRecordsGatherInVain(t *testing.T) {
	whole := record(16<<10+22, 1)
	const part = 9000
	for name, c := range map[string]struct {
		happens func(near, far *net.TCPConn) error
		want    error
	}{
		"a deadline": {func(near, _ *net.TCPConn) error { return near.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"the end":    {func(_, far *net.TCPConn) error { return far.CloseWrite() }, errCut},
		"a reset": {func(_, far *net.TCPConn) error {
			return errors.Join(far.SetLinger(0), far.Close())
		}, syscall.ECONNRESET},
		"closed here": {func(near, _ *net.TCPConn) error { return near.Close() }, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := socketPair(t)
			s := &records{Conn: near, mark: newReadMark(near, true), pool: &aheadPool{}}
			if _, err := far.Write(whole[:part]); err != nil {
				t.Fatal(err)
			}
			for n := 0; n < part; time.Sleep(time.Millisecond) {
				var err error
				if n, err = unreadBytes(near); err != nil {
					t.Fatal(err)
				}
			}
			waited := make(chan error, 1)
			go func() { waited <- s.wait() }()
			time.Sleep(5 * time.Millisecond) // likelier that it waits; nothing depends on it
			if err := c.happens(near, far); err != nil {
				t.Fatal(err)
			}
			err := <-waited
			if errors.Is(c.want, os.ErrDeadlineExceeded) {
				if !errors.Is(err, c.want) || s.ready() {
					t.Fatalf("waited, and got %v", err)
				}
				if err := near.SetReadDeadline(time.Time{}); err != nil {
					t.Fatal(err)
				}
				if _, err := far.Write(whole[part:]); err != nil {
					t.Fatal(err)
				}
				c.want = nil
			}
			var got bytes.Buffer
			for p := make([]byte, 20<<10); got.Len() < len(whole); {
				var n int
				n, err = s.Read(p)
				got.Write(p[:n])
				if err != nil {
					break
				}
			}
			if !errors.Is(err, c.want) || !bytes.HasPrefix(whole, got.Bytes()) {
				t.Errorf("%d bytes, or others, and %v", got.Len(), err)
			}
			if n := got.Len(); c.want == nil && n != len(whole) || errors.Is(c.want, errCut) && n != part {
				t.Errorf("%d bytes", n)
			}
		})
	}
}
