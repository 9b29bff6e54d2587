package scheduler

import "testing"

// TestAServerThatBoundsConnections: one that is too busy for a request while it answers others of
// the link has one connection too many, which is left out, and the link goes on at once; until as
// few are left as it has been seen to serve at a time. Then it is the server that is busy.
func TestAServerThatBoundsConnections(t *testing.T) {
	for answers := 1; answers < 4; answers++ {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 8 << 20})
		r.up(1)
		c, l := r.core, &r.core.links[0]
		c.flight.chunks, l.load.requests, l.load.queues = c.flight.chunks[:0], 0, [MaxStreams]queue{}
		l.streams.most, l.streams.worked = 5, 31
		r.now, c.now = 10*Millisecond, 10*Millisecond
		for s := range StreamID(5) {
			c.startAt(0, s, Range{int64(s) << 20, int64(s+1) << 20})
		}
		for failed := 1; failed <= 5-answers+1; failed++ {
			id := c.flight.latest().id
			c.flight.received(c.flight.find(id), &Input{Kind: Failed, Chunk: id, Wait: 250 * Millisecond, Bounded: max(1, answers+1-failed)}, nil)
			if left := l.streams.serving(); left != max(answers, 5-failed) {
				t.Errorf("it answers %d: %d are left after failure %d", answers, left, failed)
			}
			if waits := l.health.notBefore > c.now; waits != (failed > 5-answers) {
				t.Errorf("it answers %d: the link waits after failure %d: %v", answers, failed, waits)
			}
		}
	}
}

// TestWhatAServerServesIsAskedForMore: the policy's share is not divided among connections that
// are not served.
func TestWhatAServerServesIsAskedForMore(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 8 << 20})
	r.up(1)
	l := &r.core.links[0]
	l.streams.most = 4
	if p := l.shareOf(0); p != 0.25 {
		t.Errorf("one of four has %v", p)
	}
	l.streams.refuse(1)
	l.streams.refuse(3)
	l.streams.refuse(9) // which it does not use
	if p := l.shareOf(0); p != 0.5 {
		t.Errorf("one of two has %v", p)
	}
}

// TestARefusedConnectionIsNotAskedAgain, not even where it is the first one and nothing else is in
// flight, as long as there is another one.
func TestARefusedConnectionIsNotAskedAgain(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm1{limit: 1 << 20}, Size: 8 << 20, Parallelism: 2})
	r.up(1)
	first, second := r.core.flight.chunks[0].id, r.core.flight.chunks[1].id
	r.now = 50 * Millisecond
	r.step(Input{Kind: Progress, Chunk: second, Bytes: 1000, RTT: 20 * Millisecond})
	r.step(Input{Kind: Failed, Chunk: first, Bounded: 1, Wait: 250 * Millisecond})
	for len(r.core.flight.chunks) > 0 {
		r.now += 50 * Millisecond
		ch := &r.core.flight.chunks[0]
		if ch.stream != 1 {
			t.Fatalf("stream %d is asked", ch.stream)
		}
		r.step(Input{Kind: Finished, Chunk: ch.id, Bytes: ch.rng.Len()})
	}
	if left := r.core.Left(); left > 0 {
		t.Errorf("%d bytes are left", left)
	}
}
