package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

// gain is by what factor twice the connections must raise a link's rate for it to
// be taken to need them.
const gain = 1.25

// trial is how LowE finds out what one connection reaches, and what the link does.
type trial struct {
	n      int     // connections at present; 0: not begun
	before float64 // bytes per second with half of them
	enough int     // the least number that fills the link; 0: not known yet
	steady steady
}

// lowest is LowE [P, R: MinE]: classes from small to large files take
//
//	cc = max(1, min(ceil(BDP/avg), ceil((avail+1)/2)))
//	p  = max(1, min(ceil(BDP/buf), ceil(avg/buf))), at most max(1, avail/cc) [D]
//
// connections, cc*p of them each. avail is, unlike in the paper, no number that
// somebody allowed, but what it takes to fill the link: ceil(BDP/buf) [D]. One
// connection that is never out of requests fills any link unless its buffer or
// losses keep it from that; more only draw power. buf is measured: one connection
// alone, and twice as many as long as that makes the link faster by a quarter.
func (t *Tuner) lowest(o *Observation, out []Change) []Change {
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if !l.up {
			continue
		}
		tr := &l.trial
		switch {
		case tr.n == 0:
			tr.n = 1
			out = t.propose(i, t.even(1), "LowE: one connection, to see what it does", out)
		case tr.enough == 0:
			out = t.try(i, &v, out)
		case t.now >= l.since+review:
			if plan := t.least(l, &v); differs(&plan, &l.plan) {
				out = t.propose(i, plan, l.said(&v, &plan), out)
			}
		}
	}
	return out
}

// try goes on with a link's trial.
func (t *Tuner) try(i int, v *LinkView, out []Change) []Change {
	l := &t.links[i]
	tr := &l.trial
	if v.RTT == 0 || v.Rate == 0 {
		return out
	}
	bytes := t.meter.bytes[i]
	if !tr.steady.watch(mark{at: t.now, bytes: bytes}, shortest(v.RTT)) {
		return out
	}
	rate := tr.steady.rate
	if tr.n == 1 {
		l.single = rate
	}
	if most := useful(v.product()); tr.n > 1 && rate < gain*tr.before || 2*tr.n > most {
		tr.enough = max(1, min(most, ceil(max(rate, tr.before), l.single)))
		if rate < gain*l.single {
			tr.enough = 1
		}
		plan := t.least(l, v)
		return t.propose(i, plan, l.said(v, &plan), out)
	}
	tr.before, tr.n = rate, 2*tr.n
	tr.steady.begin()
	return t.propose(i, t.even(tr.n), fmt.Sprintf("LowE: %d connections, to see whether they do more", tr.n), out)
}

// least is the plan by LowE's formulas.
func (t *Tuner) least(l *link, v *LinkView) scheduler.Plan {
	classes := t.classes()
	bdp, avail, last := v.product(), max(l.trial.enough, t.part.count()), small
	for i, c := range classes {
		if c.files > 0 {
			last = i
		}
	}
	var connections, each [scheduler.MaxClasses]int
	for i := range classes {
		c := &classes[i]
		if c.files == 0 {
			continue
		}
		cc := concurrency(bdp, c.mean(), avail, i == last)
		each[i] = min(t.parallelism(l, v, c), max(1, avail/cc))
		connections[i] = cc * each[i]
		avail = max(1, avail-connections[i])
	}
	return t.plan(connections, each)
}

// said is why LowE uses so many connections.
func (l *link) said(v *LinkView, plan *scheduler.Plan) string {
	n := plan.Connections()
	if l.trial.enough == 1 {
		return fmt.Sprintf("LowE: %s, one fills the link", count(n))
	}
	return fmt.Sprintf("LowE: %s, one has %s in flight at most", count(n), megabytes(float64(l.single*v.RTT.Seconds())))
}

// count is a number of connections for people.
func count(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

// even is a plan of n connections, dealt out by the classes' weights.
func (t *Tuner) even(n int) scheduler.Plan {
	classes := t.classes()
	dealt := shares(n, &classes)
	var each [scheduler.MaxClasses]int
	for i := range classes {
		each[i] = sharers(dealt[i], classes[i].files)
		if t.part.bdp == 0 {
			each[i] = 1
		}
	}
	return t.plan(dealt, each)
}
