package papers

import (
	"math"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/terms"

	"github.com/mlget/mlget/internal/sim"
)

// A policy that is not told what a sleeping link carries cannot know before it has
// woken it, and waking costs a promotion and a tail. So the same download beside a
// link of another rate, a twin, looks the same to it until then, and asks for the
// opposite where this one asks for waking. What follows is computed, not played:
// with those twins, how often a policy can be right at all.

// twinRates is at how many rates of the other link a download is looked at, evenly
// over the logarithms from 1 to 200 Mbit/s: as RandomEnergy makes them up.
const twinRates = 12

// Blind is what a policy can have that knows everything of a download, WiFi's rate
// and the rates that links have included, but not the other link's rate.
type Blind struct {
	Stay float64 // share of the rates at which never waking the other is within 3 % of the best way
	Wake float64 // and at which waking it may be
	// Waking is what it takes to wake the other link, in J.
	Waking float64
	// OnlyStay is the highest of the rates, in Mbit/s, at which nothing but staying
	// is within 3 %, OnlyWake the lowest at which nothing but waking is, and Woken
	// what the other link takes there; 0: there is no such rate.
	OnlyStay float64
	OnlyWake float64
	Woken    float64
}

// Best is how often such a policy is within 3 % at best, 0 to 1.
func (b *Blind) Best() float64 { return max(b.Stay, b.Wake) }

// blind looks at a download's twins, one alone of whose links took wifi joules.
// Whoever wakes the other link pays for that, and carries each byte over WiFi or
// over the other at what these take alone: less than the lesser of both is not to
// be had but for the 1 % by which both together may be better.
func blind(cfg sim.Config, wifi float64) (Blind, error) {
	waking := cfg.Radios[1].FixedJoules()
	payload := float64(cfg.Size) * 8e-6 // Mbit
	t := terms.Of(cfg.Radios[1]).Radio
	b := Blind{Waking: waking}
	for k := range twinRates {
		mbps := math.Pow(200, (float64(k)+0.5)/twinRates)
		// What the model comes to without handshakes and slow start is less than
		// what a run takes.
		other := waking + 1e-3*payload*(t.MWPerMbps+t.ActiveMW/(mbps*scenario.Goodput))
		if other < wifi {
			twin := cfg.Alone(1)
			twin.Bandwidths = nil
			twin.Scenario.Links = append([]scenario.Link(nil), twin.Scenario.Links...)
			twin.Scenario.Links[0].DownMbps = mbps
			res, err := sim.Run(twin)
			if err != nil {
				return b, err
			}
			other = res.Energy.Joules
		}
		most := worse * min(wifi, other)
		stay, wake := wifi <= most, min(other, wifi+waking) <= most
		if stay {
			b.Stay += 1.0 / twinRates
		}
		if wake {
			b.Wake += 1.0 / twinRates
		}
		switch {
		case stay && !wake:
			b.OnlyStay = mbps
		case wake && !stay && b.OnlyWake == 0:
			b.OnlyWake, b.Woken = mbps, other
		}
	}
	return b, nil
}

// Verdict says what became of a download whose bandwidths were not told.
type Verdict uint8

// The verdicts.
const (
	Right     Verdict = iota // within 3 % of the best way
	Woke                     // it woke the other link, and should not have
	Stayed                   // it did not wake it, and should have
	Searching                // it did what could be right, and paid for finding out
)

// Text says it in words.
func (v Verdict) Text() string {
	switch v {
	case Woke:
		return "woke it"
	case Stayed:
		return "let it sleep"
	case Searching:
		return "found out"
	case Right:
	}
	return ""
}

// Verdict judges the download that was not told. hopeless says that what it did is
// the only right thing for a twin of it, and certainly wrong here: no policy that is
// not told is right with both.
func (r *RivalCase) Verdict() (v Verdict, hopeless bool) {
	best := r.BlindBest()
	switch {
	case r.Untold <= float64(worse*best):
		return Right, false
	case r.BlindWiFi <= best && r.Woken:
		if r.BlindWiFi+r.Blind.Waking <= float64(worse*best) {
			return Searching, false
		}
		return Woke, r.Blind.OnlyWake > 0
	case r.BlindWiFi > float64(worse*best) && !r.Woken:
		return Stayed, r.Blind.OnlyStay > 0
	}
	return Searching, false
}
