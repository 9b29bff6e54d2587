package scheduler

import "testing"

// record is what bytes come by over TLS, at the most.
const record = 16 << 10

// byRecords brings l what it carries, in bytes per second, from now on until end: by whole
// records, which are told of every 10 ms, with each of which told is called.
func byRecords(l *link, now, end Time, rate float64, told func(now Time)) {
	came := 0.0
	for ; now < end; now += 10 * Millisecond {
		for came += rate * 0.01; came >= record; came -= record {
			l.load.received += record
		}
		l.est.burst.arrived(now, l.load.received-l.est.bytes)
		l.est.observe(now, l.load.received, l.rtt.min)
		told(now)
	}
}

// Over a slow link a record takes nearly as long as rates are measured over, and yet the
// rate is what it is.
func TestRecordsDoNotShakeTheRate(t *testing.T) {
	for _, rate := range []float64{50e3, 80e3, 110e3, 125e3, 160e3, 200e3, 250e3, 400e3, 1e6} { // bytes per second
		l := &link{rtt: roundTrips{min: 20 * Millisecond}}
		least, most := rate, rate
		byRecords(l, 1, 5*Second, rate, func(now Time) {
			if now > Second {
				least, most = min(least, l.est.rate), max(most, l.est.rate)
			}
		})
		if least < 0.8*rate || most > 1.25*rate {
			t.Errorf("%.0f kB/s are taken for %.0f to %.0f", rate/1e3, least/1e3, most/1e3)
		}
	}
}

// The records of a slow link are no pauses of the server's, and what two connections have in
// turn tells of no limit.
func TestRecordsAreNoPauses(t *testing.T) {
	for rate, paused := range map[float64]bool{70e3: false, 1e6: true} { // bytes per second
		l := &link{rtt: roundTrips{min: 40 * Millisecond}, streams: streams{most: 1, server: server{lasting: true}}}
		now := Time(1)
		for ; now < 8*Second; now += 500 * Millisecond {
			watch := func(now Time) {
				if now == l.est.burst.at {
					l.health.lastByte = now
				}
				l.streams.conn[0].brought = l.load.received
				l.streams.explore.watch(now, l)
			}
			byRecords(l, now, now+300*Millisecond, rate, watch)
			byRecords(l, now+300*Millisecond, now+500*Millisecond, 0, watch)
		}
		if got := l.streams.explore.pauses > 0; got != paused {
			t.Errorf("%.0f kB/s: %d pauses", rate/1e3, l.streams.explore.pauses)
		}
	}
}

// A link that falls silent loses its rate, whatever its bytes came by.
func TestSilenceIsNoGapBetweenLots(t *testing.T) {
	l := &link{rtt: roundTrips{min: 20 * Millisecond}}
	byRecords(l, 1, Second, 1e6, func(Time) {})
	if r := l.est.rate; r < 0.8e6 {
		t.Fatalf("1 MB/s are taken for %.0f kB/s", r/1e3)
	}
	byRecords(l, Second, 1150*Millisecond, 0, func(Time) {})
	if r := l.est.rate; r != 0 {
		t.Errorf("after 0.15 s of silence %.0f kB/s", r/1e3)
	}
}

// A record more or less is no gain: more connections do not stay over a link that they
// cannot make faster.
func TestRecordsAreNoGain(t *testing.T) {
	for rate := 100e3; rate < 600e3; rate += 20e3 { // bytes per second
		l := &link{rtt: roundTrips{min: 20 * Millisecond}, streams: streams{most: 1}}
		l.rtt.data = l.rtt.min
		byRecords(l, 1, 10*Second, rate, func(now Time) {
			if now/(10*Millisecond)%25 == 0 {
				l.streams.loss.reordered += 10
			}
			l.streams.narrow(now, l)
			l.streams.tune(now, l, oneFile(1<<30))
		})
		if l.streams.trial.failed == 0 || l.streams.trial.helped {
			t.Errorf("%.0f kB/s: %d trials in vain, helped: %v", rate/1e3, l.streams.trial.failed, l.streams.trial.helped)
		}
	}
}

