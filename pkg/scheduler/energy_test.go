package scheduler

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Radios like Huang's WiFi and LTE.
func cheapRadio() Radio {
	return Radio{ActiveMW: 133, MWPerMbps: 147, PromotionMJ: 10, TailMJ: 30, TailTime: 240 * Millisecond, PromotionTime: 79 * Millisecond}
}

func costlyRadio() Radio {
	return Radio{ActiveMW: 1288, MWPerMbps: 62, PromotionMJ: 310, TailMJ: 12100, TailTime: 11576 * Millisecond, PromotionTime: 260 * Millisecond}
}

// pair brings up a cheap link 0 and a costly link 1 of known bandwidths in bytes
// per second (0: not told).
func (r *rig) pair(cheap, costly float64) []Action {
	r.step(Input{Kind: LinkUp, Link: 0, Bandwidth: cheap, Terms: Terms{Radio: cheapRadio()}})
	r.step(Input{Kind: LinkUp, Link: 1, Bandwidth: costly, Terms: Terms{Radio: costlyRadio(), Costly: true}})
	return r.step(Input{Kind: Tick})
}

func minEnergyConfig(size int64) Config {
	return Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: size, Energy: EnergyMin}
}

// why are the reasons of the Rests and Wakes of a link.
func why(acts []Action, id LinkID) (reasons []Reason) {
	for _, a := range acts {
		if a.Link == id && (a.Kind == Rest || a.Kind == Wake) {
			reasons = append(reasons, a.Why)
		}
	}
	return reasons
}

func TestMinEnergyAsksForTheSizeOverTheCheapLink(t *testing.T) {
	r := newRig(t, minEnergyConfig(-1))
	r.pair(0, 0)
	r.want(Rest, Start)
	if r.acts[0].Link != 1 || r.acts[0].Why != ReasonUnsized || r.acts[1].Link != 0 {
		t.Fatalf("got %+v", r.acts)
	}
}

func TestMinEnergyChoosesBySize(t *testing.T) {
	for _, c := range []struct {
		size   int64
		told   [2]float64 // Mbit/s
		costly bool       // it carries it in the end
	}{
		{10_000, [2]float64{30, 60}, false},
		{1_000_000, [2]float64{30, 60}, false},
		{10_000_000, [2]float64{30, 60}, false},
		{100_000_000, [2]float64{30, 60}, true},
		{100_000_000, [2]float64{30, 10}, false}, // a slow link costs more per byte
		{1_000_000_000, [2]float64{2, 10}, true},
		{20_000_000, [2]float64{0, 60}, false}, // nothing measured yet: it waits
		{100_000_000, [2]float64{0, 60}, true}, // but not where 1 Gbit/s would not be enough
	} {
		r := newRig(t, minEnergyConfig(-1))
		r.pair(c.told[0]*1e6/8, c.told[1]*1e6/8)
		r.now = 40 * Millisecond
		acts := r.step(Input{Kind: Sized, Bytes: c.size})
		wakes := slices.Contains(why(acts, 1), ReasonPays)
		if wakes != c.costly || c.costly != slices.ContainsFunc(acts, func(a Action) bool { return a.Kind == Start && a.Link == 1 }) {
			t.Errorf("%d bytes, %v Mbit/s: %+v", c.size, c.told, acts)
		}
		if c.costly && r.core.Link(0).Requests > 0 {
			t.Errorf("%d bytes: both links work", c.size)
		}
	}
}

