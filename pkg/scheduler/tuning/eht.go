package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// brisk is with how many connections EHT begins to find out how few fill each of
	// several links: more than LowE, as a slow start costs time. Of a single link it
	// wants what LowE wants: the fewest that fill it.
	brisk = 5
	// stride is by how many connections EHT goes on [R, HTEE].
	stride = 2
	// better is by what factor a ratio must exceed the best to be better.
	better = 1.005
	// intervals is into how many sampling intervals a job is worth to be cut: a
	// short one has short ones [D].
	intervals = 40
	// horizon is how many of the shortest intervals a job must still last for a
	// trial to pay.
	horizon = 20
)

// search is EHT's search for the number of connections with the best ratio, as a
// distance from the least that fills each link.
type search struct {
	begun, done bool
	away        int // connections beyond that at present
	step        int // where to next
	best        int
	ratio       float64 // of the best
	rate        float64 // of the best, in bytes per second
	power       float64 // of the best, in watts
	steady      steady
}

// efficient is EHT [P, R: HTEE]: numbers of connections, two apart, are each measured
// for a sampling interval; when one on either side is worse the best is kept for the
// rest of the job. Classes get their parts by weight. Three deviations [D].
//
// The beginning. From one connection for each class on, two more at a time, most
// of a job would be over before a link is full. Here the search begins at the least
// number that fills each link (see fill), and goes up and down from there.
//
// The ratio. Mbit/s per joule of an interval is R/(P*t), with the same t for all:
// the least energy for a byte, as LowE wants it. Mbit/s per joule of a job, by
// which the papers compare, is R/(P*S/R) = R²/(P*S): who is done in half of the
// time draws power for half as long. That is what is compared here.
//
// The interval. It is 5 s at most, and a fortieth of what the job still takes if
// that is shorter, but no less than it takes to measure a rate. A job that lasts for
// less than twenty of the shortest is done before a trial pays.
func (t *Tuner) efficient(o *Observation, out []Change) []Change {
	s := &t.search
	first := frugal
	if o.up() > 1 {
		first = brisk
	}
	ready, rtt := true, scheduler.Time(0)
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if !l.up {
			continue
		}
		if l.fill.enough == 0 {
			out = t.filling(i, &v, first, o, out)
		}
		if l.fill.enough == 0 {
			ready = false
			continue
		}
		rtt = max(rtt, v.RTT)
		if !l.settled {
			l.settled = true
			out = t.beyond(i, &v, s.away, fmt.Sprintf("EHT: %%s, %s", l.fill.said(&v)), out)
		}
	}
	if s.done {
		return t.follow(o, out)
	}
	if !ready || rtt == 0 {
		return out
	}
	least := shortest(rtt)
	left := t.remaining(o)
	if left < horizon*2*least {
		return t.settle(o, out)
	}
	window := max(least, min(t.cfg.Sampling, left/intervals)/2)
	now := mark{at: t.now, bytes: o.received(), joules: t.meter.spent(o)}
	if !s.steady.watch(now, window) || s.steady.power <= 0 && s.steady.windows < patience {
		return out // or what tells the power has not told it yet
	}
	return t.compare(o, out)
}

// compare judges the present number, and goes on to the next.
func (t *Tuner) compare(o *Observation, out []Change) []Change {
	s := &t.search
	rate, power := s.steady.rate, s.steady.power
	ratio := rate
	if power > 0 {
		ratio = rate * rate / power
	}
	if s.begun && ratio <= better*s.ratio && s.steady.doubt() {
		return out
	}
	switch {
	case !s.begun || ratio > better*s.ratio:
		if !s.begun {
			s.begun, s.step = true, stride
		}
		s.best, s.ratio, s.rate, s.power = s.away, ratio, rate, power
	case s.step > 0 && s.best == 0:
		s.step = -stride // more are worse: fewer, then
	default:
		return t.settle(o, out)
	}
	s.away = s.best + s.step
	if !t.can(o, s.away) {
		if s.step < 0 || s.best > 0 {
			return t.settle(o, out)
		}
		s.step = -stride
		if s.away = s.best + s.step; !t.can(o, s.away) {
			return t.settle(o, out)
		}
	}
	s.steady.begin()
	return t.allBeyond(o, s.away, "EHT: %s, to see what they do", out)
}

// can says whether some link can have another number of connections then, and may do
// better with it: where fewer did not bring less, and data waits for the link, more only
// draw power.
func (t *Tuner) can(o *Observation, away int) bool {
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if l.up && (away < t.search.best || l.fill.one > 0 || !v.queues()) && t.number(l, &v, away) != t.number(l, &v, t.search.best) {
			return true
		}
	}
	return false
}

// number is how many connections a link has, so many beyond those that fill it.
func (t *Tuner) number(l *link, v *LinkView, away int) int {
	return max(t.kinds, min(l.fill.enough+away, useful(v.product())))
}

// settle ends the search.
func (t *Tuner) settle(o *Observation, out []Change) []Change {
	s := &t.search
	s.done, s.away = true, s.best
	if !s.begun {
		return out
	}
	return t.allBeyond(o, s.best, fmt.Sprintf("EHT: %%s, the best ratio: %.1f Mbit/s at %.2f W", s.rate*8/1e6, s.power), out)
}

// follow deals the connections out anew when there are other classes.
func (t *Tuner) follow(o *Observation, out []Change) []Change {
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if !l.up || !l.settled || t.now < l.since+review {
			continue
		}
		n := t.number(l, &v, t.search.away)
		if plan := t.even(n); differs(&plan, &l.plan) {
			out = t.propose(i, plan, fmt.Sprintf("EHT: %s%s", count(n), t.divided()), out)
		}
	}
	return out
}

// allBeyond gives every link so many connections beyond those that fill it.
func (t *Tuner) allBeyond(o *Observation, away int, format string, out []Change) []Change {
	for i := range t.links {
		if l, v := &t.links[i], o.view(i); l.up {
			out = t.beyond(i, &v, away, format, out)
		}
	}
	return out
}

// beyond gives a link so many connections beyond those that fill it. format has a
// place for how many they are.
func (t *Tuner) beyond(i int, v *LinkView, away int, format string, out []Change) []Change {
	plan := t.even(t.number(&t.links[i], v, away))
	return t.propose(i, plan, fmt.Sprintf(format, count(plan.Connections())), out)
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
