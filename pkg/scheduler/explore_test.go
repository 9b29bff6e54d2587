package scheduler

import "testing"

// limited is a link that carries most bytes per second over a server that gives each
// connection no more than each, in steps of 10 ms, all of a period in its first part.
type limited struct {
	most, each func(now Time) float64
	queue      Time // what a handshake waits for when the link is full
	period     Time // 0: the server sends evenly
	lull       Time // of each period
	own        bool // each connection has periods of its own
	late       bool // a handshake always waits in the queue
	rtt        Time
}

// run downloads over it for so long, and says how many connections were asked.
func (m *limited) run(t *testing.T, cfg Config, d Time) (connections int, r *rig) {
	t.Helper()
	r = newRig(t, cfg)
	seen := uint64(0)
	started, got := map[ChunkID]Action{}, map[ChunkID]int64{}
	made := map[StreamID]Time{}
	act := func(acts []Action) {
		for _, a := range acts {
			switch a.Kind {
			case Start:
				started[a.Chunk] = a
				if seen&(1<<a.Stream) == 0 {
					seen |= 1 << a.Stream
					made[a.Stream] = r.now
					connections++
				}
			case Shrink:
				b := started[a.Chunk]
				b.Range = a.Range
				started[a.Chunk] = b
			case Cancel:
				delete(started, a.Chunk)
			default: // the others change nothing of what is asked for
			}
		}
	}
	r.step(Input{Kind: LinkUp})
	act(r.tick())
	full := false
	for r.now < d && len(started) > 0 {
		r.now += 10 * Millisecond
		// The first request of each stream is at work once its connection has been made.
		head := map[StreamID]ChunkID{}
		for id, a := range started {
			if first, ok := head[a.Stream]; r.now >= made[a.Stream]+2*m.rtt && (!ok || id < first) {
				head[a.Stream] = id
			}
		}
		each := m.each(r.now)
		if m.period > 0 {
			each *= float64(m.period) / float64(m.period-m.lull)
		}
		share := min(each, m.most(r.now)/float64(max(1, len(head))))
		for s := range StreamID(MaxStreams) {
			at, ok := made[s]
			shaken := at + m.rtt
			if m.late && s > 0 {
				shaken += m.queue
			}
			if ok && r.now >= shaken && r.now < shaken+10*Millisecond {
				for id, a := range started {
					if a.Stream == s {
						shook := m.rtt
						if full || m.late && s > 0 {
							shook += m.queue
						}
						act(r.step(Input{Kind: Progress, Chunk: id, RTT: m.rtt, Shook: shook, Bytes: got[id]}))
						break
					}
				}
			}
			id, ok := head[s]
			phase := Time(0)
			if m.own {
				phase = made[s]
			}
			rate := share
			if m.period > 0 && (r.now-phase)%m.period < m.lull {
				rate = 0
			}
			if !ok || rate == 0 {
				continue
			}
			if got[id] += int64(rate * 0.01); got[id] < started[id].Range.Len() {
				act(r.step(Input{Kind: Progress, Chunk: id, Bytes: got[id]}))
				continue
			}
			n := started[id].Range.Len()
			delete(started, id)
			act(r.step(Input{Kind: Finished, Chunk: id, Bytes: n}))
		}
		full = share < each
		act(r.tick())
	}
	return connections, r
}

// always is a rate that does not change.
func always(rate float64) func(Time) float64 { return func(Time) float64 { return rate } }

func TestWhereAServerLimitsConnectionsThereAreMany(t *testing.T) {
	ramp := func(now Time) float64 { return 10e6 * min(1, 0.25+now.Seconds()/4) }
	const rtt = 20 * Millisecond
	for _, tt := range []struct {
		name     string
		link     limited
		min, max int
	}{
		{"each connection has a tenth", limited{most: always(10e6), each: always(1e6), queue: 100 * Millisecond}, 10, openMost},
		{"each has half", limited{most: always(10e6), each: always(5e6), queue: 100 * Millisecond}, 3, firstTrial},
		{"in bursts", limited{most: always(10e6), each: always(1e6), queue: 100 * Millisecond, period: Second, lull: 800 * Millisecond}, 8, openMost},
		{"in bursts, with short pauses", limited{most: always(10e6), each: always(3e6), queue: 100 * Millisecond, period: 400 * Millisecond, lull: 150 * Millisecond, own: true}, 8, openMost},
		{"and a handshake waits behind what comes then", limited{most: always(10e6), each: always(3e6), queue: 100 * Millisecond, period: 400 * Millisecond, lull: 150 * Millisecond, own: true, late: true}, 8, openMost},
		{"it is full, pauses, and a handshake waits", limited{most: always(1e6), each: always(1e9), queue: 100 * Millisecond, period: 400 * Millisecond, lull: 150 * Millisecond, late: true}, 1, 1 + exploreTries},
		{"the link is full", limited{most: always(1e6), each: always(1e9), queue: 100 * Millisecond}, 1, 1 + exploreTries},
		{"it is full, and its queue is short", limited{most: always(1e6), each: always(1e9)}, 1, 1 + exploreTries},
		{"it builds up its rate", limited{most: ramp, each: always(1e9)}, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.link.rtt = rtt
			n, r := tt.link.run(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 27}, 8*Second)
			if n < tt.min || n > tt.max {
				t.Errorf("%d connections, want %d to %d", n, tt.min, tt.max)
			}
			if s := r.core.Link(0).Streams; tt.min == 1 && s != 1 {
				t.Errorf("%d of them are kept", s)
			}
		})
	}
}

