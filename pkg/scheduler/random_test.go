package scheduler

import "testing"

// The least round trip is one of small packets: over a slow link, a full one takes longer,
// and that is no queue.
func TestAPacketIsNoQueue(t *testing.T) {
	const rtt = 80 * Millisecond
	for _, tt := range []struct {
		rate float64 // bytes per second
		trip Time
		want bool
	}{
		{125e3, rtt + 6*Millisecond, false},
		{125e3, rtt + 12*Millisecond, false},
		{125e3, rtt + 30*Millisecond, true},
		{1250e3, rtt + 6*Millisecond, true},
		{12500e3, rtt + Millisecond, false},
		{12500e3, rtt + 3*Millisecond, true},
		{0, rtt + 6*Millisecond, true},
	} {
		l := &link{rtt: roundTrips{min: rtt}}
		l.est.rate, l.rtt.data = tt.rate, tt.trip
		if l.queued() != tt.want {
			t.Errorf("%.0f bytes per second, round trips of %v: a queue: %v", tt.rate, tt.trip, !tt.want)
		}
	}
}

// What is lost where no queue stands is lost at random, even if it was a queue's overflow
// that made the beginning.
func TestLossWithoutAQueueIsRandom(t *testing.T) {
	const rtt = 40 * Millisecond
	for _, tt := range []struct {
		name    string
		trip    func(now Time) Time
		lost    []Time // when packets come out of order, for 20 ms
		packets int64  // of them, each 10 ms
		want    bool
	}{
		{"a queue that overflows, then none", func(now Time) Time { return rtt + max(0, Second-now)/10 }, []Time{900 * Millisecond, 1200 * Millisecond}, 50, true},
		{"none", func(Time) Time { return rtt }, []Time{900 * Millisecond, 1200 * Millisecond}, 5, true},
		{"none, lost once", func(Time) Time { return rtt }, []Time{900 * Millisecond}, 5, false},
		{"none, and it is long ago", func(Time) Time { return rtt }, []Time{900 * Millisecond, 2900 * Millisecond}, 5, false},
		{"none, at once", func(Time) Time { return rtt }, []Time{900 * Millisecond, 1000 * Millisecond}, 5, false},
		{"a queue", func(Time) Time { return 2 * rtt }, []Time{900 * Millisecond, 1200 * Millisecond}, 5, false},
		{"a queue until just now", func(now Time) Time { return rtt + max(0, 1160*Millisecond-now) }, []Time{900 * Millisecond, 1200 * Millisecond}, 5, false},
		{"round trips are not known", func(Time) Time { return 0 }, []Time{900 * Millisecond, 1200 * Millisecond}, 5, false},
	} {
		l := &link{rtt: roundTrips{min: rtt}, streams: streams{most: 1}}
		for now := Time(1); now < 3*Second && !l.streams.loss.random(); now += 10 * Millisecond {
			l.load.received += 12_000
			for _, at := range tt.lost {
				if now > at && now < at+20*Millisecond {
					l.streams.loss.reordered += tt.packets
				}
			}
			l.est.observe(now, l.load.received, l.rtt.min)
			l.rtt.data = tt.trip(now)
			l.streams.loss.watch(now, l)
			l.streams.queue.watch(now, l)
		}
		if l.streams.loss.random() != tt.want {
			t.Errorf("%s: random: %v", tt.name, !tt.want)
		}
	}
}

// New connections start quickly and fill the link, so that a queue stands when they are
// judged; then packets are lost over them too, and there have to be more.
func TestAGainThatDoesNotLastIsFollowedUp(t *testing.T) {
	const (
		rtt    = 28 * Millisecond
		full   = 10e6 // bytes per second
		steady = 0.35e6
		quick  = 3e6
	)
	l := &link{rtt: roundTrips{min: rtt}, streams: streams{most: 1}}
	since := [MaxStreams]Time{}
	last := l.streams.most
	for now := Time(1); now < 2500*Millisecond; now += 10 * Millisecond {
		for ; last < l.streams.most; last++ {
			since[last] = now
		}
		last = l.streams.most
		rate := 0.0
		for s := range l.streams.most {
			if now-since[s] < 400*Millisecond {
				rate += quick
			} else {
				rate += steady
			}
		}
		l.rtt.data = rtt
		if rate >= full {
			rate, l.rtt.data = full, 2*rtt
		}
		l.load.received += int64(rate * 0.01)
		if now/(10*Millisecond)%15 == 0 {
			l.streams.loss.reordered += 5
		}
		l.est.observe(now, l.load.received, l.rtt.min)
		l.streams.tune(now, l, oneFile(1<<30))
	}
	if l.streams.most != openMost {
		t.Errorf("%d connections, want %d", l.streams.most, openMost)
	}
}

// A connection may fill its link for as long as it starts slowly, and not afterwards: what
// it brings since no queue stands any more is what others are measured by.
func TestSlowStartIsNotMeasuredAgainst(t *testing.T) {
	const (
		rtt  = 28 * Millisecond
		full = 10e6 // bytes per second
		each = 0.9e6
	)
	l := &link{rtt: roundTrips{min: rtt}, streams: streams{most: 1}}
	for now := Time(1); now < 1200*Millisecond; now += 10 * Millisecond {
		rate := each * float64(l.streams.most)
		l.rtt.data = rtt
		if now < 300*Millisecond {
			rate, l.rtt.data = full, 2*rtt
		}
		l.load.received += int64(rate * 0.01)
		if i := now / (10 * Millisecond); i == 11 || i > 40 && i%15 == 0 {
			l.streams.loss.reordered += 5
		}
		l.est.observe(now, l.load.received, l.rtt.min)
		l.streams.tune(now, l, oneFile(1<<30))
	}
	if l.streams.most < firstTrial {
		t.Errorf("%d connections, want %d at least", l.streams.most, firstTrial)
	}
}
