package sim

import (
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// TestASmallFileOverALinkThatLosesPackets: a link that is near finds out within the first
// tenths of a second that it needs more connections, and a file of one second gains by it.
func TestASmallFileOverALinkThatLosesPackets(t *testing.T) {
	for _, c := range []struct {
		trip  time.Duration
		loss  float64 // percent
		least float64 // mean efficiency; with files of more than two seconds only, .73, .75 and .72
	}{
		{20 * time.Millisecond, 0.1, 0.88},
		{20 * time.Millisecond, 0.3, 0.88},
		{10 * time.Millisecond, 0.3, 0.92},
	} {
		const seeds = 10
		sum := 0.0
		for seed := range uint64(seeds) {
			cfg := Default(scenario.Scenario{Links: []scenario.Link{{Name: "a", DownMbps: 90, RTT: c.trip, LossPercent: c.loss}}}, "3")
			cfg.Size, cfg.Seed = 10e6, seed
			res, err := RunWithBound(cfg)
			if err != nil {
				t.Fatal(err)
			}
			sum += res.Efficiency
		}
		if mean := sum / seeds; mean < c.least {
			t.Errorf("%v, %v %% lost: %.4f of the bound", c.trip, c.loss, mean)
		}
	}
}
