package engine

import (
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

func TestGatherBytes(t *testing.T) {
	const ms = scheduler.Millisecond
	for _, c := range []struct {
		what   string
		rate   float64 // bytes per second
		trip   scheduler.Time
		window int64
		want   int64
	}{
		{"nothing comes", 0, 0, 0, 0},
		{"nothing is known of the connection", 1e6, 0, 0, 10_000},
		{"no round trip is known", 1e6, 0, 4 << 20, 10_000},
		{"no window is known", 1e6, 100 * ms, 0, 10_000},
		{"a near server", 1e6, 3 * ms, 4 << 20, 10_000},
		{"a third of a round trip", 1e6, 90 * ms, 4 << 20, 30_000},
		{"a long round trip", 1e6, 300 * ms, 4 << 20, 40_000},
		{"a window that the link fills", 1e6, 300 * ms, 300_000, 10_000},
		{"a window with little to spare", 1e6, 300 * ms, 400_000, 25_000},
		{"a fast link", 1e9, 1 * ms, 4 << 20, gatherMost},
		{"no link at all", 1e30, 300 * ms, 4 << 20, gatherMost},
	} {
		if got := gatherBytes(c.rate, c.trip, c.window); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.what, got, c.want)
		}
	}
}
