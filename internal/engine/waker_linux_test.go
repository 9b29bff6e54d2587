package engine

import (
	"net"
	"testing"
	"time"
)

// TestSocketsHaveTheKernelsTimer: an owner that reads sockets is woken by it; one of other connections by
// Go's.
func TestSocketsHaveTheKernelsTimer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // nothing is written
	socket, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close() //nolint:errcheck // nothing is written
	pipe, _ := net.Pipe()

	w := newWaker()
	w.chooseTimer(pipe)
	if w.sleep(0); w.alarm != nil {
		t.Fatal("a pipe has no timer of the kernel's")
	}
	<-w.timer.C
	w.sleep(time.Hour)
	w.chooseTimer(socket)
	w.chooseTimer(pipe)
	if w.alarm == nil || w.timer.Stop() {
		t.Fatal("a socket has not the kernel's timer instead of Go's")
	}
	for _, d := range []time.Duration{time.Millisecond, 0, -time.Second} {
		w.sleep(time.Hour)
		w.sleep(d)
		<-w.bell
	}
	w.close()
}