// What an unknown link carries is guessed, and where it depends on the present one
// only when that has been measured.
func TestMinEnergyMeasuresBeforeItGambles(t *testing.T) {
	cfg := minEnergyConfig(2e9)
	r := newRig(t, cfg)
	r.step(Input{Kind: LinkUp, Link: 0, Terms: Terms{Radio: Radio{ActiveMW: 533, MWPerMbps: 9, TailMJ: 120, TailTime: 240 * Millisecond}}})
	r.step(Input{Kind: LinkUp, Link: 1, Terms: Terms{Radio: costlyRadio(), Costly: true}})
	r.step(Input{Kind: Tick})
	if got := why(r.acts, 1); !slices.Equal(got, []Reason{ReasonUnmeasured}) {
		t.Fatalf("the costly link: %v", got)
	}
	got := map[ChunkID]int64{}
	rates := map[ChunkID]float64{}
	for id := range ChunkID(64) {
		rates[id] = 1e5 // 0.8 Mbit/s in all its requests: dear, even over WiFi
	}
	acts := r.flow(400*Millisecond, map[ChunkID]float64{0: 1e5}, got)
	if reasons := why(acts, 1); len(reasons) > 0 {
		t.Fatalf("after 0.4 s the costly link: %v", reasons)
	}
	acts = append(acts, r.flow(8*Second, map[ChunkID]float64{0: 1e5}, got)...)
	reasons := why(acts, 1)
	if !slices.Contains(reasons, ReasonPays) {
		t.Fatalf("the costly link: %v", reasons)
	}
	i := slices.IndexFunc(acts, func(a Action) bool { return a.Kind == Wake })
	if acts[i].Costs < 12000 || acts[i].Saves <= acts[i].Costs {
		t.Errorf("the bargain is %+v", acts[i])
	}
	if text := acts[i].Text(); !strings.Contains(text, "12.4 J to wake it") {
		t.Errorf("it is told as %q", text)
	}
}

// A link that has been woken has paid: for what is left it is held against its
// running costs alone.
func TestMinEnergyForgetsWhatWasSpent(t *testing.T) {
	radio := costlyRadio()
	for _, c := range []struct {
		quiet Time
		want  float64
	}{
		{Never, radio.PromotionMJ + radio.TailMJ},
		{0, 0},
		{radio.TailTime / 2, radio.TailMJ / 2},
		{radio.TailTime, radio.PromotionMJ + radio.TailMJ},
	} {
		if got := radio.wakeEnergy(c.quiet); got != c.want {
			t.Errorf("quiet for %v s: %v mJ, want %v", c.quiet.Seconds(), got, c.want)
		}
	}
}

func TestEqualLinksWorkTogether(t *testing.T) {
	r := newRig(t, minEnergyConfig(1e9))
	for id := range LinkID(2) { // wired: nothing is charged
		r.step(Input{Kind: LinkUp, Link: id, Bandwidth: 1e7, Terms: Terms{Usual: 1e7}})
	}
	r.step(Input{Kind: Tick})
	r.want(Start, Start)
}

func TestDeadlines(t *testing.T) {
	const size = 100_000_000
	for _, c := range []struct {
		deadline float64
		told     [2]float64 // Mbit/s
		work     [2]bool
	}{
		{100, [2]float64{10, 10}, [2]bool{true, false}},
		{70, [2]float64{10, 10}, [2]bool{true, true}},
		{5, [2]float64{1000, 1000}, [2]bool{true, true}},   // too near for a choice
		{60, [2]float64{1000, 1000}, [2]bool{false, true}}, // the costly one takes less for so much
		{10, [2]float64{10, 10}, [2]bool{true, true}},      // not to be met: as near as possible
		{100, [2]float64{0, 0}, [2]bool{true, true}},       // nothing is known, and time passes
	} {
		cfg := minEnergyConfig(size)
		cfg.Deadline = FromSeconds(c.deadline)
		r := newRig(t, cfg)
		acts := slices.Clone(r.pair(c.told[0]*1e6/8, c.told[1]*1e6/8))
		r.now = FromSeconds(c.deadline / 50)
		acts = append(acts, r.step(Input{Kind: Tick})...)
		if got := [2]bool{r.core.Link(0).Requests > 0, r.core.Link(1).Requests > 0}; got != c.work {
			t.Errorf("%v s, %v Mbit/s: at work are %v, want %v, after %+v", c.deadline, c.told, got, c.work, acts)
		}
	}
}

