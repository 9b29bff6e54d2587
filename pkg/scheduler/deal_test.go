package scheduler

import "testing"

// What is measured of a slow start is a trip late: a connection that has to fill a far
// link by itself is asked for twice what it has brought.
func TestALoneConnectionIsAskedForItsSlowStart(t *testing.T) {
	const brought = 1 << 20
	for name, c := range map[string]struct {
		rtt         Time
		connections int
		planned     bool
		doubled     bool
	}{
		"far, alone":       {300 * Millisecond, 1, true, true},
		"far, one of many": {300 * Millisecond, 8, true, false},
		"near, alone":      {20 * Millisecond, 1, true, false},
		"no plan":          {300 * Millisecond, 1, false, false},
	} {
		r := batchRig(t, c.rtt)
		if c.planned {
			plan := Plan{}
			plan.Classes[0] = Share{Connections: c.connections}
			r.step(Input{Kind: Planned, Plan: &plan})
		}
		r.known(1e6)
		s := &r.core.links[0].streams
		s.most = StreamID(c.connections)
		s.opened[0] = brought
		if n := r.core.ahead(0, 0); (n >= 2*brought) != c.doubled {
			t.Errorf("%s: asked %.0f bytes ahead where %d were brought", name, n, brought)
		}
	}
}
