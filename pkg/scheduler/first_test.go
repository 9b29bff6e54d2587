package scheduler

import "testing"

// starts is what actions have links ask for.
func starts(acts []Action) (links []LinkID, ranges []Range) {
	for _, a := range acts {
		if a.Kind == Start {
			links, ranges = append(links, a.Link), append(ranges, a.Range)
		}
	}
	return links, ranges
}

// TestASmallFileIsSharedFromTheStart: what links ask for before any has been answered is so
// little that all of them have a part of a file of some hundred kilobytes.
func TestASmallFileIsSharedFromTheStart(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: -1})
	r.up(2)
	r.now = 100 * Millisecond
	for _, a := range r.step(Input{Kind: Sized, Bytes: 500_000}) {
		if a.Kind == Cancel {
			t.Errorf("a link has nothing to do: %+v", a)
		}
	}
}

// TestSlowStartIsAskedAhead: a connection whose rate is not known, or still grows, brings
// twice as much in the next round trip, and must have been asked for more by then.
func TestSlowStartIsAskedAhead(t *testing.T) {
	for name, tt := range map[string]struct {
		got    int64 // of 128 KiB
		single bool
		late   Time
		want   bool
	}{
		"it lasts for two more round trips":   {35_000, false, 0, false},
		"the next one brings it":              {60_000, false, 0, true},
		"with its initial window it does":     {42_000, false, 0, true},
		"another connection would be needed":  {60_000, true, 0, false},
		"its rate is known, and still grows":  {50_000, false, 30 * Millisecond, true},
		"its rate is known, and does not":     {60_000, false, 400 * Millisecond, false},
		"its rate is known: it begins slowly": {9_000, false, 100 * Millisecond, false},
	} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: -1, Parallelism: 1, First: defaultFirst})
		r.up(1)
		r.now = 40 * Millisecond
		r.step(Input{Kind: Progress, RTT: 20 * Millisecond, Single: tt.single})
		r.step(Input{Kind: Sized, Bytes: 10_000_000})
		r.step(Input{Kind: Progress, Bytes: 1000})
		acts := r.step(Input{Kind: Tick})
		r.now += 20 * Millisecond
		r.now += tt.late
		r.step(Input{Kind: Progress, Bytes: tt.got})
		acts = append(acts, r.step(Input{Kind: Tick})...)
		if _, got := starts(acts); (len(got) > 0) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAFastLinkIsNotAskedLongAhead: where round trips are short slow start is over before the
// rate is seen not to grow, and over HTTP/2 a request that is sent early is answered early, to
// be kept until somebody reads it.
func TestAFastLinkIsNotAskedLongAhead(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: -1, Parallelism: 1})
	r.up(1)
	r.now = Millisecond
	r.step(Input{Kind: Progress, RTT: 200 * Microsecond})
	r.step(Input{Kind: Sized, Bytes: 500_000_000})
	r.now += 2 * Millisecond
	r.step(Input{Kind: Finished, Bytes: largeFirst})
	first := &r.core.flight.chunks[0]
	for first.left() > 10_000_000 {
		r.now += 10 * Millisecond
		r.step(Input{Kind: Progress, Chunk: 1, Bytes: first.got + 5_000_000})
		if r.step(Input{Kind: Tick}); len(r.core.flight.chunks) > 1 {
			t.Fatalf("the link brings 0.1 MB in a round trip, is owed %d bytes, and was asked for more", first.left())
		}
	}
}

// TestAnOpeningLinkIsLookedAtInTime: in slow start a round trip decides, whether there are free
// bytes to ask for or those that another link has not brought yet.
func TestAnOpeningLinkIsLookedAtInTime(t *testing.T) {
	for name, tt := range map[string]struct {
		links LinkID
		size  int64
		soon  bool
	}{
		"there is more":               {1, 10_000_000, true},
		"the other one has the rest":  {2, 200_000, true},
		"it has been asked for all":   {1, 100_000, false},
		"there is more for both, too": {2, 10_000_000, true},
	} {
		r := newRig(t, Config{Links: int(tt.links), Policy: &algorithm3{padding: AutoPadding}, Size: -1, Parallelism: 1, First: defaultFirst})
		r.up(tt.links)
		r.now = 40 * Millisecond
		r.step(Input{Kind: Progress, RTT: 24 * Millisecond})
		r.step(Input{Kind: Sized, Bytes: tt.size})
		r.step(Input{Kind: Progress, Bytes: 10_000})
		r.step(Input{Kind: Tick})
		if wake := r.core.NextWake() - r.now; (wake == 12*Millisecond) != tt.soon {
			t.Errorf("%s: next look in %v s", name, wake.Seconds())
		}
	}
}

// TestAnOnlyUsableLinkAsksForMore: while there is nobody to share with, a small file is one
// request, unless somebody has said how much it is to be.
func TestAnOnlyUsableLinkAsksForMore(t *testing.T) {
	for _, tt := range []struct {
		up          LinkID // of two links
		first, want int64
	}{{1, 0, 1 << 20}, {2, 0, 128 << 10}, {1, 4 << 10, 16 << 10}, {1, 300_000, 300_000}} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: -1, First: tt.first})
		if _, ranges := starts(r.up(tt.up)); len(ranges) != int(tt.up) || ranges[0].Len() != tt.want {
			t.Errorf("with %d links up and a first request of %d bytes: %v", tt.up, tt.first, ranges)
		}
	}
}