func TestNobodyExplores(t *testing.T) {
	limit := limited{most: always(10e6), each: always(1e6), rtt: 20 * Millisecond}
	for name, cfg := range map[string]Config{
		"where the number is given":        {Parallelism: 1, Size: 1 << 27},
		"for a file that is about to end":  {Size: 4 << 20},
		"before the size is known":         {Size: -1, First: 1 << 26},
		"where a reader may hold all back": {Size: 1 << 27, Window: 1 << 24},
		"where joules are to be saved":     {Size: 1 << 27, Energy: EnergyMin},
	} {
		cfg.Links, cfg.Policy = 1, &algorithm3{padding: AutoPadding}
		if n, _ := limit.run(t, cfg, 6*Second); n != 1 {
			t.Errorf("%s: %d connections", name, n)
		}
	}
}

// A server that refuses the second connection is not asked for a third.
func TestExploringIsRefused(t *testing.T) {
	r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 27})
	r.step(Input{Kind: LinkUp, RTT: 20 * Millisecond})
	r.tick()
	got, asked := map[ChunkID]int64{}, 0
	for r.now < 12*Second {
		for _, a := range r.flow(10*Millisecond, map[ChunkID]float64{0: 1e6}, got) {
			if a.Kind == Start && a.Stream > 0 {
				asked++
				r.step(Input{Kind: Progress, Chunk: a.Chunk, Shook: 20 * Millisecond})
				r.step(Input{Kind: Failed, Chunk: a.Chunk, Wait: Second})
			}
		}
		if got[0] > 1<<26 {
			break
		}
	}
	if asked != 1 || r.core.Link(0).Streams != 1 {
		t.Errorf("it was asked %d times, and %d connections are left", asked, r.core.Link(0).Streams)
	}
}

// Two connections that come in bursts are enough evidence when one brings
// something while the other, which owes bytes, pauses; or by what they bring, at once or,
// where the handshake had to wait, after the longest pause.
func TestPairs(t *testing.T) {
	for _, tt := range []struct {
		name     string
		owes     int32
		silence  Time // of the older connection
		gain     float64
		span     Time
		doubtful bool
		want     bool
	}{
		{"the older one pauses", 1, 200 * Millisecond, 1, 300 * Millisecond, true, true},
		{"it has nothing to do", 0, 200 * Millisecond, 1, 300 * Millisecond, true, false},
		{"it does not pause", 1, 0, 1, 300 * Millisecond, false, false},
		{"together they bring more", 1, 0, 2, 300 * Millisecond, false, true},
		{"they do so by now", 1, 0, 2, 300 * Millisecond, true, false},
		{"they have done so for long", 1, 0, 2, pauseMost, true, true},
	} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 27})
		r.step(Input{Kind: LinkUp, RTT: 20 * Millisecond})
		r.tick()
		r.flow(2*Second, map[ChunkID]float64{0: 4e5}, map[ChunkID]int64{})
		c, l := r.core, &r.core.links[0]
		s := &l.streams
		s.most, l.load.queues[0].requests = 2, tt.owes
		s.conn[1].brought, s.conn[0].heard, s.conn[1].heard = 1, c.now-tt.silence, c.now
		s.explore = exploring{
			step: pairing, since: c.now - tt.span, rateWatch: rateWatch{mean: 1e6, pauses: 1}, doubtful: tt.doubtful,
			bytes: l.load.received - int64(tt.gain*1e6*tt.span.Seconds()),
		}
		s.judgePair(c.now, l, (View{c}).task())
		if s.trial.running != tt.want {
			t.Errorf("%s: tried %v", tt.name, s.trial.running)
		}
	}
}

// Where two connections have a slow link's records by turns, each is silent while the other
// has one; and where records take long, many connections need time that there may not be.
func TestPairsThatShareRecords(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rate   float64 // bytes per second
		size   int64   // of the object
		bigger Time    // the older one's silence
		want   bool
	}{
		{"by turns", 125e3, 1 << 27, 250 * Millisecond, false},
		{"the older one pauses", 125e3, 1 << 27, 400 * Millisecond, true},
		{"on a fast link", 10e6, 1 << 27, 250 * Millisecond, true},
		{"near the end", 125e3, 1000e3, 400 * Millisecond, false},
	} {
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: tt.size, First: 1 << 20})
		r.step(Input{Kind: LinkUp, RTT: 20 * Millisecond})
		r.tick()
		r.flow(2*Second, map[ChunkID]float64{0: 4e5}, map[ChunkID]int64{})
		c, l := r.core, &r.core.links[0]
		s := &l.streams
		l.est.burst = arrivalBurst{n: burstCount, latest: [burstCount]int64{recordSize}, rate: tt.rate}
		s.server.lasting = true
		s.most, l.load.queues[0].requests, l.load.working = 2, 1, 2
		s.conn[1].brought, s.conn[0].heard, s.conn[1].heard = 1, c.now-tt.bigger, c.now
		s.explore = exploring{step: pairing, since: c.now - 300*Millisecond, rateWatch: rateWatch{mean: tt.rate, pauses: 1}, bytes: l.load.received, doubtful: true}
		s.judgePair(c.now, l, (View{c}).task())
		if s.trial.running != tt.want {
			t.Errorf("%s: tried %v", tt.name, s.trial.running)
		}
	}
}
