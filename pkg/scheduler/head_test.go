package scheduler

import (
	"slices"
	"testing"
)

// streamOf is a stream over two links that have both been delivering for a while, 4 MB
// per second each, whose consumer has read all that it could.
func streamOf(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: AutoPadding}, Size: 200 << 20, Window: 16 << 20})
	r.up(2)
	r.serve(Second, 4e6, 4e6)
	if r.core.flight.first() == nil || r.core.Left() > 200<<20-1<<20 {
		t.Fatal("nothing has come")
	}
	return r
}

// serve lets links deliver at their rates for a while, over each connection the oldest of its
// requests, and the consumer read what it can.
func (r *rig) serve(d Time, rates ...float64) (acts []Action) {
	const step = 10 * Millisecond
	for end := r.now + d; r.now < end; {
		r.now += step
		for id, rate := range rates {
			working := r.core.links[id].load.working
			served := uint64(0)
			for _, ch := range slices.Clone(r.core.flight.chunks) {
				if ch.link != LinkID(id) || rate == 0 || served&(1<<ch.stream) != 0 || r.core.flight.find(ch.id) < 0 {
					continue
				}
				served |= 1 << ch.stream
				n := min(int64(rate*step.Seconds())/int64(working), ch.left())
				in := Input{Kind: Progress, Chunk: ch.id, Bytes: ch.got + n, RTT: 20 * Millisecond}
				if in.Bytes == ch.rng.Len() {
					in.Kind = Finished
				}
				acts = append(acts, r.step(in)...)
			}
		}
		r.step(Input{Kind: Sized, Bytes: 200 << 20})
		acts = append(acts, r.step(Input{Kind: Drained, Bytes: r.core.Prefix()})...)
		acts = append(acts, r.step(Input{Kind: Tick})...)
	}
	return acts
}

// TestTheHeadOfAStreamIsNotWaitedFor: when the link falls silent that was asked for the first
// bytes that are missing, the other link is asked for them within four tenths of a second, over
// a connection that has nothing else to bring.
func TestTheHeadOfAStreamIsNotWaitedFor(t *testing.T) {
	for silent := range LinkID(2) {
		r := streamOf(t)
		rates := []float64{4e6, 4e6}
		rates[silent] = 0
		for ch := r.core.flight.first(); ch.link != silent; ch = r.core.flight.first() {
			r.serve(10*Millisecond, rates...)
		}
		head, other := r.core.Prefix(), 1-silent
		busy := uint64(0)
		for s := range StreamID(MaxStreams) {
			if r.core.links[other].load.queues[s].requests > 0 {
				busy |= 1 << s
			}
		}
		began := r.now
		for r.core.Prefix() == head && r.now < began+400*Millisecond {
			for _, a := range r.serve(10*Millisecond, rates...) {
				if a.Kind == Start && a.Range.Off == head && (a.Link != other || busy&(1<<a.Stream) != 0) {
					t.Fatalf("link %d is silent: %+v", silent, a)
				}
			}
		}
		if r.core.Prefix() == head {
			t.Errorf("link %d is silent: the head has not come in %v s", silent, (r.now - began).Seconds())
		}
	}
}

// TestTheHeadNeedsNoConnectionThatIsRefused: where the server has refused a link's next connection,
// the head waits for one that is served.
func TestTheHeadNeedsNoConnectionThatIsRefused(t *testing.T) {
	r := streamOf(t)
	for id := range r.core.links {
		r.core.links[id].streams.refuse(1)
	}
	for _, a := range r.serve(2*Second, 0, 4e6) {
		if a.Kind == Start && a.Stream > 0 {
			t.Errorf("%+v", a)
		}
	}
}

// TestAProbeLeavesTheHeadAlone: a banned link is not asked for what a stream's consumer is the
// next to read.
func TestAProbeLeavesTheHeadAlone(t *testing.T) {
	r, probes := streamOf(t), 0
	for _, a := range r.serve(3*Second, 0, 4e6) {
		if a.Kind == Start && a.Link == 0 && r.core.links[0].health.bans > 0 {
			probes++
		}
	}
	for range 300 {
		for _, a := range r.serve(10*Millisecond, 0, 4e6) {
			if a.Kind != Start || a.Link != 0 {
				continue
			}
			probes++
			if ahead := a.Range.Off - r.core.assignment.drained; ahead < 8<<20 {
				t.Errorf("a probe is asked for bytes that are %d ahead", ahead)
			}
		}
	}
	if probes < 3 {
		t.Errorf("%d probes", probes)
	}
}

// TestAConsumerThatHasEnoughDoesNotHurry: a link that pauses is kept for as long as one of a file
// is while the consumer has more to read than a quarter of the window.
func TestAConsumerThatHasEnoughDoesNotHurry(t *testing.T) {
	r := streamOf(t)
	silent := r.core.flight.first().link
	r.core.assignment.drained = r.core.Prefix() - 8<<20
	for r.core.links[silent].health.idle(r.now) < 400*Millisecond {
		r.now += 50 * Millisecond
		r.core.links[1-silent].health.lastByte = r.now
		r.step(Input{Kind: Tick})
		if r.core.links[silent].health.banned {
			t.Fatal("the link is given up")
		}
	}
	r.core.assignment.drained = r.core.Prefix()
	if r.step(Input{Kind: Tick}); !r.core.links[silent].health.banned {
		t.Error("the link is not given up when the consumer has read all")
	}
}

func TestTakeLast(t *testing.T) {
	for _, c := range []struct {
		n, limit int64
		want     Range
		left     []Range
	}{
		{10, 1000, Range{90, 100}, []Range{{0, 20}, {50, 90}}},
		{10, 70, Range{60, 70}, []Range{{0, 20}, {50, 60}, {70, 100}}},
		{100, 1000, Range{50, 100}, []Range{{0, 20}}},
		{10, 40, Range{10, 20}, []Range{{0, 10}, {50, 100}}},
		{10, 0, Range{}, []Range{{0, 20}, {50, 100}}},
		{0, 100, Range{}, []Range{{0, 20}, {50, 100}}},
	} {
		s := newFreeMap(100, []Range{{20, 50}})
		got := s.takeLast(c.n, c.limit).Range
		if left := s.missing(Range{End: 100}, nil); got != c.want || !slices.Equal(left, c.left) {
			t.Errorf("the last %d before %d: %v, %v are left", c.n, c.limit, got, left)
		}
	}
}
