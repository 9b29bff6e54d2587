package scheduler

import "testing"

// ending is a download over a near link and a far one of 61 connections, both measured,
// of which so many bytes are still free.
func ending(t *testing.T, free int64) *rig {
	t.Helper()
	r, _ := far(t)
	near, link := &r.core.links[0], &r.core.links[1]
	near.est.rate, link.est.rate = 1e7, 7e6
	near.health.lastByte, link.health.lastByte = r.now, r.now
	r.core.freeMap.setFree(Range{0, free})
	for id := range LinkID(2) { // what is in flight lasts for 0.6 s
		l := &r.core.links[id]
		for l.load.owed() > int64(0.6*l.est.rate) {
			for i := range r.core.flight.chunks {
				if ch := &r.core.flight.chunks[i]; ch.link == id && ch.left() > 4096 {
					x := ch.left() / 2
					r.core.links[id].load.owe(ch.stream, -x)
					ch.rng.End -= x
				}
			}
		}
	}
	return r
}

// A connection that was cut short, and would not be made anew in time, is asked for nothing:
// others would take that over at once. It is when there is time enough.
func TestNothingIsAskedOfAConnectionThatIsBackTooLate(t *testing.T) {
	for free, want := range map[int64]bool{100 << 10: false, 100 << 20: true} {
		r := ending(t, free)
		l := &r.core.links[1]
		for i := range r.core.flight.chunks {
			if ch := &r.core.flight.chunks[i]; ch.link == 1 && ch.stream == 5 {
				r.core.flight.end(i, nil)
				break
			}
		}
		r.core.freeMap.setFree(Range{0, free})
		l.load.queues[5] = queue{}
		l.streams.lose(5, r.core.flight.next)
		l.streams.worked |= 1 << 5
		if trips := l.streams.trips(5); trips != reconnectRTTs {
			t.Fatalf("%d round trips", trips)
		}
		s, ok := r.core.assignment.ready(1)
		if got := ok && s == 5; got != want {
			t.Errorf("%d bytes are free: connection %d, %v", free, s, ok)
		}
	}
}

// Over HTTP/2 a request that is cut short leaves its connection as it was; one that fails
// does not.
func TestConnectionsThatLastAreNotLostByACut(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 64 << 20, First: 1 << 20})
		r.up(2)
		r.flow(500*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, map[ChunkID]int64{})
		r.step(Input{Kind: Progress, Chunk: 0, Bytes: 400_000, Lasting: lasting})
		ch := r.core.flight.chunks[r.core.flight.find(0)]
		r.core.flight.takeOver(1, 0, &r.core.flight.chunks[r.core.flight.find(0)], ch.left()/2, nil)
		want := Time(reconnectRTTs)
		if lasting {
			want = 1
		}
		if got := r.core.links[0].streams.trips(ch.stream); got != want {
			t.Errorf("lasting %v: the next answer takes %d round trips", lasting, got)
		}
	}
	r := batchRig(t, 20*Millisecond)
	r.add(0, 0, 1<<20, false)
	r.expect(1 << 20)
	r.tick()
	r.now += 100 * Millisecond
	r.step(Input{Kind: Progress, Chunk: 0, Bytes: 1000, Lasting: true})
	r.step(Input{Kind: Failed, Chunk: 0, Bytes: 1000})
	if got := r.core.links[0].streams.trips(0); got != reconnectRTTs {
		t.Errorf("a connection that failed answers in %d round trips", got)
	}
}
