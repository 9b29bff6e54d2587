package scheduler

import "testing"

// TestAServerThatGivesLessAtOnceIsAskedForNoMore: what its first response lacks is asked for
// again, and no request over its link is longer than that from then on. Another link's are.
func TestAServerThatGivesLessAtOnceIsAskedForNoMore(t *testing.T) {
	const gives = 1 << 20
	r := newRig(t, Config{Links: 2, Policy: &algorithm1{limit: 8 << 20}, Size: 64 << 20, NoSteal: true})
	r.up(2)
	first := map[LinkID]Range{}
	for _, a := range r.acts {
		if a.Kind == Start {
			first[a.Link] = a.Range
		}
	}
	if first[0].Len() <= gives || first[1].Len() <= gives {
		t.Fatalf("asked for %v at first", first)
	}
	r.now = 30 * Millisecond
	r.step(Input{Kind: Short, Link: 0, Chunk: 0, Bytes: gives})
	if a := r.acts[0]; a.Kind != Shrink || a.Chunk != 0 || a.Range != (Range{0, gives}) {
		t.Fatalf("%+v", r.acts)
	}
	if free := r.core.freeMap.open[0].live()[0].Range; free != (Range{gives, first[0].End}) {
		t.Fatalf("%v is free, of %v", free, r.core.freeMap.missing(Range{End: unsized}, nil))
	}
	checkTiles(t, r.core)
	at := map[ChunkID]Range{0: {0, gives}}
	asked := map[LinkID]int64{}
	for range 20 {
		r.now += 100 * Millisecond
		for id, rng := range at {
			delete(at, id)
			for _, a := range r.step(Input{Kind: Finished, Link: 0, Chunk: id, Bytes: rng.Len()}) {
				if a.Kind == Start {
					asked[a.Link] = max(asked[a.Link], a.Range.Len())
					if a.Link == 0 {
						at[a.Chunk] = a.Range
					}
				}
			}
		}
		checkTiles(t, r.core)
	}
	if asked[0] != gives {
		t.Errorf("asked for up to %d bytes at once of a server that gives %d", asked[0], gives)
	}
	r.now += 100 * Millisecond
	r.step(Input{Kind: Finished, Link: 1, Chunk: 1, Bytes: first[1].Len()})
	if r.acts[0].Kind != Start || r.acts[0].Link != 1 || r.acts[0].Range.Len() <= gives {
		t.Errorf("of the other link: %+v", r.acts)
	}
}

// TestAServerThatGivesVaryingParts is asked for as much as it gave at most, and no less than
// what is worth a request.
func TestAServerThatGivesVaryingParts(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm1{limit: 8 << 20}, Size: 64 << 20, Parallelism: 3})
	r.up(1)
	for id, tt := range []struct{ gives, most int64 }{{100, leastRequest}, {1 << 19, 1 << 19}, {1 << 18, 1 << 19}} {
		r.now += 10 * Millisecond
		r.step(Input{Kind: Short, Link: 0, Chunk: ChunkID(id), Bytes: tt.gives})
		if got := r.core.flight.most(0); got != tt.most {
			t.Errorf("after %d bytes: at most %d, want %d", tt.gives, got, tt.most)
		}
		checkTiles(t, r.core)
	}
}

// TestAShortAnswerToWhatIsAskedForTwice: a copy has to have everything that its original
// lacks, and an original that ends sooner leaves the rest to others.
func TestAShortAnswerToWhatIsAskedForTwice(t *testing.T) {
	for _, short := range []ChunkID{0, 2} {
		r := near(t, Config{}, 100_000) // chunk 2 is a copy of chunk 0
		r.now += 20 * Millisecond
		r.step(Input{Kind: Sized, Bytes: 100_000})
		r.step(Input{Kind: Short, Link: LinkID(short / 2), Chunk: short, Bytes: 40_000})
		checkTiles(t, r.core)
		for _, ch := range r.core.flight.chunks {
			if ch.id == 2 && ch.copy {
				t.Errorf("short answer to %d: its copy stays: %+v", short, r.core.flight.chunks)
			}
		}
	}
}
