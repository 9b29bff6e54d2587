package scheduler

import (
	"math/rand/v2"
	"testing"
)

// TestConnectionsDoNotRobEachOtherByTurns: connections of one link share what is left, and
// that comes to an end. If a thief's end is counted otherwise than a victim's, each of two
// that start slowly seems to be the sooner one, and over HTTP/2, where that costs no
// connection, they take the same bytes from each other for as long as they are asked.
func TestConnectionsDoNotRobEachOtherByTurns(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1000))
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 40_000_000, First: 1 << 20})
		r.up(1)
		c, l := r.core, &r.core.links[0]
		c.flight.chunks = c.flight.chunks[:0]
		c.freeMap.setFree()
		l.load.requests, l.load.queues = 0, [MaxStreams]queue{}
		l.rtt.min, l.est.rate = Time(20+rnd.IntN(300))*Millisecond, 1e6*float64(1+rnd.IntN(30))
		n := 2 + rnd.IntN(5)
		l.streams.most, l.streams.server.lasting, l.streams.worked = StreamID(n), true, 1<<n-1
		r.now += 10 * Second
		c.now = r.now
		off := int64(30_000_000)
		for s := range n {
			l.streams.conn[s].brought = 1 << (10 + rnd.IntN(11))
			l.streams.conn[s].heard = r.now - Time(rnd.IntN(600))*Millisecond
			if rnd.IntN(3) > 0 {
				end := off + int64(1+rnd.IntN(30))<<12
				c.startAt(0, StreamID(s), Range{off, end})
				off = end
			}
		}
		moved := 0
		for turn := range 100 {
			moved += min(1, len(c.assignment.steal(0, StreamID(turn%n), nil)))
		}
		if moved > 25 {
			t.Errorf("seed %d: %d connections take from each other %d times at one time", seed, n, moved)
		}
	}
}
