package scheduler

import "testing"

// A link of 1 MB/s, whose round trip takes 20 ms and, with its queue, 60 ms.
const (
	queuedTrip = 60 * Millisecond
	steady     = 1e6 // bytes per second
)

// single tells that the server serves one request a connection, or not, with the first
// request's progress.
func (r *rig) single(bytes int64, yes bool) {
	r.step(Input{Kind: Progress, Bytes: bytes, RTT: 20 * Millisecond, Trip: queuedTrip, Single: yes})
}

// TestAnotherConnectionIsMadeInTime: where each request needs its own, its first byte
// follows the last one of the request before; where they share one, it is asked for later.
func TestAnotherConnectionIsMadeInTime(t *testing.T) {
	for _, yes := range []bool{true, false} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 40_000_000, First: 1 << 20, Parallelism: 1})
		r.up(1)
		got := map[ChunkID]int64{}
		left := int64(0)
		for second := false; !second; {
			if r.now > 2*Second {
				t.Fatalf("single %v: no second request", yes)
			}
			for _, a := range r.flow(10*Millisecond, map[ChunkID]float64{0: steady}, got) {
				second = second || a.Kind == Start
			}
			r.single(got[0], yes)
			left = 1<<20 - got[0]
		}
		handshake := (connectRTTs * queuedTrip).Seconds() * steady
		if early := float64(left) > handshake-0.02*steady; early != yes {
			t.Errorf("single %v: the second request was sent %d bytes before the end of the first one", yes, left)
		}
	}
}

// TestSlowStartOfNextConnectionKeepsRate: what the first round trips of a connection that replaces
// another one bring does not lower the link's rate; what comes later does.
func TestSlowStartOfNextConnectionKeepsRate(t *testing.T) {
	for _, yes := range []bool{true, false} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 40_000_000, First: 1 << 20, Parallelism: 1})
		r.up(1)
		got := map[ChunkID]int64{}
		r.single(0, yes)
		r.flow(Second, map[ChunkID]float64{0: steady}, got)
		r.step(Input{Kind: Finished, Chunk: 0, Bytes: 1 << 20})
		rate := func() float64 { return r.core.Link(0).Rate }
		r.flow(100*Millisecond, map[ChunkID]float64{1: 0.3 * steady}, got)
		if kept := rate() > 0.9*steady; kept != yes {
			t.Errorf("single %v: %.0f bytes per second while a connection began, %.0f before", yes, rate(), steady)
		}
		r.flow(500*Millisecond, map[ChunkID]float64{1: 0.3 * steady}, got)
		if rate() > 0.4*steady {
			t.Errorf("single %v: %.0f bytes per second long after, want %.0f", yes, rate(), 0.3*steady)
		}
	}
}

// TestNoConnectionForLittle: what comes while a connection is made is not worth one.
func TestNoConnectionForLittle(t *testing.T) {
	for _, yes := range []bool{true, false} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 40_000_000, First: 1 << 20, Parallelism: 1})
		r.up(2)
		l := &r.core.links[0]
		r.single(1000, yes)
		l.est.rate = steady
		want := (connectRTTs * 20 * Millisecond).Seconds() * steady
		if !yes {
			want = float64(leastRequest)
		}
		if got := l.atLeast(r.core.cfg.minRequest()); float64(got) != want {
			t.Errorf("single %v: a request is worth it from %d bytes on, want %.0f", yes, got, want)
		}
		if trips := l.streams.trips(0); (trips == reconnectRTTs) != yes {
			t.Errorf("single %v: the next answer takes %d round trips", yes, trips)
		}
		// So much is left to the other link that taking it over would just be worth it.
		r.core.links[1].est.rate = steady
		th := (View{r.core}).newThief(0, 0)
		own, other := &th.own, &th.other
		View{r.core}.eta(0, own)
		View{r.core}.eta(1, other)
		own.trip, own.owed[0] = 0, 0
		victim, _ := other.latest(noStream)
		other.owed[victim], other.wait[victim] = 2*leastRequest+2000, 0
		end := other.end(victim)
		if x := th.stealSize(other, victim, end); (x == 0) != yes {
			t.Errorf("single %v: %d bytes are taken over", yes, x)
		}
		// More would be, but for what a slow start takes, and unless it gains what a
		// connection costs.
		own.trip, other.owed[victim] = 0.02, 1_000_000
		l.streams.conn[0].brought = 1 << 20
		delay := own.delay(0)
		x := int64(balanced(1e6, steady, steady, delay))
		if slow := own.next(0, 30_000) > own.lasts(0, 30_000); slow != yes {
			t.Errorf("single %v: 30,000 bytes take %.3f s", yes, own.next(0, 30_000))
		}
		if x := th.stealSize(other, victim, delay+own.next(0, x)+0.03); (x == 0) != yes {
			t.Errorf("single %v: %d bytes are taken over to gain 0.03 s", yes, x)
		}
	}
}

// fixed asks each time for so many bytes.
type fixed int64

func (fixed) Name() string                 { return "fixed" }
func (f fixed) Request(View, LinkID) int64 { return int64(f) }
func (fixed) Victim(View, LinkID) LinkID   { return NoLink }

// TestNoConnectionForARemainder: it goes along with the request before, or to a link that
// brings more of it.
func TestNoConnectionForARemainder(t *testing.T) {
	const rest = 20_000
	for _, yes := range []bool{true, false} {
		r := newRig(t, Config{Links: 1, Policy: fixed(1 << 20), Size: 2<<20 + rest, First: 1 << 20, Parallelism: 1})
		r.up(1)
		r.single(1000, yes)
		r.core.links[0].est.rate = steady
		acts := r.core.assignment.request(0, 0, nil)
		if got := acts[0].Range.Len() - 1<<20; (got == rest) != yes {
			t.Errorf("single %v: %d bytes go along, of %d", yes, got, rest)
		}

		// 30,000 bytes are this link's share, and 50,000 the other's.
		r = newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 2<<20 + 80_000, First: 1 << 20, Parallelism: 1})
		r.up(2)
		for id, owed := range []int64{70_000, 50_000} {
			r.step(Input{Kind: Progress, Link: LinkID(id), Chunk: ChunkID(id), Bytes: 1<<20 - owed, RTT: 20 * Millisecond, Single: yes})
			r.core.links[id].est.rate = steady
		}
		if got := (&algorithm3{padding: AutoPadding}).Request(View{r.core}, 0); (got == 0) != yes {
			t.Errorf("single %v: %d bytes are asked for, and the other link can bring more", yes, got)
		}
	}
}

// TestABatchHasManyServers: what one of them does says nothing of the others.
func TestABatchHasManyServers(t *testing.T) {
	r := batchRig(t, 20*Millisecond)
	r.add(0, 0, 1<<20, false)
	r.expect(1 << 20)
	r.tick()
	r.single(1000, true)
	if r.core.links[0].streams.server.single {
		t.Error("each request of the batch is taken to need its own connection")
	}
}
