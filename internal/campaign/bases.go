package campaign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/stats"
)

const (
	// maxRepeats is how often a run is made again whose base power is out of line: if
	// it still is, the device has changed, and that is a result.
	maxRepeats = 2
	// asideDir is where runs are kept that were made again.
	asideDir = "aside"
)

// odd is a run whose base power is out of line with the others'.
type odd struct {
	execution
	base, usual float64 // W
}

// outOfLine gives the runs whose base power is out of line, in the order of the plan.
func (c *Campaign) outOfLine() (list []odd) {
	type bases struct {
		of    []execution
		watts []float64
	}
	bySource := make(map[string]*bases)
	var sources []string
	for _, e := range c.plan.order() {
		r, err := readReport(filepath.Join(c.Runs(), c.plan.file(e)+".json"))
		if err != nil || r.ExitCode != 0 {
			continue
		}
		watts, source, ok := r.MeasuredBase()
		if !ok {
			continue
		}
		b := bySource[source]
		if b == nil {
			b = &bases{}
			bySource[source] = b
			sources = append(sources, source)
		}
		b.of, b.watts = append(b.of, e), append(b.watts, watts)
	}
	for _, source := range sources {
		b := bySource[source]
		for i, out := range stats.OutOfLine(b.watts, report.BaseShare) {
			if out {
				list = append(list, odd{b.of[i], b.watts[i], stats.Median(b.watts)})
			}
		}
	}
	return list
}

// again makes the runs anew whose base power is out of line with the others', twice at
// most. A radio that was still awake from another download, or anything else that the
// device did before the run, has made their joules wrong.
func (c *Campaign) again(ctx context.Context, runner Runner, watcher Watcher) error {
	for range maxRepeats {
		made := false
		for _, o := range c.outOfLine() {
			repeat := c.repeats(o.execution) < maxRepeats
			name := c.plan.file(o.execution)
			watcher.OutOfLine(name, o.base, o.usual, repeat)
			if !repeat {
				continue
			}
			if err := sleep(ctx, c.Pause); err != nil {
				return err
			}
			if err := c.setAside(o.execution); err != nil {
				return err
			}
			r, err := c.execute(ctx, runner, o.execution)
			if err != nil {
				return err
			}
			made = true
			watcher.Ran(len(c.plan.Approaches)*c.plan.Runs, len(c.plan.Approaches)*c.plan.Runs, c.plan.Approaches[o.approach], r)
		}
		if !made {
			return nil
		}
	}
	for _, o := range c.outOfLine() {
		watcher.OutOfLine(c.plan.file(o.execution), o.base, o.usual, false)
	}
	return nil
}

// aside is the name of the files of an execution's n-th run, from 1, that was made
// again, without the ending.
func (c *Campaign) aside(e execution, n int) string {
	return filepath.Join(c.dir, asideDir, fmt.Sprintf("%s.%d", c.plan.file(e), n))
}

// repeats is how often an execution was made again.
func (c *Campaign) repeats(e execution) (n int) {
	for n < maxRepeats {
		if _, err := os.Stat(c.aside(e, n+1) + ".json"); err != nil {
			break
		}
		n++
	}
	return n
}

// setAside makes room for a run that is made again.
func (c *Campaign) setAside(e execution) error {
	if err := os.MkdirAll(filepath.Join(c.dir, asideDir), 0o755); err != nil {
		return err
	}
	from, to := filepath.Join(c.Runs(), c.plan.file(e)), c.aside(e, c.repeats(e)+1)
	// The report goes last: until then the run is where it was.
	err := os.Rename(from+".jsonl", to+".jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.Rename(from+".json", to+".json"))
}
