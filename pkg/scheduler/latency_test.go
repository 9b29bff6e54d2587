package scheduler

import (
	"slices"
	"testing"
)

// A connection that waited in vain gets twice as long the next time, so that where
// every answer takes long some connection gets one.
func TestAStreamThatWaitedInVainMayTakeLonger(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &naive{}, Size: 1 << 40, Parallelism: 2})
	r.up(1)
	got := map[ChunkID]int64{}
	r.flow(500*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, got)
	asked, at := ChunkID(1), r.now
	var waited []Time
	for r.now < 40*Second && len(waited) < 4 {
		for _, a := range r.flow(10*Millisecond, map[ChunkID]float64{0: 1e6}, got) {
			switch {
			case a.Kind == Cancel && a.Chunk == asked:
				waited = append(waited, (r.now-at)/(100*Millisecond))
			case a.Kind == Start && a.Stream == 1:
				asked, at = a.Chunk, r.now
			}
		}
	}
	if want := []Time{15, 15, 30, 60}; !slices.Equal(waited, want) {
		t.Fatalf("tenths of seconds until it was given up: %v, want %v", waited, want)
	}
	r.flow(10*Millisecond, map[ChunkID]float64{asked: 1e6}, map[ChunkID]int64{})
	if n := r.core.links[0].streams.conn[1].inVain; n != 0 {
		t.Errorf("after a byte it still has waited %d times", n)
	}
}

func TestLimitsOfSilenceGrowAndAreBounded(t *testing.T) {
	for _, tt := range []struct {
		rtt, handshake Time
		lag, trip      Time // of answers and of data
		inVain         uint8
		want           Time
	}{
		{rtt: 10 * Millisecond, want: silentAgain},
		{rtt: 10 * Millisecond, handshake: 2 * Second, want: 12 * Second},
		{rtt: 2 * Second, handshake: 10 * Millisecond, want: 12 * Second},
		{rtt: 10 * Millisecond, lag: Second, trip: 2 * Second, want: 6 * Second},
		{rtt: 10 * Millisecond, lag: 2 * Second, trip: 30 * Millisecond, want: silentAgain}, // the server thinks
		{rtt: 10 * Millisecond, lag: 30 * Millisecond, trip: 2 * Second, want: silentAgain}, // a queue stands
		{rtt: 10 * Millisecond, inVain: 2, want: 4 * silentAgain},
		{rtt: 10 * Millisecond, inVain: 255, want: banMost},
		{rtt: 10 * Second, inVain: 1, want: 60 * Second},
	} {
		l := link{rtt: roundTrips{min: tt.rtt, handshake: tt.handshake}}
		l.rtt.data = tt.trip
		if tt.lag > 0 {
			l.rtt.observeAnswer(tt.lag)
		}
		if got := l.rtt.silenceLimit(silentAgain, tt.inVain); got != tt.want {
			t.Errorf("%+v: %v s", tt, got.Seconds())
		}
	}
}

func TestAProbeMayTakeAsLongAsTheBanBeforeIt(t *testing.T) {
	for bans, want := range map[int]Time{1: probeFor, 2: patientProbe, 3: probeFor, bansInRow: veryPatient, bansInRow + 1: probeFor, bansInRow + 5: 1600 * Millisecond, 100: probeMost} {
		h, r := health{bans: bans}, roundTrips{}
		if got := r.probeLimit(h.probeLimit()); got != want {
			t.Errorf("after %d bans: %v s", bans, got.Seconds())
		}
	}
}

