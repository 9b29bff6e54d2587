package scheduler

import (
	"fmt"
	"slices"
	"testing"
)

// Each constant and state of the papers has a test here, in thesis_test.go, or in the package
// tuning, with the paper's section in its name, that fails when it is changed.

// found runs two links at rates in bytes per second for some seconds, each with one request,
// and gives the actions that the first Ban came with; nil: there was none.
func found(t *testing.T, cfg Config, seconds Time, rates [2]float64) (r *rig, acts []Action, got map[ChunkID]int64) {
	t.Helper()
	cfg.Links, cfg.Size, cfg.Parallelism = 2, 1<<40, 1
	if cfg.Policy == nil {
		cfg.Policy = &naive{}
	}
	r = newRig(t, cfg)
	r.up(2)
	got = map[ChunkID]int64{}
	for r.now < seconds*Second {
		acts = r.flow(100*Millisecond, map[ChunkID]float64{0: rates[0], 1: rates[1]}, got)
		if slices.ContainsFunc(acts, func(a Action) bool { return a.Kind == Ban }) {
			return r, acts, got
		}
	}
	return r, nil, got
}

// TestThesis824SlowLink: the static limit is 100 kbit/s, the dynamic one 0.2 of the links' mean
// rate; both hold with stealing and without, and where all links are slow, all are kept.
func TestThesis824SlowLink(t *testing.T) {
	const kbit = 1e3 / 8
	for _, tt := range []struct {
		name  string
		rates [2]float64
		slow  bool
	}{
		{"static: 95 kbit/s beside 250, of whose mean 0.2 are 34", [2]float64{95 * kbit, 250 * kbit}, true},
		{"static: 105 kbit/s beside 250", [2]float64{105 * kbit, 250 * kbit}, false},
		{"dynamic: 0.95 of 0.2*(r+90)/2, which is 10 where r is 10 Mbit/s", [2]float64{9500 * kbit, 90000 * kbit}, true},
		{"dynamic: 1.05 of it", [2]float64{10500 * kbit, 90000 * kbit}, false},
		{"both slow: nobody serves better", [2]float64{50 * kbit, 60 * kbit}, false},
	} {
		for _, noSteal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, no steal %v", tt.name, noSteal), func(t *testing.T) {
				r, acts, got := found(t, Config{NoSteal: noSteal}, 12, tt.rates)
				if (acts != nil) != tt.slow {
					t.Fatalf("released: %v, want %v", acts != nil, tt.slow)
				}
				if !tt.slow {
					return
				}
				// It leaves the pool, and the next request of the other link continues at the
				// byte where it stopped.
				i := slices.IndexFunc(acts, func(a Action) bool { return a.Kind == Cancel })
				if i < 0 || acts[i].Link != 0 || acts[i].Range.Len() == 0 || acts[i].Range.Len() > got[0] {
					t.Fatalf("%+v, and %d bytes had come", acts, got[0])
				}
				end := acts[i].Range.End
				acts = r.step(Input{Kind: Finished, Chunk: 1, Bytes: 1 << 39})
				if i = slices.IndexFunc(acts, func(a Action) bool { return a.Kind == Start && a.Link == 1 }); i < 0 || acts[i].Range.Off < end || acts[i].Range.Off > end+probeSize {
					t.Errorf("released at byte %d, and then %+v", end, acts)
				}
			})
		}
		if _, acts, _ := found(t, Config{NoFailover: true}, 12, tt.rates); acts != nil {
			t.Errorf("%s: released, though there is no fail-over", tt.name)
		}
	}
}