// TestAFailingLinkDoesNotKeepWhatOthersCouldFetch: of naive's three links two fail whenever
// they are asked. What they owe goes to the third one when that has its share, and not from
// one of them to the other and back.
func TestAFailingLinkDoesNotKeepWhatOthersCouldFetch(t *testing.T) {
	r := newRig(t, Config{Links: 3, Policy: &naive{}, Size: 300_000})
	acts := r.up(3)
	links, ranges := starts(acts)
	if len(links) != 3 {
		t.Fatalf("%+v", acts)
	}
	r.now = Second
	r.step(Input{Kind: Finished, Link: 2, Chunk: 2, Bytes: ranges[2].Len()})
	owed := map[ChunkID]LinkID{0: 0, 1: 1}
	for round := 0; len(owed) > 0 && round < 6; round++ {
		for id, link := range owed {
			delete(owed, id)
			r.now += 10 * Second
			for _, a := range r.step(Input{Kind: Failed, Link: link, Chunk: id, Wait: Second}) {
				if a.Kind == Start && a.Link == 2 {
					r.now += Second
					r.step(Input{Kind: Finished, Link: 2, Chunk: a.Chunk, Bytes: a.Range.Len()})
				} else if a.Kind == Start {
					owed[a.Chunk] = a.Link
				}
			}
		}
	}
	if left := r.core.Left(); left > 0 {
		t.Errorf("%d bytes are missing", left)
	}
}

// TestASilentLinkIsNotAskedAhead: that its rate has become nothing is no slow start.
func TestASilentLinkIsNotAskedAhead(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 100_000_000, Parallelism: 1})
	r.up(1)
	r.flow(50*Millisecond, map[ChunkID]float64{0: 2e6}, map[ChunkID]int64{})
	r.step(Input{Kind: Finished, Chunk: 0, Bytes: 128 << 10})
	r.step(Input{Kind: Finished, Chunk: 1, Bytes: 128 << 10})
	r.flow(2*Second, map[ChunkID]float64{2: 2e6}, map[ChunkID]int64{})
	if l := &r.core.links[0]; l.load.received < 4_000_000 || l.load.owed() < 1_000_000 {
		t.Fatalf("%d bytes have come, %d are to come", l.load.received, l.load.owed())
	}
	if _, more := starts(r.flow(2*Second, nil, nil)); r.core.links[0].est.rate > 0 || len(more) > 0 {
		t.Errorf("at %.0f bytes per second it was asked for %v more", r.core.links[0].est.rate, more)
	}
}

// TestARateIsNotLoweredBeforeARoundTrip: the bytes of a burst start the clock, and the next
// burst comes a round trip later.
func TestARateIsNotLoweredBeforeARoundTrip(t *testing.T) {
	const trip = 400 * Millisecond
	e := estimator{rate: 1e6}
	e.observe(0, 50_000, trip)
	for now := 50 * Millisecond; now < trip; now += 50 * Millisecond {
		if e.observe(now, 50_000, trip); e.rate != 1e6 {
			t.Fatalf("%.0f bytes per second after %v s", e.rate, now.Seconds())
		}
	}
	if e.observe(trip, 130_000, trip); e.rate != 200e3 {
		t.Errorf("%.0f bytes per second after a round trip", e.rate)
	}
	e = estimator{rate: 1e5}
	e.observe(0, 50_000, trip)
	if e.observe(trip/2, 130_000, trip); e.rate != 400e3 {
		t.Errorf("%.0f bytes per second: it does rise before that", e.rate)
	}
}

// TestALinkThatHasShownNothingMustGain: it takes over the end of a small file only if that
// is there sooner by half a round trip; links that end together are not worth a connection
// as long as nobody knows how fast it is.
func TestALinkThatHasShownNothingMustGain(t *testing.T) {
	for rate, want := range map[float64]bool{60e3: true, 250e3: false} { // bytes per second
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: -1})
		r.up(2)
		r.now = 180 * Millisecond
		r.step(Input{Kind: Progress, Link: 0, Chunk: 0, RTT: 80 * Millisecond})
		r.step(Input{Kind: Progress, Link: 1, Chunk: 1, RTT: 176 * Millisecond})
		r.step(Input{Kind: Sized, Bytes: 128 << 10})
		acts, got := []Action(nil), int64(0)
		for range 6 {
			r.now += 50 * Millisecond
			got += int64(rate / 20)
			r.step(Input{Kind: Progress, Chunk: 0, Bytes: got})
			acts = append(acts, r.step(Input{Kind: Tick})...)
		}
		if links, ranges := starts(acts); (len(links) > 0) != want {
			t.Errorf("at %.0f bytes per second %v takes over %v", rate, links, ranges)
		}
	}
}
