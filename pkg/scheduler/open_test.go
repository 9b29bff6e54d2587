package scheduler

import "testing"

// opened is the streams that actions open, which must be link 0's and come once.
func opened(t *testing.T, acts []Action) (streams uint64) {
	t.Helper()
	for _, a := range acts {
		if a.Kind != Open {
			continue
		}
		if a.Link != 0 || streams&(1<<a.Stream) != 0 {
			t.Errorf("%+v", a)
		}
		streams |= 1 << a.Stream
	}
	return streams
}

// dark is a download of unknown size over one link, whose handshake took so long.
func dark(t *testing.T, cfg Config, trip Time) (*rig, []Action) {
	t.Helper()
	cfg.Links, cfg.Policy = 1, &algorithm3{padding: AutoPadding}
	if !cfg.Batch {
		cfg.Size = -1
	}
	r := newRig(t, cfg)
	r.step(Input{Kind: LinkUp})
	if cfg.Batch {
		r.step(Input{Kind: Added, Piece: Piece{Range: Range{End: 1 << 20}, Guess: true}})
		r.step(Input{Kind: Expected})
	}
	acts := r.step(Input{Kind: Tick})
	r.now = trip / 2
	acts = append(acts, r.step(Input{Kind: Tick})...)
	if opened(t, acts) != 0 {
		t.Fatal("connections to a server that has not been reached yet")
	}
	r.now = trip
	r.step(Input{Kind: Progress, RTT: trip})
	return r, r.step(Input{Kind: Tick})
}

func TestAFarLinkConnectsAhead(t *testing.T) {
	few := func(n int) uint64 { return 1<<n - 2 } // all but the one at work
	for name, c := range map[string]struct {
		cfg  Config
		trip Time
		want uint64
	}{
		"near":           {Config{}, 80 * Millisecond, 0},
		"rather far":     {Config{}, 110 * Millisecond, few(22)},
		"far":            {Config{}, 300 * Millisecond, few(openMost)},
		"its number set": {Config{Parallelism: 8}, 300 * Millisecond, 0},
		"a list":         {Config{Batch: true}, 300 * Millisecond, few(openMost)},
		"over TLS":       {Config{TLS: true}, 300 * Millisecond, few(30)},
		"a secure list":  {Config{Batch: true, TLS: true}, 300 * Millisecond, few(openMost)},
		"a near list":    {Config{Batch: true}, 80 * Millisecond, 0},
	} {
		r, acts := dark(t, c.cfg, c.trip)
		if got := opened(t, acts); got != c.want {
			t.Errorf("%s: %b, want %b", name, got, c.want)
		}
		r.now += 50 * Millisecond
		if got := opened(t, r.step(Input{Kind: Tick})); got != 0 {
			t.Errorf("%s: %b once more", name, got)
		}
	}
}

