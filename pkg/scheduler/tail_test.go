package scheduler

import (
	"math"
	"testing"
)

// idleRig has two links at 1 MB/s each, of which link 1 was asked for the last
// bytes of the object and link 0 for nothing more.
func idleRig(t *testing.T, rest int64) (r *rig, last Action) {
	t.Helper()
	r = newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 8 << 20, Have: []Range{{0, 6 << 20}}})
	got := map[ChunkID]int64{}
	rates := map[ChunkID]float64{}
	for _, a := range r.up(2) {
		if a.Kind == Start {
			rates[a.Chunk] = 1e6
		}
	}
	r.flow(500*Millisecond, rates, got)
	c := r.core
	for i := len(c.flight.chunks) - 1; i >= 0; i-- {
		c.step(Input{Kind: Finished, Chunk: c.flight.chunks[i].id, Bytes: c.flight.chunks[i].rng.Len()})
	}
	c.freeMap.setFree()
	r.now += 10 * Millisecond
	c.now = r.now
	out := c.startAt(1, 0, Range{8<<20 - rest, 8 << 20})
	return r, out[0]
}

// step forgets the actions of an input.
func (c *Core) step(in Input) { c.flight.received(c.flight.find(in.Chunk), &in, nil) }

// TestNothingIsFetchedTwiceWithinALimit: the copy would have a part of the same rate.
func TestNothingIsFetchedTwiceWithinALimit(t *testing.T) {
	const rest = 30 << 10
	for _, limited := range []bool{false, true} {
		r, last := idleRig(t, rest)
		r.core.cfg.Limited = limited
		r.now += 20 * Millisecond
		r.step(Input{Kind: Progress, Link: 1, Chunk: last.Chunk, Bytes: rest / 2})
		twice := false
		for range 20 {
			r.now += 10 * Millisecond
			for _, a := range r.step(Input{Kind: Tick}) {
				twice = twice || a.Copy
			}
		}
		if twice == limited {
			t.Errorf("limited %v, fetched twice %v", limited, twice)
		}
	}
}

