package scheduler

import "testing"

// A link on which one connection carries 1 MB/s once its slow start is over, and
// packets are lost at random or because a queue overflows.
func TestStreamsAreAddedWhereTheyHelp(t *testing.T) {
	random := func(now Time) bool { return now/(10*Millisecond)%25 == 0 }
	overflow := func(now Time) bool { return now%(3*Second) > 2500*Millisecond }
	never := func(Time) bool { return false }
	level := func(Time) float64 { return 1 }
	start := func(now Time) float64 {
		if now < 300*Millisecond {
			return 3
		}
		return 1
	}
	ramp := func(now Time) float64 { return min(1, 0.25+now.Seconds()/4) }
	tests := []struct {
		name  string
		loss  func(now Time) bool
		most  float64 // bytes per second that the link carries
		shape func(now Time) float64
		min   StreamID
		max   StreamID
	}{
		{"random loss on a link of 10 MB/s", random, 10e6, start, 10, trialStreams},
		{"random loss on a link that is full", random, 1e6, level, 1, 1},
		{"a link that became slow, and overflows", random, 1e6, start, 1, 1},
		{"a queue that overflows now and then", overflow, 1e6, start, 1, 1},
		{"carriers being added", overflow, 1e6, ramp, 1, 1},
		{"no loss", never, 10e6, start, 1, 1},
	}
	for _, tt := range tests {
		l := &link{rtt: 20 * Millisecond, streams: streams{most: 1}}
		for now := Time(1); now < 12*Second; now += 10 * Millisecond {
			rate := tt.shape(now) * min(tt.most, 1e6*float64(l.streams.most))
			l.received += int64(rate * 0.01)
			if tt.loss(now) {
				l.streams.loss.reordered += 10
			}
			l.est.observe(now, l.received, l.rtt)
			l.streams.tune(now, l, 1<<30, false)
		}
		if s := l.streams.most; s < tt.min || s > tt.max {
			t.Errorf("%s: %d streams", tt.name, s)
		}
	}
}

func TestParallelismIsObeyed(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: 0.3}, Size: 1 << 26, Parallelism: 4})
	seen := map[StreamID]bool{}
	for _, a := range r.up(1) {
		seen[a.Stream] = true
	}
	got := map[ChunkID]int64{}
	for _, a := range r.flow(Second, map[ChunkID]float64{0: 4e6}, got) {
		if a.Kind == Start {
			seen[a.Stream] = true
		}
	}
	for s := range StreamID(4) {
		if !seen[s] {
			t.Errorf("stream %d has no request", s)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d streams were used", len(seen))
	}
}
