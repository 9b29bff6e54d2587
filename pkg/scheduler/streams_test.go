package scheduler

import "testing"

// A link on which one connection carries 1 MB/s and loses packets, in one case
// because of random loss, which more connections make up for.
func TestStreamsAreAddedWhereTheyHelp(t *testing.T) {
	tests := []struct {
		name  string
		lossy bool
		most  float64 // bytes per second that the link carries
		min   StreamID
		max   StreamID
	}{
		{"random loss on a link of 10 MB/s", true, 10e6, 10, MaxStreams},
		{"loss because the link is full", true, 1e6, 1, 1},
		{"no loss", false, 10e6, 1, 1},
	}
	for _, tt := range tests {
		l := &link{rtt: 20 * Millisecond, streams: streams{most: 1}}
		settled := StreamID(0)
		for now := Time(1); now < 12*Second; now += 10 * Millisecond {
			rate := min(tt.most, 1e6*float64(l.streams.most))
			l.received += int64(rate * 0.01)
			if tt.lossy {
				l.streams.reordered += int64(rate*0.01/segment*0.01) + 1
			}
			l.est.observe(now, l.received, l.rtt)
			l.streams.tune(now, l)
			settled = l.streams.most
		}
		if settled < tt.min || settled > tt.max {
			t.Errorf("%s: %d streams", tt.name, settled)
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
