package scheduler

import "testing"

// What was asked for twice, and then not received twice, may be asked for twice again:
// requests that are late at the end of a job have copies however many there were.
func TestACopyThatLosesIsNotSpent(t *testing.T) {
	const rest = 50_000
	for _, winner := range []LinkID{0, 1} {
		r := batchRig(t, 20*Millisecond, 20*Millisecond)
		r.add(0, 0, rest, false)
		r.expect(1000)
		r.tick()
		c := r.core
		original := c.flight.chunks[0].id
		out := c.flight.duplicate(1, 0, &c.flight.chunks[0], nil)
		if c.flight.copied != rest {
			t.Fatalf("%d bytes are asked for twice", c.flight.copied)
		}
		won := original
		if winner == 1 {
			won = out[0].Chunk
		}
		r.step(Input{Kind: Progress, Link: 1 - winner, Chunk: original + out[0].Chunk - won, Bytes: 2000})
		r.step(Input{Kind: Finished, Link: winner, Chunk: won, Bytes: rest})
		if want := int64(2000 + initialWindow); c.flight.copied != want {
			t.Errorf("link %d won: %d bytes count as received twice, not %d", winner, c.flight.copied, want)
		}
		if l := &c.links[1-winner]; l.streams.trips(0) != reconnectRTTs {
			t.Errorf("link %d won: the connection of the other is as good as before", winner)
		}
	}
}

// Near the end of a job files of unknown size come first.
func TestSizesAreLearntBeforeTheEnd(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		more  int64 // bytes that are still to come
		fresh bool
	}{{1 << 30, false}, {0, true}} {
		r := batchRig(t, 300*Millisecond)
		r.known(1e6)
		s := &r.core.freeMap
		s.guesses.learn(mib, 600_000)
		r.add(0, 0, 600_000, false)
		r.add(1, mib, 2*mib, true)
		s.take(0, true, 0, 100_000)
		r.expect(c.more)
		r.tick()
		first := r.starts()
		if len(first) == 0 || (first[0].Off == mib) != c.fresh {
			t.Errorf("with %d bytes more: %v", c.more, first)
		}
	}
}

// The last byte's time is what is expected after the connection's own round trips: a
// request on the old connection does not wait for the new one.
func TestOnlyRequestsAfterACutWaitForAnotherConnection(t *testing.T) {
	const trip = 100 * Millisecond
	r := batchRig(t, trip)
	r.add(0, 0, 200_000, false)
	r.expect(1 << 30)
	r.tick()
	l := &r.core.links[0]
	l.streams.worked = 1
	ch := &r.core.flight.chunks[0]
	if at := l.expected(ch); at != ch.issued+trip {
		t.Errorf("expected at %v", at)
	}
	l.streams.lose(0, ch.id+1)
	if at := l.expected(ch); at != ch.issued+trip {
		t.Errorf("a request before the cut is expected at %v", at)
	}
	ch.id, l.streams.conn[0].cut = 7, 7
	if at := l.expected(ch); at != ch.issued+reconnectRTTs*trip {
		t.Errorf("a request after the cut is expected at %v", at)
	}
}
