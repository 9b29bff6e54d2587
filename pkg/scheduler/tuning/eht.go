package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// stride is by how many connections EHT goes on [R, HTEE].
	stride = 2
	// better is by what factor a ratio must exceed the best to be better.
	better = 1.005
	// creeping is the factor by which a rate must rise from one interval to the next to
	// count as still rising: windows that grow by a few per cent an interval would make
	// the next number seem better than this one.
	creeping = 1.03
	// lingering is how long connections that were given up still draw power: until they
	// are closed, and a gauge shows it.
	lingering = scheduler.Second
	// worthTrial is by what factor a number between two may be better than the best at
	// most for a trial of it to be worth it.
	worthTrial = 1.02
	// intervals is into how many sampling intervals what is left of a job is cut, if
	// that makes them shorter than Config.Sampling [D].
	intervals = 50
	// leastSampling is the shortest sampling interval: two looks of the driver.
	leastSampling = 250 * scheduler.Millisecond
	// horizon is how many of the shortest intervals a job must still last for another
	// number of connections to be tried: a trial takes two, and what it finds must pay.
	horizon = 5
	// readings is how many readings of the power an interval must hold for the power
	// to be measured in it: with two, one lies between them whole.
	readings = 2
	// gaugePart is what part of the job that is left an interval may take to hold so
	// many readings.
	gaugePart = 0.1
)

// sample is what a number of connections came to in a sampling interval.
type sample struct {
	n     int     // connections of each link; 0: none was taken
	rate  float64 // bytes per second of all links
	power float64 // watts
}

// ratio is the throughput efficiency of a job that goes on like that, but for a
// factor that all numbers of connections share: R/(P*S/R) for a job of S bytes.
func (s *sample) ratio() float64 {
	if s.power <= 0 {
		return s.rate
	}
	return s.rate * s.rate / s.power
}

// search is EHT's search for the number of connections with the best ratio.
type search struct {
	done     bool
	measured bool           // the power is, and not modelled
	n        int            // connections of each link at present
	fewer    bool           // than before: those that went still draw power, ...
	settled  scheduler.Time // ... until then
	last     sample
	best     sample // of all so far
	below    sample // the next smaller number that was tried
	above    sample // the next larger number that was tried
	steady   steady
}

// efficient is EHT [P, R: HTEE]: it begins with one connection for each class of
// files, and goes on by two as long as that makes the ratio of throughput to energy
// better, measuring each number for a sampling interval. When a larger number is worse
// in two intervals in a row [D], the best is kept for the rest of the job. Classes get
// their parts by weight, and every link has the same number, as far as its product
// allows. What is our own [D]:
//
// The numbers between. A stride of two passes over every other number. Those next to
// the best are tried as well, where they may be better: a rate rises with the number of
// connections, and by no more than its part.
//
// The ratio. Guner and Kosar compare Mbit/s per joule of a job, their throughput
// efficiency: R/(P*S/R) = R²/(P*S). So that is what is compared here. HTEE divides the
// throughput of an interval by the interval's joules, R/(P*t) with the same t for all,
// which is the least energy for a byte: LowE's aim.
//
// The interval. It is 5 s at most, and a fiftieth of what the job still takes if that
// is shorter, but no less than four round trips and two looks; and each number is given
// one more for its connections to get up to speed. Where the rates of two scatter, more are
// added, up to eight: a number that was measured in a bad moment makes the next seem better.
// A job that lasts for less than eight of the shortest is over before a trial pays, and the
// reason of its plan says so.
//
// The power. It is measured where the source's readings are close enough for an interval
// to hold two of them, and the interval a tenth of the job at most; else it is what the
// models of the links say.
func (t *Tuner) efficient(o *Observation, out []Change) []Change {
	s := &t.search
	if s.n < t.kinds { // there is a class more than before
		*s = search{n: t.kinds, measured: s.measured}
		for i := range t.links {
			t.links[i].told = false
		}
	}
	joined, settling, rtt := false, false, scheduler.Time(0)
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if !l.up {
			continue
		}
		n := t.number(&v, s.n)
		if !l.told {
			joined = true
			out = t.propose(i, t.even(n), fmt.Sprintf("EHT: %s to begin with", count(n)), out)
		}
		rtt = max(rtt, v.RTT)
		settling = settling || v.Streams > n // those that are to go finish what they were asked for
	}
	if s.done {
		return t.follow(o, out)
	}
	if rtt == 0 || o.received() == 0 {
		return out
	}
	least := max(leastSampling, windowTrips*rtt)
	if joined || settling {
		s.settled = t.now + max(least, lingering)
	}
	if s.fewer && t.now < s.settled {
		settling = true
	}
	if joined || settling {
		s.steady.begin()
	}
	left := t.remaining(o)
	if left < horizon*least {
		return t.settle(o, out)
	}
	window := max(least, min(t.cfg.Sampling, left/intervals))
	gauge := readings * o.Every
	measured := o.Joules >= 0 && gauge <= max(window, min(t.cfg.Sampling, scheduler.Time(gaugePart*float64(left))))
	if measured {
		window = max(window, gauge)
	}
	if measured != s.measured { // one cannot be compared with the other
		*s = search{n: s.n, measured: measured}
	}
	if !s.steady.watch(t.spent(o, measured), window, creeping) {
		return out
	}
	return t.compare(least, o, out)
}

