package scheduler

import "testing"

// TestAnUnheardLinkIsFar: nobody knows how long the round trips of a link are that has not
// answered, but they are longer than the wait for it was.
func TestAnUnheardLinkIsFar(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: -1, First: 1 << 20})
	r.up(2)
	l := &r.core.links[1]
	if l.rtt.reach() != unknownTrip {
		t.Fatalf("at first %v", l.rtt.reach())
	}
	r.now = 80 * Millisecond
	r.step(Input{Kind: Sized, Bytes: 500_000}) // link 1 has nothing to do any more
	if l.load.requests != 0 || l.rtt.reach() != 160*Millisecond {
		t.Fatalf("%d requests, %v after 80 ms in vain", l.load.requests, l.rtt.reach())
	}
	out := r.core.startAt(1, 0, Range{1000, 2000})
	r.now = 300 * Millisecond
	r.step(Input{Kind: Tick})
	if l.rtt.reach() != 440*Millisecond {
		t.Errorf("%v after 220 ms in vain", l.rtt.reach())
	}
	r.step(Input{Kind: Progress, Link: 1, Chunk: out[0].Chunk, RTT: 250 * Millisecond})
	r.now = 400 * Millisecond
	r.step(Input{Kind: Tick})
	if l.rtt.reach() != 250*Millisecond {
		t.Errorf("%v, and round trips take 250 ms", l.rtt.reach())
	}
}

// TestIdleLinksDoNotLeaveItToOneAnother: of two that could help a third, each took the
// other one to be sooner, and both had nothing to do until it was done.
func TestIdleLinksDoNotLeaveItToOneAnother(t *testing.T) {
	const rest = 500_000
	r := newRig(t, Config{Links: 3, Policy: &algorithm3{padding: AutoPadding}, Size: 8 << 20, Have: []Range{{0, 8<<20 - rest}}})
	r.up(3)
	c := r.core
	for len(c.flight.chunks) > 0 {
		c.flight.end(0, nil)
	}
	c.freeMap.setFree()
	r.now, c.now = Second, Second
	for i := range c.links {
		l := &c.links[i]
		l.load.asked, l.rtt.min, l.est.rate, l.streams.worked = true, 40*Millisecond, 5e6, 1
	}
	c.links[2].est.rate = 100e3
	victim := c.startAt(2, 0, Range{8<<20 - rest, 8 << 20})[0]
	r.now = 1100 * Millisecond
	r.step(Input{Kind: Progress, Link: 2, Chunk: victim.Chunk, Bytes: 5000})
	r.step(Input{Kind: Tick})
	helped := false
	for _, a := range r.acts {
		helped = helped || a.Kind == Start && a.Link != 2
	}
	if !helped {
		t.Errorf("nobody helps: %+v", r.acts)
	}
}

// TestALinkWithoutARateStartsSlowly: nothing is known of a link but that its connection has
// just begun. What it was asked for goes to one that has a rate, but for what the first
// windows bring until then.
func TestALinkWithoutARateStartsSlowly(t *testing.T) {
	const rest, trip = 110_000, 46 * Millisecond
	r, last := idleRig(t, rest)
	c := r.core
	fast, far := &c.links[0], &c.links[1]
	fast.rtt.min, fast.est.rate, fast.speeds = 6*Millisecond, 20e6, speeds{}
	fast.streams.conn[0].heard = r.now
	far.rtt.min, far.est, far.speeds = trip, estimator{}, speeds{}
	far.streams.conn[0].brought = initialWindow
	ch := &c.flight.chunks[c.flight.find(last.Chunk)]
	ch.issued, ch.got = r.now-Second, 1 // it flows
	out := c.assignment.steal(0, 0, nil)
	if len(out) != 2 || out[1].Link != 0 || out[1].Range.Len() < rest*3/4 {
		t.Errorf("of %d bytes, %+v", rest, out)
	}
}
