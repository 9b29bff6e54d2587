package scheduler

import "testing"

// near is a run over two links: the second one, 10 ms away, has been told that the object ends
// at end, before what it was asked for; of the first one nothing has been heard.
func near(t *testing.T, cfg Config, end int64) *rig {
	t.Helper()
	cfg.Links, cfg.Policy, cfg.Size = 2, &algorithm3{padding: AutoPadding}, -1
	r := newRig(t, cfg)
	r.up(2)
	r.now = 20 * Millisecond
	r.step(Input{Kind: Beyond, Link: 1, Chunk: 1, Bytes: end, RTT: 10 * Millisecond})
	return r
}

// TestWhoIsToldOfTheEndFetchesWhatNobodyHasAnswered: the link that is nearest learns that the
// object ends before its range while the other one has no connection yet, and fetches the
// object, too. What it asks for is not beyond that end, and both have it until one is done.
func TestWhoIsToldOfTheEndFetchesWhatNobodyHasAnswered(t *testing.T) {
	r := near(t, Config{}, 100_000)
	r.want(Start)
	if a := r.acts[0]; a.Link != 1 || !a.Copy || a.Range != (Range{0, 128 << 10}) {
		t.Fatalf("%+v", a)
	}
	if r.core.links[1].streams.trips(0) != 1 {
		t.Error("its connection is not there any more")
	}
	r.now += 20 * Millisecond
	r.step(Input{Kind: Progress, Link: 1, Chunk: 2, RTT: 10 * Millisecond})
	for _, a := range r.step(Input{Kind: Sized, Bytes: 100_000}) {
		if a.Kind != Shrink || a.Range != (Range{0, 100_000}) {
			t.Errorf("%+v", a)
		}
	}
	if r.core.flight.copied != 100_000 {
		t.Errorf("%d bytes are asked for twice", r.core.flight.copied)
	}
	r.now += 20 * Millisecond
	r.step(Input{Kind: Finished, Link: 1, Chunk: 2, Bytes: 100_000})
	r.want(Cancel, Complete)
}

// TestWhoWasAnsweredSoonerIsNotCopied: over a link whose handshake told that its answer will be
// there sooner, over one that has brought bytes, and where both share a limited rate.
func TestWhoWasAnsweredSoonerIsNotCopied(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  Config
		what Input
		none bool
	}{
		"nothing is known of the other one": {},
		"both share a rate":                 {cfg: Config{Limited: true}, none: true},
		"nobody takes over anything":        {cfg: Config{NoSteal: true}, none: true},
		"the other is as near":              {what: Input{Kind: Progress, RTT: 14 * Millisecond}, none: true},
		"the other is far":                  {what: Input{Kind: Progress, RTT: 80 * Millisecond}},
		"the other has brought bytes":       {what: Input{Kind: Progress, RTT: 80 * Millisecond, Bytes: 1000}, none: true},
	} {
		tt.cfg.Links, tt.cfg.Policy, tt.cfg.Size = 2, &algorithm3{padding: AutoPadding}, -1
		r := newRig(t, tt.cfg)
		r.up(2)
		r.now = 20 * Millisecond
		if tt.what.RTT > 0 {
			r.step(tt.what)
		}
		r.step(Input{Kind: Beyond, Link: 1, Chunk: 1, Bytes: 100_000, RTT: 10 * Millisecond})
		if links, _ := starts(r.acts); (len(links) == 0) != tt.none {
			t.Errorf("%s: %+v", name, r.acts)
		}
	}
}

// TestNobodyIsAskedForBytesBeyondTheEnd that one link was told of; and if that is wrong, the
// rest is asked for when somebody brings bytes.
func TestNobodyIsAskedForBytesBeyondTheEnd(t *testing.T) {
	r := newRig(t, Config{Links: 3, Policy: &algorithm3{padding: AutoPadding}, Size: -1, Limited: true})
	r.step(Input{Kind: LinkUp, Link: 0})
	r.step(Input{Kind: LinkUp, Link: 1})
	r.step(Input{Kind: Tick})
	r.now = 20 * Millisecond
	r.step(Input{Kind: Beyond, Link: 1, Chunk: 1, Bytes: 100_000, RTT: 10 * Millisecond})
	r.step(Input{Kind: LinkUp, Link: 2})
	if links, ranges := starts(r.step(Input{Kind: Tick})); len(links) > 0 {
		t.Errorf("%v asks for %v", links, ranges)
	}
	r.now = 100 * Millisecond
	r.step(Input{Kind: Progress, RTT: 40 * Millisecond})
	r.step(Input{Kind: Sized, Bytes: 3 << 20})
	if links, ranges := starts(r.acts); len(links) == 0 || ranges[0].Off != 128<<10 {
		t.Errorf("%v asks for %v", links, ranges)
	}
}

