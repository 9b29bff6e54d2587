package tuning

import (
	"cmp"
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// worth is how many bytes a connection must be worth, as the Core has it.
	worth = 128 << 10
	// nudge is by what factor the number of connections must differ for a plan to
	// be changed.
	nudge = 1.25
	// Once it has started, a link gets so many connections that two doublings of
	// their first windows fill its bandwidth-delay product: quick. A few are there if
	// there is room for their first windows at all, as browsers have them, since a
	// server thinks before it answers.
	// And not more than many: over linklab's 290 ms, with CUBIC, 24 are as fast as 64,
	// and 12 are not before their windows have grown; in the simulator 12 are.
	quick = 4
	few   = 8
	many  = 24
	// Where data waits for a link, its connections could do with a part of their windows:
	// fewer of them fill it as well, until windows are at their largest and no queue
	// stands any more. safe is by how much more than fill it there are, and a few stay in
	// any case: CUBIC's windows shrink to 0.7 of themselves (RFC 9438, 4.6), and over the
	// simulator's crowded links 1.3 and four cost 1.5 % of the time.
	safe = 1.5
	// gain is by what factor twice the connections must raise a link's rate to be
	// worth keeping.
	gain = 1.1
	// started round trips after its first bytes a link's connections have left slow
	// start: what it carried before says nothing about what it can. Most of them have
	// after half of that, and the mean from then on is what fewer are held to: the
	// bursts that follow when a queue has overflown are more than the link carries.
	started = 4
	// climbWorth is how long a job must still last for more connections to be tried: at
	// its end they are only in each other's way.
	climbWorth = 8 * scheduler.Second
)

// climb is HAT's question whether more connections would do more.
type climb struct {
	wide   float64 // bytes per second with the connections of the start; 0: not known
	unseen bool    // what the link does with more than its first plan has not been seen
	begun  mark    // when that began to be measured
	base   float64 // bytes per second before the trial
	before int     // connections before it; 0: none is under way
	done   bool
	steady steady
}

// highest is HAT [P]: connections dealt to large, medium and small files in turn, no
// more to a class than it can use. How many there are is our own [D]. For the slow
// start, which the Core begins by itself before anything is known, as many as the
// link can take would be right; for the rest, far fewer fill it, and at the end those
// few finish sooner together. So there are a few once the slow start is over, unless the job
// nearly is, and twice as many when the link does less than it did with more and that is seen to
// help: where buffers or losses bound each of them. Where data waits for the link, it has
// more than it needs, and those only draw power: they go, step by step. Where files are large, and
// the job is long, that plan is made before it begins, as the paper's: connections that are in
// it have their second request early enough, and the others go after their first one. Without
// need none is opened in the middle of a job, since a link may have to build up its rate anew for
// each (skjolden, 4.4.3.3: up to 2.5 s on LTE, and more).
//
// p is the papers' formula with the first window of a connection for its buffer [D],
// since that is what bounds it while it starts: large files are shared freely, so
// that few are in progress at a time and all connections can help with the last ones.
func (t *Tuner) highest(o *Observation, out []Change) []Change {
	late := t.remaining(o) < climbWorth
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if !l.up || v.RTT == 0 || !l.told && t.sizes.all.files == 0 {
			continue // the worth of files of unknown size is unknown
		}
		if l.carried == 0 && v.Rate > 0 {
			l.carried = max(t.now, 1)
		}
		starts := l.carried == 0 || t.now < l.carried+started*v.RTT
		switch {
		case starts && l.told, starts && l.carried == 0:
			continue
		case starts && t.atOnce(&v, o):
			l.n, l.climb.unseen = first(&v), true
			out = t.proposeDealt(i, &v, o, "HAT: %s to begin with, for %s a round trip%s", out)
			continue
		case starts && l.climb.begun.at == 0 && t.now >= l.carried+started/2*v.RTT:
			l.climb.begun = t.carried(i)
			continue
		case starts, late && l.climb.before == 0:
			continue
		case !l.told:
			if from := l.climb.begun; t.now > from.at && from.at > 0 {
				l.climb.wide = float64(t.meter.bytes[i]-from.bytes) / (t.now - from.at).Seconds()
			}
			l.n = max(wanted(v.product()), min(few, v.Streams)) // those are open already
			out = t.proposeDealt(i, &v, o, "HAT: %s for %s a round trip%s", out)
			continue
		}
		before := l.n
		switch t.climb(l, &v, i) {
		case stay:
			n := enough(max(l.n, v.Streams), &v) // those that are to go are still at work
			if t.now >= l.since+shortest(v.RTT) && l.climb.before == 0 && n < l.n {
				l.n, l.folded = n, true
				out = t.proposeDealt(i, &v, o, "HAT: %s for %s a round trip, as data waits for the link%s", out)
				continue
			}
			if t.now >= l.since+review && l.climb.before == 0 {
				if n := wanted(v.product()); n >= 2*l.n && !l.climb.done && !l.folded {
					l.n = n
				}
				if plan := t.dealt(l, &v, o); differs(&plan, &l.plan) {
					out = t.proposeDealt(i, &v, o, "HAT: %s for %s a round trip%s", out)
				}
			}
		case up:
			out = t.proposeDealt(i, &v, o, "HAT: %s for %s a round trip, to see whether they do more%s", out)
		case back:
			out = t.proposeDealt(i, &v, o, fmt.Sprintf("HAT: %%s for %%s a round trip, %d did no more%%s", before), out)
		}
	}
	return out
}

