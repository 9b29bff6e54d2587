package scheduler

import (
	"fmt"
	"slices"
	"testing"
)

// rates are those that a link was taken to have, in bytes per second, once it has begun.
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

// near says whether they have all been within a tenth of rate, be there any.
func (r *rates) near(rate int64) bool {
	return r.least > r.most || r.least > 0.9*float64(rate) && r.most < 1.1*float64(rate)
}

func (r *rates) String() string {
	return fmt.Sprintf("rates of %.0f to %.0f kB/s", r.least/1e3, r.most/1e3)
}

// While one packet is missing, what comes behind it is told of, and counts: the link's rate
// neither falls for as long nor soars when all of it is handed on, and nobody takes it for
// silent. It does where nothing is told of, and where no queue stands that could have
// dropped the packet.
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

// What was kept for a request that is cut short is never handed on, but it has come: the
// link is no slower for that.
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

// What comes of a request that was cut short, before anything of the next one, is of no use,
// but the link is neither silent nor slow. It is where nothing is told of, and where nothing
// else comes for long.
func TestStrayBytesHaveCome(t *testing.T) {
	const step, rate = 10 * Millisecond, int64(1e6) // bytes per second
	for _, tt := range []struct {
		told bool
		last Time // for which nothing else comes
	}{{true, 3 * Second}, {false, 3 * Second}, {true, 20 * Second}} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 40, First: 1 << 30})
		r.up(2)
		l := &r.core.links[0]
		var got int64
		seen := newRates(l)
		for r.now < tt.last+3*Second && !l.health.banned {
			r.now += step
			in := Input{Kind: Progress, RTT: 20 * Millisecond, Bytes: got}
			switch came := rate * int64(step) / int64(Second); {
			case r.now > 2*Second && r.now < 2*Second+tt.last && tt.told:
				in.Stray = came
			case r.now <= 2*Second || r.now >= 2*Second+tt.last:
				got += came
				in.Bytes = got
			}
			r.step(in)
			r.step(Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: rate * int64(r.now) / int64(Second), RTT: 20 * Millisecond})
			r.step(Input{Kind: Tick})
			seen.note(r.now)
		}
		if ok := !l.health.banned && seen.near(rate); ok != (tt.told && tt.last < discardMost) {
			t.Errorf("%+v: %v, banned: %v", tt, seen, l.health.banned)
		}
	}
}

// A link that has nothing to do is measured anew when it has, whatever came in vain before.
func TestStrayBytesAreNoRate(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 40, First: 1 << 20})
	r.up(1)
	c, l := r.core, &r.core.links[0]
	r.now += 10 * Millisecond
	r.step(Input{Kind: Progress, Bytes: 1 << 19, Stray: 1 << 30})
	for len(c.flight.chunks) > 0 {
		c.flight.end(0, nil)
	}
	if l.est.nMarks != 0 || l.est.bytes != l.load.arrived() {
		t.Errorf("%d bytes are counted, %d have come", l.est.bytes, l.load.arrived())
	}
}

// shared lets two links bring what each was asked for, in its order, at given rates. What
// comes on a link that strays is of no use to anybody.
func (r *rig) shared(d Time, rates [2]float64, strays [2]bool) (acts []Action) {
	for end := r.now + d; r.now < end; {
		r.now += 10 * Millisecond
		for id := range LinkID(2) {
			for fresh := int64(rates[id] * 0.01); fresh > 0; {
				i := slices.IndexFunc(r.core.flight.chunks, func(ch chunk) bool { return ch.link == id })
				if i < 0 {
					break
				}
				ch := &r.core.flight.chunks[i]
				in := Input{Kind: Progress, Link: id, Chunk: ch.id, Bytes: ch.got, RTT: 20 * Millisecond, Trip: 20 * Millisecond, Lasting: true}
				if strays[id] {
					in.Stray, fresh = fresh, 0
				} else {
					n := min(fresh, ch.left())
					in.Bytes += n
					fresh -= n
					if n == ch.left() {
						in.Kind = Finished
					}
				}
				acts = append(acts, slices.Clone(r.step(in))...)
			}
		}
		acts = append(acts, slices.Clone(r.step(Input{Kind: Tick}))...)
	}
	return acts
}

// What waits behind bytes that nobody wants any more comes when they all have, and nobody
// knows how many there are: a link that has nothing to do takes all of it over, and the one
// that it was taken from does not take it back at once.
func TestWhatWaitsBehindStraysIsTakenOver(t *testing.T) {
	const rate, strays = 4e6, 25e4 // bytes per second
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 24 << 20, First: 1 << 20})
	r.up(2)
	r.shared(2*Second, [2]float64{rate, rate}, [2]bool{})
	i := slices.IndexFunc(r.core.flight.chunks, func(ch chunk) bool { return ch.link == 0 })
	cut := &r.core.flight.chunks[i]
	r.step(Input{Kind: Finished, Chunk: cut.id, Bytes: cut.rng.Len()})
	r.want(Start) // it waits
	for _, a := range r.shared(4*Second, [2]float64{strays, rate}, [2]bool{true, false}) {
		switch {
		case a.Kind == Start && a.Link == 0:
			t.Errorf("%v was asked for behind the strays", a.Range)
		case a.Kind == Shrink && a.Link == 0:
			t.Errorf("%v was left behind the strays", a.Range)
		default:
		}
	}
	if n := len(r.core.flight.chunks); n > 0 {
		t.Errorf("%d requests are still waiting", n)
	}
}

// Strays are over when something else comes on their connection, or it is lost with them.
func TestStraysEnd(t *testing.T) {
	for name, ends := range map[string]func(s *streams){
		"something comes":        func(s *streams) { s.hear(&chunk{got: 1}, 1, 3*Second, 0) },
		"the connection is lost": func(s *streams) { s.lose(0, 1) },
	} {
		l := &link{load: load{useful: Second}}
		l.discard(0, 1000, Second)
		l.discard(0, 1000, 3*Second)
		if more := l.discardWait(0, 4*Second); more != Second {
			t.Errorf("2 s of strays, heard of 1 s ago: %v s more", more.Seconds())
		}
		ends(&l.streams)
		if more := l.discardWait(0, 3*Second); more != 0 {
			t.Errorf("%s: %v s more", name, more.Seconds())
		}
	}
}