func TestABackupServesWhenNobodyElseDoes(t *testing.T) {
	for _, name := range Names() {
		p, err := NewPolicy(name, 4<<20, 0.3)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, Config{Links: 2, Policy: p, Size: 1 << 30})
		r.step(Input{Kind: LinkUp, Link: 0, Terms: Terms{Backup: true}})
		r.step(Input{Kind: LinkUp, Link: 1})
		r.step(Input{Kind: Tick})
		r.want(Rest, Start)
		if r.acts[0].Link != 0 || r.acts[0].Why != ReasonBackup || r.acts[1].Link != 1 {
			t.Fatalf("%s: %+v", name, r.acts)
		}
		// A failure is no reason yet, unless nothing comes of it for a while.
		r.step(Input{Kind: Failed, Link: 1, Chunk: r.acts[1].Chunk, Wait: 5 * Second})
		r.want()
		r.now += failingMost / 2
		r.step(Input{Kind: Tick})
		r.want()
		r.now += failingMost
		r.step(Input{Kind: Tick})
		r.want(Wake, Start)
		if r.acts[0].Why != ReasonNeeded || r.acts[1].Link != 0 {
			t.Fatalf("%s: %+v", name, r.acts)
		}
		r.step(Input{Kind: LinkUp, Link: 1}) // it is back
		r.step(Input{Kind: Tick})
		if got := why(r.acts, 0); !slices.Equal(got, []Reason{ReasonBackup}) || r.core.Link(0).Requests > 0 {
			t.Errorf("%s: %+v", name, r.acts)
		}
		// Gone for good is a reason at once.
		r.step(Input{Kind: LinkDown, Link: 1})
		if got := why(r.acts, 0); !slices.Equal(got, []Reason{ReasonNeeded}) {
			t.Errorf("%s: %+v", name, r.acts)
		}
	}
}

func TestACapCountsWhatOthersReceive(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &single{link: NoLink}, Size: 1 << 30})
	r.step(Input{Kind: LinkUp, Terms: Terms{Cap: 1 << 20}})
	r.step(Input{Kind: Tick})
	r.want(Start)
	if n := r.acts[0].Range.Len(); n != 1<<20 {
		t.Fatalf("asked for %d bytes", n)
	}
	r.step(Input{Kind: Progress, Bytes: 1000})
	r.step(Input{Kind: Spent, Bytes: 1 << 20})
	r.want(Cancel, Rest)
	if r.acts[0].Range != (Range{0, 1000}) || r.acts[1].Why != ReasonCapped {
		t.Fatalf("got %+v", r.acts)
	}
	r.now += 10 * Second
	r.step(Input{Kind: Tick})
	r.want()
}

// TestARenewedCapIsUsed: a link that has spent its allowance works again when it gets more.
func TestARenewedCapIsUsed(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &single{link: NoLink}, Size: 1 << 30})
	r.step(Input{Kind: LinkUp, Link: 0, Terms: Terms{Cap: 1 << 20}})
	r.step(Input{Kind: LinkUp, Link: 1})
	r.step(Input{Kind: Spent, Link: 0, Bytes: 1 << 20})
	r.step(Input{Kind: Tick})
	r.step(Input{Kind: LinkUp, Link: 0, Terms: Terms{Cap: 1 << 20}})
	if slices.ContainsFunc(r.acts, func(a Action) bool { return a.Kind == Wake }) {
		t.Errorf("woken for nothing: %+v", r.acts)
	}
	r.step(Input{Kind: LinkUp, Link: 0, Terms: Terms{Cap: 2 << 20}})
	if len(r.acts) != 1 || r.acts[0].Kind != Wake || r.acts[0].Why != ReasonRenewed || r.acts[0].Link != 0 {
		t.Errorf("got %+v", r.acts)
	}
}

