package scheduler

import "testing"

// TestNobodyRobsWhoHasJustBegun lets a small object's only request receive its
// first bytes while the other link is idle: its rate is not known yet, so what
// would be fair cannot be known either.
func TestNobodyRobsWhoHasJustBegun(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: -1, First: 1 << 20})
	r.up(2)
	c := r.core
	c.Step(20*Millisecond, Input{Kind: Sized, Bytes: 200_000}, nil) // nothing is left for link 1
	c.Step(21*Millisecond, Input{Kind: Progress, Link: 0, Chunk: 0, Bytes: 5000}, nil)
	for _, a := range c.Step(21*Millisecond, Input{Kind: Tick}, nil) {
		t.Errorf("%+v", a)
	}
	var shared bool
	c.Step(71*Millisecond, Input{Kind: Progress, Link: 0, Chunk: 0, Bytes: 10_000}, nil)
	for _, a := range c.Step(71*Millisecond, Input{Kind: Tick}, nil) {
		shared = shared || a.Kind == Start && a.Link == 1
		if a.Kind == Cancel {
			t.Errorf("everything was taken: %+v", a)
		}
	}
	if !shared {
		t.Error("the idle link got no share once the rate was known")
	}
}

// TestABannedLinkComesBackWhenItIsTheLast loses the other one while the size is
// unknown still.
func TestABannedLinkComesBackWhenItIsTheLast(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: -1})
	r.up(2)
	c := r.core
	// Link 1 guessed beyond the end; link 0 does not answer and is banned.
	banned := false
	for now := 100 * Millisecond; now <= 4*Second; now += 100 * Millisecond {
		if now == Second {
			c.Step(now, Input{Kind: Failed, Link: 1, Chunk: 1, Wait: 2500 * Millisecond}, nil)
		}
		for _, a := range c.Step(now, Input{Kind: Tick}, nil) {
			banned = banned || a.Kind == Ban && a.Link == 0
		}
	}
	if !banned {
		t.Fatal("link 0 was not banned")
	}
	tried := false
	c.Step(4100*Millisecond, Input{Kind: LinkDown, Link: 1}, nil)
	for _, a := range c.Step(4100*Millisecond, Input{Kind: Tick}, nil) {
		tried = tried || a.Kind == Start && a.Link == 0
	}
	if !tried {
		t.Error("link 0 is not tried, though there is no other")
	}
}

// TestWhoseServerServesOneRequestAConnectionIsAskedForAllOfItsShare: each further request
// would begin with a handshake and a slow start.
func TestWhoseServerServesOneRequestAConnectionIsAskedForAllOfItsShare(t *testing.T) {
	for _, single := range []bool{false, true} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: -1})
		r.up(2)
		r.step(Input{Kind: Sized, Bytes: 40_000_000})
		for id := range LinkID(2) {
			r.step(Input{Kind: Progress, Link: id, Chunk: ChunkID(id), RTT: 20 * Millisecond, Single: single})
		}
		got := map[ChunkID]int64{}
		var second int64
		for second == 0 && r.now < 2*Second {
			for _, a := range r.flow(10*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, got) {
				if a.Kind == Start {
					second = a.Range.Len()
				}
			}
		}
		if all := second > 15_000_000; all != single { // each of two equal links can bring 19 MB more
			t.Errorf("single %v: %d bytes were asked for", single, second)
		}
	}
}