// atOnce says whether a link has its plan as soon as it has brought anything: files are large
// (BDP and more, by what a link is presumed to carry), they last for as long as a trial is worth,
// and the start has more connections than the plan.
func (t *Tuner) atOnce(v *LinkView, o *Observation) bool {
	return t.sizes.all.mean() >= float64(presumed*v.RTT.Seconds()) && float64(o.left()) >= float64(presumed*climbWorth.Seconds()) && v.Streams > first(v)
}

// first is with how many connections a link begins of which it is not known yet what it carries.
func first(v *LinkView) int { return wanted(max(v.product(), float64(presumed*v.RTT.Seconds()))) }

// wanted is how many connections a link with such a product is given first.
func wanted(product float64) int {
	return max(2, min(few, useful(product)), min(many, ceil(product/quick, window)))
}

// enough is how many of n connections fill a link: those whose windows hold what is on
// its way, without what waits for it.
func enough(n int, v *LinkView) int {
	if !v.queues() {
		return n
	}
	return max(min(n, few), ceil(float64(safe*float64(n))*float64(v.RTT), float64(v.Trip)))
}

// way is where a climb goes.
type way uint8

const (
	stay way = iota
	up
	back
)

// climb tries twice the connections of a link that does less than it did with more,
// and again when that has helped and there is more to be had. A link that has had no more is
// tried once, unless data waits for it. Where connections have been given
// up as data waits for the link, and still does, it is something else that the rate fell for.
func (t *Tuner) climb(l *link, v *LinkView, i int) way {
	c := &l.climb
	if c.done || v.Rate == 0 {
		return stay
	}
	if v.Streams > l.n {
		c.steady.begin()
		return stay
	}
	if !c.steady.watch(t.carried(i), shortest(v.RTT), growing) {
		return stay
	}
	rate, most := c.steady.rate, v.Bandwidth
	if c.wide > 0 {
		most = min(most, c.wide)
	}
	if (c.before > 0 && rate < gain*c.base || c.before == 0 && rate < most/gain) && c.steady.doubt() {
		return stay
	}
	c.steady.begin()
	full := rate >= most/gain || l.folded && v.queues()
	if c.unseen {
		full, c.unseen = v.queues(), false
	}
	if c.before > 0 && rate < gain*c.base {
		l.n, c.before, c.done = c.before, 0, true
		return back
	}
	if full || 2*l.n > useful(v.product()) {
		c.before = 0
		return stay
	}
	c.base, c.before, l.n = rate, l.n, 2*l.n
	return up
}

// dealt is the plan of a link's connections, as far as there is work for them.
func (t *Tuner) dealt(l *link, v *LinkView, o *Observation) scheduler.Plan {
	product := v.product()
	most := t.usable(o)
	dealt := deal(min(l.n, most[small]+most[medium]+most[large]), most)
	var each [scheduler.MaxClasses]int
	for k := range t.classes {
		each[k] = parallelism(product, window, cmp.Or(t.classes[k].mean(), product))
	}
	return t.plan(dealt, each)
}

// proposeDealt proposes that plan. format has places for the connections, the
// product and the classes.
func (t *Tuner) proposeDealt(i int, v *LinkView, o *Observation, format string, out []Change) []Change {
	plan := t.dealt(&t.links[i], v, o)
	return t.propose(i, plan, fmt.Sprintf(format, count(plan.Connections()), megabytes(v.product()), t.divided()), out)
}

// usable is how many connections the files of each class are worth.
func (t *Tuner) usable(o *Observation) (most [scheduler.MaxClasses]int) {
	for i, c := range t.classes {
		if c.files > 0 {
			bytes := max(c.bytes, o.Left[i]+o.Received[i])
			most[i] = int(max(1, min(scheduler.MaxStreams, (bytes+worth/2)/worth)))
		}
	}
	return most
}

// differs says whether one plan is another one than the other by more than a
// nudge: classes that come or go, or many connections more or fewer.
func differs(a, b *scheduler.Plan) bool {
	for i := range a.Classes {
		if (a.Classes[i].Connections > 0) != (b.Classes[i].Connections > 0) || a.Classes[i].Parallelism > 2*b.Classes[i].Parallelism {
			return true
		}
	}
	x, y := float64(a.Connections()), float64(b.Connections())
	return x > nudge*y || y > nudge*x
}

// divided tells of the classes, if there are several.
func (t *Tuner) divided() string {
	if t.kinds > 1 {
		return fmt.Sprintf(", %d classes of files", t.kinds)
	}
	return ""
}

// megabytes is a number of bytes for people.
func megabytes(bytes float64) string {
	if bytes < 1e6 {
		return fmt.Sprintf("%.0f KB", bytes/1e3)
	}
	return fmt.Sprintf("%.1f MB", bytes/1e6)
}
