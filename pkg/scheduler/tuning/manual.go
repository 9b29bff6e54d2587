package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

// manual deals so many files at once out to the links that there are, evenly and at
// least one to each, with so many connections for each file, as far as a link can
// have them, and one request at a time on each: what downloaders mean by it, and the
// papers' curves. How many files are in progress over all links is bounded besides.
func (t *Tuner) manual(out []Change) []Change {
	files, each := max(1, t.cfg.Concurrency), max(1, t.cfg.Parallelism)
	up, nth := 0, 0
	for i := range t.links {
		if t.links[i].up {
			up++
		}
	}
	for i := range t.links {
		if !t.links[i].up {
			continue
		}
		mine := files / up
		if nth < files%up {
			mine++
		}
		nth++
		connections := min(scheduler.MaxStreams, max(1, mine)*each)
		plan := scheduler.Plan{Classes: [scheduler.MaxClasses]scheduler.Share{
			small: {Connections: connections, Parallelism: each, Pipelining: 1},
		}}
		out = t.propose(i, plan, fmt.Sprintf("manual: %d files at once, %d connections each", files, each), out)
	}
	return out
}
