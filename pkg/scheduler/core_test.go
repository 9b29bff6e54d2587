package scheduler

import (
	"slices"
	"testing"
)

// rig is a Core with helpers; its inputs happen at now.
type rig struct {
	t    *testing.T
	core *Core
	now  Time
	acts []Action // of the last step
}

func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, core: c}
}

func (r *rig) step(in Input) []Action {
	r.acts = r.core.Step(r.now, in, nil)
	return r.acts
}

// up brings all links up at once.
func (r *rig) up(links LinkID) []Action {
	for id := range links {
		r.step(Input{Kind: LinkUp, Link: id})
	}
	return r.step(Input{Kind: Tick})
}

func (r *rig) want(kinds ...ActionKind) {
	r.t.Helper()
	var got []ActionKind
	for _, a := range r.acts {
		got = append(got, a.Kind)
	}
	if !slices.Equal(got, kinds) {
		r.t.Fatalf("at %v s: got %+v, want kinds %v", r.now.Seconds(), r.acts, kinds)
	}
}

// flow lets chunks receive at given rates for a while, in steps of 10 ms.
func (r *rig) flow(d Time, rates map[ChunkID]float64, got map[ChunkID]int64) (acts []Action) {
	for end := r.now + d; r.now < end; {
		r.now += 10 * Millisecond
		for id := range ChunkID(64) {
			if rate, ok := rates[id]; ok {
				got[id] += int64(rate * 0.01)
				acts = append(acts, r.step(Input{Kind: Progress, Chunk: id, Bytes: got[id], RTT: 20 * Millisecond})...)
			}
		}
		acts = append(acts, r.step(Input{Kind: Tick})...)
	}
	return acts
}

func TestFirstRequestsAreProbesOnAllLinks(t *testing.T) {
	r := newRig(t, Config{Links: 3, Policy: &algorithm3{padding: 0.3}, Size: -1, First: 1000000})
	for id, a := range r.up(3) {
		if want := (Range{int64(id) * 1000000, int64(id+1) * 1000000}); a.Kind != Start || a.Range != want || a.Link != LinkID(id) {
			t.Fatalf("link %d starts with %+v", id, a)
		}
	}
	// The object ends within the second probe: the third has nothing to fetch.
	r.step(Input{Kind: Sized, Bytes: 1500000})
	r.want(Cancel, Shrink)
	if r.acts[0].Link != 2 || r.acts[1].Range != (Range{1000000, 1500000}) {
		t.Fatalf("got %+v", r.acts)
	}
}

func TestAnEmptyObjectIsCompleteAtOnce(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &single{link: NoLink}, Size: -1})
	r.up(1)
	r.want(Start)
	r.step(Input{Kind: Sized})
	r.want(Cancel, Complete)
	r.step(Input{Kind: Tick})
	r.want()
}

func TestAResumedObjectAsksForWhatIsMissing(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &naive{}, Size: 1 << 20, Have: []Range{{0, 1000}, {5000, 1 << 20}}})
	a := r.up(1)
	r.want(Start)
	if a[0].Range != (Range{1000, 5000}) {
		t.Fatalf("asked for %v", a[0].Range)
	}
	r.step(Input{Kind: Finished, Chunk: 0, Bytes: 4000})
	r.want(Complete)
}

func TestAFailedRequestContinuesElsewhereAtTheByteWhereItStopped(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &naive{}, Size: 4 << 20})
	r.up(2)
	r.now = Second
	r.step(Input{Kind: Progress, Chunk: 0, Bytes: 12345})
	r.step(Input{Kind: LinkDown, Link: 0})
	if r.acts[0].Kind != Cancel || r.acts[0].Chunk != 0 {
		t.Fatalf("got %+v", r.acts)
	}
	next := r.step(Input{Kind: Finished, Chunk: 1, Bytes: 1 << 30})
	if len(next) == 0 || next[0].Range.Off != 12345 {
		t.Fatalf("got %+v", next)
	}
}

