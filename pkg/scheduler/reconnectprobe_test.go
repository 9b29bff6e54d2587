package scheduler

import "testing"

// reconnects counts the requests that are made over other streams than the first while
// nothing comes for so long, and those that are given up.
func (r *rig) reconnects(d Time) (made, given int) {
	for end := r.now + d; r.now < end; {
		r.now += 50 * Millisecond
		for _, a := range r.step(Input{Kind: Tick}) {
			switch {
			case a.Kind == Start && a.Stream > 0:
				made++
			case a.Kind == Cancel:
				given++
			}
		}
	}
	return made, given
}

// An only link that falls silent in the middle is asked over another connection, again
// and again; what is stuck is released when that one is answered, and not before.
func TestAnOnlyLinkThatFallsSilentIsProbedOverAnotherConnection(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 100 << 20})
	r.step(Input{Kind: LinkUp, RTT: 20 * Millisecond})
	r.tick()
	got := map[ChunkID]int64{}
	r.flow(Second, map[ChunkID]float64{0: 1e6}, got)
	stuck := len(r.core.flight.chunks)
	made, given := r.reconnects(3 * Second)
	if made < 4 || given != made-1 {
		t.Fatalf("in 3 s it was probed %d times, and %d of them were given up", made, given)
	}
	if n := len(r.core.flight.chunks); n != stuck+1 {
		t.Fatalf("%d requests are in flight, not the %d that are stuck and one", n, stuck)
	}
	probe := r.core.links[0].health.reconnect.chunk
	r.now += 10 * Millisecond
	r.step(Input{Kind: Progress, Chunk: probe, Bytes: 10_000})
	r.tick()
	if r.core.flight.find(0) >= 0 || r.core.flight.find(probe) < 0 {
		t.Error("what is stuck has not been released, or the answered one has")
	}
	if made, _ := r.reconnects(300 * Millisecond); made > 1 {
		t.Errorf("it is still probed: %d times", made)
	}
}

// A server that thinks before its first byte is asked once.
func TestAServerThatThinksIsAskedOnce(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 100 << 20})
	r.step(Input{Kind: LinkUp, RTT: 20 * Millisecond})
	r.tick()
	if made, given := r.reconnects(20 * Second); made+given > 0 {
		t.Errorf("%d more requests, %d given up", made, given)
	}
}

// Neither is a link whose number of connections is given.
func TestAGivenNumberOfConnectionsIsKept(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 100 << 20, Parallelism: 1})
	r.step(Input{Kind: LinkUp, RTT: 20 * Millisecond})
	r.tick()
	r.flow(Second, map[ChunkID]float64{0: 1e6}, map[ChunkID]int64{})
	if made, _ := r.reconnects(5 * Second); made > 0 {
		t.Errorf("%d requests on other connections", made)
	}
}
