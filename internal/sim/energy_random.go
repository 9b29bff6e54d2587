package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// RandomEnergy makes up a download over WiFi and a cellular link from a seed, as
// Random does: 1 to 200 Mbit/s each, a server 2 to 300 ms away behind 2 to 30 ms
// of WiFi or 15 to 90 ms of the cellular link, 10 KB to 1 GB, with the built-in
// radio models. The rates are constant, but for the build-up that some
// cellular links have and, where they wander, up to ±30 %. The scheduler is told
// the links' bandwidths; clear Bandwidths to keep them from it.
func RandomEnergy(seed uint64) Config {
	rng := rand.New(rand.NewPCG(seed, 0x6a6f756c6573))
	cfg := Default(scenario.Scenario{Name: fmt.Sprintf("energy:%d", seed)}, "3")
	cfg.Seed = seed
	pairs := [...][2]string{
		{"wifi", "lte"}, {"wifi", "lte-2021"}, {"wifi", "nr"}, {"wifi", "3g"}, {"wifi-s7-mean", "lte-s7-mean"}, {"wifi", "nr-mmwave"},
	}
	pair := pairs[rng.IntN(len(pairs))]
	total := int64(0)              // in units of 100 kbit/s
	server := octaves(rng, 2, 300) // ms
	access := [...]int64{octaves(rng, 2, 30), octaves(rng, 15, 90)}
	var radios []energy.Radio
	for i, name := range [...]string{"wlan0", "rmnet0"} {
		rate := octaves(rng, 10, 2000)
		total += rate
		l := scenario.Link{Name: name, DownMbps: float64(rate) / 10, RTT: time.Duration(server+access[i]) * time.Millisecond}
		if i == 1 && rng.IntN(10) < 3 {
			l.Ramp = time.Duration(500+rng.IntN(2000)) * time.Millisecond
			l.Ramp0 = float64(10+rng.IntN(40)) / 100
		}
		if rng.IntN(10) < 3 {
			l.Vary = float64(5+rng.IntN(25)) / 100
		}
		cfg.Scenario.Links = append(cfg.Scenario.Links, l)
		cfg.Bandwidths = append(cfg.Bandwidths, l.DownMbps*1e6/8*scenario.Goodput)
		radio, _ := energy.Lookup(pair[i])
		radios = append(radios, radio)
	}
	cfg.Size = octaves(rng, 10_000, 1_000_000_000)
	if rng.IntN(2) == 0 {
		cfg.HTTP2, cfg.TLSTrips = true, 1
	}
	cfg.SetRadios(radios)
	return cfg
}

// Alone is the configuration with one of its links only.
func (c *Config) Alone(index int) Config {
	a := *c
	a.Scenario.Links = c.Scenario.Links[index : index+1]
	a.Scenario.Events = nil
	for _, e := range c.Scenario.Events {
		if e.Link == a.Scenario.Links[0].Name {
			a.Scenario.Events = append(a.Scenario.Events, e)
		}
	}
	if index < len(c.Bandwidths) {
		a.Bandwidths = c.Bandwidths[index : index+1]
	}
	if index < len(c.Radios) {
		a.Radios, a.Terms = c.Radios[index:index+1], c.Terms[index:index+1]
	}
	return a
}
