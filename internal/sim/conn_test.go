package sim

import (
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// The sockets of a dial repeat their first packets each for itself, a second apart at first.
func TestMoreSocketsConnectSooner(t *testing.T) {
	const ms = scheduler.Millisecond
	for _, c := range []struct {
		up, rtt scheduler.Time
		known   bool
		want    scheduler.Time
	}{
		{0, 50 * ms, true, 0},
		{10 * ms, 50 * ms, false, 1000 * ms},
		{10 * ms, 50 * ms, true, 250 * ms},
		{300 * ms, 50 * ms, true, 500 * ms},
		{600 * ms, 50 * ms, true, 1000 * ms},
		{1100 * ms, 50 * ms, true, 1250 * ms},
		{10 * ms, 200 * ms, true, 600 * ms},
		{700 * ms, 200 * ms, true, 1000 * ms},
		{1100 * ms, 200 * ms, true, 1200 * ms},
	} {
		if got := connects(0, c.up, c.rtt, c.known); got != c.want {
			t.Errorf("up at %d ms, %d ms away: %d ms, want %d", c.up/ms, c.rtt/ms, got/ms, c.want/ms)
		}
	}
}

// TestNothingQueuesBehindAShortenedResponse: over HTTP/1.1 it ends its connection, so the next
// request is sent over another one; over HTTP/2 it does not.
func TestNothingQueuesBehindAShortenedResponse(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		l := &link{http2: http2, depth: depth, rtt: 50 * scheduler.Millisecond, handshake: 1, capacity: capacity{bps: 1e6}}
		q := &request{asked: 1 << 20, wanted: 1 << 20, answered: true}
		l.send(0, q)
		l.shorten(0, q)
		l.send(0, &request{asked: 1000, wanted: 1000})
		if len(l.conns) != 1 || len(l.conns[0].queue) != 2 {
			t.Errorf("HTTP/2 %v: %d connections before it was shortened", http2, len(l.conns))
		}
		q.wanted = 1 << 10
		l.shorten(0, q)
		l.send(0, &request{asked: 1000, wanted: 1000})
		if want := map[bool]int{false: 2, true: 1}[http2]; len(l.conns) != want {
			t.Errorf("HTTP/2 %v: %d connections, want %d", http2, len(l.conns), want)
		}
	}
}
