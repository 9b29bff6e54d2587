package sim

import (
	"testing"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// TestServersLimitConnections: where a server sends so many bytes per second over a
// connection at most, there are as many as the links have room for, and one each where
// it does not.
func TestServersLimitConnections(t *testing.T) {
	for _, c := range []struct {
		scenario  string
		limit     float64 // bytes per second
		faster    float64 // than with one connection a link
		least     int     // connections of both links
		most      int
		tlsTrips  int
		sizeBytes int64
	}{
		{"high-speed", 1e6, 4, 17, 66, 0, 40e6},
		{"high-speed", 1e6, 4, 17, 66, 1, 40e6},
		{"high-speed", 200e3, 4, 17, 66, 0, 12e6},
		{"always-online", 1e6, 2, 5, 66, 0, 60e6},
		{"high-speed", 0, 0.99, 2, 4, 0, 250e6},
	} {
		s, err := scenario.Load(c.scenario)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Default(s, "3")
		cfg.PerConnection, cfg.Size, cfg.TLSTrips, cfg.HTTP2 = c.limit, c.sizeBytes, c.tlsTrips, c.tlsTrips > 0
		many := mustRun(t, cfg)
		cfg.Parallelism = 1
		one := mustRun(t, cfg)
		n := 0
		for _, l := range many.Links {
			n += l.Connections
		}
		t.Logf("%s, %.0f bytes per second and connection: %.2f s over %d connections, %.2f s over one each", c.scenario, c.limit, many.Seconds, n, one.Seconds)
		if many.Seconds*c.faster > one.Seconds || n < c.least || n > c.most {
			t.Errorf("%s, %.0f bytes per second and connection: %.2f s over %d connections, %.2f s over one each", c.scenario, c.limit, many.Seconds, n, one.Seconds)
		}
	}
}
