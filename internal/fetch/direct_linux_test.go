package fetch

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// TestDirectWrite: what a socket has no room for is written later, in order, and a peer that is
// gone is an error.
func TestDirectWrite(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // a test's own
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := direct(raw, nil)
	defer c.Close() //nolint:errcheck // a test's own
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	want := part(t, testbody.Body{Size: 16 << 20, Seed: 61}, 0, 16<<20)
	written := make(chan error, 1)
	go func() {
		n, err := c.Write(want)
		if err == nil && n != len(want) {
			err = io.ErrShortWrite
		}
		written <- err
	}()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, or other bytes", err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	if n, err := c.Write(nil); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	_ = peer.(*net.TCPConn).SetLinger(0) //nolint:errcheck,forcetypeassert // what Accept gave
	_ = peer.Close()
	for err = nil; err == nil; time.Sleep(time.Millisecond) { // until the reset has come
		_, err = c.Write([]byte("x"))
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok || !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("after the peer had gone: %v", err)
	}
}
