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
	thin := func(now Time) float64 { return start(now) / 5 }
	ramp := func(now Time) float64 { return min(1, 0.25+now.Seconds()/4) }
	tests := []struct {
		name  string
		loss  func(now Time) bool
		most  float64 // bytes per second that the link carries
		shape func(now Time) float64
		min   StreamID
		max   StreamID
	}{
		{"random loss on a link of 10 MB/s", random, 10e6, start, 10, MaxStreams},
		{"random loss on a link of 60 MB/s", random, 60e6, start, 60, MaxStreams},
		{"random loss, and not three packets of each connection in a round trip", random, 60e6, thin, openMost, openMost},
		{"random loss on a link that is full", random, 1e6, level, 1, 2}, // those of a trial go by and by
		{"a link that became slow, and overflows", random, 1e6, start, 1, 2},
		{"a queue that overflows now and then", overflow, 1e6, start, 1, 1},
		{"carriers being added", overflow, 1e6, ramp, 1, 1},
		{"no loss", never, 10e6, start, 1, 1},
	}
	for _, tt := range tests {
		l := &link{rtt: roundTrips{min: 20 * Millisecond}, streams: streams{most: 1}}
		for now := Time(1); now < 12*Second; now += 10 * Millisecond {
			rate := tt.shape(now) * min(tt.most, 1e6*float64(l.streams.most))
			l.load.received += int64(rate * 0.01)
			if tt.loss(now) {
				l.streams.loss.reordered += 10
			}
			l.est.observe(now, l.load.received, l.rtt.min)
			l.streams.narrow(now, l)
			l.streams.tune(now, l, oneFile(1<<30))
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

// lossyLink is a link of 20 ms that carries full bytes per second, and loses packets at
// random all the time. A connection brings each, but alone as much as alone says.
type lossyLink struct {
	link
	now        Time
	full, each float64
	alone      func() float64
}

func newLossyLink() *lossyLink {
	l := &lossyLink{full: 4e6, each: 1e6}
	l.rtt.min, l.streams.most = 20*Millisecond, 1
	return l
}

// run lets time pass until end, and calls told after each step of it.
func (l *lossyLink) run(end Time, told func()) {
	for ; l.now < end; l.now += 10 * Millisecond {
		rate := min(l.full, l.each*float64(l.streams.most))
		if l.streams.most == 1 {
			rate = l.alone()
		}
		l.load.received += int64(rate * 0.01)
		if l.now/(10*Millisecond)%25 == 0 {
			l.streams.loss.reordered += 10
		}
		l.est.observe(l.now, l.load.received, l.rtt.min)
		l.streams.narrow(l.now, &l.link)
		l.streams.tune(l.now, &l.link, oneFile(1<<30))
		told()
	}
}

// Slow start may have filled a link just before more connections are tried, against which
// they gain nothing. As they are given up by and by, what they did bring shows.
func TestATrialHeldAgainstAFullLink(t *testing.T) {
	l := newLossyLink()
	tried := false
	l.alone = func() float64 {
		if tried {
			return l.each
		}
		return l.full
	}
	least := l.full
	l.run(6*Second, func() {
		tried = tried || l.streams.most > 1
		if tried {
			least = min(least, l.each*float64(l.streams.most))
		}
	})
	if !tried || least < 0.7*l.full {
		t.Errorf("%.1f MB/s of %.1f at worst, tried: %v", least/1e6, l.full/1e6, tried)
	}
}

// What a new trial finds is not undone by the steps of the one before.
func TestATrialEndsThePresentNarrowing(t *testing.T) {
	s := &streams{most: 8}
	s.narrowFrom(1, 1e6, countMark{at: Second})
	s.try(2*Second, 1e6)
	l := &link{rtt: roundTrips{min: 20 * Millisecond}, load: load{received: 1e6}, streams: *s}
	if l.streams.narrow(3*Second, l); l.streams.most != 16 {
		t.Errorf("%d streams, 16 tried", l.streams.most)
	}
}

// oneFile is a file of which so much is still to come, at no rate yet: it lasts for ever.
func oneFile(left int64) task { return task{left: left, share: left} }

// TestATLSHandshakeTakesATrip: so much later is a connection's first byte, which has to be
// made; of one that is there nothing is different, and in a batch nobody counts it.
func TestATLSHandshakeTakesATrip(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  Config
		want Time
	}{
		"in clear": {Config{}, connectRTTs},
		"over TLS": {Config{TLS: true}, connectRTTs + 1},
		"a batch":  {Config{TLS: true, Batch: true}, connectRTTs},
	} {
		tt.cfg.Links, tt.cfg.Policy, tt.cfg.Size = 1, &algorithm3{padding: AutoPadding}, -1
		r := newRig(t, tt.cfg)
		for range 2 { // it may come back
			r.up(1)
			s := &r.core.links[0].streams
			if got := s.trips(0); got != tt.want {
				t.Errorf("%s: the first byte comes after %d round trips, not %d", name, got, tt.want)
			}
			s.conn[0].cut = 7
			if got := s.trips(0); got != tt.want-connectRTTs+reconnectRTTs {
				t.Errorf("%s: over a connection that takes another one's place after %d", name, got)
			}
			s.conn[0].cut, s.worked = 0, 1
			if got := s.trips(0); got != 1 {
				t.Errorf("%s: over a connection that is there after %d", name, got)
			}
			r.step(Input{Kind: LinkDown})
		}
	}
}