// Near the end no more connections are tried, even if nothing comes for a moment.
func TestALullIsNoReasonForMoreConnections(t *testing.T) {
	const rate = 400e3 // bytes per second
	for _, c := range []struct {
		left int64
		trip Time
		want bool
	}{
		{2 << 20, 20 * Millisecond, true},
		{256 << 10, 20 * Millisecond, true},
		{64 << 10, 20 * Millisecond, false},
		{2 << 20, 400 * Millisecond, true}, // three seconds are fewer round trips, but enough
		{512 << 10, 400 * Millisecond, false},
	} {
		l := &link{rtt: roundTrips{min: c.trip}, streams: streams{most: 1}}
		l.rtt.data = l.rtt.min
		byRecords(l, 1, Second, rate, func(now Time) { l.streams.queue.watch(now, l) })
		l.streams.loss.repeats = lossRepeats
		byRecords(l, Second, 1100*Millisecond, 0, func(Time) {})
		l.streams.tune(1100*Millisecond, l, oneFile(c.left))
		if l.streams.trial.running != c.want {
			t.Errorf("%d KiB left, %d ms, a tenth of a second without bytes: tried more: %v", c.left>>10, c.trip/Millisecond, l.streams.trial.running)
		}
	}
}

// A far link that builds up its rate begins with what its many connections bring at first.
// Those for which there was no room then are taken back when there is, but no more of them.
func TestConnectionsGivenUpEarlyAreTakenBack(t *testing.T) {
	l := &link{rtt: roundTrips{min: 106 * Millisecond}, streams: streams{most: 1}}
	few := StreamID(MaxStreams)
	for now := Time(1); now < 4*Second; now += 10 * Millisecond {
		l.load.received += int64(0.01 * min(20e6, 0.5e6+2e6*now.Seconds())) // bytes per second
		l.streams.tune(now, l, oneFile(1<<30))
		if l.est.observe(now, l.load.received, l.rtt.min); l.est.nSamples > 0 {
			few = min(few, l.streams.most)
		}
	}
	if few > 10 {
		t.Fatalf("%d connections at least: none were given up", few)
	}
	if n := l.streams.most; n != StreamID(l.rtt.min/tripPerStream) {
		t.Errorf("%d connections in the end, %d at first", n, l.rtt.min/tripPerStream)
	}
}

// Where what comes waits in a queue, the connections that are left fill the link: none is
// taken back, though its rate, which comes by records, seems higher now and then.
func TestNoneIsTakenBackBehindAQueue(t *testing.T) {
	for trip, want := range map[Time]bool{300 * Millisecond: true, 500 * Millisecond: false} {
		l := &link{rtt: roundTrips{min: 300 * Millisecond}, streams: streams{most: 3, initial: 60}}
		l.est.rate, l.est.nSamples, l.rtt.data = 1e6, 1, trip
		l.streams.tune(Second, l, oneFile(1<<30))
		if more := l.streams.most > 3; more != want {
			t.Errorf("its data takes %.1f s: %d connections", trip.Seconds(), l.streams.most)
		}
	}
}

// A link that was only late to answer is not far: what it does not need is given up for good.
func TestALateLinkKeepsFewConnections(t *testing.T) {
	l := &link{streams: streams{most: 1}}
	for now := Time(1); now < 4*Second; now += 10 * Millisecond {
		switch {
		case now < 200*Millisecond:
			l.streams.tune(now, l, oneFile(1<<30))
			continue
		case l.rtt.min == 0:
			if l.rtt.min = 50 * Millisecond; l.streams.most < 32 {
				t.Fatalf("%d connections for a link that has not answered", l.streams.most)
			}
		}
		l.load.received += int64(0.01 * min(8e6, 0.5e6+8e6*(now-200*Millisecond).Seconds())) // bytes per second
		l.streams.tune(now, l, oneFile(1<<30))
		l.est.observe(now, l.load.received, l.rtt.min)
	}
	if n := l.streams.most; n > 10 {
		t.Errorf("%d connections over a link of 50 ms", n)
	}
}

