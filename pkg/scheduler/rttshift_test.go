package scheduler

import "testing"

// A link that becomes long is no longer filled by the window of its connection: others are
// tried, unless a queue explains it as well, and stay if they bring more.
func TestALinkThatBecomesLongTakesSeveralConnections(t *testing.T) {
	const (
		rtt    = 20 * Millisecond
		longer = 300 * Millisecond
		full   = 8e6 // bytes per second
		change = 2 * Second
	)
	for _, tt := range []struct {
		name      string
		trip      Time // of the data, after the change
		swing     Time // by which it goes up and down
		each, all float64
		lossy     bool  // packets are lost all the time
		size      int64 // bytes
		most      int   // connections at one time
		want      int   // at the end
	}{
		{"a window too small", longer, 0, full / 6, full, false, 1 << 30, 8, 8},
		{"the link is slow", longer, 0, full / 3, full / 3, false, 1 << 30, 8, 1},
		{"a queue that grows and is emptied", longer, 6 * Millisecond, full / 3, full, false, 1 << 30, 1, 1},
		{"packets are lost", longer, 0, full / 3, full, true, 1 << 30, 1, 1},
		{"as fast as before", longer, 0, full, full, false, 1 << 30, 1, 1},
		{"not long", 50 * Millisecond, 0, full / 3, full, false, 1 << 30, 1, 1},
		{"nearly done", longer, 0, full / 3, full, false, 32 << 20, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: tt.size})
			r.step(Input{Kind: LinkUp, RTT: rtt})
			flows := newFlows(r.tick())
			most, lost := 0, int64(0)
			for i := Time(0); r.now < change+10*Second; i++ {
				r.now += 10 * Millisecond
				each, trip := full/float64(flows.busy()), rtt
				if r.now > change {
					each = min(tt.each, tt.all/float64(flows.busy()))
					trip = tt.trip + i%2*tt.swing
					if each < tt.each {
						trip *= 2
					}
					if tt.lossy {
						lost++
					}
				}
				flows.receive(r, Input{Kind: Progress, Trip: trip, Reordered: lost}, int64(each*0.01))
				flows.start(r.tick())
				most = max(most, r.core.Link(0).Streams)
			}
			if n := r.core.Link(0).Streams; n != tt.want || most != tt.most {
				t.Errorf("%d connections, %d at most, want %d and %d", n, most, tt.want, tt.most)
			}
		})
	}
}
