package scheduler

import (
	"slices"
	"testing"
)

// setFree makes nothing else than these ranges of one object free.
func (s *freeMap) setFree(free ...Range) {
	s.files[0].owed -= s.open[0].bytes
	s.open[0] = freeList{}
	for _, r := range free {
		s.files[0].owed += r.Len()
		s.open[0].put(part{Range: r, piece: Range{End: s.end}})
	}
}

// TestFreeMapOfOneObject: bytes that are there are not free, those that are taken come from the
// first free one on, and what is given back joins its neighbours.
func TestFreeMapOfOneObject(t *testing.T) {
	s := newFreeMap(100, []Range{{10, 20}, {15, 30}, {90, 100}})
	want := func(free ...Range) {
		t.Helper()
		if got := s.missing(Range{End: unsized}, nil); !slices.Equal(got, free) {
			t.Fatalf("%v are free, want %v", got, free)
		}
		total := int64(0)
		for _, r := range free {
			total += r.Len()
		}
		if s.bytes() != total || s.empty() != (total == 0) {
			t.Fatalf("%d bytes are free, want %d; none: %v", s.bytes(), total, s.empty())
		}
	}
	want(Range{0, 10}, Range{30, 90})
	first := s.take(0, false, 0, 50)
	second := s.take(0, false, 0, 10)
	if first.Range != (Range{0, 10}) || second.Range != (Range{30, 40}) {
		t.Fatalf("%v and %v were taken", first.Range, second.Range)
	}
	want(Range{40, 90})
	s.give(second)
	s.give(part{Range: Range{5, 10}, piece: first.piece})
	want(Range{5, 10}, Range{30, 90})
	s.resize(50)
	want(Range{5, 10}, Range{30, 50})
	if s.head() != 5 || !s.last() {
		t.Fatalf("the first free byte is %d; all is known: %v", s.head(), s.last())
	}
	s = newFreeMap(-1, nil)
	want(Range{0, unsized})
	if s.last() {
		t.Fatal("the size is known")
	}
}

// startAt has a stream ask for bytes of one object, free or not.
func (c *Core) startAt(id LinkID, stream StreamID, r Range) []Action {
	c.flight.now = c.now
	f := &c.freeMap.files[0]
	f.owed += r.Len()
	return c.flight.start(id, stream, part{Range: r, piece: Range{End: c.freeMap.end}}, nil)
}
