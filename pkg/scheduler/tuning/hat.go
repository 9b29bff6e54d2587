package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// worth is how many bytes a connection must be worth beyond one for each file.
	worth = 1 << 20
	// nudge is by what factor the number of connections must differ for a plan to
	// be changed.
	nudge = 1.25
)

// highest is HAT [P]: as many connections as the link can use, dealt to large,
// medium and small files in turn, and no more to a class than it has files. What
// its files lack then is made up by parallelism [D], since the Core cuts a file for
// them. Until a link's round trip is known, the Core starts as it does for a single
// file.
func (t *Tuner) highest(o *Observation, out []Change) []Change {
	classes := t.classes()
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if !l.up || v.RTT == 0 {
			continue
		}
		product := v.product()
		most := t.most(&classes, o)
		n := min(useful(product), most[small]+most[medium]+most[large])
		dealt := deal(n, most)
		var each [scheduler.MaxClasses]int
		for k := range classes {
			each[k] = max(t.parallelism(l, &v, &classes[k]), sharers(dealt[k], max(int64(o.Files[k]), classes[k].files)))
		}
		if plan := t.plan(dealt, each); !l.told || t.now >= l.since+review && differs(&plan, &l.plan) {
			out = t.propose(i, plan, fmt.Sprintf("HAT: %d connections for %s a round trip%s", n, megabytes(product), t.divided()), out)
		}
	}
	return out
}

// most is how many connections each class can use: one for each of its files, and
// one for each MiB of them.
func (t *Tuner) most(classes *[scheduler.MaxClasses]bucket, o *Observation) (most [scheduler.MaxClasses]int) {
	for i, c := range classes {
		if c.files > 0 {
			files := max(c.files, int64(o.Files[i]))
			bytes := max(c.bytes, o.Left[i]+o.Received[i])
			most[i] = int(max(1, min(scheduler.MaxStreams, max(files, bytes/worth))))
		}
	}
	return most
}

// parallelism is how many connections a file of a class is worth on a link: more
// than one only where one alone does not fill it.
func (t *Tuner) parallelism(l *link, v *LinkView, c *bucket) int {
	if l.single == 0 || v.bandwidth() < nudge*l.single {
		return 1
	}
	return parallelism(v.product(), float64(l.single*v.RTT.Seconds()), c.mean())
}

// sharers is how many of n connections must share a file for all of them to have
// one.
func sharers(n int, files int64) int {
	if files <= 0 {
		return 1
	}
	return int((int64(n) + files - 1) / files)
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
	if n := t.part.count(); n > 1 {
		return fmt.Sprintf(", %d classes of files", n)
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
