package sim

import "testing"

// A device that comes late, or comes back as another one, carries from then on.
func TestLinksThatJoin(t *testing.T) {
	for _, tc := range []struct {
		name, events string
		least, most  float64 // of the bytes over the first link, as a part
	}{
		{"comes after 4 s", "\nat 0s a gone\nat 4s a back", 0.35, 0.45},
		{"never comes", "\nat 0s a gone", 0, 0},
		{"comes back after 4 s", "\nat 4s a gone\nat 8s a back", 0.35, 0.45},
		{"comes when next to nothing is left", "\nat 0s a gone\nat 19.5s a back", 0, 0},
	} {
		for _, http2 := range []bool{false, true} {
			cfg := Default(parse(t, "link a,down=40,rtt=20\nlink b,down=40,rtt=20"+tc.events), "3")
			cfg.Size, cfg.HTTP2 = 95e6, http2 // 19.7 s over one of them
			res := mustRun(t, cfg)
			part := float64(res.Links[0].Bytes) / 95e6
			if part < tc.least || part > tc.most {
				t.Errorf("%s, HTTP/2 %v: %.2f of the bytes came over it, in %.1f s, bound %.1f", tc.name, http2, part, res.Seconds, res.BoundSeconds)
			}
			if err := check(cfg, res, res.BoundSeconds); err != nil {
				t.Errorf("%s, HTTP/2 %v: %v", tc.name, http2, err)
			}
		}
	}
}
