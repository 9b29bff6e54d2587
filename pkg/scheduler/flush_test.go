package scheduler

import "testing"

// flushed are the connections that a Flush was asked for in the last step.
func (r *rig) flushed() (out []StreamID) {
	for _, a := range r.acts {
		if a.Kind == Flush {
			out = append(out, a.Stream)
		}
	}
	return out
}

// The end of a job over a far link: what was asked for behind something else on its
// connection is flushed, once, when there is nothing left to ask for.
func TestTheLastResponsesAreFlushed(t *testing.T) {
	for _, c := range []struct {
		name  string
		rtt   Time
		cap   int64
		files int32
		want  int
	}{
		{"far", 300 * Millisecond, 0, 12, batchStreams},
		{"far, of which every byte counts", 300 * Millisecond, 1 << 30, 12, 0},
		{"far, a request for each connection", 300 * Millisecond, 0, batchStreams, 0},
		{"near", 20 * Millisecond, 0, 12, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := batchRig(t, c.rtt)
			r.core.links[0].terms.Cap = c.cap
			r.known(1e6)
			for i := range c.files {
				r.add(i, int64(i)*13_000, int64(i+1)*13_000, false)
			}
			r.expect(1 << 20)
			if r.tick(); len(r.flushed()) > 0 {
				t.Errorf("flushed before the end: %+v", r.acts)
			}
			asked := len(r.starts())
			r.expect(0)
			r.tick()
			if n := asked + len(r.starts()); n != int(c.files) {
				t.Fatalf("%d requests", n)
			}
			if n := len(r.flushed()); n != c.want {
				t.Errorf("%d connections are flushed", n)
			}
			r.now += 10 * Millisecond
			if r.tick(); len(r.flushed()) > 0 {
				t.Errorf("flushed again: %+v", r.acts)
			}
		})
	}
}

// A near link asks until the last moment. A far one that has asked for the last time does
// not wait for that: what is held back there would come too late.
func TestAFarLinkIsFlushedWhenItHasAskedForTheLastTime(t *testing.T) {
	r, _ := far(t)
	near, link := &r.core.links[0], &r.core.links[1]
	near.est.rate, link.est.rate = 1e7, 1e6
	near.health.lastByte, link.streams.piped = r.now, 1<<3
	if out := r.core.flush(nil); len(out) > 0 {
		t.Errorf("flushed when there is much to ask for: %+v", out)
	}
	r.core.freeMap.setFree(Range{0, 100 << 10})
	if out := r.core.flush(nil); len(out) != 1 || out[0].Kind != Flush || out[0].Link != 1 || out[0].Stream != 3 {
		t.Errorf("%+v", out)
	}
}
