package errno

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// pair is a connection and its peer's end of it.
func pair(t *testing.T) (conn net.Conn, peer *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing is sent
	if conn, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn, accepted.(*net.TCPConn)
}

// TestErrorsOfSockets: what the system says of real sockets is known.
func TestErrorsOfSockets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := net.Dial("tcp", l.Addr().String()); !IsRefused(err) || IsReset(err) || IsUnreachable(err) || IsScarce(err) {
		t.Errorf("nobody listens: %v", err)
	}

	conn, peer := pair(t)
	defer conn.Close() //nolint:errcheck // it is reset
	if err := peer.Close(); err != nil {
		t.Fatal(err)
	}
	for err = error(nil); err == nil; { // the first write is answered by a reset
		_, err = conn.Write([]byte("x"))
	}
	if !IsReset(err) && !errors.Is(err, syscall.EPIPE) || IsRefused(err) || IsUnreachable(err) || IsScarce(err) {
		t.Errorf("written to after its peer has gone: %v", err)
	}
}

func TestErrorsByNumber(t *testing.T) {
	for no, is := range map[syscall.Errno]func(error) bool{ConnRefused: IsRefused, ConnReset: IsReset, NetUnreachable: IsUnreachable, scarcities()[0]: IsScarce} {
		err := fmt.Errorf("a link: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", no)})
		if !is(err) {
			t.Errorf("%v is not known", err)
		}
		n := 0
		for _, is := range []func(error) bool{IsRefused, IsReset, IsUnreachable, IsScarce} {
			if is(err) {
				n++
			}
			if is(nil) || is(io.EOF) {
				t.Error("no error of the system is taken for one")
			}
		}
		if n != 1 {
			t.Errorf("%v is of %d kinds", err, n)
		}
	}
}
