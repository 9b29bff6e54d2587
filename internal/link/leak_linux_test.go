package link

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"
)

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}

// Nothing that this package opens stays open: sockets of lists and watches,
// of queries, of failed connections and of those that came second.
func TestDescriptors(t *testing.T) {
	listener := listen(t, "tcp4", "127.0.0.1:0")
	serve(t, listener, "hello")
	port := listener.Addr().(*net.TCPAddr).AddrPort().Port()
	l := loopback(t, Options{ConnectTimeout: 20 * time.Second})
	// No server listens on the first address; the second answers.
	two := []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}
	use := func() {
		ctx, cancel := context.WithCancel(t.Context())
		changes, err := Watch(ctx)
		must(t, err)
		_, err = List(ctx)
		must(t, err)
		conn, err := l.DialContext(ctx, "tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port).String())
		must(t, err)
		_, err = io.Copy(io.Discard, conn)
		must(t, err)
		closing(t, conn)
		// A race in which everyone connects before anyone is told: one is kept.
		var all sync.WaitGroup
		all.Add(4)
		got, err := race(ctx, 4, 0, func(ctx context.Context, _ int) (net.Conn, error) {
			conn, err := l.dialBound(ctx, "tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port))
			all.Done()
			all.Wait()
			return conn, err
		}, never, func(c net.Conn) { closing(t, c) })
		must(t, err)
		closing(t, got)
		if conn, err := l.connect(ctx, two, port); err == nil {
			closing(t, conn)
		} else {
			t.Error(err)
		}
		cancel()
		for range changes { //nolint:revive // until it is closed
		}
	}
	use() // what is opened once for all (poller, hosts file) is open now
	settle := func(most int) int {
		n := descriptors(t)
		for try := 0; n > most && try < 100; try++ { // the server's ends close in their own time
			time.Sleep(20 * time.Millisecond)
			n = descriptors(t)
		}
		return n
	}
	time.Sleep(100 * time.Millisecond)
	before := descriptors(t)
	for range 10 {
		use()
	}
	if after := settle(before); after > before {
		t.Errorf("%d descriptors, then %d", before, after)
	}
}