// Over a far link more are tried than it began with, however many these were.
func TestFarLinksMayHaveMore(t *testing.T) {
	l := &link{rtt: roundTrips{min: 150 * Millisecond}, streams: streams{most: 1}}
	for now := Time(1); now < 8*Second; now += 10 * Millisecond {
		rate := 0.2e6 * float64(l.streams.most) // bytes per second
		l.load.received += int64(0.01 * rate)
		if l.rtt.data = l.rtt.min; now/(10*Millisecond)%80 == 0 {
			l.streams.loss.reordered += 10
		}
		l.est.observe(now, l.load.received, l.rtt.min)
		l.streams.tune(now, l, oneFile(1<<30))
	}
	if n := l.streams.most; n <= openMost {
		t.Errorf("%d connections, where each brings as much as the first", n)
	}
}

// A slow link's own rate does not tell how long the download lasts: beside a fast one it
// may be over before a trial has shown anything.
func TestNoTrialOutlivesTheDownload(t *testing.T) {
	for lasts, want := range map[float64]bool{1: true, 0.2: false} { // seconds
		l := &link{rtt: roundTrips{min: 20 * Millisecond}, streams: streams{most: 1}}
		l.rtt.data = l.rtt.min
		byRecords(l, 1, Second, 400e3, func(now Time) { l.streams.queue.watch(now, l) })
		l.streams.loss.repeats = lossRepeats
		l.streams.tune(Second, l, task{left: 4 << 20, share: 4 << 20, rate: (4 << 20) / lasts})
		if l.streams.trial.running != want {
			t.Errorf("%.1f s left: tried more: %v", lasts, l.streams.trial.running)
		}
	}
}

// Over TLS a link's connections are worth their handshakes only by its share of the file.
func TestSecureConnectionsHaveToBeWorthMore(t *testing.T) {
	const size = 8 << 20
	for secure, want := range map[bool]int{false: size / int(leastShare), true: size / 2 / int(leastShare)} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: size, TLS: secure})
		r.up(2)
		for id := range LinkID(2) {
			r.step(Input{Kind: Progress, Link: id, Chunk: ChunkID(id), RTT: 300 * Millisecond})
		}
		r.now += 10 * Millisecond
		r.step(Input{Kind: Tick})
		if n := r.core.Link(0).Streams; n != want {
			t.Errorf("secure: %v: %d connections, want %d", secure, n, want)
		}
	}
}

// A connection among many over a slow link is silent until each of the others has had its
// record, and is not given up for that.
func TestManyConnectionsShareASlowLink(t *testing.T) {
	const n = 14
	for rate, kept := range map[float64]bool{30e3: true, 3e6: false} { // bytes per second
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 30, Parallelism: n})
		r.up(1)
		c := r.core
		l := &c.links[0]
		l.rtt.min, l.streams.server.lasting, l.streams.worked = 50*Millisecond, true, 1<<n-1
		l.est.rate = rate
		for range burstCount {
			l.est.burst.arrived(r.now, recordSize)
		}
		asked := len(c.flight.chunks)
		if r.now += 4 * Second; asked < n {
			t.Fatalf("%d requests", asked)
		}
		c.now, c.flight.now = r.now, r.now
		l.streams.conn[0].heard = r.now
		if c.flight.releaseSilent(0, nil); (len(c.flight.chunks) == asked) != kept {
			t.Errorf("%.0f kB/s: %d of %d requests are kept after 4 s", rate/1e3, len(c.flight.chunks), asked)
		}
	}
}

// As long as nothing is known of its rate, a link's connections are not silent for long.
func TestNothingIsKnownOfTurns(t *testing.T) {
	l := &link{load: load{working: 8}}
	l.est.burst.arrived(Second, recordSize)
	if d := l.turnTime(); d != 0 {
		t.Errorf("they may be silent for %v s longer", d.Seconds())
	}
}
