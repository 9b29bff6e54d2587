package scheduler

import "testing"

// A connection that has lost packets, and before whose link no queue stands, does not fill
// it: others are tried, and stay if they bring more.
func TestAShortQueueTakesSeveralConnections(t *testing.T) {
	const (
		rtt  = 40 * Millisecond
		full = 8e6 // bytes per second
	)
	for _, tt := range []struct {
		name      string
		each      float64 // bytes per second and connection
		trip      Time
		reordered int64
		until     Time // before a level rate says anything
		most      int  // connections at one time
		want      int  // at the end
	}{
		{"no queue, and packets lost", full / 6, rtt, 100, 900 * Millisecond, 8, 8},
		{"no queue, and packets lost, but the link is full", full, rtt, 100, 2400 * Millisecond, 8, 1},
		{"a queue", full / 8, 2 * rtt, 100, 900 * Millisecond, 1, 1},
		{"nothing lost", full / 8, rtt, 0, 900 * Millisecond, 1, 1},
		{"round trips are not known", full / 8, 0, 100, 900 * Millisecond, 1, 1},
		{"it would recover at once", full / 80, rtt, 100, 900 * Millisecond, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 27})
			r.step(Input{Kind: LinkUp, RTT: rtt})
			flows := newFlows(r.tick())
			most := 0
			for r.now < tt.until {
				r.now += 10 * Millisecond
				each := min(tt.each, full/float64(flows.busy()))
				trip := tt.trip
				if trip > 0 && each < tt.each {
					trip = 2 * rtt
				}
				flows.receive(r, Input{Kind: Progress, Trip: trip, Reordered: tt.reordered}, int64(each*0.01))
				flows.start(r.tick())
				most = max(most, r.core.Link(0).Streams)
			}
			if n := r.core.Link(0).Streams; n != tt.want || most != tt.most {
				t.Errorf("%d connections, %d at most, want %d and %d", n, most, tt.want, tt.most)
			}
		})
	}
}

// flows are the requests of a link, of which each connection serves the first.
type flows struct {
	asked []Action
	got   map[ChunkID]int64
}

func newFlows(acts []Action) *flows {
	f := &flows{got: map[ChunkID]int64{}}
	f.start(acts)
	return f
}

// start takes note of what was asked for.
func (f *flows) start(acts []Action) {
	for _, a := range acts {
		switch a.Kind {
		case Start:
			f.asked = append(f.asked, a)
		case Shrink:
			for i := range f.asked {
				if f.asked[i].Chunk == a.Chunk {
					f.asked[i].Range = a.Range
				}
			}
		case Cancel:
			f.drop(a.Chunk)
		default: // the others change nothing of what is asked for
		}
	}
}

func (f *flows) drop(id ChunkID) {
	for i, a := range f.asked {
		if a.Chunk == id {
			f.asked = append(f.asked[:i], f.asked[i+1:]...)
			return
		}
	}
}

// heads are the requests that are being served.
func (f *flows) heads() (list []Action) {
	seen := uint64(0)
	for _, a := range f.asked {
		if seen&(1<<a.Stream) == 0 {
			seen |= 1 << a.Stream
			list = append(list, a)
		}
	}
	return list
}

func (f *flows) busy() int { return max(1, len(f.heads())) }

// receive brings each connection so many bytes, and tells the rest of in with them.
func (f *flows) receive(r *rig, in Input, bytes int64) {
	for _, a := range f.heads() {
		f.got[a.Chunk] += bytes
		in.Chunk, in.Bytes = a.Chunk, f.got[a.Chunk]
		f.start(r.step(in))
		if in.Bytes >= a.Range.Len() {
			f.drop(a.Chunk)
			f.start(r.step(Input{Kind: Finished, Chunk: a.Chunk, Bytes: a.Range.Len()}))
		}
	}
}

// Packets are lost at random, too, over a link that is full: more connections would only
// be in one another's way.
func TestRandomLossBehindAQueue(t *testing.T) {
	const rtt = 40 * Millisecond
	for trip, want := range map[Time]bool{rtt: true, 2 * rtt: false, 0: true} {
		l := link{rtt: roundTrips{min: rtt}, load: load{received: 1e6}, est: estimator{rate: 1e6, nSamples: 1}, streams: streams{most: 1, trial: trial{helped: true}}}
		l.streams.loss.repeats, l.rtt.data = lossRepeats, trip
		l.streams.tune(Second, &l, oneFile(1<<30))
		if l.streams.trial.running != want {
			t.Errorf("round trips of %.0f ms: tried more: %v", 1000*trip.Seconds(), l.streams.trial.running)
		}
	}
}

// A packet takes no longer to be sent because none comes for a moment, and a queue does not go
// away by that.
func TestALullHidesNoQueue(t *testing.T) {
	for trip, want := range map[Time]bool{75 * Millisecond: false, 110 * Millisecond: true} {
		l := &link{rtt: roundTrips{min: 60 * Millisecond}}
		l.est.bandwidth, l.est.rate, l.rtt.data = 125e3, 30e3, trip
		if got := l.queued(); got != want {
			t.Errorf("trips of %v s: queued: %v", trip.Seconds(), got)
		}
	}
}

// TestALinkThatCarriesAsMuchAsWithAQueueIsFull: a queue that is gone after a loss is no sign of a
// link that could carry more, unless the link carries less since.
func TestALinkThatCarriesAsMuchAsWithAQueueIsFull(t *testing.T) {
	const (
		rtt  = 40 * Millisecond
		full = 8e6 // bytes per second
	)
	for part, want := range map[float64]int{1: 1, 0.97: 1, 0.7: 8} { // of that, without a queue
		r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 30})
		r.step(Input{Kind: LinkUp, RTT: rtt})
		flows := newFlows(r.tick())
		most := 0
		for r.now < 900*Millisecond { // before a level rate says anything
			r.now += 10 * Millisecond
			in, each := Input{Kind: Progress, Trip: 2 * rtt}, full/float64(flows.busy())
			if r.now > Second/2 {
				in.Trip, in.Reordered, each = rtt, 100, part*each
			}
			flows.receive(r, in, int64(each*0.01))
			flows.start(r.tick())
			most = max(most, r.core.Link(0).Streams)
		}
		if most != want {
			t.Errorf("%.0f %% of what came with a queue: %d connections, want %d", 100*part, most, want)
		}
	}
}
