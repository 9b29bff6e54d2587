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
