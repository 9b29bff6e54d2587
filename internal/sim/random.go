package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// Random makes up a download from a seed: two to four links of 1 to 200 Mbit/s
// and 5 to 400 ms, 100 KB to 500 MB, build-up, wandering, and failures. The
// first link never fails for good. Everything is drawn as a whole number, by
// octaves, so that all machines agree. The algorithm is left to the caller.
func Random(seed uint64) Config {
	rng := rand.New(rand.NewPCG(seed, 0x6d6c676574))
	cfg := Default(scenario.Scenario{Name: fmt.Sprintf("random:%d", seed)}, "")
	cfg.Seed = seed
	n := 2
	if rng.IntN(10) >= 7 {
		n += 1 + rng.IntN(2)
	}
	total := int64(0) // in units of 100 kbit/s
	for i := range n {
		rate := octaves(rng, 10, 2000)
		total += rate
		l := scenario.Link{
			Name:     fmt.Sprintf("link%d", i),
			DownMbps: float64(rate) / 10,
			RTT:      time.Duration(octaves(rng, 5, 400)) * time.Millisecond,
		}
		if rng.IntN(10) < 3 {
			l.Ramp = time.Duration(500+rng.IntN(3500)) * time.Millisecond
			l.Ramp0 = float64(10+rng.IntN(40)) / 100
		}
		if rng.IntN(10) < 4 {
			l.Vary = float64(5+rng.IntN(60)) / 100
		}
		cfg.Scenario.Links = append(cfg.Scenario.Links, l)
	}
	// At most about four minutes, so that thousands of runs take one.
	perSecond := total * 100_000 / 8
	cfg.Size = min(octaves(rng, 100_000, 500_000_000), 240*perSecond)
	if rng.IntN(10) < 3 {
		length := max(1000, cfg.Size*1000/perSecond) // ms
		cfg.Scenario.Events = failure(rng, cfg.Scenario.Links, length)
	}
	if rng.IntN(2) == 0 {
		cfg.HTTP2, cfg.TLSTrips = true, 1
	}
	cfg.RampOnConnect = rng.IntN(2) == 0
	return cfg
}

// failure is what happens to one link within about length ms.
func failure(rng *rand.Rand, links []scenario.Link, length int64) []scenario.Event {
	i := rng.IntN(len(links))
	l := links[i]
	at := time.Duration(rng.Int64N(length)) * time.Millisecond
	switch kind := rng.IntN(3); {
	case kind == 0 && i > 0:
		return []scenario.Event{{At: at, Link: l.Name, Kind: scenario.Down}}
	case kind <= 1:
		away := time.Duration(100+rng.IntN(8000)) * time.Millisecond
		return []scenario.Event{
			{At: at, Link: l.Name, Kind: scenario.Down},
			{At: at + away, Link: l.Name, Kind: scenario.Up},
		}
	}
	left := max(scenario.MinMbps, l.DownMbps*float64(2+rng.IntN(18))/100)
	return []scenario.Event{{At: at, Link: l.Name, Kind: scenario.Rate, Value: left}}
}

// octaves draws a whole number within lo to hi, each factor of two as likely as
// any other.
func octaves(rng *rand.Rand, lo, hi int64) int64 {
	n := 0
	for lo<<n < hi {
		n++
	}
	base := lo << rng.IntN(n)
	return min(hi, base+rng.Int64N(base))
}
