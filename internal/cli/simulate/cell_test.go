package simulate

import (
	"testing"

	"github.com/mlget/mlget/internal/sim"
)

// TestCellsLinks: what is said of the links is the median of all runs, as everything in
// the line is.
func TestCellsLinks(t *testing.T) {
	run := func(first, second int64, joules float64) sim.Result {
		return sim.Result{SizeBytes: 100, Links: []sim.Link{
			{Name: "a", Bytes: first}, {Name: "b", Bytes: second, Joules: joules, Reason: "spare"},
		}}
	}
	c := cell{run(90, 10, 9), run(40, 60, 2), run(50, 50, 3)}
	if got := c.shares(); got != "a 50%, b 50%" {
		t.Error(got)
	}
	if got := c.joules(); got != "a 50% 0.00 J, b 50% 3.00 J (spare)" {
		t.Error(got)
	}
}
