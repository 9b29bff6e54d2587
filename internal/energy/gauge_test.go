package energy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// gauge is the gauge between a phone and its sampler.
type gauge struct {
	every   int64   // between two of its values, ns
	instant bool    // it shows the power of the moment, not the mean since its last value
	noise   float64 // standard deviation, share of the value
	asked   int64   // between two questions, ns
}

func (g gauge) String() string {
	kind := "means"
	if g.instant {
		kind = "instants"
	}
	return fmt.Sprintf("%s every %d ms, asked every %d ms, noise %g %%", kind, g.every/ms, g.asked/ms, 100*g.noise)
}

// watch is a download of 15 s over two radios that a gauge watches: what it tells,
// from 5 s before to 20 s after, and what the radios have really spent above idling.
func (g gauge) watch(rnd *rand.Rand, wifi, lte string) (samples []Sample, run Run, joules float64) {
	const base, step = 0.7, 0.004 // W
	w, _ := Lookup(wifi)
	l, _ := Lookup(lte)
	w.Idle, l.Idle = 0, 0 // part of the base
	a, b := NewMachine(w, 0), NewMachine(l, 0)
	run = Run{Start: 5*sec + rnd.Int64N(sec), Bytes: 112.5e6}
	run.End = run.Start + 15*sec
	change, ask := rnd.Int64N(g.every/ms)*ms, rnd.Int64N(g.asked/ms)*ms
	var told, held Sample // held repeats told
	var before, stood, shown float64
	for now := int64(0); now <= run.End+20*sec; now += ms {
		var down int64
		if now > run.Start && now <= run.End {
			down = 2500
		}
		a.Step(now, down, 0, 1)
		b.Step(now, 2*down, 0, 1)
		joules = a.Energy().Total() + b.Energy().Total()
		watts := base + (joules-before)*1e3
		before = joules
		if now%g.every == change {
			if !g.instant && now > change {
				watts = base + (joules-stood)/seconds(g.every)
			}
			stood = joules
			shown = math.Round(watts*(1+g.noise*rnd.NormFloat64())/step) * step
		}
		if now%g.asked != ask || now < change {
			continue
		}
		// As in internal/power: a number that repeats itself is told when it changes,
		// or after five intervals.
		s := Sample{At: now, Watts: shown}
		if told.At > 0 && shown == told.Watts && now-told.At < 5*g.asked {
			held = s
			continue
		}
		if held.At > told.At && shown != told.Watts {
			samples = append(samples, held)
		}
		told = s
		samples = append(samples, s)
	}
	return samples, run, joules
}

// TestGauges holds what is made of samples against what the radios have spent.
func TestGauges(t *testing.T) {
	for _, c := range []struct {
		gauge gauge
		limit float64
	}{
		{gauge{every: sec, asked: sec}, 0.01},
		{gauge{every: sec, asked: sec, noise: 0.02}, 0.05},
		{gauge{every: sec, asked: sec, instant: true}, 0.05},
		{gauge{every: 10 * ms, asked: sec, instant: true, noise: 0.02}, 0.05},
		{gauge{every: sec, asked: 100 * ms}, 0.02},
		{gauge{every: sec, asked: 100 * ms, noise: 0.02}, 0.05},
		{gauge{every: 3 * sec, asked: sec, noise: 0.02}, 0.1},
		{gauge{every: 100 * ms, asked: 100 * ms}, 0.01},
		{gauge{every: 100 * ms, asked: 100 * ms, noise: 0.02}, 0.02},
		{gauge{every: 100 * ms, asked: 100 * ms, instant: true}, 0.02},
	} {
		for _, radios := range [][2]string{{"wifi", "lte"}, {"wifi-s7-mean", "lte-s7-mean"}} {
			rnd := rand.New(rand.NewPCG(7, 8))
			var worst, mean, worstSimpson float64
			const rounds = 20
			for range rounds {
				samples, run, want := c.gauge.watch(rnd, radios[0], radios[1])
				s, ok := Summarise(Series{Samples: samples}, run)
				if !ok || !s.BaseKnown || !s.TailKnown {
					t.Fatalf("%v: %+v, %v", c.gauge, s, ok)
				}
				off := (s.DynamicJoules+s.Tail.Joules)/want - 1
				worst, mean = max(worst, math.Abs(off)), mean+off/rounds
				end := run.End + int64(s.Tail.Seconds*1e9)
				thesis := simpson(clip(samples, run.Start, end).points) - s.BaseWatts*seconds(end-run.Start)
				worstSimpson = max(worstSimpson, math.Abs(thesis/want-1))
			}
			t.Logf("%v, %s: at most %.1f %% off, on average %+.1f; by Simpson's rule at most %.1f",
				c.gauge, radios[1], 100*worst, 100*mean, 100*worstSimpson)
			if worst > c.limit || math.Abs(mean) > 0.01 {
				t.Errorf("%v, %s: %.1f %% off, on average %+.1f", c.gauge, radios[1], 100*worst, 100*mean)
			}
		}
	}
}