// TestOnlyIdleLinksFetchMoreTwice: what has been fetched twice so far is held against a link
// that has something else to do.
func TestOnlyIdleLinksFetchMoreTwice(t *testing.T) {
	const rest = 30 << 10
	for _, tt := range []struct {
		copied int64
		busy   bool
		want   bool
	}{
		{0, true, true},
		{duplicateRequests * leastRequest, true, false},
		{duplicateRequests * leastRequest, false, true},
		{idleDuplicates * duplicateRequests * leastRequest, false, false},
	} {
		r, last := idleRig(t, rest)
		c := r.core
		ch := &c.flight.chunks[c.flight.find(last.Chunk)]
		c.flight.copied = tt.copied
		th := (View{c}).newThief(0, 0)
		View{c}.eta(0, &th.own)
		if tt.busy {
			th.own.active = 1
		}
		if got := th.worthDuplicating(ch, 10); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestASmallRestIsFetchedTwice(t *testing.T) {
	for _, winner := range []LinkID{0, 1} {
		const rest = 30 << 10
		r, last := idleRig(t, rest)
		// Half of it comes at once, and then nothing: link 0, 20 ms away, would
		// have the rest sooner than what is late already.
		r.now += 20 * Millisecond
		r.step(Input{Kind: Progress, Link: 1, Chunk: last.Chunk, Bytes: rest / 2})
		var dup Action
		for range 20 {
			r.now += 10 * Millisecond
			for _, a := range r.step(Input{Kind: Tick}) {
				if a.Kind == Start {
					dup = a
				}
			}
			if dup.Copy {
				break
			}
		}
		if !dup.Copy || dup.Link != 0 || dup.Range != (Range{last.Range.Off + rest/2, last.Range.End}) {
			t.Fatalf("no copy of the rest: %+v", dup)
		}
		if left := r.core.Left(); left != rest/2 {
			t.Errorf("%d bytes left, a copy counts for nothing", left)
		}
		r.now += 10 * Millisecond
		r.step(Input{Kind: Progress, Link: 1, Chunk: last.Chunk, Bytes: rest/2 + 1000})
		r.step(Input{Kind: Progress, Link: 0, Chunk: dup.Chunk, Bytes: 2000})
		won, lost, counts := last, dup, Range{dup.Range.Off, dup.Range.Off}
		if winner == 0 {
			won, lost, counts = dup, last, Range{last.Range.Off, dup.Range.Off}
		}
		r.step(Input{Kind: Finished, Link: won.Link, Chunk: won.Chunk, Bytes: won.Range.Len()})
		r.want(Cancel, Complete)
		if a := r.acts[0]; a.Chunk != lost.Chunk || a.Range != counts {
			t.Errorf("link %d won: %+v, of which %v should count", winner, a, counts)
		}
	}
}

func TestACopyEndsWithItsOriginal(t *testing.T) {
	r, last := idleRig(t, 30<<10)
	c := r.core
	c.flight.duplicate(0, 0, &c.flight.chunks[c.flight.find(last.Chunk)], nil)
	r.now += 10 * Millisecond
	var cancelled, started int
	for _, a := range r.step(Input{Kind: Failed, Link: 1, Chunk: last.Chunk, Bytes: 100, Wait: Second}) {
		switch {
		case a.Kind == Cancel && a.Link == 0 && a.Range.Empty():
			cancelled++
		case a.Kind == Start && a.Link == 0 && a.Range == Range{last.Range.Off + 100, last.Range.End} && !a.Copy:
			started++
		}
	}
	if cancelled != 1 || started != 1 || c.Left() != 30<<10-100 {
		t.Errorf("%+v, %d left", r.acts, c.Left())
	}
}

// TestASlowLinkIsLeftIdle asks what a link far away is given when the near one
// needs less time for all that is left than the far one for its first byte.
func TestASlowLinkIsLeftIdle(t *testing.T) {
	c, err := New(Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 10 << 20, Have: []Range{{0, 9 << 20}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, rate := range []float64{20e6, 1e6} {
		c.links[i].health.up, c.links[i].est.rate, c.links[i].load.asked = true, rate, true
		c.links[i].streams.worked = 1
	}
	c.links[0].rtt.min, c.links[1].rtt.min = 10*Millisecond, 400*Millisecond
	v := View{c}
	if n := c.cfg.Policy.Request(v, 1); n != 0 {
		t.Errorf("the far link is asked for %d bytes", n)
	}
	if n := c.cfg.Policy.Request(v, 0); n < 300<<10 {
		t.Errorf("the near link is asked for %d bytes only", n)
	}
	// With ten times as much left it is worth it, and both end together.
	c.freeMap.setFree(Range{0, 10 << 20})
	c.links[1].rtt.min = 100 * Millisecond
	end := v.finishTime()
	if a, b := v.brings(0, end), v.brings(1, end); b < 16<<10 || int64(a+b+0.5) != 10<<20 {
		t.Errorf("the links bring %.0f and %.0f bytes by %.3f s", a, b, end)
	}
}

// What a link has carried of late was carried by all its connections: the few that are
// still at work have but their part of it, and what they grow by.
func TestTheLastConnectionsDoNotCarryAllOfIt(t *testing.T) {
	v := speeds{mean: 1e5, sum: 60e5}
	for i := range v.rate[:60] {
		v.rate[i] = 1e5
	}
	for active, want := range map[int]float64{60: 1e5, 40: 1.5e5, 4: 2e5} {
		o := eta{speeds: &v, active: active, sum: float64(active) * 1e5, rate: 60e5 / float64(active), full: 60e5 / float64(active)}
		if got := o.speed(3); math.Abs(got-want) > 1 {
			t.Errorf("%d at work: %v bytes per second, want %v", active, got, want)
		}
	}
}

// What a slow link has asked for twice is not lost for a faster one: it takes that over, but
// not when one of the two is about to have it.
func TestWhatASlowLinkAskedForTwiceIsTakenOver(t *testing.T) {
	const rest, slow = int64(40 << 10), 40e3
	for _, tt := range []struct {
		name  string
		had   int64 // bytes that the copy has
		taken bool
	}{
		{"late", 0, true},
		{"nearly done", rest - 100, false},
	} {
		r, last := idleRig(t, rest)
		c := r.core
		l := &c.links[1]
		l.est.rate, l.streams.most, l.speeds = slow, 2, speeds{}
		out := c.flight.duplicate(1, 1, &c.flight.chunks[c.flight.find(last.Chunk)], nil)
		second := out[0].Chunk
		for _, id := range []ChunkID{last.Chunk, second} {
			c.flight.chunks[c.flight.find(id)].issued -= Second
			c.step(Input{Kind: Progress, Chunk: id, Bytes: max(1, tt.had)})
		}
		c.flight.chunks[c.flight.find(last.Chunk)].got = 1
		left, copied := c.Left(), c.flight.copied
		out = c.assignment.steal(0, 0, nil)
		if !tt.taken {
			if len(out) > 0 {
				t.Errorf("%s: %+v", tt.name, out)
			}
			continue
		}
		if len(out) != 3 || out[0].Kind != Cancel || out[0].Chunk != second || out[1].Kind != Cancel || out[1].Chunk != last.Chunk {
			t.Fatalf("%s: %+v", tt.name, out)
		}
		if a := out[2]; a.Kind != Start || a.Link != 0 || a.Copy || a.Range != (Range{last.Range.Off + 1, last.Range.End}) {
			t.Errorf("%s: %+v", tt.name, a)
		}
		if c.Left() != left || c.flight.copied > copied || c.flight.chunks[0].duplicate != NoChunk {
			t.Errorf("%s: %d bytes left of %d, %d asked for twice, %d before", tt.name, c.Left(), left, c.flight.copied, copied)
		}
	}
}

// TestWhoHasTheCopyDoesNotTakeItOver: however late the original and its copy are expected, it
// is at it already.
func TestWhoHasTheCopyDoesNotTakeItOver(t *testing.T) {
	r, last := idleRig(t, 40<<10)
	c := r.core
	c.links[0].est.rate, c.links[1].est.rate = 1e6, 1e3
	out := c.flight.duplicate(0, 0, &c.flight.chunks[c.flight.find(last.Chunk)], nil)
	th := (View{c}).newThief(0, 0)
	if th.worthReplacing(&c.flight.chunks[c.flight.find(last.Chunk)], 1000) {
		t.Error("it takes over what it has a copy of")
	}
	c.step(Input{Kind: Failed, Chunk: out[0].Chunk}) // the same, when another one has
	out = c.flight.duplicate(1, 1, &c.flight.chunks[0], nil)
	if th := (View{c}).newThief(0, 0); !th.worthReplacing(&c.flight.chunks[0], 1000) {
		t.Error("it leaves what another one has a copy of")
	}
	if out = c.flight.replaceDuplicate(0, 0, &c.flight.chunks[0], out); len(out) != 4 {
		t.Errorf("%+v", out)
	}
}

// TestWhatIsCopiedIsLeftToItsCopy by the banned links' probes and by the other connections of
// the link that was asked for it, late as it may be.
func TestWhatIsCopiedIsLeftToItsCopy(t *testing.T) {
	for _, copied := range []bool{false, true} {
		r, last := idleRig(t, 40<<10)
		c := r.core
		l := &c.links[1]
		l.streams.most, l.speeds = 2, speeds{}
		if copied {
			c.flight.duplicate(0, 0, &c.flight.chunks[c.flight.find(last.Chunk)], nil)
		}
		c.now += 2 * Second
		if out := c.assignment.steal(1, 1, nil); (len(out) > 0) == copied {
			t.Errorf("copied %v: another connection begins with %+v", copied, out)
		}

		r, last = idleRig(t, 2<<20)
		c = r.core
		if copied {
			c.flight.duplicate(0, 0, &c.flight.chunks[c.flight.find(last.Chunk)], nil)
		}
		c.now += 10 * Second
		if !c.links[1].silent(c.now) || (View{c}).task().nearEnd() {
			t.Fatal("no probe would be made of it")
		}
		if out := c.probe(0, nil); (len(out) > 0) == copied {
			t.Errorf("copied %v: a probe begins with %+v", copied, out)
		}
		checkTiles(t, c)
	}
}

// TestACopyComesBehindWhatIsBeforeIt on its connection.
func TestACopyComesBehindWhatIsBeforeIt(t *testing.T) {
	ends := func(before int64) float64 {
		r, last := idleRig(t, 40<<10)
		c := r.core
		if before > 0 {
			c.startAt(0, 0, Range{0, before})
		}
		c.flight.duplicate(0, 0, &c.flight.chunks[c.flight.find(last.Chunk)], nil)
		c.links[0].est.rate = 1e6
		return View{c}.copyEnds(c.flight.latest())
	}
	if got := ends(300_000) - ends(0); math.Abs(got-0.3) > 1e-9 {
		t.Errorf("behind 300 kB at 1 MB/s it comes %.3f s later", got)
	}
}

// TestWhatHasBeenSentIsNotTakenOver: a server that was asked over a connection that lasts sends what it
// was asked for before it hears that it need not. To have it over the link twice is worth no less
// than four round trips.
func TestWhatHasBeenSentIsNotTakenOver(t *testing.T) {
	const trip = 100 * Millisecond
	for _, tt := range []struct {
		name    string
		trips   float64 // that the one connection is busy for
		lasting bool
		behind  bool  // what would be taken was asked for behind something else
		had     int64 // bytes that have come
		thief   LinkID
		want    bool
	}{
		{"it has been sent", 4, true, true, 1, 0, false},
		{"it has been sent alone", 4, true, false, 0, 0, false},
		{"it has been sent alone, over a connection that is lost", 4, false, false, 0, 0, true},
		{"it has been sent, and the connection would be lost, too", 4, false, true, 1, 0, false},
		{"it is what is being received", 4, true, false, 1, 0, true},
		{"it would come much later", 20, true, true, 1, 0, true},
		{"it would come much later, and the connection is lost", 20, false, true, 1, 0, true},
		{"another link takes it", 4, true, true, 1, 1, true},
	} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 40_000_000, First: 1 << 20})
		r.up(2)
		c := r.core
		for len(c.flight.chunks) > 0 {
			c.flight.end(0, nil)
		}
		c.freeMap.setFree()
		r.now += 10 * Second
		c.now = r.now
		for i := range c.links {
			l := &c.links[i]
			l.rtt.min, l.est.rate = trip, 4e6
			l.speeds.rate[0], l.speeds.rate[1], l.speeds.mean, l.speeds.sum = 1e6, 3e6, 2e6, 4e6
			l.streams.most, l.streams.server.lasting, l.streams.worked = 2, tt.lasting, 3
			for s := range 2 {
				l.streams.conn[s].brought, l.streams.conn[s].heard = 1<<20, r.now
			}
		}
		// An only one at work takes up twice its speed at most.
		bytes, off := int64(tt.trips*trip.Seconds()*2e6), int64(0)
		if tt.behind {
			off = bytes / 4
			c.startAt(0, 0, Range{0, off})
		}
		c.startAt(0, 0, Range{off, bytes})
		c.flight.chunks[0].got = tt.had
		if tt.thief != 0 { // of which two connections are at work
			c.startAt(tt.thief, 0, Range{1 << 24, 1<<24 + 100_000})
			c.startAt(tt.thief, 2, Range{1 << 25, 1<<25 + 100_000})
		}
		if acts := c.assignment.steal(tt.thief, 1, nil); (len(acts) > 0) != tt.want {
			t.Errorf("%s: %+v", tt.name, acts)
		}
	}
}