// A banned link whose round trip has grown from 20 ms to a second is back with the first
// probe whose handshake comes through, and is not banned again between its bursts.
func TestALinkThatIsRegainedAsALongOneIsGivenTime(t *testing.T) {
	const trip = Second
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 40})
	r.up(2)
	c := r.core
	l := &c.links[0]
	got := map[ChunkID]int64{}
	r.flow(Second, map[ChunkID]float64{0: 1e6, 1: 1e6}, got)
	r.step(Input{Kind: Progress, Chunk: c.flight.chunks[0].id, Bytes: got[0], RTT: 20 * Millisecond})
	// The other link goes on bringing bytes, this one nothing until its probe is answered.
	alive := func() ChunkID {
		for i := range c.flight.chunks {
			if c.flight.chunks[i].link == 1 {
				return c.flight.chunks[i].id
			}
		}
		t.Fatal("the other link has nothing to do")
		return NoChunk
	}
	wait := func(d Time) {
		for until := r.now + d; r.now < until; {
			id := alive()
			r.flow(10*Millisecond, map[ChunkID]float64{id: 1e6}, got)
		}
	}
	for !l.health.banned {
		wait(10 * Millisecond)
	}
	shaken := false
	for probe := Time(0); l.health.banned; wait(10 * Millisecond) {
		if !l.health.probing {
			probe, shaken = 0, false
			continue
		}
		if probe == 0 {
			probe = r.now
		}
		id := NoChunk
		for i := range c.flight.chunks {
			if c.flight.chunks[i].link == 0 {
				id = c.flight.chunks[i].id
			}
		}
		switch age := r.now - probe; {
		case age >= 3*trip: // the handshakes of TCP and TLS, and the answer
			r.step(Input{Kind: Finished, Chunk: id, Bytes: probeSize, Trip: trip})
		case age >= trip && !shaken:
			shaken = true
			r.step(Input{Kind: Progress, Chunk: id, Shook: trip, Handshake: 20 * Millisecond})
		}
		if r.now > 20*Second {
			t.Fatal("it is banned after 20 s")
		}
	}
	if r.now > 10*Second {
		t.Errorf("it was back after %.1f s", r.now.Seconds())
	}
	if got := l.rtt.silenceLimit(silentFloor, 0); got != silentRTTs*trip {
		t.Errorf("it may be silent for %.1f s", got.Seconds())
	}
	if l.rtt.data = 20 * Millisecond; l.rtt.silenceLimit(silentFloor, 0) != silentFloor {
		t.Error("its handshake lost a packet, and that is taken for its length")
	}
}

// A link whose handshake took 10 ms, and which answers after 2 s now, is asked for the
// next bytes 2 s ahead, not when it has run dry.
func TestALinkThatHasBecomeSlowToAnswerIsAskedEarlier(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm1{limit: 1 << 20}, Size: 1 << 40})
	r.step(Input{Kind: LinkUp, RTT: 10 * Millisecond})
	r.step(Input{Kind: Tick})
	got := map[ChunkID]int64{}
	l := &r.core.links[0]
	if r.flow(400*Millisecond, map[ChunkID]float64{0: 1e6}, got); l.rtt.answered != 0 {
		t.Fatal("the first request, for which a connection was made, was counted")
	}
	// All that was asked for while bytes came, and then one that nothing delays.
	for l.rtt.answers, l.rtt.answered = [answerSamples]Time{}, 0; len(r.core.flight.chunks) > 1 || r.core.flight.chunks[0].issued < r.now; {
		ch := r.core.flight.chunks[0]
		r.step(Input{Kind: Finished, Chunk: ch.id, Bytes: ch.rng.Len()})
	}
	id := r.core.flight.chunks[0].id
	for range 2 * Second / (10 * Millisecond) {
		r.now += 10 * Millisecond
		r.step(Input{Kind: Tick})
	}
	r.step(Input{Kind: Progress, Chunk: id, Bytes: 1000})
	if trip := l.rtt.toAnswer(); trip < 1900*Millisecond || trip > 2*Second {
		t.Fatalf("the link is taken to answer within %v s", trip.Seconds())
	}
	if l.rtt.min != 10*Millisecond {
		t.Errorf("its least round trip is %v s", l.rtt.min.Seconds())
	}
	l.est.rate = 1e6
	if ahead := l.beforeAnswer(); ahead < 3.8e6 {
		t.Errorf("it is asked only %.0f bytes ahead", ahead)
	}
	// A request that is answered sooner counts for more.
	l.rtt.observeAnswer(50 * Millisecond)
	if trip := l.rtt.toAnswer(); trip != 50*Millisecond {
		t.Errorf("then within %v s", trip.Seconds())
	}
}

