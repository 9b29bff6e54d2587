package scheduler

import "testing"

// lossy is a link whose only connection was asked for many bytes and has brought some of
// them, when it turns out that eight carry more.
func lossy(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, Config{Links: 1, First: 16 << 20, Policy: &algorithm3{padding: AutoPadding}, Size: 60 << 20})
	r.up(1)
	got := map[ChunkID]int64{}
	rates := map[ChunkID]float64{}
	for id := range ChunkID(40) { // whatever it asks for
		rates[id] = 4e6
	}
	r.flow(2*Second, rates, got)
	s := &r.core.links[0].streams
	s.most, s.trial.began, s.trial.helped = 8, r.now, true
	return r
}

func TestAConnectionGivesBackWhatManyHaveSooner(t *testing.T) {
	r := lossy(t)
	before := r.core.flight.left()
	free := r.core.freeMap.unasked()
	ch := r.core.flight.chunks[0]
	for _, o := range r.core.flight.chunks {
		if o.left() > ch.left() && o.got >= leastGiveBack {
			ch = o
		}
	}
	if ch.got < leastGiveBack || ch.left() < 4<<20 {
		t.Fatalf("it has got %d bytes, and %d are to come", ch.got, ch.left())
	}
	shrunk := false
	for _, a := range r.step(Input{Kind: Tick}) {
		shrunk = shrunk || a.Kind == Shrink && a.Chunk == ch.id && a.Range.End < ch.rng.End
	}
	if !shrunk {
		t.Errorf("it keeps %d bytes", ch.left())
	}
	if r.core.flight.left() != before || r.core.freeMap.unasked() > free {
		t.Errorf("%d bytes are left, %d of them free; before it was %d and %d", r.core.flight.left(), r.core.freeMap.unasked(), before, free)
	}
	for range 20 {
		r.now += 50 * Millisecond
		for _, a := range r.step(Input{Kind: Tick}) {
			if a.Kind == Shrink && a.Chunk == ch.id {
				t.Fatalf("it gives back more: %+v", a)
			}
		}
	}
}

func TestAnOnlyConnectionKeepsWhatItWasAskedFor(t *testing.T) {
	r := lossy(t)
	r.core.links[0].streams.most = 1
	for _, a := range r.step(Input{Kind: Tick}) {
		if a.Kind == Shrink {
			t.Errorf("%+v", a)
		}
	}
}

// A link's rate is not that of the first of its many requests that ends.
func TestOneOfManyRequestsTellsNoRate(t *testing.T) {
	r, streams := far(t)
	l := &r.core.links[1]
	if l.est.rate != 0 || l.load.requests < 2 {
		t.Fatalf("rate %.0f, %d requests", l.est.rate, l.load.requests)
	}
	ch := r.core.flight.chunks[r.core.flight.find(streams[1])]
	r.now += 2 * Second
	r.step(Input{Kind: Finished, Link: 1, Chunk: streams[1], Bytes: ch.rng.Len()})
	if l.est.rate != 0 {
		t.Errorf("%.0f bytes per second of a request for %d", l.est.rate, ch.rng.Len())
	}
}
