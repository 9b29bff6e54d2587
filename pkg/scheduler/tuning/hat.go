package tuning

import (
	"cmp"
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
// medium and small files in turn, and no more to a class than it can use. p is the
// papers' formula with the first window of a connection for its buffer [D], since
// that is what bounds it while it starts: large files are shared freely, so that few
// are in progress at a time and all connections can help with the last ones. Until a
// link's round trip is known, the Core starts by itself.
func (t *Tuner) highest(o *Observation, out []Change) []Change {
	classes := t.classes
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
			each[k] = parallelism(product, window, cmp.Or(classes[k].mean(), product))
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
	if n := t.kinds; n > 1 {
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