// TestAnOnlyAnswerIsTried: if nobody else is at work, what was told of the end is no reason to
// wait.
func TestAnOnlyAnswerIsTried(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: -1, Have: []Range{{0, 300_000}}})
	r.up(2)
	r.step(Input{Kind: LinkDown, Link: 0})
	r.now = 20 * Millisecond
	r.step(Input{Kind: Beyond, Link: 1, Chunk: 1, Bytes: 100_000, RTT: 10 * Millisecond})
	if links, ranges := starts(r.acts); len(links) != 1 || ranges[0].Off != 300_000 {
		t.Errorf("%v asks for %v", links, ranges)
	}
}

// TestAScrapIsFetchedByTheLinkBeforeAsWell: of the range that the far link was asked for the
// object turns out to have 14 kB. Those follow on the near link's connection, too, whichever
// is sooner; but not where there is more of it, or the far link has answered.
func TestAScrapIsFetchedByTheLinkBeforeAsWell(t *testing.T) {
	const first = 128 << 10
	for name, tt := range map[string]struct {
		cfg      Config
		size     int64
		answered int64 // bytes, over the far link
		want     bool
	}{
		"14 kB":                    {size: first + 14_000, want: true},
		"100 kB":                   {size: first + 100_000},
		"the far one has answered": {size: first + 14_000, answered: 1000},
		"both share a rate":        {cfg: Config{Limited: true}, size: first + 14_000},
	} {
		tt.cfg.Links, tt.cfg.Policy, tt.cfg.Size = 2, &algorithm3{padding: AutoPadding}, -1
		r := newRig(t, tt.cfg)
		r.up(2)
		r.now = 160 * Millisecond
		r.step(Input{Kind: Progress, Link: 1, Chunk: 1, RTT: 176 * Millisecond, Bytes: tt.answered})
		r.step(Input{Kind: Progress, Link: 0, Chunk: 0, RTT: 77 * Millisecond})
		got := false
		for _, a := range r.step(Input{Kind: Sized, Bytes: tt.size}) {
			got = got || a.Kind == Start && a.Copy && a.Link == 0 && a.Range.End == tt.size
		}
		if got != tt.want {
			t.Errorf("%s: %+v", name, r.acts)
		}
	}
}

// TestAThirdLinkTakesOverWhatTwoAreSlowWith: what a far link was asked for a slow one fetches,
// too; one that is fast and has nothing more to do does not wait for either.
func TestAThirdLinkTakesOverWhatTwoAreSlowWith(t *testing.T) {
	r := newRig(t, Config{Links: 3, Policy: &algorithm3{padding: AutoPadding}, Size: -1, Parallelism: 1})
	r.up(3)
	r.now = 20 * Millisecond
	r.step(Input{Kind: Beyond, Link: 2, Chunk: 2, Bytes: 2 * 128 << 10, RTT: 10 * Millisecond})
	r.want(Start) // a copy of the first range
	r.now = 30 * Millisecond
	r.step(Input{Kind: Progress, Link: 1, Chunk: 1, RTT: 10 * Millisecond})
	r.step(Input{Kind: Sized, Bytes: 2 * 128 << 10})
	rates := map[ChunkID]float64{1: 4e6, 3: 50e3}
	got := map[ChunkID]int64{}
	acts := r.flow(30*Millisecond, rates, got)
	r.now += 10 * Millisecond
	acts = append(acts, r.step(Input{Kind: Finished, Link: 1, Chunk: 1, Bytes: 128 << 10})...)
	delete(rates, 1)
	acts = append(acts, r.flow(300*Millisecond, rates, got)...)
	for _, a := range acts {
		if a.Kind == Start && a.Link == 1 && a.Range == (Range{0, 128 << 10}) && !a.Copy {
			return
		}
	}
	t.Errorf("it does not: %+v", acts)
}
