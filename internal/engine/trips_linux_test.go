package engine

import (
	"testing"

	"github.com/mlget/mlget/internal/event"
)

// TestTheKernelIsAskedForTrips: whoever fixes the number of connections is told as well what
// a round trip takes the data: windows and uplinks go by it.
func TestTheKernelIsAskedForTrips(t *testing.T) {
	t.Parallel()
	for _, parallelism := range []int{0, 1, 2} {
		trips := 0
		// The kernel takes a round trip where a window's worth has come, which on a busy machine may
		// be after the end.
		for try := 0; try < 5 && trips == 0; try++ {
			o := newObject(8 * mib)
			r := newRig(t, &testLink{name: "a", bare: true})
			r.terms[0].Rate = 16 * mib
			r.cfg.Parallelism = parallelism
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			for _, e := range of[event.Step](got) {
				if e.Input.Trip > 0 {
					trips++
				}
			}
		}
		if trips == 0 {
			t.Errorf("parallelism %d: the scheduler was told of no round trip", parallelism)
		}
	}
}
