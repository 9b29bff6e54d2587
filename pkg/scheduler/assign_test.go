package scheduler

import "testing"

// Where so many files may be in progress at once, a slow link does not take their places
// from a fast one, nor one of two that are alike all of them.
func TestFewFilesAtOnceGoWhereTheyAreBroughtSoonest(t *testing.T) {
	const size = 1000
	for _, c := range []struct {
		rates []float64 // 0: not known
		busy  int       // requests that the first link has
		files int
		on    LinkID // whose the next request is
	}{
		{[]float64{1e5, 1e7}, 0, 1, 1},
		{[]float64{1e7, 1e5}, 0, 1, 0},
		{[]float64{1e7, 0}, 0, 1, 1},
		{[]float64{1.1e6, 1e6}, 1, 2, 1},
		{[]float64{1e7, 1e6}, 3, 4, 0},
		{[]float64{1e5, 1e7}, 0, 0, 0}, // as each has its turn
	} {
		r := batchRig(t, 20*Millisecond, 20*Millisecond)
		r.step(Input{Kind: Planned, Plan: &Plan{Files: c.files}})
		for id, rate := range c.rates {
			if l := &r.core.links[id]; rate > 0 {
				l.est.rate, l.est.nSamples, l.load.asked = rate, 1, true
			}
		}
		for f := range int64(20) {
			r.add(int32(f), f*size, (f+1)*size, false)
		}
		for range c.busy {
			k, fresh, i := r.core.assignment.pick(0, 0)
			r.core.flight.start(0, 0, r.core.freeMap.take(k, fresh, i, size), nil)
		}
		if r.tick(); len(r.acts) == 0 || r.acts[0].Link != c.on {
			t.Errorf("%+v: %+v", c, r.acts)
		}
	}
}

// A connection that the next plan gives up brings what it was asked for first. So one that a plan
// has made is asked for no more at a time than it brings in two seconds.
func TestAPlansConnectionsHaveLittleInHand(t *testing.T) {
	const size, rate = 100 << 20, 8e6
	for _, c := range []struct {
		connections int
		most        int64 // bytes
	}{
		{1, 2 * rate}, {8, 2 * rate / 8}, {64, leastWhole},
	} {
		r := batchRig(t, 300*Millisecond)
		plan := Plan{}
		plan.Classes[0] = Share{Connections: c.connections, Parallelism: c.connections}
		r.step(Input{Kind: Planned, Plan: &plan})
		r.add(0, 0, size, false)
		r.expect(0)
		r.known(rate)
		r.tick()
		asked := r.starts()
		if len(asked) < c.connections {
			t.Fatalf("%d connections: %d requests", c.connections, len(asked))
		}
		for _, a := range asked {
			if a.Len() > c.most {
				t.Errorf("%d connections: %d bytes asked for at once, %d are two seconds' worth", c.connections, a.Len(), c.most)
			}
		}
	}
}
