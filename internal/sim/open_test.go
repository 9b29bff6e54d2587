package sim

import (
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestConnectionsAreMadeAhead: over a far link they are open when the size is known. A
// large file is all the sooner here, one that takes several round trips, too, and a small one
// as soon, with one request.
func TestConnectionsAreMadeAhead(t *testing.T) {
	for _, c := range []struct {
		name          string
		trip          time.Duration
		size          int64
		http2         bool
		tls           int
		opened, conns int
		efficiency    float64 // at least; 0.959 and 0.834 without
	}{
		{"large", 300 * time.Millisecond, 250e6, false, 0, 31, 60, 0.975},
		{"middling", 300 * time.Millisecond, 50e6, false, 0, 31, 60, 0.90},
		{"small", 300 * time.Millisecond, 30e3, false, 0, 31, 32, 0},
		{"shared", 300 * time.Millisecond, 100e3, false, 0, 31, 32, 0.66}, // 0.51 by one
		{"near", 60 * time.Millisecond, 40e6, false, 0, 0, 1, 0.95},
		{"http2", 300 * time.Millisecond, 100e3, true, 0, 31, 32, 0.66},
		{"http2 over TLS", 300 * time.Millisecond, 100e3, true, 1, 29, 30, 0.74},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scenario.Scenario{Links: []scenario.Link{{Name: "a", DownMbps: 61, RTT: c.trip}}}
			cfg := Default(s, "3")
			var rec recorder
			cfg.Size, cfg.HTTP2, cfg.TLSTrips, cfg.Observer = c.size, c.http2, c.tls, &rec
			res, err := RunWithBound(cfg)
			if err != nil {
				t.Fatal(err)
			}
			opened := 0
			for _, step := range rec.steps {
				for _, a := range step.Actions {
					if a.Kind == scheduler.Open {
						opened++
					}
				}
			}
			if opened != c.opened || res.Links[0].Connections != c.conns {
				t.Errorf("%d connections, %d of them made ahead", res.Links[0].Connections, opened)
			}
			if res.Efficiency < c.efficiency || c.size < 50e3 && res.Requests != 1 {
				t.Errorf("%.4f of the bound, %d requests", res.Efficiency, res.Requests)
			}
		})
	}
}
