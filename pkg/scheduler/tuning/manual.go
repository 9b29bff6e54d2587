package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

// manual gives every link the same plan: connections for so many files with so
// many connections each, as far as a link can have them, and one request at a time
// on each: what downloaders mean by it, and the papers' curves.
func (t *Tuner) manual(out []Change) []Change {
	files, each := max(1, t.cfg.Concurrency), max(1, t.cfg.Parallelism)
	connections := min(scheduler.MaxStreams, files*each)
	plan := scheduler.Plan{
		Classes: [scheduler.MaxClasses]scheduler.Share{small: {Connections: connections, Parallelism: each, Pipelining: 1}},
		Files:   files,
	}
	for i := range t.links {
		if l := &t.links[i]; l.up && !l.told {
			l.told, l.plan, l.since = true, plan, t.now
			out = append(out, Change{
				Link: scheduler.LinkID(i), Plan: plan,
				Why: fmt.Sprintf("manual: %d files at once, %d connections each", files, each),
			})
		}
	}
	return out
}