// Requests that come with the size find the connections open: those are not taken for late
// ones, nor for some that have yet to connect. A file of some hundred kilobytes is shared by
// them, too, all alike, and the first connection keeps what it is being sent anyway, and is
// closed then; a large one gets more, which connect.
func TestRequestsFollowOnOpenConnections(t *testing.T) {
	const trip = 300 * Millisecond
	for _, c := range []struct {
		size int64
		want int // streams, the first included
	}{{40_000, 1}, {60_000, 5}, {200 << 10, 16}, {1 << 20, 31}, {20 << 20, 39}, {1 << 30, 60}} {
		r, _ := dark(t, Config{}, trip)
		r.now = 2 * trip
		r.step(Input{Kind: Progress, Bytes: 8000})
		acts := r.step(Input{Kind: Sized, Bytes: c.size})
		r.now += leastWake
		r.step(Input{Kind: Progress, Bytes: firstBytes})
		for before := -1; before < len(acts); {
			before = len(acts)
			acts = append(acts, r.step(Input{Kind: Tick})...)
		}
		streams := uint64(1)
		kept, shared := min(c.size, 1<<20), c.size <= 1<<20
		least, most := c.size, int64(0)
		for _, a := range acts {
			switch a.Kind {
			case Start:
				streams |= 1 << a.Stream
				least, most = min(least, a.Range.Len()), max(most, a.Range.Len())
			case Shrink, Cancel:
				if kept = a.Range.End; a.Chunk != 0 || shared && !a.Close && a.Range.End < c.size {
					t.Errorf("%d bytes: %+v", c.size, a)
				}
			case Open:
				t.Error("a connection of its own for a request that makes one")
			default:
			}
		}
		if want := uint64(1)<<c.want - 1; streams != want {
			t.Errorf("%d bytes: requests on %b", c.size, streams)
		}
		if n := int64(c.want); shared && n > 1 && (most > least+n || most > firstBytes+2*initialWindow || kept > firstBytes || kept < firstBytes-n) {
			t.Errorf("%d bytes: shares of %d to %d, %d for the first", c.size, least, most, kept)
		}
		s := &r.core.links[0]
		for id := StreamID(1); id < StreamID(c.want); id++ {
			trips := s.streams.trips(id)
			if early := id < openMost; early != (trips == 1) {
				t.Errorf("stream %d: %d trips", id, trips)
			}
		}
		if lost := s.streams.trips(0) > 1; lost != (kept < min(c.size, 1<<20)) {
			t.Errorf("%d bytes: the first connection is lost: %v", c.size, lost)
		}
	}
}

// A request that comes before its connection is there waits for it.
func TestARequestWaitsForItsConnection(t *testing.T) {
	const trip = 300 * Millisecond
	r, _ := dark(t, Config{}, trip)
	r.now = trip + trip/3
	r.step(Input{Kind: Sized, Bytes: 1 << 30})
	r.step(Input{Kind: Tick})
	l := &r.core.links[0]
	for i := range r.core.flight.chunks {
		ch := &r.core.flight.chunks[i]
		want := 3 * trip
		switch {
		case ch.stream == 0:
			continue
		case ch.stream >= openMost:
			want = r.now + 2*trip
		}
		if got := l.expected(ch); got != want {
			t.Errorf("stream %d: its first byte is expected at %v s, not %v", ch.stream, got.Seconds(), want.Seconds())
		}
	}
}

// Links that rest are left alone, until they are woken.
func TestALinkAtRestIsNotOpened(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: -1})
	r.step(Input{Kind: LinkUp, Link: 0})
	r.step(Input{Kind: LinkUp, Link: 1, Terms: Terms{Backup: true}})
	acts := r.step(Input{Kind: Tick})
	for r.now = 100 * Millisecond; r.now < Second; r.now += 100 * Millisecond {
		acts = append(acts, r.step(Input{Kind: Progress, RTT: 300 * Millisecond})...)
		acts = append(acts, r.step(Input{Kind: Tick})...)
	}
	if opened(t, acts) == 0 {
		t.Error("the other one is not opened, either")
	}
}

// TestHowManyOpenConnectionsAFileIsWorth: as many as are there, each for what it brings in as
// many round trips as the others; none for a file that the first one has as soon by itself.
func TestHowManyOpenConnectionsAFileIsWorth(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ahead StreamID // made ahead
		trip  Time
		bytes int64
		n     StreamID
		each  int64
	}{
		{"none is there", 0, 300 * Millisecond, 1 << 20, 0, 0},
		{"two round trips by itself", 31, 300 * Millisecond, firstBytes + 2*initialWindow, 0, 0},
		{"three", 31, 300 * Millisecond, firstBytes + 3*firstBytes, 32, firstBytes},
		{"what all bring in a trip", 20, 300 * Millisecond, 21 * firstBytes, 21, firstBytes},
		{"more", 20, 300 * Millisecond, 31 * firstBytes, 21, 3 * firstBytes / 2},
		{"a nearer link", 20, 100 * Millisecond, 21 * firstBytes, 21, 2 * firstBytes},
		{"which has more to bring", 20, 100 * Millisecond, firstBytes + 20*openShare, 21, openShare},
	} {
		l := &link{rtt: roundTrips{min: tt.trip}}
		l.streams.ahead.room = MaxStreams
		for s := range tt.ahead {
			l.streams.conn[s+1].early = Second
		}
		if n, each, _ := l.shares(tt.bytes, false); n != tt.n || each != tt.each {
			t.Errorf("%s: %d connections, %d bytes each", tt.name, n, each)
		}
		if tt.ahead == 0 {
			continue
		}
		l.streams.refuse(tt.ahead)
		if n, _, _ := l.shares(tt.bytes, false); n != max(0, tt.n-1) {
			t.Errorf("%s: %d connections when one is not served", tt.name, n)
		}
	}
}

