package engine

import (
	"net"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/link"
)

// The round trip of new connections is the least of the last three handshakes, so that
// one lost packet does not count, and what has grown does.
func TestTheLatestHandshakesCount(t *testing.T) {
	l := &Link{started: time.Now()}
	for i, s := range []struct{ took, least, late time.Duration }{
		{10, 10, 10},
		{1010, 10, 10},
		{2000, 10, 10},
		{2010, 10, 1010},
		{2020, 10, 2000},
		{20, 10, 20},
	} {
		l.RoundTrip(nil, s.took*time.Millisecond)
		if got, _, _ := l.handshakes(); got != s.late*time.Millisecond {
			t.Errorf("handshake %d: %v", i, got)
		}
		if got := l.sawRTT(0); got != s.least*time.Millisecond {
			t.Errorf("handshake %d: least %v", i, got)
		}
	}
	l.Renew(nil, true)
	if got, _, _ := l.handshakes(); got != 0 || l.sawRTT(0) != 0 {
		t.Error("the round trips of the network before are kept")
	}
}

// A process that was not run when its handshake was done is not on a long link.
func TestTheKernelTimesHandshakes(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() //nolint:errcheck // a test's
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a test's
	info, ok := link.ReadTCPInfo(conn)
	if !ok || info.RTT == 0 {
		t.Skip("this system does not tell")
	}
	l := &Link{started: time.Now()}
	l.RoundTrip(conn, 20*time.Second)
	if got, _, _ := l.handshakes(); got != info.RTT || l.sawRTT(0) != got {
		t.Errorf("%v, where the kernel says %v", got, info.RTT)
	}
	l.RoundTrip(conn, time.Nanosecond) // a kernel with coarse clocks may say more than it took
	if got := l.sawRTT(0); got != time.Nanosecond {
		t.Errorf("%v, where it took 1 ns", got)
	}
}
