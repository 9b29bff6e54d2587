package fetch

import (
	"bytes"
	"errors"
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
func unreadBytes(t *testing.T, c syscall.Conn) (n int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCINQ) }); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
	return n
}

// TestRecordsGather: of a slow connection the socket gathers a record, whatever the caller
// wishes meanwhile, and who waits has it in whole.
func TestRecordsGather(t *testing.T) {
	for _, first := range []int{recordHead, recordHead + 100, 9000} {
		for _, wish := range []int64{1, 1 << 20} {
			near, far := socketPair(t)
			all := append(record(16<<10+22, 1), record(2000, 2)...)
			s := &records{Conn: near, mark: newReadMark(near, true), pool: &aheadPool{}}
			var got []byte
			for _, cuts := range [][2]int{{0, 16<<10 + 22}, {16<<10 + 22, len(all)}} {
				rest := all[cuts[0]:cuts[1]]
				waited := make(chan error, 1)
				go func() { waited <- s.wait() }()
				for at := 0; at < len(rest); { // its parts come singly
					to := min(len(rest), at+max(first, len(rest)/4))
					if at == 0 {
						to = min(first, len(rest)-1)
					}
					if _, err := far.Write(rest[at:to]); err != nil {
						t.Fatal(err)
					}
					at = to
					time.Sleep(2 * time.Millisecond) // likelier that it wakes; nothing depends on it
					s.mark.want(wish)
				}
				if err := <-waited; err != nil {
					t.Fatal(err)
				}
				if n := unreadBytes(t, near); !s.ready() || n != len(rest)-recordHead || s.lent != nil {
					t.Errorf("first %d bytes: %d of %d in the socket after a wait", first, n, len(rest)-recordHead)
				}
				p := make([]byte, 20<<10)
				for n := 0; n < len(rest); {
					if err := near.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
						t.Fatal(err)
					}
					k, err := s.Read(p)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, p[:k]...)
					n += k
				}
			}
			if !bytes.Equal(got, all) {
				t.Errorf("first %d bytes: other bytes", first)
			}
		}
	}
}

// TestRecordsGatherInVain: who waits for a record of which no more comes hears of it, be it
// by a deadline, the connection's end or a reset, and gets what there is. After a deadline
// the rest may come.
func TestRecordsGatherInVain(t *testing.T) {
	whole := record(16<<10+22, 1)
	const part = 9000
	for name, c := range map[string]struct {
		happens func(near, far *net.TCPConn) error
		want    error
	}{
		"a deadline": {func(near, _ *net.TCPConn) error { return near.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"the end":    {func(_, far *net.TCPConn) error { return far.CloseWrite() }, io.EOF},
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
			for unreadBytes(t, near) < part {
				time.Sleep(time.Millisecond)
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
			if n := got.Len(); c.want == nil && n != len(whole) || errors.Is(c.want, io.EOF) && n != part {
				t.Errorf("%d bytes", n)
			}
		})
	}
}