func TestASilentLinkIsReleasedBannedAndTriedAgain(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &naive{}, Size: 1 << 30})
	r.up(2)
	got := map[ChunkID]int64{}
	r.flow(300*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, got)
	stopped := got[0]
	acts := r.flow(1100*Millisecond, map[ChunkID]float64{1: 1e5}, got)
	i := slices.IndexFunc(acts, func(a Action) bool { return a.Kind == Ban })
	if i < 1 || acts[i].Link != 0 || acts[i-1].Kind != Cancel {
		t.Fatalf("the silent link was not released: %+v", acts)
	}
	done := r.core.Done(nil)
	if done[0] != (Range{0, stopped}) {
		t.Fatalf("the free map has %v, %d bytes came", done, stopped)
	}
	if !slices.ContainsFunc(acts[i:], func(a Action) bool { return a.Kind == Start && a.Range.Off == stopped }) {
		t.Errorf("nobody was asked for the byte where it stopped: %+v", acts[i:])
	}
	// The ban is soon over; the probe is small.
	j := slices.IndexFunc(acts[i:], func(a Action) bool { return a.Kind == Start && a.Link == 0 })
	if j < 0 || acts[i+j].Range.Len() != probeSize {
		t.Fatalf("no probe: %+v", acts[i:])
	}
	r.step(Input{Kind: Finished, Chunk: acts[i+j].Chunk, Bytes: probeSize})
	if r.acts[0].Kind != Unban {
		t.Fatalf("the probe's success gave %+v", r.acts)
	}
}

// Progress is told link by link at one time. A rate that were taken in between
// would miss what the other link has received already, and count it later.
func TestRatesDoNotDependOnWhoseProgressIsToldFirst(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &naive{}, Size: 1 << 30})
	r.up(2)
	for r.now < 3*Second {
		r.now += 50 * Millisecond
		for id := range ChunkID(2) {
			r.step(Input{Kind: Progress, Chunk: id, Bytes: int64(1e6 * r.now.Seconds()), RTT: 20 * Millisecond})
		}
		r.step(Input{Kind: Tick})
		for id := range LinkID(2) {
			if rate := r.core.Link(id).Rate; r.now > Second && (rate < 0.98e6 || rate > 1.02e6) {
				t.Fatalf("at %v s link %d, of 1 MB/s, is taken for %.2f MB/s", r.now.Seconds(), id, rate/1e6)
			}
		}
	}
}

func TestAnInterfaceThatIsBackEndsABanAndAWaitButNotItsServers(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: 1 << 30})
	r.up(2)
	got := map[ChunkID]int64{}
	r.flow(300*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, got)
	r.core.flight.release(0, nil)
	r.core.links[0].ban(r.core.now, 0)
	r.step(Input{Kind: LinkUp, Link: 0})
	r.want(Unban)
	r.step(Input{Kind: Tick})
	if len(r.acts) == 0 || r.acts[0].Kind != Start || r.acts[0].Link != 0 {
		t.Fatalf("the link that is back gets %+v", r.acts)
	}
	r.step(Input{Kind: Failed, Link: 0, Chunk: r.acts[0].Chunk, Wait: 10 * Second})
	r.step(Input{Kind: LinkUp, Link: 0, Wait: Second})
	for _, a := range r.step(Input{Kind: Tick}) {
		if a.Link == 0 {
			t.Fatalf("a server that asked to be left alone is asked: %+v", a)
		}
	}
	r.now += Second
	asked := func(a Action) bool { return a.Kind == Start && a.Link == 0 }
	if !slices.ContainsFunc(r.step(Input{Kind: Tick}), asked) {
		t.Fatalf("the link that is back waits on: %+v", r.acts)
	}
}

