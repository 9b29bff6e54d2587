package scheduler

import "testing"

// TestAFarLinkConnectsAheadThoughTheSizeIsKnown from another one: its first request has not been
// answered yet. When it has been, or there is much to do, connections come with their requests.
func TestAFarLinkConnectsAheadThoughTheSizeIsKnown(t *testing.T) {
	const trip = 300 * Millisecond
	for name, tt := range map[string]struct {
		change func(c *Core, l *link)
		want   uint64
	}{
		"not answered":     {func(*Core, *link) {}, 1<<openMost - 2},
		"answered":         {func(_ *Core, l *link) { l.load.received = 1000 }, 0},
		"has much to do":   {func(_ *Core, l *link) { l.load.assigned = shareMost + 1 }, 0},
		"is not that far":  {func(_ *Core, l *link) { l.rtt.min = longTrip - 1 }, 0},
		"was not asked":    {func(_ *Core, l *link) { l.load.requests = 0 }, 0},
		"has shown a rate": {func(_ *Core, l *link) { l.est.nSamples = 1 }, 0},
		"fetches a list":   {func(c *Core, _ *link) { c.cfg.Batch, c.batch.plans = true, make([]Plan, 2) }, 0},
	} {
		r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 4 << 20})
		r.up(2)
		l := &r.core.links[1]
		l.rtt.min, r.core.now = trip, trip
		tt.change(r.core, l)
		got := uint64(0)
		for _, a := range r.core.openAhead(nil) {
			if a.Kind != Open || a.Link != 1 {
				t.Errorf("%s: %+v", name, a)
			}
			got |= 1 << a.Stream
		}
		if got != tt.want {
			t.Errorf("%s: %b, want %b", name, got, tt.want)
		}
	}
}

// TestConnectionsMadeAheadAreAskedForAsMuch of a file that is larger than the first request: not
// before it is known for how many there is room, which is soon after the answer, and then all of
// them alike.
func TestConnectionsMadeAheadAreAskedForAsMuch(t *testing.T) {
	const trip, size = 300 * Millisecond, 3 << 20
	r, _ := dark(t, Config{}, trip)
	r.now = 2 * trip
	r.step(Input{Kind: Progress, Answered: true})
	acts := append(r.step(Input{Kind: Sized, Bytes: size}), r.step(Input{Kind: Tick})...)
	for _, a := range acts {
		if a.Kind == Start {
			t.Errorf("asked at once: %+v", a)
		}
	}
	r.now += gaugeLook
	r.step(Input{Kind: Progress, Bytes: firstBytes})
	acts = acts[:0]
	for before := -1; before < len(acts); {
		before = len(acts)
		acts = append(acts, r.step(Input{Kind: Tick})...)
	}
	least, most, n := int64(size), int64(0), 0
	for _, a := range acts {
		if a.Kind == Start && int(a.Stream) < openMost && n < openMost-1 {
			least, most, n = min(least, a.Range.Len()), max(most, a.Range.Len()), n+1
		}
	}
	if n != openMost-1 || most > least+least/2 {
		t.Errorf("%d requests of %d to %d bytes", n, least, most)
	}
}

