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
		{"two thirds of a round trip", 1e6, 45 * ms, 4 << 20, 30_000},
		{"a long round trip", 1e6, 300 * ms, 4 << 20, 40_000},
		{"a window that the link fills", 1e6, 300 * ms, 300_000, 10_000},
		{"a window with little to spare", 1e6, 300 * ms, 400_000, 25_000},
		{"a fast link", 1e9, 1 * ms, 4 << 20, gatherMost},
		{"no link at all", 1e30, 300 * ms, 4 << 20, gatherMost},
	} {
		if got := gatherBytes(c.rate, gatherFor(1, c.trip, false), c.trip, c.window); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.what, got, c.want)
		}
	}
}

// TestGatherOfMany: one of many connections may be silent for a round trip as long as others of
// its link are not, and else no longer than one of few.
func TestGatherOfMany(t *testing.T) {
	const ms = scheduler.Millisecond
	for _, c := range []struct {
		what    string
		reading int
		trip    scheduler.Time
		heard   scheduler.Time // how long ago the link brought its last byte
		want    scheduler.Time
	}{
		{"one", 1, 300 * ms, 0, 100 * ms},
		{"a few", 7, 300 * ms, 0, 100 * ms},
		{"many", 8, 300 * ms, 99 * ms, 300 * ms},
		{"many near a server", 64, 10 * ms, 0, 100 * ms},
		{"many of a link that has fallen silent", 64, 300 * ms, 100 * ms, 100 * ms},
	} {
		const now = 10 * scheduler.Second
		o := owner{links: make([]linkState, 1), looks: looks{reading: []int{c.reading}}}
		o.links[0].conns.dataRTT, o.links[0].traffic.lastByte = c.trip, now-c.heard
		if got := o.gatherPatience(now, 0); got != c.want {
			t.Errorf("%s: %d ms, want %d", c.what, got/ms, c.want/ms)
		}
	}
	if one, many := gatherBytes(1e6, gatherFor(7, 300*ms, false), 300*ms, 4<<20), gatherBytes(1e6, gatherFor(64, 300*ms, false), 300*ms, 4<<20); one != 40_000 || many < 99_999 || many > 100_000 {
		t.Errorf("one gathers %d bytes, one of many %d", one, many)
	}
	for _, connections := range []int{1, 64} {
		if got := gatherBytes(1e6, gatherFor(connections, 300*ms, true), 300*ms, 4<<20); got != 10_000 {
			t.Errorf("%d near the end: %d bytes, want 10 ms of 1 MB/s", connections, got)
		}
	}
}

// TestTheEndIsNear when a second or less is left of 8 MB, over one link.
func TestTheEndIsNear(t *testing.T) {
	for _, c := range []struct {
		rate, come int64 // bytes per second, bytes
		want       bool
	}{{4e6, 2e6, false}, {4e6, 6e6, true}, {1.5e6, 6e6, false}} {
		policy, err := scheduler.NewPolicy("single", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		core, err := scheduler.New(scheduler.Config{Links: 1, Size: 8e6, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		o := owner{links: make([]linkState, 1), driver: driver{core: core}}
		now, acts := scheduler.Time(0), core.Step(0, scheduler.Input{Kind: scheduler.LinkUp}, nil)
		acts = core.Step(now, scheduler.Input{Kind: scheduler.Tick}, acts)
		if len(acts) != 1 || acts[0].Range.Len() != 8e6 {
			t.Fatalf("asked for %+v", acts)
		}
		for done := int64(0); done <= c.come; done += c.rate / 100 {
			now += 10 * scheduler.Millisecond
			core.Step(now, scheduler.Input{Kind: scheduler.Progress, Bytes: done, RTT: 20 * scheduler.Millisecond}, nil)
			core.Step(now, scheduler.Input{Kind: scheduler.Tick}, nil)
		}
		if got := o.endsSoon(); got != c.want {
			t.Errorf("%d bytes a second, %d bytes left: %v", c.rate, core.Left(), got)
		}
	}
}