// Whoever drives the Core may have to find out first whether to read a response.
func TestALinkWhoseResponseIsHeldIsNotSilent(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &naive{}, Size: 1 << 30})
	r.up(2)
	got := map[ChunkID]int64{}
	for range 100 {
		r.step(Input{Kind: Progress, Link: 0, Chunk: 0, Held: true})
		for _, a := range r.flow(100*Millisecond, map[ChunkID]float64{1: 1e6}, got) {
			if a.Kind == Ban || a.Kind == Cancel {
				t.Fatalf("at %v s: %+v", r.now.Seconds(), a)
			}
		}
	}
}

func TestTimeInWhichNobodyLookedIsNoSilence(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &naive{}, Size: 1 << 30})
	r.up(2)
	got := map[ChunkID]int64{}
	r.flow(300*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, got)
	r.now += 5 * Second // suspended
	for id := range ChunkID(2) {
		r.step(Input{Kind: Progress, Chunk: id, Bytes: got[id] + int64(id)})
		r.want()
	}
	r.step(Input{Kind: Tick})
	r.want()
}

func TestWhenAllLinksAreSilentAllAreKept(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &naive{}, Size: 1 << 30})
	r.up(2)
	got := map[ChunkID]int64{}
	r.flow(300*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, got)
	for _, a := range r.flow(8*Second, nil, got) {
		if a.Kind == Ban {
			t.Fatalf("link %d was banned", a.Link)
		}
	}
}

func TestAnIdleLinkTakesOverTheTailOfASlowOne(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: 2 << 20, First: 1 << 20})
	r.up(2)
	got := map[ChunkID]int64{}
	acts := r.flow(510*Millisecond, map[ChunkID]float64{0: 2e6, 1: 2e5}, got)
	i := slices.IndexFunc(acts, func(a Action) bool { return a.Kind == Shrink && a.Link == 1 })
	if i < 0 || acts[i+1].Kind != Start || acts[i+1].Link != 0 || acts[i+1].Range.Off != acts[i].Range.End || acts[i+1].Range.End != 2<<20 {
		t.Fatalf("got %+v", acts)
	}
}

func TestTheThesisModeNeitherStealsNorBans(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: 2 << 20, First: 1 << 20, NoSteal: true, NoFailover: true, Overlap: 0.6})
	r.up(2)
	got := map[ChunkID]int64{}
	r.flow(520*Millisecond, map[ChunkID]float64{0: 2e6, 1: 2e5}, got)
	for _, a := range r.flow(5*Second, nil, got) {
		if a.Kind != Start {
			t.Fatalf("got %+v", a)
		}
	}
}

func TestOverlapSendsTheNextRequestAtItsFraction(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm1{limit: 1 << 20}, Size: 1 << 24, Overlap: 0.6, NoSteal: true})
	r.up(1)
	r.now = 100 * Millisecond
	r.step(Input{Kind: Progress, Chunk: 0, Bytes: 6 << 20 / 10})
	r.step(Input{Kind: Tick})
	r.want()
	r.now = 150 * Millisecond
	r.step(Input{Kind: Progress, Chunk: 0, Bytes: 7 << 20 / 10})
	r.step(Input{Kind: Tick})
	r.want(Start)
}

func TestTheWindowBoundsHowFarAheadRequestsGo(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: 1 << 30, Window: 1 << 20})
	r.up(2)
	most := int64(0)
	for id := range ChunkID(200) {
		r.now += 50 * Millisecond
		r.step(Input{Kind: Finished, Chunk: id, Bytes: 1 << 30})
		for _, a := range r.acts {
			most = max(most, a.Range.End)
		}
	}
	if most > 1<<20 {
		t.Fatalf("asked up to %d with nothing consumed", most)
	}
	r.step(Input{Kind: Drained, Bytes: 1 << 19})
	if len(r.acts) == 0 || r.acts[0].Range.End > 1<<20+1<<19 {
		t.Fatalf("after draining: %+v", r.acts)
	}
}