// TestALinkThatWasNotAnsweredLeavesTheFileToOthers, of which a part is its own, however many
// connections it has; and what there are of many files is shared elsewhere.
func TestALinkThatWasNotAnsweredLeavesTheFileToOthers(t *testing.T) {
	l := &link{rtt: roundTrips{min: 300 * Millisecond}}
	for s := range StreamID(31) {
		l.streams.conn[s+1].early = Second
	}
	const now = Second
	file := task{left: 4 * firstBytes, links: 1}
	if n := l.worthUsing(file, now); n != 0 {
		t.Errorf("%d connections before an answer", n)
	}
	l.load.received = firstBytes
	l.est.observe(now, l.load.received, l.rtt.min)
	if n := l.worthUsing(file, now); n != 32 {
		t.Errorf("%d connections", n)
	}
	if n := l.worthUsing(task{left: 4 * firstBytes, links: 2}, now); n != 0 {
		t.Errorf("%d connections for half of the file", n)
	}
	file.batch = true
	if n := l.worthUsing(file, now); n != 0 {
		t.Errorf("%d connections for many files", n)
	}
}

// TestASlowLinkUsesFewConnections: their first windows would fill its queue. How slow it is shows
// in how long the first one takes to come, or when a look at it is worth something. Over TLS it
// does not, so they are used when an answer is there.
func TestASlowLinkUsesFewConnections(t *testing.T) {
	for _, tt := range []struct {
		name   string
		secure bool
		bytes  int64 // after the first packet
		within Time
		want   int64
	}{
		{"fast", false, 12_400, gaugeLook, MaxStreams},
		{"16 Mbit/s", false, 12_400, 2 * gaugeLook, 1 + 620_000/firstBytes},
		{"8 Mbit/s", false, 10_000, leastWake, 1 + 300_000/firstBytes},
		{"64 kbit/s", false, 80, leastWake, 1},
		{"silent", false, 0, gaugeMost, 1},
		{"over TLS", true, 80, leastWake, MaxStreams},
	} {
		l := &link{rtt: roundTrips{min: 300 * Millisecond}}
		if l.gauge(task{secure: tt.secure}, Second); l.streams.ahead.room != 0 {
			t.Errorf("%s: room for %d before an answer", tt.name, l.streams.ahead.room)
		}
		if l.streams.ahead.answered = Second; !tt.secure {
			l.load.received = 1000
			l.est.observe(Second, 1000, l.rtt.min)
		}
		now := Second + tt.within
		if l.gauge(task{secure: tt.secure}, now-1); l.streams.ahead.room != 0 {
			t.Errorf("%s: room for %d before anything can be told", tt.name, l.streams.ahead.room)
		}
		l.load.received += tt.bytes
		for range 2 { // it is found out once
			l.gauge(task{secure: tt.secure}, now)
			if l.streams.ahead.room != tt.want {
				t.Errorf("%s: room for %d, want %d", tt.name, l.streams.ahead.room, tt.want)
			}
			l.load.received += firstBytes
		}
	}
	l := &link{rtt: roundTrips{min: 300 * Millisecond}}
	l.gauge(task{}, Second)
	if l.streams.ahead.room != 0 {
		t.Error("nothing has come yet")
	}
	for s := range StreamID(31) {
		l.streams.conn[s+1].early = Second
	}
	l.streams.ahead.room = 5
	if n, each, _ := l.shares(41*firstBytes, false); n != 5 || each != 10*firstBytes {
		t.Errorf("%d connections, %d bytes each", n, each)
	}
}