// TestThesis824DynamicLimitLeavesTheEndToStealing: 9.5 Mbit/s beside 90 is below the dynamic
// limit, 0.2 of the mean, but a second before the end the faster link takes over what the slower
// one cannot bring, unless nobody may.
func TestThesis824DynamicLimitLeavesTheEndToStealing(t *testing.T) {
	for _, noSteal := range []bool{false, true} {
		rates := [2]float64{9500e3 / 8, 90e6 / 8}
		cfg := Config{NoSteal: noSteal, Policy: &algorithm1{limit: 1 << 40}}
		r, acts, got := found(t, cfg, 1, rates)
		if acts != nil {
			t.Fatalf("after a second: %+v", acts)
		}
		for i, rest := range []int64{6e6, 20e6} {
			ch := &r.core.flight.chunks[i]
			r.core.flight.shorten(ch, ch.left()-rest)
		}
		r.core.freeMap.setFree()
		acts = r.flow(1600*Millisecond, map[ChunkID]float64{0: rates[0], 1: rates[1]}, got)
		if released := slices.ContainsFunc(acts, func(a Action) bool { return a.Kind == Ban }); released != noSteal {
			t.Errorf("no steal %v: released %v", noSteal, released)
		}
	}
}

// robber is a policy with which all links steal from the first one.
type robber struct{ algorithm1 }

func (*robber) Victim(View, LinkID) LinkID { return 0 }

// TestThesis824DynamicLimitIsPatientWithALinkThatStaysSlow: each time that the dynamic limit
// has released a link, it waits for twice as long, where others steal; the static one does not.
func TestThesis824DynamicLimitIsPatientWithALinkThatStaysSlow(t *testing.T) {
	const mbit = 1e6 / 8
	for _, tt := range []struct {
		name    string
		policy  Policy
		noSteal bool
		slow    float64
		want    [6]Time // seconds until it is released, each time
	}{
		{"dynamic, with stealing", &robber{algorithm1{limit: 1 << 30}}, false, 5 * mbit, [6]Time{2, 4, 8, 16, 16, 16}},
		{"dynamic, without", &robber{algorithm1{limit: 1 << 30}}, true, 5 * mbit, [6]Time{2, 2, 2, 2, 2, 2}},
		{"dynamic, of a policy that does not steal", &naive{}, false, 5 * mbit, [6]Time{2, 2, 2, 2, 2, 2}},
		{"static", &robber{algorithm1{limit: 1 << 30}}, false, 0.09 * mbit, [6]Time{2, 2, 2, 2, 2, 2}},
	} {
		r, acts, _ := found(t, Config{Policy: tt.policy, NoSteal: tt.noSteal}, 1, [2]float64{90 * mbit, 90 * mbit})
		if acts != nil {
			t.Fatalf("%s: %+v", tt.name, acts)
		}
		c, l := r.core, &r.core.links[0]
		for i, want := range tt.want {
			l.health.banned, l.health.probing, l.load.requests = false, false, max(1, l.load.requests)
			l.est.rate, l.est.nMarks = tt.slow, 1
			since := c.now
			for limit := since + 60*Second; !l.health.banned && c.now < limit; c.now += 100 * Millisecond {
				l.health.lastByte, c.links[1].health.lastByte, c.lastTick = c.now, c.now, c.now
				c.failover(nil)
			}
			if took := (c.now - since).Seconds(); took < float64(want) || took > float64(want)+0.3 {
				t.Errorf("%s: released the %d. time after %.1f s, want %d", tt.name, i+1, took, want)
			}
		}
		if c.upDown(Input{Kind: LinkDown, Link: 0}, nil); l.health.slowBans != 0 {
			t.Errorf("%s: it comes back by another network, and %d bans count", tt.name, l.health.slowBans)
		}
	}
}

// TestThesis422NextRequestAtSixtyPercent: with the thesis's overlap a link's next request is
// sent when the one in flight is 60 % done (4.2.2), not before.
func TestThesis422NextRequestAtSixtyPercent(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm1{limit: 1_000_000}, Size: 1 << 30, Overlap: 0.6, NoSteal: true, Parallelism: 1})
	if acts := r.up(1); len(acts) != 1 || acts[0].Range.Len() != 1_000_000 {
		t.Fatalf("%+v", acts)
	}
	for _, tt := range []struct {
		bytes int64
		next  bool
	}{{590_000, false}, {599_999, false}, {600_000, true}} {
		r.now += 10 * Millisecond
		r.step(Input{Kind: Progress, Chunk: 0, Bytes: tt.bytes, RTT: 20 * Millisecond})
		acts := r.step(Input{Kind: Tick})
		if next := slices.ContainsFunc(acts, func(a Action) bool { return a.Kind == Start }); next != tt.next {
			t.Errorf("%d of 1,000,000 bytes: next request %v, want %v", tt.bytes, next, tt.next)
		}
	}
}

