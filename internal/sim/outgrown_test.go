package sim

import (
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// TestALinkThatBecomesLong: a connection keeps the window that filled the link as it was,
// and others that are new fill it again.
func TestALinkThatBecomesLong(t *testing.T) {
	for _, c := range []struct {
		parallelism int
		http2       bool
		least, most float64 // efficiency
	}{
		{1, false, 0.70, 0.80},
		{0, false, 0.90, 1},
		{0, true, 0.90, 1},
	} {
		cfg := Default(scenario.Scenario{
			Links: []scenario.Link{
				{Name: "a", DownMbps: 60, RTT: 20 * time.Millisecond},
				{Name: "b", DownMbps: 60, RTT: 20 * time.Millisecond},
			},
			Events: []scenario.Event{{At: 2 * time.Second, Link: "b", Kind: scenario.RTT, Value: 300}},
		}, "3")
		cfg.Size, cfg.Parallelism, cfg.HTTP2 = 160e6, c.parallelism, c.http2
		res, err := RunWithBound(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res.Efficiency < c.least || res.Efficiency > c.most {
			t.Errorf("%+v: %.4f of the bound", c, res.Efficiency)
		}
	}
}