// TestTheGaugeIsReadInTime: in slow start nothing is looked at for 50 ms otherwise.
func TestTheGaugeIsReadInTime(t *testing.T) {
	r, _ := dark(t, Config{}, 300*Millisecond)
	r.now = 600 * Millisecond
	r.step(Input{Kind: Sized, Bytes: 1 << 20})
	if wake := r.core.NextWake(); wake > r.now+leastWake {
		t.Errorf("looked at in %v s", (wake - r.now).Seconds())
	}
	l := &r.core.links[0]
	l.streams.ahead.answered = r.now
	if wake := r.core.NextWake(); wake > r.now+gaugeLook {
		t.Errorf("looked at in %v s, and what comes now tells", (wake - r.now).Seconds())
	}
	heard := l.health.lastByte
	l.health.lastByte = r.now - silentConnect
	if wake := r.core.NextWake(); wake <= r.now+leastWake {
		t.Error("that often, though the link is silent")
	}
	l.health.lastByte, l.streams.ahead.room = heard, 1
	if wake := r.core.NextWake(); wake <= r.now+leastWake {
		t.Error("that soon, though there is nothing to find out any more")
	}
}

// TestWhatAnOpenConnectionTakesOver: its share of what its link's first one has been asked for,
// as long as nothing is known of their rates.
func TestWhatAnOpenConnectionTakesOver(t *testing.T) {
	const bytes = 4 * firstBytes
	for name, tt := range map[string]struct {
		change func(l *link, first *chunk)
		want   int64
	}{
		"a share":                      {func(*link, *chunk) {}, firstBytes},
		"the first is not answered":    {func(l *link, _ *chunk) { l.streams.ahead.room = 0 }, 0},
		"the rate is known":            {func(l *link, _ *chunk) { l.est.rate = 1 }, 0},
		"it was not made ahead":        {func(l *link, _ *chunk) { l.streams.conn[1].early = 0 }, 0},
		"it has brought something":     {func(l *link, _ *chunk) { l.streams.worked |= 2 }, 0},
		"it has something to do":       {func(l *link, _ *chunk) { l.load.queues[1].requests = 1 }, 0},
		"it is fetched twice already":  {func(_ *link, first *chunk) { first.duplicate = 7 }, 0},
		"little is left":               {func(_ *link, first *chunk) { first.got = bytes - 100 }, 100},
		"nothing is left":              {func(_ *link, first *chunk) { first.got = bytes }, 0},
		"all have their shares":        {func(_ *link, first *chunk) { first.rng.End = firstBytes }, 0},
		"nobody has been asked before": {func(_ *link, first *chunk) { first.link = 1 }, 0},
	} {
		r, _ := dark(t, Config{}, 300*Millisecond)
		c := r.core
		l := &c.links[0]
		l.streams.ahead.room, l.load.assigned, c.flight.chunks[0].rng = MaxStreams, bytes, Range{End: bytes}
		tt.change(l, &c.flight.chunks[0])
		got := int64(0)
		for _, a := range c.flight.split(0, 1, nil) {
			if a.Kind == Start {
				got = a.Range.Len()
			}
		}
		if got != tt.want {
			t.Errorf("%s: %d bytes, want %d", name, got, tt.want)
		}
	}
}

