package scheduler

import "testing"

// TestSharesOverTLS are given out when the head of a response is there, of which the first data may
// show a round trip later: with the end of a record, which the first connection keeps. As some of
// their first packets are not full, they are smaller.
func TestSharesOverTLS(t *testing.T) {
	const trip, size = 300 * Millisecond, 100_001 // what is kept is less than a least request
	r, _ := dark(t, Config{TLS: true}, trip)
	r.now = 3 * trip
	r.step(Input{Kind: Progress, RTT: trip, Lasting: true, Answered: true})
	acts := r.step(Input{Kind: Sized, Bytes: size})
	r.now = r.core.NextWake()
	for before := -1; before < len(acts); {
		before = len(acts)
		acts = append(acts, r.step(Input{Kind: Tick})...)
	}
	kept, shares := int64(size), 0
	for _, a := range acts {
		switch a.Kind {
		case Start:
			if shares++; a.Range.Len() > firstBytesSecure {
				t.Errorf("a share of %d", a.Range.Len())
			}
		case Shrink:
			if kept = a.Range.End; a.Chunk != 0 || a.Range.Off != 0 || !a.Close && kept < size {
				t.Errorf("%+v", a)
			}
		default:
			t.Errorf("%+v", a)
		}
	}
	if want := (size - int(recordSize) + firstBytesSecure - 1) / firstBytesSecure; shares != want || kept > recordSize || kept < recordSize-int64(want) {
		t.Errorf("%d shares, want %d; %d for the first", shares, want, kept)
	}
}

// TestAShareIsNotSharedAgain: what one of the connections that were made ahead has taken over from
// another link may be more than any other has, but they have all nothing else.
func TestAShareIsNotSharedAgain(t *testing.T) {
	r, _ := dark(t, Config{}, 300*Millisecond)
	c := r.core
	l := &c.links[0]
	l.streams.ahead.room, l.load.assigned, c.flight.chunks[0].rng = MaxStreams, firstBytes, Range{End: firstBytes}
	c.startAt(0, 1, Range{firstBytes, 6 * firstBytes})
	if acts := c.flight.split(0, 2, nil); len(acts) > 0 {
		t.Errorf("%+v", acts)
	}
	l.streams.worked |= 2 // it has brought something: it is one as any other
	if acts := c.flight.split(0, 2, nil); len(acts) == 0 {
		t.Error("none for one of what the other has")
	}
}
