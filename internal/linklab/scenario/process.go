package scenario

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Tick is the step in which a rate changes: within one it is constant.
const Tick = time.Millisecond

// minShape keeps a rate that wanders from stopping: the least fraction of it.
const minShape = 0.01

// waves are the weights and periods of the three sines that make a rate
// wander. The weights sum to 1, so that Vary is the greatest excursion; the
// mean over a long time is 0, so that the mean rate is the link's own.
type wave struct{ weight, seconds, phase float64 }

// Process is the downward rate of a link as a pure function of time. The
// emulator and the fluid bound use the same one, so they cannot disagree.
//
//	rate(t) = base(t) * ramp(t - since) * (1 + Vary * wander(t)) * trace(t)
//
// where base is the link's rate or that of the last rate event, ramp goes
// linearly from Ramp0 to 1 in Ramp seconds from the moment since at which the
// link woke up, wander is within ±1 with mean 0 and made from the seed, and
// trace has mean 1. Everything is held for a Tick, at its value in the middle.
type Process struct {
	steps []step
	ramp  time.Duration
	ramp0 float64
	vary  float64
	waves [3]wave
	trace *Trace
}

type step struct {
	from time.Duration
	bps  float64
}

// NewProcess is the rate of a link of the scenario (which must be complete)
// with its rate events. The same seed and index give the same rates.
func NewProcess(s Scenario, index int, seed uint64) Process {
	l := s.Links[index]
	p := Process{
		steps: []step{{0, l.DownMbps * 1e6}},
		ramp:  l.Ramp, ramp0: l.Ramp0, vary: l.Vary, trace: l.Trace,
	}
	rng := rand.New(rand.NewPCG(seed, uint64(index)))
	for i, w := range [3]wave{{weight: 0.5, seconds: 11}, {weight: 0.3, seconds: 4.7}, {weight: 0.2, seconds: 1.9}} {
		w.phase = rng.Float64() * 2 * math.Pi
		p.waves[i] = w
	}
	for _, e := range s.Events {
		if e.Link == l.Name && e.Kind == Rate {
			p = p.With(e.At, e.Value)
		}
	}
	return p
}

// ConstantProcess is a rate that never changes, in 10^6 bit/s.
func ConstantProcess(mbps float64) Process {
	return Process{steps: []step{{0, mbps * 1e6}}}
}

// With is the process with a base rate of mbps from the time on, until the
// next change that it already has.
func (p Process) With(from time.Duration, mbps float64) Process {
	i := len(p.steps)
	for i > 0 && p.steps[i-1].from > from {
		i--
	}
	p.steps = slices.Insert(slices.Clone(p.steps), i, step{from, mbps * 1e6})
	return p
}

// Rate is the rate in bit/s in the Tick that holds t, for a link that woke up
// at since.
func (p Process) Rate(t, since time.Duration) float64 {
	r := p.Nominal(t, since)
	if p.trace != nil {
		r *= p.trace.shape(int64(max(t, 0) / Tick))
	}
	return r
}

// Nominal is the rate without the trace's shape: never 0, so that a queue can
// be measured against it.
func (p Process) Nominal(t, since time.Duration) float64 {
	t = max(t, 0)
	mid := t - t%Tick + Tick/2
	r := p.base(t)
	if age := mid - since; age < p.ramp {
		r *= p.ramp0 + (1-p.ramp0)*max(0, float64(age)/float64(p.ramp))
	}
	if p.vary > 0 {
		r *= max(minShape, 1+p.vary*p.wander(mid.Seconds()))
	}
	return r
}

// Finish is when the given number of bits has been sent by a sender that
// begins at start and has the whole rate.
func (p Process) Finish(start, since time.Duration, bits float64) time.Duration {
	at := float64(start)
	for {
		now := time.Duration(at)
		end := float64(now - now%Tick + Tick)
		perNs := p.Rate(now, since) / 1e9
		if can := (end - at) * perNs; can < bits {
			bits -= can
			at = end
			continue
		}
		return time.Duration(math.Round(at + bits/perNs))
	}
}

// Bits is how much can be sent from one time to another.
func (p Process) Bits(from, to, since time.Duration) float64 {
	sum := 0.0
	for from < to {
		end := min(from-from%Tick+Tick, to)
		sum += p.Rate(from, since) * (end - from).Seconds()
		from = end
	}
	return sum
}

func (p Process) base(t time.Duration) float64 {
	i := len(p.steps) - 1
	for i > 0 && p.steps[i].from > t {
		i--
	}
	return p.steps[i].bps
}

func (p Process) wander(seconds float64) float64 {
	sum := 0.0
	for _, w := range p.waves {
		sum += w.weight * math.Sin(2*math.Pi*seconds/w.seconds+w.phase)
	}
	return sum
}
