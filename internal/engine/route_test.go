package engine

import (
	"net"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/link"
)

// TestWhatWaitsBehindAGap: what came out of order and has not been handed on since.
func TestWhatWaitsBehindAGap(t *testing.T) {
	const segment = 1000
	var c kernelCount
	for i, s := range []struct {
		delivered     uint64 // segments, in all
		disorder      uint32 // the same
		fresh, behind int64  // segments
	}{
		{delivered: 100},
		{delivered: 100, disorder: 20, fresh: 20, behind: 20},
		{delivered: 100, disorder: 20}, // no more of them: nothing is told
		{delivered: 100, disorder: 50, fresh: 30, behind: 50},
		{delivered: 120, disorder: 70, fresh: 20, behind: 50}, // the next gap is 20 behind
		{delivered: 200, disorder: 70},
		{delivered: 220, disorder: 80, fresh: 10}, // it was filled before anybody looked
		{delivered: 220, disorder: 90, fresh: 10, behind: 10},
	} {
		info := link.TCPInfo{BytesReceived: s.delivered * segment, DataSegsIn: uint32(s.delivered), OutOfOrder: s.disorder}
		g := c.look(&info)
		if g.reordered != s.fresh || g.behindGap != s.behind*segment {
			t.Errorf("look %d: %d out of order, %d bytes behind, want %d and %d", i, g.reordered, g.behindGap, s.fresh, s.behind*segment)
		}
	}
	if g := (&kernelCount{}).look(&link.TCPInfo{OutOfOrder: 7}); g.reordered != 7 || g.behindGap != 0 {
		t.Errorf("a kernel that counts no segments: %+v", g)
	}
}

// TestConnectionsOfAStreamAreCountedApart: a client may have two, whose transfers are looked at by
// turns; what is counted on them is counted once.
func TestConnectionsOfAStreamAreCountedApart(t *testing.T) {
	one, other := net.Pipe()
	defer one.Close()   //nolint:errcheck // a pipe
	defer other.Close() //nolint:errcheck // a pipe
	var c kernelCounts
	total := int64(0)
	for i := range 10 {
		for n, conn := range []net.Conn{one, other} {
			total += c.forConn(conn).look(&link.TCPInfo{OutOfOrder: uint32(100*(n+1) + i)}).reordered
		}
	}
	if want := int64(109 + 209); total != want {
		t.Errorf("%d packets out of order, want %d", total, want)
	}
	third, _ := net.Pipe()
	defer third.Close() //nolint:errcheck // a pipe
	if g := c.forConn(third).look(&link.TCPInfo{OutOfOrder: 5}); g.reordered != 5 {
		t.Errorf("a new connection: %d", g.reordered)
	}
	if g := c.forConn(other).look(&link.TCPInfo{OutOfOrder: 210}); g.reordered != 1 {
		t.Errorf("one that was asked before: %d", g.reordered)
	}
}

// TestFallenRoundTripIsMeasuredTwice: as seen on Linux 6.18, a sample that is shorter than the kernel's
// figure becomes the figure at once, and one packet that found the queue empty between two
// requests keeps it there for as long as no other is measured: recorded beside two busy loops
// over a link that was full, 63, 17, 17 ... 17 for 0.6 s. It counts when it has been measured
// again; what is longer counts at once.
func TestFallenRoundTripIsMeasuredTwice(t *testing.T) {
	t.Parallel()
	var c kernelCount
	for i, v := range []struct{ kernels, want time.Duration }{
		{0, 0},
		{58_000, 58_000},
		{63_000, 63_000},
		{17_000, 63_000}, // one packet
		{17_000, 63_000}, // the same one
		{24_000, 24_000}, // another one
		{16_000, 24_000},
		{15_900, 15_900},
		{40_000, 40_000},
		{17_000, 40_000},
		{41_000, 41_000},
		{17_000, 41_000},
		{16_900, 16_900},
		{16_900, 16_900},
	} {
		if g := c.look(&link.TCPInfo{ReceiveRTT: v.kernels * time.Microsecond}); time.Duration(g.dataRTT) != v.want*time.Microsecond {
			t.Errorf("%d: %v, want %v", i, time.Duration(g.dataRTT), v.want*time.Microsecond)
		}
	}
}
