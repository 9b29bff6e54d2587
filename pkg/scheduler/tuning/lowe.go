package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

// frugal is with how many connections LowE begins to find out how few fill a link, if
// there is one class. A second one saves a round trip of slow start and draws power all
// the time; who gives it up later loses what its window carried.
const frugal = 1

// lowest is LowE [P, R: MinE]: classes from small to large files take
//
//	cc = max(1, min(ceil(BDP/avg), ceil((avail+1)/2)))
//	p  = max(1, min(ceil(BDP/buf), ceil(avg/buf))), at most max(1, avail/cc) [D]
//
// connections, cc*p of them each. avail is, unlike in the paper, no number that
// somebody allowed, but what it takes to fill the link: ceil(BDP/buf) [D]. One
// connection that is never out of requests fills any link unless its buffer or
// losses keep it from that; more only draw power.
func (t *Tuner) lowest(o *Observation, out []Change) []Change {
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if !l.up {
			continue
		}
		f := &l.fill
		if f.enough == 0 {
			out = t.filling(i, &v, frugal, o, out)
			if f.enough == 0 {
				continue
			}
		}
		if plan := t.least(l, &v); !l.settled || t.now >= l.since+review && differs(&plan, &l.plan) {
			l.settled = true
			out = t.propose(i, plan, fmt.Sprintf("LowE: %s, %s", count(plan.Connections()), f.said(&v)), out)
		}
	}
	return out
}

// filling goes on with finding out how few connections fill a link, beginning with
// so many.
func (t *Tuner) filling(i int, v *LinkView, first int, o *Observation, out []Change) []Change {
	l := &t.links[i]
	f := &l.fill
	if f.n == 0 {
		f.begin(max(first, t.kinds), t.kinds, first == frugal)
		return t.propose(i, t.even(f.n), fmt.Sprintf("%s: %s to begin with", t.cfg.Mode.Title(), count(f.n)), out)
	}
	if v.RTT == 0 || v.Rate == 0 {
		return out
	}
	f.least = t.kinds
	before := f.n
	n := f.step(t.carried(i), v, t.remaining(o))
	switch {
	case f.enough > 0 || n == before:
		return out
	case n < before:
		return t.propose(i, t.even(n), fmt.Sprintf("%s: do %s do as well?", t.cfg.Mode.Title(), count(n)), out)
	}
	return t.propose(i, t.even(n), fmt.Sprintf("%s: do %s do more?", t.cfg.Mode.Title(), count(n)), out)
}

// unending, in seconds, is how long a job lasts while no link has shown a rate.
const unending = 1e6

// remaining is how long the job still lasts, if its links do what they have shown. What a link
// is presumed to carry does not count: over a far link most jobs would seem too short for trials.
func (t *Tuner) remaining(o *Observation) scheduler.Time {
	rate := 0.0
	for i := range t.links {
		if v := o.view(i); v.Up {
			rate += max(v.Rate, v.Bandwidth)
		}
	}
	if rate <= 0 {
		return scheduler.FromSeconds(unending)
	}
	return scheduler.FromSeconds(min(float64(o.left())/rate, unending))
}

// said is why a link has so many connections.
func (f *fill) said(v *LinkView) string {
	switch {
	case f.short:
		return "no time to try others"
	case f.one == 0:
		return "which fill the link"
	}
	return fmt.Sprintf("of %s in flight each, fill it", megabytes(float64(f.one*v.RTT.Seconds())))
}

// least is the plan by LowE's formulas.
func (t *Tuner) least(l *link, v *LinkView) scheduler.Plan {
	bdp, buf := v.product(), v.product()
	if l.fill.one > 0 {
		buf = float64(l.fill.one * v.RTT.Seconds())
	}
	avail, last := max(l.fill.enough, t.kinds), small
	for i, c := range t.classes {
		if c.files > 0 {
			last = i
		}
	}
	var connections, each [scheduler.MaxClasses]int
	for i, c := range t.classes {
		if c.files == 0 {
			continue
		}
		cc := concurrency(bdp, c.mean(), avail, i == last)
		each[i] = min(parallelism(bdp, buf, c.mean()), max(1, avail/cc))
		if i == last { // none is behind it
			cc = max(cc, avail/each[i])
		}
		connections[i] = cc * each[i]
		avail = max(1, avail-connections[i])
	}
	return t.plan(connections, each)
}

// count is a number of connections for people.
func count(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

// even is a plan of n connections, dealt out by the classes' weights, which share
// their files freely.
func (t *Tuner) even(n int) scheduler.Plan {
	dealt := shares(n, &t.classes)
	return t.plan(dealt, dealt)
}