// spent is what has come over all links so far, and what was spent on it.
func (t *Tuner) spent(o *Observation, measured bool) mark {
	m := mark{at: t.now, bytes: o.received(), joules: t.meter.joules, until: t.now}
	if measured {
		m.joules, m.until = o.Joules, o.SpentAt
	}
	return m
}

// compare judges the present number, and goes on to the next.
func (t *Tuner) compare(least scheduler.Time, o *Observation, out []Change) []Change {
	s := &t.search
	scatters := s.steady.scatters()
	if s.steady.both(); scatters {
		s.steady.doubt()
		return out
	}
	now := sample{n: s.n, rate: s.steady.rate, power: s.steady.power}
	if s.best.n > 0 && now.ratio() <= better*s.best.ratio() && s.steady.doubt() {
		return out
	}
	s.take(now)
	next := s.next(t.most(o))
	if next == 0 {
		return t.settle(o, out)
	}
	s.fewer, s.n, s.settled = next < s.n, next, t.now+max(least, lingering)
	s.steady.begin()
	return t.all(o, fmt.Sprintf("EHT: %%s after %.1f Mbit/s at %.2f W with %d", now.rate*8/1e6, now.power, now.n), out)
}

// take books a sample.
func (s *search) take(now sample) {
	s.last = now
	switch {
	case s.best.n == 0:
		s.best = now
	case now.ratio() > better*s.best.ratio():
		if now.n > s.best.n {
			s.below = s.best
		} else {
			s.above = s.best
		}
		s.best = now
	case now.n > s.best.n:
		s.above = now
	default:
		s.below = now
	}
}

// next is the number to be tried next, most at most; 0: the best is known.
func (s *search) next(most int) int {
	switch {
	case s.above.n == 0 && s.best.n < most:
		return min(s.best.n+stride, most)
	case s.promising(&s.best, &s.above):
		return s.best.n + 1
	case s.promising(&s.below, &s.best):
		return s.best.n - 1
	}
	return 0
}

// promising says whether the number between two may be better than the best: if as
// many bytes come as the larger one brought, but no more for a connection than with
// the smaller one, at a power between theirs.
func (s *search) promising(few, many *sample) bool {
	if few.n == 0 || many.n != few.n+stride {
		return false
	}
	between := sample{
		n:     few.n + 1,
		rate:  min(max(few.rate, many.rate), few.rate*float64(few.n+1)/float64(few.n)),
		power: (few.power + many.power) / 2,
	}
	return between.ratio() > worthTrial*s.best.ratio()
}

// most is how many connections may be tried: as many as some link can use. That data
// waits for a link does not bound them, as it does for LowE: it may be somebody else's
// queue, or a busy machine's.
func (t *Tuner) most(o *Observation) (n int) {
	for i := range t.links {
		if v := o.view(i); v.Up {
			n = max(n, t.number(&v, scheduler.MaxStreams))
		}
	}
	return n
}

// number is how many connections a link has, where each is to have n.
func (t *Tuner) number(v *LinkView, n int) int {
	most := scheduler.MaxStreams
	if v.RTT > 0 {
		most = useful(v.product())
	}
	return max(t.kinds, min(n, most))
}

// settle ends the search.
func (t *Tuner) settle(o *Observation, out []Change) []Change {
	s := &t.search
	s.done = true
	for i := range t.links {
		t.links[i].told = false // that it is settled is worth telling
	}
	if s.best.n == 0 {
		return t.all(o, "EHT: %s, no time to try others", out)
	}
	s.n, s.last = s.best.n, s.best
	return t.all(o, fmt.Sprintf("EHT: %%s, the best ratio: %.1f Mbit/s at %.2f W", s.best.rate*8/1e6, s.best.power), out)
}

// follow deals the connections out anew when there are other classes.
func (t *Tuner) follow(o *Observation, out []Change) []Change {
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if !l.up || t.now < l.since+review {
			continue
		}
		n := t.number(&v, t.search.n)
		if plan := t.even(n); differs(&plan, &l.plan) {
			out = t.propose(i, plan, fmt.Sprintf("EHT: %s%s", count(n), t.divided()), out)
		}
	}
	return out
}

// all gives every link the present number of connections. format has a place for how
// many they are.
func (t *Tuner) all(o *Observation, format string, out []Change) []Change {
	for i := range t.links {
		if l, v := &t.links[i], o.view(i); l.up {
			plan := t.even(t.number(&v, t.search.n))
			out = t.propose(i, plan, fmt.Sprintf(format, count(plan.Connections())), out)
		}
	}
	return out
}

// fixed gives every link as many connections as Config.Channels says.
func (t *Tuner) fixed(out []Change) []Change {
	for i := range t.links {
		plan := t.even(t.cfg.Channels[i])
		if l := &t.links[i]; !l.told || differs(&plan, &l.plan) {
			out = t.propose(i, plan, fmt.Sprintf("sweep: %s", count(plan.Connections())), out)
		}
	}
	return out
}