// TestNobodyWaitsForTheGaugeForLong: not beyond its time, not for a large file, and not where
// another link has told the size, since this one's answer may be far.
func TestNobodyWaitsForTheGaugeForLong(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(c *Core, l *link)
		want   bool
	}{
		"just answered": {func(*Core, *link) {}, true},
		"not answered":  {func(_ *Core, l *link) { l.streams.ahead.answered = 0 }, false},
		"long ago":      {func(_ *Core, l *link) { l.streams.ahead.answered -= gaugeMost }, false},
		"room is known": {func(_ *Core, l *link) { l.streams.ahead.room = 1 }, false},
		"the rate is":   {func(_ *Core, l *link) { l.est.rate = 1 }, false},
		"not ahead":     {func(_ *Core, l *link) { l.streams.conn[1].early = 0 }, false},
		"a large file":  {func(c *Core, _ *link) { c.freeMap.setFree(Range{0, 1 << 30}) }, false},
	} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 4 << 20})
		r.up(1)
		c, l := r.core, &r.core.links[0]
		l.streams.ahead.answered, l.streams.conn[1].early, c.now = Second, Second, Second
		tt.change(c, l)
		if got := l.gauging(1, c.now) && (View{c}).task().startDecides(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWhatEachIsAskedFor: of what the link has been asked for and is to have besides, as long as
// that is a part that a start decides, and nothing is known of its connections.
func TestWhatEachIsAskedFor(t *testing.T) {
	const size, n = int64(4 << 20), 10
	for name, tt := range map[string]struct {
		bytes  int64 // that the link is to have besides
		change func(c *Core, l *link)
		want   int64 // shared by all but the first, which keeps firstBytes
	}{
		"a part":            {1 << 20, func(*Core, *link) {}, 1 << 20},
		"with what it owes": {1 << 20, func(_ *Core, l *link) { l.load.assigned = 1 << 20 }, 2 << 20},
		"no more than all":  {1 << 30, func(*Core, *link) {}, size},
		"as the others":     {1 << 20, func(_ *Core, l *link) { l.streams.ahead.each = 77 }, 77},
		"a rate is known":   {1 << 20, func(_ *Core, l *link) { l.est.rate = 1 }, 0},
		"not made ahead":    {1 << 20, func(_ *Core, l *link) { l.streams.conn[1].early = 0 }, 0},
		"a large part":      {shareMost + 1, func(c *Core, _ *link) { c.freeMap.setFree(Range{0, size + shareMost}) }, 0},
		"no size is known":  {1 << 20, func(c *Core, _ *link) { c.freeMap.sized = false }, 0},
	} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: size})
		r.step(Input{Kind: LinkUp})
		c, l := r.core, &r.core.links[0]
		l.rtt.min, l.streams.ahead.room = 300*Millisecond, MaxStreams
		for s := StreamID(1); s <= n; s++ {
			l.streams.conn[s].early = Second
		}
		tt.change(c, l)
		want := tt.want
		if want > 77 {
			want = (want - firstBytes + n - 1) / n
		}
		if got := l.equalShare(1, tt.bytes, (View{c}).task()); got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
	}
}

// TestTheOnlyLinkSharesAllOfASmallFile, whatever its policy would begin with: what each brings in a
// few round trips, and not where another link may want some of it.
func TestTheOnlyLinkSharesAllOfASmallFile(t *testing.T) {
	const first, n = 300 << 10, 10
	for name, tt := range map[string]struct {
		links LinkID
		size  int64
		want  int64
	}{
		"small":         {1, firstBytes + n*shareWindows, firstBytes + n*shareWindows},
		"large":         {1, firstBytes + n*shareWindows + 1, first},
		"for two links": {2, firstBytes + n*shareWindows, first},
	} {
		r := newRig(t, Config{Links: int(tt.links), Policy: &algorithm3{padding: AutoPadding}, Size: tt.size})
		r.up(tt.links)
		c, l := r.core, &r.core.links[0]
		l.rtt.min, l.streams.ahead.room, l.load.assigned = 300*Millisecond, MaxStreams, 0
		for s := StreamID(1); s <= n; s++ {
			l.streams.conn[s].early = Second
		}
		want := (tt.want - firstBytes + n - 1) / n
		for range 2 { // it stays so
			if got := l.equalShare(1, first, (View{c}).task()); got != want {
				t.Errorf("%s: %d bytes, want %d", name, got, want)
			}
		}
	}
}

// TestASmallGrantStaysSmall: what its policy gives a link less than a share is not made one.
func TestASmallGrantStaysSmall(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm1{limit: 20 << 10}, Size: 4 << 20})
	r.step(Input{Kind: LinkUp})
	l := &r.core.links[0]
	l.streams.conn[1].early, l.streams.ahead.each = Second, 1<<20
	out := r.core.assignment.request(0, 1, nil)
	if len(out) != 1 || out[0].Range.Len() != 20<<10 {
		t.Errorf("%+v", out)
	}
}
