package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// stride is by how many connections EHT goes on [R, HTEE].
	stride = 2
	// drops is after how many of them in a row, each worse than the best by a
	// thousandth at least, it has seen enough [D].
	drops = 2
	worse = 0.999
	// intervals is into how many sampling intervals a job is worth to be cut: a
	// short one has short ones [D].
	intervals = 40
	// horizon is how many more intervals a job must last for another trial to pay.
	horizon = 3
)

// search is EHT's search for the number of connections with the best ratio.
type search struct {
	n     int // connections of each link at present; 0: not begun
	best  int
	ratio float64 // of the best
	rate  float64 // of the best, in bytes per second
	power float64 // of the best, in watts
	worse int     // how many in a row were worse
	done  bool
	// window is half of a sampling interval: in the first half the rate settles.
	window scheduler.Time
	steady steady
}

// efficient is EHT [P, R: HTEE]: from one connection for each class on, two more at
// a time, each number is measured for a sampling interval, and the best is kept for
// the rest of the job. Two deviations [D].
//
// The ratio. Mbit/s per joule of an interval is R/(P*t), and the same t for all: it
// is the least energy for a byte that this looks for, as LowE does. Mbit/s per
// joule of a job, by which the papers compare, is R/(P*S/R) = R²/(P*S): who is
// done in half of the time spends power for half as long. That is what is compared
// here.
//
// The interval. 5 s for each of up to 16 numbers would outlast most jobs, so it is
// a fortieth of what the job still takes, but no less than what it takes to
// measure a rate. And numbers beyond two drops in a row are not tried: with R
// bounded by the link, the ratio only falls from there.
func (t *Tuner) efficient(o *Observation, out []Change) []Change {
	s := &t.search
	if s.n == 0 {
		s.n, s.window = t.part.count(), leastWindow
		return t.take(s.n, "EHT: %s to begin with", out)
	}
	if s.done {
		return t.take(s.n, "EHT: %s as elsewhere", out) // links that have joined since
	}
	rtt, most, rate := scheduler.Time(0), t.part.count(), 0.0
	for i := range t.links {
		if v := o.view(i); v.Up {
			rtt = max(rtt, v.RTT)
			most = max(most, useful(v.product()))
			rate += v.Rate
		}
	}
	if rtt == 0 || rate == 0 {
		return out
	}
	left := scheduler.FromSeconds(min(float64(o.left())/rate, 1e6))
	s.window = max(shortest(rtt), min(t.cfg.Sampling, left/intervals)/2)
	now := mark{at: t.now, bytes: o.received(), joules: t.meter.spent(o)}
	if !s.steady.watch(now, s.window) {
		return out
	}
	if s.steady.power <= 0 && s.steady.windows < patience {
		return out // what tells the power has not told it yet
	}
	t.note(o)
	if s.worse == drops || s.n+stride > most || left < horizon*2*s.window {
		s.done, s.n = true, s.best
		return t.take(s.n, fmt.Sprintf("EHT: %%s, %.1f Mbit/s at %.2f W", s.rate*8/1e6, s.power), out)
	}
	s.n += stride
	s.steady.begin()
	return t.take(s.n, "EHT: %s, to see what they do", out)
}

// note keeps what the present number came to.
func (t *Tuner) note(o *Observation) {
	s := &t.search
	rate, power := s.steady.rate, s.steady.power
	ratio := rate
	if power > 0 {
		ratio = rate * rate / power
	}
	for i := range t.links {
		if l := &t.links[i]; l.single == 0 && l.plan.Connections() == 1 {
			l.single = o.view(i).Rate
		}
	}
	switch {
	case ratio > s.ratio:
		s.best, s.ratio, s.rate, s.power, s.worse = s.n, ratio, rate, power, 0
	case ratio < worse*s.ratio:
		s.worse++
	}
}

// take gives every link n connections. format has a place for how many they are.
func (t *Tuner) take(n int, format string, out []Change) []Change {
	plan := t.even(n)
	for i := range t.links {
		l := &t.links[i]
		if l.told && l.plan.Connections() == plan.Connections() && !differs(&plan, &l.plan) {
			continue
		}
		out = t.propose(i, plan, fmt.Sprintf(format, count(plan.Connections())), out)
	}
	return out
}

// fixed gives every link as many connections as Config.Channels says.
func (t *Tuner) fixed(out []Change) []Change {
	return t.take(t.cfg.Channels, "sweep: %s", out)
}