func TestConfigsThatCannotWork(t *testing.T) {
	p := &naive{}
	for name, cfg := range map[string]Config{
		"no link":        {Policy: p},
		"no policy":      {Links: 1},
		"overlap":        {Links: 1, Policy: p, Overlap: 1},
		"unsorted have":  {Links: 1, Policy: p, Size: 100, Have: []Range{{50, 60}, {10, 20}}},
		"overlong have":  {Links: 1, Policy: p, Size: 100, Have: []Range{{50, 160}}},
		"negative sizes": {Links: 1, Policy: p, Window: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAStepAllocatesNothing(t *testing.T) {
	c := busyCore(t, 4, 64)
	var out []Action
	out = make([]Action, 0, 64)
	now := Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 5 * Millisecond
		out = c.Step(now, Input{Kind: Progress, Chunk: 3, Bytes: int64(now) / 1000}, out[:0])
		out = c.Step(now, Input{Kind: Tick}, out[:0])
	}); n != 0 {
		t.Errorf("%v allocations in a step", n)
	}
}

func busyCore(t testing.TB, links, requests int) *Core {
	c, err := New(Config{Links: links, Policy: &algorithm3{padding: 0.3}, Size: 1 << 50, NoFailover: true})
	if err != nil {
		t.Fatal(err)
	}
	for id := range LinkID(links) {
		c.Step(0, Input{Kind: LinkUp, Link: id, Bandwidth: 1e7, RTT: 20 * Millisecond}, nil)
		for c.links[id].load.requests < requests/links {
			c.flight.start(id, 0, c.freeMap.take(0, false, 0, 1<<30), nil)
		}
	}
	return c
}

func BenchmarkStep(b *testing.B) {
	c := busyCore(b, 4, 64)
	out := make([]Action, 0, 64)
	b.ReportAllocs()
	now := Time(0)
	got := make([]int64, 64)
	for i := range b.N {
		now += Millisecond
		id := i % 64
		got[id] += 10000
		in := Input{Kind: Progress, Chunk: ChunkID(id), Bytes: got[id], RTT: 20 * Millisecond}
		if i%2 == 1 {
			in = Input{Kind: Tick}
		}
		out = c.Step(now, in, out[:0])
	}
}

// A banned link is not probed for ever when it is the only one left: it is asked as
// any other is, and its failures count.
func TestTheLastLinkIsNotBanned(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: 1 << 30})
	r.up(2)
	got := map[ChunkID]int64{}
	r.flow(300*Millisecond, map[ChunkID]float64{0: 1e6, 1: 1e6}, got)
	r.core.flight.release(0, nil)
	r.core.links[0].ban(r.core.now, 0)
	r.step(Input{Kind: LinkDown, Link: 1})
	acts := slices.Clone(r.acts)
	acts = append(acts, r.step(Input{Kind: Tick})...)
	asked := false
	for _, a := range acts {
		asked = asked || a.Kind == Start && a.Link == 0 && a.Range.Len() > probeSize
	}
	if r.core.links[0].health.banned || !asked {
		t.Fatalf("banned %v: %+v", r.core.links[0].health.banned, acts)
	}
}

// Requests that are over before their rate can be measured still tell that the link
// carries no less: a rate that was measured too low is not kept for ever.
func TestTinyRequestsRaiseTheRate(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm1{limit: 20_000}, Size: 1 << 30, NoSteal: true})
	r.up(1)
	r.core.links[0].est.rate = 1000
	for r.core.Link(0).Rate < 0.9e6 {
		if r.now > Second {
			t.Fatalf("a link that brings 1 MB/s is taken for %.0f bytes per second", r.core.Link(0).Rate)
		}
		ch := r.core.flight.chunks[0]
		r.now += FromSeconds(float64(ch.rng.Len()) / 1e6)
		r.step(Input{Kind: Progress, Chunk: ch.id, Bytes: ch.rng.Len(), RTT: Millisecond})
		r.step(Input{Kind: Finished, Chunk: ch.id, Bytes: ch.rng.Len()})
	}
}
