package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFlightFindsWhatIsUnderWay compares it with a map, through more requests than it has room for.
func TestFlightFindsWhatIsUnderWay(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	f, model := newFlight(4, &Config{}, nil, nil), map[ChunkID]chunk{}
	f.freeMap = &freeMap{end: 500}
	for step := range 20_000 {
		if n := len(model); n < 12 && random.IntN(2) == 0 || n == 0 {
			off := random.Int64N(1000)
			ch := chunk{link: LinkID(random.IntN(3)), stream: StreamID(random.IntN(4)), ofFile: ofFile{slot: int32(random.IntN(3))}, rng: Range{off, off + random.Int64N(100)}, copy: random.IntN(4) == 0}
			ch.id = f.add(ch).id
			if _, twice := model[ch.id]; twice {
				t.Fatalf("step %d: the id %d twice", step, ch.id)
			}
			model[ch.id] = ch
		} else {
			i := random.IntN(n)
			id := f.chunks[i].id
			if f.drop(i); f.find(id) >= 0 {
				t.Fatalf("step %d: %d is still there", step, id)
			}
			delete(model, id)
		}
		if len(f.chunks) != len(model) || !slices.IsSortedFunc(f.chunks, func(a, b chunk) int { return int(a.id - b.id) }) {
			t.Fatalf("step %d: %d requests, %d in the model", step, len(f.chunks), len(model))
		}
		var owed [3]int64
		var streams uint64
		head := int64(500)
		for id, ch := range model {
			if i := f.find(id); i < 0 || f.chunks[i].rng != ch.rng {
				t.Fatalf("step %d: %d was not found", step, id)
			}
			owed[ch.link] += ch.rng.Len()
			if ch.link == 1 && ch.slot == 2 {
				streams |= 1 << ch.stream
			}
			if !ch.copy && !ch.rng.Empty() {
				head = min(head, ch.rng.Off)
			}
		}
		if f.owed(0) != owed[0] || f.at(2, 1) != streams || f.head() != head {
			t.Fatalf("step %d: owed %d, want %d; streams %b, want %b; head %d, want %d", step, f.owed(0), owed[0], f.at(2, 1), streams, f.head(), head)
		}
	}
}
