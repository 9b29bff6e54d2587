package engine

import (
	"net"
	"testing"
	"time"
)

// TestSocketsHaveTheKernelsAlarm: an owner that reads sockets is woken by the kernel's timer, when it was set
// last; one of other connections by Go's.
func TestSocketsHaveTheKernelsAlarm(t *testing.T) {
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
	w.over(pipe)
	if w.sleep(0); w.alarm != nil {
		t.Fatal("a pipe has no timer of the kernel's")
	}
	<-w.timer.C
	w.over(socket)
	w.over(pipe)
	if w.alarm == nil {
		t.Fatal("a socket has no timer of the kernel's")
	}
	for _, d := range []time.Duration{time.Millisecond, 0, -time.Second} {
		w.sleep(time.Hour)
		w.sleep(d)
		select {
		case <-w.bell:
		case <-w.timer.C:
			t.Fatal("Go's timer has not been stopped")
		}
	}
	w.sleep(time.Hour)
	select {
	case <-w.bell:
		t.Error("it rings again for what was set before")
	default:
	}
	w.close()
}