func TestTermsThatCannotBe(t *testing.T) {
	for name, terms := range map[string]Terms{
		"cap":   {Cap: -1},
		"usual": {Usual: -1},
		"power": {Radio: Radio{ActiveMW: 1e30}},
	} {
		if terms.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
		r := newRig(t, Config{Links: 1, Policy: &naive{}, Size: 1000, Energy: EnergyMin})
		r.step(Input{Kind: LinkUp, Terms: terms}) // and ignored by a Core
		r.step(Input{Kind: Tick})
		r.want(Start)
	}
	for _, cfg := range []Config{
		{Links: 1, Policy: &naive{}, Energy: EnergyMin + 1}, {Links: 1, Policy: &naive{}, Offload: 1.1}, {Links: 1, Policy: &naive{}, Deadline: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v: accepted", cfg)
		}
	}
	for _, name := range EnergyNames() {
		if m, _, err := ParseEnergy(name); err != nil || m.String() != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	if m, share, err := ParseEnergy("emtcp=0.1"); m != EnergyEMTCP || share != 0.1 || err != nil {
		t.Errorf("emtcp=0.1: %v, %v, %v", m, share, err)
	}
	for _, text := range []string{"emtcp=", "emtcp=0", "emtcp=1.1", "emtcp=-1", "emtcp=NaN", "min-energy=0.1", "off=1"} {
		if _, _, err := ParseEnergy(text); err == nil {
			t.Errorf("%s: accepted", text)
		}
	}
	if _, _, err := ParseEnergy("fast"); err == nil || EnergyMode(99).String() != "unknown" {
		t.Error("an unknown mode has a name")
	}
}

func TestARationedStepAllocatesNothing(t *testing.T) {
	c, err := New(Config{Links: 4, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 50, NoFailover: true, Energy: EnergyMin, Deadline: 1000 * Second})
	if err != nil {
		t.Fatal(err)
	}
	for id := range LinkID(4) {
		c.Step(0, Input{Kind: LinkUp, Link: id, Bandwidth: 1e7, RTT: 20 * Millisecond, Terms: Terms{Cap: 1 << 49, Radio: costlyRadio()}}, nil)
	}
	out := make([]Action, 0, 64)
	now := Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 300 * Millisecond
		out = c.Step(now, Input{Kind: Progress, Chunk: 0, Bytes: int64(now) / 100}, out[:0])
		out = c.Step(now, Input{Kind: Tick}, out[:0])
	}); n != 0 {
		t.Errorf("%v allocations in a step", n)
	}
}

// A link that was sent to rest while it was banned is not tried, and so tells nothing: it
// may serve again when its ban is over.
func TestABannedLinkThatRestsMayServeAgain(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 30, Energy: EnergyMin, Deadline: 1000 * Second})
	r.up(2)
	r.core.links[1].ban(r.core.now, 1)
	r.core.flight.rest(1, Action{Why: ReasonDear}, true, nil)
	l := &r.core.links[1]
	l.health.notBefore = r.now + 5*Second
	for after, want := range map[Time]bool{failingMost / 2: true, 2 * failingMost: false, 5 * Second: true} {
		r.core.now = r.now + after
		if got := l.serves(r.core.now, math.MaxInt64); got != want {
			t.Errorf("after %.1f s it serves: %v", after.Seconds(), got)
		}
	}
	r.core.now = r.now + 5*Second
	l.linkUse.resting = false
	if l.serves(r.core.now, math.MaxInt64) {
		t.Error("one that is tried, and does not answer, serves")
	}
}

// TestMoreLinksThanCandidates: those of which nobody reckons what they cost rest.
func TestMoreLinksThanCandidates(t *testing.T) {
	const links = maxCandidates + 4
	r := newRig(t, Config{Links: links, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 30, Energy: EnergyMin})
	for id := range LinkID(links) {
		radio := Radio{ActiveMW: 1000 + 100*float64(id), MWPerMbps: 10, PromotionMJ: 100, TailMJ: 2000, TailTime: 2 * Second}
		r.step(Input{Kind: LinkUp, Link: id, Bandwidth: 1e6, Terms: Terms{Radio: radio}})
	}
	asked := 0
	for _, a := range r.step(Input{Kind: Tick}) {
		if a.Kind != Start {
			continue
		}
		if asked++; a.Link != 0 {
			t.Errorf("link %d is asked, which is not the cheapest", a.Link)
		}
	}
	if asked == 0 {
		t.Error("none is asked")
	}
}
