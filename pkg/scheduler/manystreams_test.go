package scheduler

import "testing"

// far begins a download over a link with a round trip of 300 ms; streams gives
// the chunk of each stream that was started.
func far(t *testing.T) (r *rig, streams map[StreamID]ChunkID) {
	t.Helper()
	r = newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 30})
	streams = map[StreamID]ChunkID{}
	note := func(acts []Action) {
		for _, a := range acts {
			if a.Kind == Start && a.Link == 1 {
				streams[a.Stream] = a.Chunk
			}
		}
	}
	note(r.up(2))
	r.now = 50 * Millisecond
	r.step(Input{Kind: Progress, Link: 0, Chunk: 0, Bytes: 1000, RTT: 20 * Millisecond})
	note(r.step(Input{Kind: Tick}))
	if len(streams) != 1 {
		t.Fatalf("%d streams before anything is known of the link", len(streams))
	}
	r.now = 110 * Millisecond // no connection yet: it takes that long at least
	note(r.step(Input{Kind: Tick}))
	if n := len(streams); n < 2 || n > 2*farStreams {
		t.Fatalf("%d streams after 110 ms", n)
	}
	r.now = 310 * Millisecond
	r.step(Input{Kind: Progress, Link: 1, Chunk: streams[0], RTT: 300 * Millisecond})
	note(r.step(Input{Kind: Tick}))
	if n := len(streams); n != 60 {
		t.Fatalf("%d streams over 300 ms", n)
	}
	return r, streams
}

func TestALongTripStartsWithManyStreams(t *testing.T) {
	r, _ := far(t)
	if n := r.core.Link(0).Streams; n != 1 {
		t.Errorf("the near link has %d streams", n)
	}
}

func TestAServerMayBoundTheConnections(t *testing.T) {
	r, streams := far(t)
	r.now = 620 * Millisecond
	r.step(Input{Kind: Progress, Link: 1, Chunk: streams[3], Bytes: 1000})
	for s, id := range streams {
		if s >= 4 {
			r.step(Input{Kind: Failed, Link: 1, Chunk: id, Wait: Second})
		}
	}
	if l := &r.core.links[1]; l.health.banned || l.health.notBefore > r.now {
		t.Error("the link has to wait because of connections that it can do without")
	}
	// Nothing is asked of them again, and a failure of those that work counts.
	r.now += 400 * Millisecond
	r.step(Input{Kind: Progress, Link: 1, Chunk: streams[3], Bytes: 14000})
	for _, a := range r.step(Input{Kind: Tick}) {
		if a.Kind == Start && a.Link == 1 && a.Stream >= 4 {
			t.Errorf("stream %d is tried again", a.Stream)
		}
	}
	r.step(Input{Kind: Failed, Link: 1, Chunk: streams[3], Bytes: 14000, Wait: Second})
	if l := &r.core.links[1]; l.health.notBefore <= r.now {
		t.Error("a connection that worked has failed, and the link need not wait")
	}
}

func TestAConnectionCanDieByItself(t *testing.T) {
	r, streams := far(t)
	got := map[ChunkID]int64{}
	rates := map[ChunkID]float64{0: 1e6}
	for s, id := range streams {
		if s != 7 {
			rates[id] = 1e5
		}
	}
	released := false
	for _, a := range r.flow(4*Second, rates, got) {
		released = released || a.Kind == Cancel && a.Chunk == streams[7]
		if a.Kind == Ban {
			t.Fatalf("%+v", a)
		}
	}
	if !released {
		t.Error("the stream that never answered keeps its bytes")
	}
}

// What more connections have been asked for must not depend on whether the rates
// of those that there were have been measured since.
func TestNewStreamsGetTheirPart(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 30})
	r.up(1)
	got := map[ChunkID]int64{}
	r.flow(Second, map[ChunkID]float64{0: 4e6}, got)
	l := &r.core.links[0]
	if l.speeds.sum == 0 {
		t.Fatal("its connection has not been measured")
	}
	r.step(Input{Kind: Progress, Link: 0, Chunk: 0, Bytes: got[0], RTT: 200 * Millisecond})
	l.streams.most, l.streams.trial.helped = 8, true
	r.step(Input{Kind: Tick})
	for s := range StreamID(8) {
		if p := l.shareOf(s); p < 0.12 || p > 0.13 {
			t.Errorf("stream %d of 8 has %.3f of the link's rate", s, p)
		}
	}
}

func TestAShortFileOpensFewConnections(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 4 << 20})
	r.up(2)
	r.now = 110 * Millisecond
	r.step(Input{Kind: Progress, Link: 0, Chunk: 0, Bytes: 1000, RTT: 20 * Millisecond})
	r.step(Input{Kind: Tick})
	if n := r.core.Link(1).Streams; n > 8 {
		t.Errorf("%d connections for 4 MiB", n)
	}
}

func TestAnUnknownSizeOpensNoMoreConnections(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: -1})
	r.up(2)
	r.now = 250 * Millisecond
	r.step(Input{Kind: Tick})
	if n := r.core.Link(0).Streams + r.core.Link(1).Streams; n != 2 {
		t.Errorf("%d connections before the size is known", n)
	}
	r.step(Input{Kind: Sized, Bytes: 6 << 20})
	r.step(Input{Kind: Tick})
	if n := r.core.Link(1).Streams; n < 2 || n > 12 { // half a MiB each
		t.Errorf("%d connections for 6 MiB", n)
	}
}

// Connections that are all at work have the link's rate between them; those that
// remain when others have nothing to do any more have it to themselves, but grow by
// no more than a window in a round trip.
func TestConnectionsGrowByWhatIdleOnesLeave(t *testing.T) {
	for _, c := range []struct {
		working int
		factor  float64
	}{{8, 1}, {6, 8.0 / 6}, {4, 2}, {1, 2}} {
		v := &speeds{}
		o := eta{speeds: v, active: c.working, rate: 8000 / float64(c.working), full: 8000 / float64(c.working)}
		for s := range 8 {
			v.rate[s] = 1000
			v.sum += v.rate[s]
			if s < c.working {
				o.sum += v.rate[s]
			}
		}
		if got, want := o.speed(0), 1000*c.factor; got < 0.999*want || got > 1.001*want {
			t.Errorf("%d of 8 at work: %.0f bytes/s, want %.0f", c.working, got, want)
		}
	}
}
