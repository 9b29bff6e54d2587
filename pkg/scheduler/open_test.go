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
	cfg.Links, cfg.Policy = 1, &adaptive{}
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
		"over TLS":       {Config{TLS: true}, 300 * Millisecond, few(openSecure)},
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

// Requests that come with the size find the connections open: those are not taken
// for late ones, nor for some that have yet to connect. What is there is made use of, by
// files of some hundred kilobytes, too: the open connections share what the first one has
// been asked for, as many at a time as may help at once (maxQueued).
func TestRequestsFollowOnOpenConnections(t *testing.T) {
	const trip = 300 * Millisecond
	for _, c := range []struct {
		size int64
		want int
	}{{200 << 10, 1}, {300 << 10, 4}, {1 << 20, 9}, {2 << 20, 31}, {5 << 20, 32}, {20 << 20, 39}, {1 << 30, 60}} {
		r, _ := dark(t, Config{}, trip)
		r.now = 2 * trip
		r.step(Input{Kind: Progress, Bytes: 14 << 10})
		acts := append(r.step(Input{Kind: Sized, Bytes: c.size}), r.step(Input{Kind: Tick})...)
		streams := uint64(1)
		for _, a := range acts {
			if a.Kind == Start {
				streams |= 1 << a.Stream
			}
		}
		if want := uint64(1)<<c.want - 1; streams != want {
			t.Errorf("%d bytes: requests on %b", c.size, streams)
		}
		if opened(t, acts) != 0 {
			t.Error("a connection of its own for a request that makes one")
		}
		s := &r.core.links[0]
		for id := StreamID(1); id < StreamID(c.want); id++ {
			trips := s.streams.trips(id)
			if early := id < openMost; early != (trips == 1) {
				t.Errorf("stream %d: %d trips", id, trips)
			}
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
	for i := range r.core.chunks {
		ch := &r.core.chunks[i]
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
	r := newRig(t, Config{Links: 2, Policy: &adaptive{}, Size: -1})
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

// TestHowManyOpenConnectionsAFileIsWorth: those that are there, and no more than have a share of
// it; where there are many files that is decided elsewhere.
func TestHowManyOpenConnectionsAFileIsWorth(t *testing.T) {
	for _, tt := range []struct {
		early StreamID // made ahead
		task  task
		want  StreamID
	}{
		{15, task{share: 1 << 20}, 16},
		{15, task{share: 10 << 20}, 16},
		{31, task{share: 1 << 20}, 16},
		{15, task{share: openFewest * openShare}, 4},
		{15, task{share: openFewest*openShare - 1}, 0},
		{15, task{share: 1 << 20, batch: true}, 0},
		{0, task{share: 1 << 20}, 1},
	} {
		var s streams
		for id := range tt.early {
			s.early[id+1] = Second
		}
		if got := s.worthUsing(tt.task); got != tt.want {
			t.Errorf("%d made ahead, %+v: %d, want %d", tt.early, tt.task, got, tt.want)
		}
	}
}

// TestWhatAnOpenConnectionTakesOver: its share of what another one of its link has been asked
// for, or half of it, as long as nothing is known of rates, and both are worth a request.
func TestWhatAnOpenConnectionTakesOver(t *testing.T) {
	for name, tt := range map[string]struct {
		rest  int64
		most  StreamID
		wait  float64 // seconds until the thief can begin; below 0: the victim
		early Time
		other bool // of another link
		batch bool
		want  int64
	}{
		"a share":                    {1 << 20, 16, 0, Second, false, false, openShare},
		"a larger one of fewer":      {1 << 20, 4, 0, Second, false, false, 1 << 18},
		"half of what is left":       {64 << 10, 16, 0, Second, false, false, 32 << 10},
		"too little for two":         {30 << 10, 16, 0, Second, false, false, 0},
		"too little before it comes": {40 << 10, 16, 0.3, Second, false, false, 0},
		"it is not there yet":        {1 << 20, 16, 0, 0, false, false, 0},
		"what another link has":      {1 << 20, 16, 0, Second, true, false, 0},
		"too little would be left":   {30 << 10, 16, -0.6, Second, false, false, 0},
		"there are many files":       {1 << 20, 16, 0, Second, false, true, 0},
	} {
		r, _ := dark(t, Config{}, 300*Millisecond)
		l := &r.core.links[0]
		l.streams.most, l.streams.early[1] = tt.most, tt.early
		own := outlook{trip: 0.3, streams: &l.streams, now: r.core.now, speeds: &l.speeds}
		own.last[0], own.owed[0], own.wait[0] = &chunk{rng: Range{End: tt.rest}, got: 1}, tt.rest, 0.3+max(0, -tt.wait)
		own.wait[1] = 0.3 + max(0, tt.wait)
		if tt.batch {
			r.core.batch = &batch{}
		}
		from := &own
		if tt.other {
			copied := own
			from = &copied
		}
		if got := r.core.loot(l, &own, 1, from, 0, 1); got != tt.want {
			t.Errorf("%s: %d of %d bytes, want %d", name, got, tt.rest, tt.want)
		}
	}
}