// emtcpCore is a Core with a cheap link, 0, and a costly one, 1, both at work.
func emtcpCore(t *testing.T, rtt Time) *Core {
	c, err := New(Config{Links: 2, Policy: &algorithm1{limit: 1 << 20}, Size: -1, Energy: EnergyEMTCP})
	if err != nil {
		t.Fatal(err)
	}
	c.now = 100 * Second
	for i := range c.links {
		l := &c.links[i]
		l.health.up, l.rtt.min, l.linkUse.eligible = true, rtt, true
		l.load.requests, l.est.nMarks, l.health.lastByte = 1, 1, c.now
	}
	c.links[1].terms.Costly = true
	return c
}

// TestEMTCPStates: an interface is RX if bytes came within max(2 RTT, 100 ms), else IDLE, and
// congested if bytes are due and none came for max(3 RTT, 1 s) (chen, IV, with the times of
// our own notes, since the paper has none).
func TestEMTCPStates(t *testing.T) {
	for _, tt := range []struct {
		rtt, idle, congested Time
	}{
		{20 * Millisecond, 100 * Millisecond, Second},
		{400 * Millisecond, 800 * Millisecond, 1200 * Millisecond},
	} {
		c := emtcpCore(t, tt.rtt)
		l := &c.links[0]
		for _, at := range []struct {
			quiet               Time
			receiving, congests bool
		}{
			{tt.idle, true, false},
			{tt.idle + Millisecond, false, false},
			{tt.congested, false, false},
			{tt.congested + Millisecond, false, true},
		} {
			l.health.lastByte = c.now - at.quiet
			if l.receiving(c.now) != at.receiving || l.congested(c.now) != at.congests {
				t.Errorf("RTT %d ms, silent for %d ms: receiving %v, congested %v", tt.rtt/Millisecond, at.quiet/Millisecond, l.receiving(c.now), l.congested(c.now))
			}
		}
		if l.load.requests = 0; l.congested(c.now) {
			t.Error("congested, though nothing is due")
		}
	}
}

// TestEMTCPSection4CongestedInterfaces: a costly link whose share of the file is spent is asked
// for more only while the cheap one is congested, and not while both are (chen, IV).
func TestEMTCPSection4CongestedInterfaces(t *testing.T) {
	const busy, stuck = 0, 5 * Second
	for _, tt := range []struct {
		name          string
		cheap, costly Time // since the last byte
		want          int64
	}{
		{"the cheap one receives", busy, busy, 0},
		{"the cheap one is congested", stuck, busy, 1000},
		{"both are congested", stuck, stuck, 0},
		{"the costly one is congested", busy, stuck, 0},
	} {
		c := emtcpCore(t, 20*Millisecond)
		c.flight.void(Range{1 << 20, c.freeMap.end}, nil)
		c.freeMap.resize(1 << 20)
		c.links[0].est.rate, c.links[1].est.rate, c.links[1].load.assigned = 1e6, 1e6, 1<<20
		c.links[0].health.lastByte, c.links[1].health.lastByte = c.now-tt.cheap, c.now-tt.costly
		if got := (View{c}).emtcp().limit(1, 1000); got != tt.want {
			t.Errorf("%s: %d of 1000 bytes, want %d", tt.name, got, tt.want)
		}
		if got := (View{c}).emtcp().limit(0, 1000); got != 1000 {
			t.Errorf("%s: the cheap link is asked for %d of 1000 bytes", tt.name, got)
		}
	}
}
