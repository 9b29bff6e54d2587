package scheduler

import (
	"fmt"
	"testing"
)

// rates are the least and the highest estimate of a link's rate after its first second, in bytes per second.
type rates struct {
	link        *link
	least, most float64
}

func newRates(l *link) *rates { return &rates{link: l, least: 1e18} }

func (r *rates) note(now Time) {
	if now > Second {
		r.least, r.most = min(r.least, r.link.est.rate), max(r.most, r.link.est.rate)
	}
}

// near says whether all that were noted are within a tenth of rate.
func (r *rates) near(rate int64) bool {
	return r.least > r.most || r.least > 0.9*float64(rate) && r.most < 1.1*float64(rate)
}

func (r *rates) String() string {
	return fmt.Sprintf("rates of %.0f to %.0f kB/s", r.least/1e3, r.most/1e3)
}

// TestBytesBehindAGapHaveCome: while a packet is missing for a second, the bytes behind it count if they
// are told of: the link's rate stays within a tenth, and the link is not banned. Bytes that are not told
// of do not count, nor do any where no queue can have dropped the packet.
func TestBytesBehindAGapHaveCome(t *testing.T) {
	const step, rate = 10 * Millisecond, int64(1e6) // bytes per second
	for _, tt := range []struct {
		told, queued bool
		counts       bool
	}{
		{told: true, queued: true, counts: true},
		{told: false, queued: true},
		{told: true, queued: false},
	} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 40, First: 1 << 30})
		r.up(2)
		l := &r.core.links[0]
		var got, kept int64
		seen := newRates(l)
		for r.now < 4*Second && !l.health.banned {
			r.now += step
			in := Input{Kind: Progress, RTT: 20 * Millisecond, Bytes: got, Trip: 20 * Millisecond}
			if tt.queued {
				in.Trip = 60 * Millisecond
			}
			came := rate * int64(step) / int64(Second)
			if r.now > 2*Second && r.now < 3*Second { // the packet is sent again and again, and lost
				if kept += came; tt.told {
					in.Behind = kept
				}
			} else {
				got, kept = got+came+kept, 0
				in.Bytes = got
			}
			r.step(in)
			r.step(Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: rate * int64(r.now) / int64(Second), RTT: 20 * Millisecond})
			r.step(Input{Kind: Tick})
			seen.note(r.now)
		}
		if counts := !l.health.banned && seen.near(rate); counts != tt.counts {
			t.Errorf("%+v: %v, banned: %v", tt, seen, l.health.banned)
		}
	}
}

// TestBytesThatAreNotHandedOnHaveComeToo: bytes behind a gap whose request is cut short are never handed
// on, but they crossed the link, whose rate stays.
func TestBytesThatAreNotHandedOnHaveComeToo(t *testing.T) {
	const step, rate, kept = 10 * Millisecond, int64(1e6), int64(500e3)
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 40, First: 1 << 30})
	r.up(1)
	c := r.core
	l := &c.links[0]
	seen := newRates(l)
	for r.now < 3*Second {
		r.now += step
		came := rate * int64(r.now) / int64(Second)
		switch {
		case r.now <= 2*Second:
			r.step(Input{Kind: Progress, Bytes: came, RTT: 20 * Millisecond, Trip: 60 * Millisecond})
		case r.now <= 2500*Millisecond:
			r.step(Input{Kind: Progress, Bytes: 2 * rate, Behind: came - 2*rate})
		default:
			if l.load.behindGap > 0 {
				if l.load.behindGap != kept {
					t.Errorf("%d bytes are kept", l.load.behindGap)
				}
				c.startAt(0, 0, Range{1 << 39, 1 << 40}) // another waits behind it
				r.step(Input{Kind: Failed, Bytes: 2 * rate})
			}
			r.step(Input{Kind: Progress, Chunk: c.flight.chunks[0].id, Bytes: came - 2*rate - kept})
		}
		r.step(Input{Kind: Tick})
		if seen.note(r.now); !seen.near(rate) {
			t.Fatalf("%v after %.2f s", seen, r.now.Seconds())
		}
	}
	if l.load.behindGap != 0 {
		t.Errorf("%d bytes are still kept", l.load.behindGap)
	}
}