// What the first record of an answer takes a slow link is no latency, and what a request behind
// others waited for is none either.
func TestARecordIsNoLatency(t *testing.T) {
	for _, tt := range []struct {
		alone            bool
		idle, wait, want Time
	}{
		{true, 0, 190 * Millisecond, 59 * Millisecond},
		{true, 0, 500 * Millisecond, 369 * Millisecond},
		{false, 331 * Millisecond, 250 * Millisecond, 0},
	} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 27})
		r.up(1)
		c, l := r.core, &r.core.links[0]
		l.est.burst = arrivalBurst{n: burstCount, latest: [burstCount]int64{recordSize}, rate: 125e3}
		l.streams.server.lasting = true
		l.rtt.data, c.now = 150*Millisecond, Second
		l.health.lastByte = c.now - tt.idle
		l.answered(&chunk{undelayed: tt.alone, issued: c.now - tt.wait}, c.now)
		if got := l.rtt.leastAnswer(); got+Millisecond < tt.want || got > tt.want {
			t.Errorf("alone: %v, answered after %.3f s: a latency of %.3f s, want %.3f s", tt.alone, tt.wait.Seconds(), got.Seconds(), tt.want.Seconds())
		}
	}
}

// What a request waits for whose connection has to be made is no link's latency.
func TestAnAnswerOverANewConnectionIsNoLatency(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 30, Parallelism: 2})
	r.step(Input{Kind: LinkUp, RTT: 20 * Millisecond})
	r.step(Input{Kind: Tick})
	for _, ch := range r.core.flight.chunks {
		if ch.stream == 1 {
			r.now += 200 * Millisecond
			r.step(Input{Kind: Progress, Chunk: ch.id, Bytes: 1000, Trip: 100 * Millisecond})
			if trip := r.core.links[0].rtt.toAnswer(); trip != 20*Millisecond {
				t.Errorf("%v s", trip.Seconds())
			}
			return
		}
	}
	t.Error("no second connection")
}

// FAULTS 1: a link that is alone and banned is asked as any other is, for as long as
// it takes, so that what goes wrong counts.
func TestABannedLinkThatIsTheLastIsAskedNormally(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &naive{}, Size: 1 << 30})
	r.up(2)
	got := map[ChunkID]int64{}
	r.flow(300*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, got)
	r.core.flight.release(0, nil)
	r.core.links[0].ban(r.core.now, 0)
	r.step(Input{Kind: LinkDown, Link: 1})
	asked := NoChunk
	for end := r.now + 20*Second; r.now < end; {
		for _, a := range r.flow(10*Millisecond, nil, got) {
			switch {
			case a.Kind == Start && asked == NoChunk:
				asked = a.Chunk
			case a.Kind == Cancel || a.Kind == Ban:
				t.Fatalf("at %v s: %+v", r.now.Seconds(), a)
			}
		}
	}
	if asked == NoChunk || r.core.links[0].health.banned {
		t.Fatal("the last link was not asked")
	}
	r.step(Input{Kind: Failed, Chunk: asked, Wait: Second})
	if l := &r.core.links[0]; l.health.banned || l.health.notBefore != r.now+Second {
		t.Errorf("its failure did not count: %+v", l.health.notBefore)
	}
}

// A link that has become long, and is not full, brings its bytes in bursts, a round trip
// apart. Between them it is neither without a rate, nor are packets lost time and again.
func TestBurstsOfALongLink(t *testing.T) {
	const trip, rate = 300 * Millisecond, 2e6
	for _, long := range []bool{true, false} {
		c, err := New(Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		l := &c.links[0]
		l.health.up, l.rtt.min, l.load.requests, l.streams.most = true, 20*Millisecond, 1, 1
		l.rtt.data = trip
		if long {
			l.rtt.observeAnswer(trip)
		}
		least := forever
		for l.load.received = 1; c.now < 10*Second; c.now += 10 * Millisecond {
			if at := c.now % trip; at < trip/5 {
				l.load.received += rate * int64(trip) / int64(Second) / 6
				l.health.lastByte = c.now
				if c.now > 5*Second && c.now < 5*Second+2*trip { // one loss, of which what is behind it tells
					l.streams.loss.reordered += 10
				}
			}
			if c.measure(); c.now > 2*Second {
				least = min(least, l.est.rate)
			}
		}
		if found := least > 0.7*rate && !l.streams.loss.random(); found != long {
			t.Errorf("long: %v: at least %.0f kB/s, lost at random: %v", long, least/1e3, l.streams.loss.random())
		}
	}
}