// TestConnectionsMadeAheadAreExpectedToBringTheirWindows, though the link has carried little yet,
// which came over another one; not when they should have brought something, or have.
func TestConnectionsMadeAheadAreExpectedToBringTheirWindows(t *testing.T) {
	const trip = 100 * Millisecond
	for name, tt := range map[string]struct {
		age    Time
		change func(c *Core, s *streams)
		fresh  bool
	}{
		"in time":               {2*trip - 1, func(*Core, *streams) {}, true},
		"late":                  {2 * trip, func(*Core, *streams) {}, false},
		"not made ahead":        {0, func(_ *Core, s *streams) { s.conn[1].early = 0 }, false},
		"has brought something": {0, func(_ *Core, s *streams) { s.worked = 2 }, false},
		"of many files":         {0, func(c *Core, _ *streams) { c.cfg.Batch = true }, false},
	} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 8 << 20})
		r.up(1)
		c, l := r.core, &r.core.links[0]
		c.flight.chunks, l.load.requests, l.load.queues = c.flight.chunks[:0], 0, [MaxStreams]queue{}
		l.rtt.min, l.streams.most, l.streams.conn[1].early, c.now = trip, 2, Second, Second
		c.startAt(0, 1, Range{0, initialWindow / 2})
		l.est.rate, c.now = 1000, Second+tt.age
		tt.change(c, &l.streams)
		want := 1000.0
		if tt.fresh {
			want = initialWindow / 2 / trip.Seconds()
		}
		var o eta
		View{c}.eta(0, &o)
		if got := o.speed(1); got != want {
			t.Errorf("%s: %v bytes/s, want %v", name, got, want)
		}
	}
}

// TestAFreeConnectionIsAskedFirst: others have to connect again, or still receive what was cut
// off of what they were asked for.
func TestAFreeConnectionIsAskedFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *streams)
		want   StreamID
	}{
		"all are free":           {func(*streams) {}, 0},
		"one has been lost":      {func(s *streams) { s.lose(0, 9) }, 1},
		"one has been cut short": {func(s *streams) { s.broken = 1 }, 1},
		"two are new":            {func(s *streams) { s.worked = 4 }, 2},
		"none is free":           {func(s *streams) { s.worked = 0 }, 0},
	} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 8 << 20})
		r.up(1)
		l := &r.core.links[0]
		l.streams.most, l.streams.worked, l.streams.begun = 3, 7, 7
		l.load.requests, l.load.queues = 1, [MaxStreams]queue{3: {requests: 1}}
		tt.change(&l.streams)
		if got, ok := r.core.assignment.ready(0); !ok || got != tt.want {
			t.Errorf("%s: connection %d, want %d", name, got, tt.want)
		}
		if tt.want == 1 { // until something has come that was asked for since
			l.streams.hear(&chunk{id: 9}, 1, 0)
			if got, _ := r.core.assignment.ready(0); got != 0 {
				t.Errorf("%s: connection %d when it has been heard of", name, got)
			}
		}
	}
}

// TestWhatWasCutShortIsStillOnItsWay, over HTTP/2, too, where the connection lasts.
func TestWhatWasCutShortIsStillOnItsWay(t *testing.T) {
	r, last := idleRig(t, 1<<20)
	c := r.core
	s := &c.links[1].streams
	s.server.lasting = true
	s.hear(&chunk{id: last.Chunk}, 1, c.now)
	if s.idleTrips(0) != 1 {
		t.Fatal("it is not free before")
	}
	if c.flight.takeOver(0, 0, &c.flight.chunks[c.flight.find(last.Chunk)], 1<<19, nil); s.idleTrips(0) == 1 {
		t.Error("it is free")
	}
}

// TestSharesStayAlike when some of them have begun to come: a connection that has brought
// something is still one of those that were made ahead.
func TestSharesStayAlike(t *testing.T) {
	l := &link{rtt: roundTrips{min: 300 * Millisecond}}
	l.streams.ahead.room = MaxStreams
	for s := range StreamID(20) {
		l.streams.conn[s+1].early = Second
	}
	n, each, _ := l.shares(1<<20, false)
	for s := range StreamID(10) {
		l.streams.hear(&chunk{stream: s + 1, got: 1000}, 1000, 2*Second)
	}
	if now, share, _ := l.shares(1<<20, false); n != 21 || now != n || share != each {
		t.Errorf("%d connections, %d bytes each; then %d, %d bytes", n, each, now, share)
	}
}
