package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// Wild makes up a download from a seed over links that Random does not draw: one
// to eight of them, of 0.3 to 500 Mbit/s and 1 ms to 1.5 s, that lose packets
// singly or in bursts, whose queues hold a few packets or seconds, whose rates and
// round trips step up and down, that flap, fade, fail for a while or come late.
// The first link is there from the beginning and never fails for good. Everything
// is drawn as a whole number, so that all machines agree. The algorithm is left to
// the caller.
func Wild(seed uint64) Config {
	rng := rand.New(rand.NewPCG(seed, 0x77696c64))
	cfg := Default(scenario.Scenario{Name: fmt.Sprintf("wild:%d", seed)}, "")
	cfg.Seed = seed
	total := int64(0) // in units of 100 kbit/s
	for i := range wildLinks(rng) {
		rate := octaves(rng, 3, 5000)
		total += rate
		cfg.Scenario.Links = append(cfg.Scenario.Links, wildLink(rng, i, rate))
	}
	// At most about a minute, so that thousands of runs take as long.
	perSecond := total * 100_000 / 8
	cfg.Size = min(octaves(rng, 10_000, 300_000_000), 60*perSecond)
	length := max(1000, cfg.Size*1000/perSecond) // ms
	for i := range cfg.Scenario.Links {
		if rng.IntN(10) < 4 {
			cfg.Scenario.Events = append(cfg.Scenario.Events, wildEvents(rng, &cfg.Scenario.Links[i], i == 0, length)...)
		}
	}
	slices.SortStableFunc(cfg.Scenario.Events, func(a, b scenario.Event) int { return int((a.At - b.At) / time.Millisecond) })
	if rng.IntN(2) == 0 {
		cfg.HTTP2, cfg.TLSTrips = true, 1
	}
	// Figures of crowd.go are from a link of 290 ms; CUBIC's growth hangs on time, not on trips.
	cfg.Crowded = rng.IntN(2) == 0 && !slices.ContainsFunc(cfg.Scenario.Links, func(l scenario.Link) bool { return l.RTT > 400*time.Millisecond })
	return cfg
}

func wildLinks(rng *rand.Rand) int {
	switch k := rng.IntN(10); {
	case k == 0:
		return 1
	case k < 6:
		return 2
	case k < 8:
		return 3 + rng.IntN(2)
	}
	return 5 + rng.IntN(4)
}

func wildLink(rng *rand.Rand, i int, rate int64) scenario.Link {
	l := scenario.Link{
		Name:     fmt.Sprintf("link%d", i),
		DownMbps: float64(rate) / 10,
		RTT:      time.Duration(octaves(rng, 1, 1500)) * time.Millisecond,
	}
	if rng.IntN(10) < 3 {
		l.Queue = time.Duration(octaves(rng, 5, 2000)) * time.Millisecond
	}
	if rng.IntN(10) < 3 {
		l.LossPercent = float64(octaves(rng, 5, 800)) / 100
	}
	if rng.IntN(10) < 2 {
		l.Ramp = time.Duration(octaves(rng, 500, 15000)) * time.Millisecond
		l.Ramp0 = float64(5+rng.IntN(60)) / 100
	}
	if rng.IntN(10) < 3 {
		l.Vary = float64(10+rng.IntN(85)) / 100
	}
	return l
}

// wildEvents is what happens to a link within about length ms.
func wildEvents(rng *rand.Rand, l *scenario.Link, first bool, length int64) []scenario.Event {
	at := time.Duration(rng.Int64N(length)) * time.Millisecond
	event := func(after time.Duration, kind scenario.Kind, value float64) scenario.Event {
		return scenario.Event{At: at + after, Link: l.Name, Kind: kind, Value: value}
	}
	rate := func(percent int64) float64 {
		return min(scenario.MaxMbps, max(scenario.MinMbps, l.DownMbps*float64(percent)/100))
	}
	span := time.Duration(octaves(rng, 100, 4000)) * time.Millisecond
	var events []scenario.Event
	again := func(most int, one func(after time.Duration)) {
		for k := range 1 + rng.IntN(most) {
			one(2 * time.Duration(k) * span)
		}
	}
	switch kind := rng.IntN(9); {
	case kind == 0: // a step, for good
		return []scenario.Event{event(0, scenario.Rate, rate(octaves(rng, 5, 1000)))}
	case kind == 1: // up and down again
		low := rate(octaves(rng, 1, 50))
		again(30, func(after time.Duration) {
			events = append(events, event(after, scenario.Rate, low), event(after+span, scenario.Rate, l.DownMbps))
		})
	case kind == 2: // it falls silent now and then
		again(20, func(after time.Duration) {
			events = append(events, event(after, scenario.Down, 0), event(after+span, scenario.Up, 0))
		})
	case kind == 3: // losses in bursts
		again(20, func(after time.Duration) {
			events = append(events, event(after, scenario.Loss, float64(10+rng.IntN(50))), event(after+span/8, scenario.Loss, l.LossPercent))
		})
	case kind == 4: // another network, never nearer, as the fluid bound has it
		return []scenario.Event{event(0, scenario.RTT, float64(l.RTT.Milliseconds()+octaves(rng, 5, 1500))), event(0, scenario.Rate, rate(octaves(rng, 10, 300)))}
	case kind == 5: // it fades
		for k := int64(1); k < 10; k++ {
			events = append(events, event(time.Duration(k)*span/4, scenario.Rate, rate(100-10*k)))
		}
		if !first {
			events = append(events, event(10*span/4, scenario.Down, 0))
		}
	case kind == 6 && !first: // it comes late
		at = 0
		late := time.Duration(rng.Int64N(length)) * time.Millisecond
		return []scenario.Event{event(0, scenario.Down, 0), event(late, scenario.Up, 0)}
	case kind == 7 && !first:
		return []scenario.Event{event(0, scenario.Gone, 0), event(span, scenario.Back, 0)}
	case kind == 8 && !first:
		return []scenario.Event{event(0, scenario.Down, 0)}
	}
	return events
}
