package scheduler

import "testing"

// A link that joins while others are at work gets work at once, if there is
// enough left for its first bytes to come before the end.
func TestLateLinkJoinsWhereItIsWorthIt(t *testing.T) {
	const rate = 4e6
	for _, tc := range []struct {
		name  string
		size  int64
		joins bool
	}{
		{"half a minute is left", 130e6, true},
		{"two seconds are left", 16e6, true},
		{"half a second is left", 10e6, false},
	} {
		for _, policy := range []string{"1", "2", "3"} {
			t.Run(tc.name+", "+policy, func(t *testing.T) {
				p, err := NewPolicy(policy, 4<<20, 0.3)
				if err != nil {
					t.Fatal(err)
				}
				r := newRig(t, Config{Links: 2, Policy: p, Size: tc.size})
				r.up(1)
				got := map[ChunkID]int64{}
				r.steady(2*Second, 0, rate, got)
				r.step(Input{Kind: LinkUp, Link: 1})
				r.step(Input{Kind: Tick})
				joined := false
				for _, a := range r.acts {
					joined = joined || a.Kind == Start && a.Link == 1
				}
				if joined != tc.joins {
					t.Fatalf("with %d bytes left: %+v", r.core.Left(), r.acts)
				}
				if tc.joins {
					return
				}
				// When the other one falls silent, it is not too late for anything.
				for range 300 {
					r.now += 10 * Millisecond
					for _, a := range r.step(Input{Kind: Tick}) {
						joined = joined || a.Kind == Start && a.Link == 1
					}
				}
				if !joined {
					t.Error("nobody fetches the rest")
				}
			})
		}
	}
}

// steady lets whatever a link was asked for come at a rate, in its order.
func (r *rig) steady(d Time, id LinkID, rate float64, got map[ChunkID]int64) {
	for end := r.now + d; r.now < end; {
		r.now += 10 * Millisecond
		fresh := int64(rate * 0.01)
		for fresh > 0 {
			var ch *chunk
			for i := range r.core.flight.chunks {
				if r.core.flight.chunks[i].link == id {
					ch = &r.core.flight.chunks[i]
					break
				}
			}
			if ch == nil {
				return
			}
			n := min(fresh, ch.left())
			fresh -= n
			got[ch.id] += n
			in := Input{Kind: Progress, Link: id, Chunk: ch.id, Bytes: got[ch.id], RTT: 20 * Millisecond}
			if n == ch.left() {
				in.Kind = Finished
			}
			r.step(in)
		}
		r.step(Input{Kind: Tick})
	}
}

// A link that is gone may come back by another network: nothing that was
// measured before holds.
func TestLinkDownForgets(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: 500e6})
	r.up(2)
	r.steady(2*Second, 0, 4e6, map[ChunkID]int64{})
	if r.core.Link(0).RTT == 0 || r.core.Link(0).Rate == 0 {
		t.Fatal("nothing was measured")
	}
	r.step(Input{Kind: LinkDown, Link: 0})
	if r.core.Link(0).RTT != 0 || r.core.Link(0).Rate != 0 || r.core.Link(0).Bandwidth != 0 || r.core.Link(0).Requests != 0 {
		t.Errorf("RTT %v, rate %v, bandwidth %v, %d requests", r.core.Link(0).RTT, r.core.Link(0).Rate, r.core.Link(0).Bandwidth, r.core.Link(0).Requests)
	}
	r.step(Input{Kind: LinkUp, Link: 0, Bandwidth: 2e6})
	r.step(Input{Kind: Tick})
	r.want(Start)
	if r.acts[0].Link != 0 {
		t.Errorf("%+v", r.acts)
	}
}

// Links that have not come take nothing of the room ahead of a consumer.
func TestWindowIsSharedByLinksThatAreUp(t *testing.T) {
	for _, links := range []int{1, 6} {
		r := newRig(t, Config{Links: links, Policy: &naive{}, Size: 500e6, Window: 16 << 20})
		if a := r.up(1)[0]; a.Range.Len() != 8<<20 {
			t.Errorf("with %d links: %+v", links, a)
		}
	}
}

// A consumer that takes nothing for seconds is nobody's silence: links that have
// brought all that the window has room for are not banned.
func TestASlowConsumerBansNobody(t *testing.T) {
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 8 << 20, Window: 1 << 20})
	flight := map[ChunkID]Range{}
	note := func(acts []Action) {
		for _, a := range acts {
			switch a.Kind {
			case Start:
				flight[a.Chunk] = a.Range
			case Shrink:
				flight[a.Chunk] = a.Range
			case Cancel:
				delete(flight, a.Chunk)
			case Ban:
				t.Fatalf("at %v s link %d is banned", r.now.Seconds(), a.Link)
			default:
			}
		}
	}
	note(r.up(2))
	note(r.step(Input{Kind: Sized, Bytes: 8 << 20}))
	for range 500 { // 5 s
		r.now += 10 * Millisecond
		for id := range ChunkID(256) {
			if rng, ok := flight[id]; ok {
				delete(flight, id)
				note(r.step(Input{Kind: Finished, Chunk: id, Bytes: rng.Len(), RTT: 5 * Millisecond}))
			}
		}
		note(r.step(Input{Kind: Tick}))
	}
	if len(flight) > 0 || r.core.Left() < 7<<20 {
		t.Errorf("%d requests in flight, %d bytes left: the window does not hold", len(flight), r.core.Left())
	}
}
