package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/filelock"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/rewrite"
)

// maxFailures is after how many failures in a row a campaign gives up.
const maxFailures = 3

const (
	planFile = "plan.json"
	lockFile = "lock"
	runsDir  = "runs"
	// What is being made bears other endings than what is there.
	bodyFile = "body.bin"
	making   = "making"
)

// What is said of the runs in the end, beside them.
const (
	PageFile  = "report.html"
	TableFile = "runs.csv"
)

// ErrOther says that a directory is another campaign's.
var ErrOther = errors.New("the directory holds a campaign with another plan")

// ErrForeign says that a file of a directory that holds no campaign would be lost.
var ErrForeign = errors.New("it would be replaced, and is no campaign's")

// FailingError says that runs fail one after the other, or that none has succeeded.
type FailingError struct {
	Report report.Report // of the last one
	None   bool          // all were made, and none has succeeded
}

func (e *FailingError) Error() string {
	if e.None {
		return "no run has succeeded, the last one failed because: " + e.Report.Error
	}
	return fmt.Sprintf("%d runs in a row have failed, the last one because: %s", maxFailures, e.Report.Error)
}

// Request is what a Runner is to download, and where to put what.
type Request struct {
	Approach Approach
	Body     string // file to download to
	Record   string
	Report   string
}

// Runner downloads once. Its error says why nothing was measured at all; a download
// that fails is no error as long as there is a report.
type Runner interface {
	Run(ctx context.Context, r Request) error
}

// Watcher is told how it goes on.
type Watcher interface {
	// Ran tells of a run: done of total, and what its report says.
	Ran(done, total int, a Approach, r report.Report)
	// OutOfLine tells of a run, by the name of its files, whose base power is out of line
	// with the usual one, in W, and whether it is made again.
	OutOfLine(run string, base, usual float64, again bool)
}

// Campaign is one in its directory.
type Campaign struct {
	plan Plan
	dir  string
	lock *os.File
	// Pause is how long devices and networks are left in peace between runs.
	Pause time.Duration
}

// Open begins a campaign in a directory, or goes on with the one that is there. Until it
// is closed, others fail with filelock.ErrBusy.
func Open(dir string, plan Plan) (*Campaign, error) {
	if err := foreign(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, runsDir), 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := filelock.Take(lock); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), lock.Close())
	}
	c := &Campaign{plan: plan, dir: dir, lock: lock}
	if err := c.settle(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close lets others into the directory.
func (c *Campaign) Close() error { return filelock.Close(c.lock) }

// foreign fails where a campaign would replace or remove what is not a campaign's. A
// campaign has its plan before all else: so it is looked for last.
func foreign(dir string) error {
	for _, name := range append(leavings(), PageFile, TableFile) {
		name = filepath.Join(dir, name)
		if _, err := os.Lstat(name); err != nil {
			continue // what is wrong with the directory is found out later
		}
		if _, err := os.Lstat(filepath.Join(dir, planFile)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, ErrForeign)
		}
	}
	return nil
}

// settle writes the plan, or holds it against the one that is there.
func (c *Campaign) settle() error {
	name := filepath.Join(c.dir, planFile)
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text, err = json.MarshalIndent(c.plan, "", "  ")
		if err != nil {
			return err
		}
		return rewrite.File(name, append(text, '\n'))
	case err != nil:
		return err
	default:
		var old Plan
		if err := json.Unmarshal(text, &old); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		// More runs of the same is the same campaign.
		if differ := old.differences(c.plan); len(differ) > 0 {
			return fmt.Errorf("%s: %w: %s", c.dir, ErrOther, strings.Join(differ, "; "))
		}
	}
	return nil
}

// Left is how many runs are still to be made, and Total how many there are.
func (c *Campaign) Left() (left, total int) {
	for _, e := range c.plan.order() {
		if !c.has(e) {
			left++
		}
	}
	return left, len(c.plan.Approaches) * c.plan.Runs
}

// Runs is the directory of the records and reports.
func (c *Campaign) Runs() string { return filepath.Join(c.dir, runsDir) }

// has says whether an execution was made and was successful.
func (c *Campaign) has(e execution) bool {
	r, err := readReport(filepath.Join(c.Runs(), c.plan.file(e)+".json"))
	return err == nil && r.ExitCode == 0
}

func readReport(name string) (r report.Report, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// Run makes what is still to be made, until all is, ctx ends, or it fails for good.
// What was made stays, also when it ends early. It is an error if no run has
// succeeded, in whatever session.
func (c *Campaign) Run(ctx context.Context, runner Runner, watcher Watcher) error {
	left, total := c.Left()
	done, failures := total-left, 0
	var last report.Report
	first := true
	for _, e := range c.plan.order() {
		if c.has(e) {
			continue
		}
		if !first {
			if err := sleep(ctx, c.Pause); err != nil {
				return err
			}
		}
		first = false
		r, err := c.execute(ctx, runner, e)
		if err != nil {
			return err
		}
		last = r
		done++
		if r.ExitCode != 0 {
			failures++
		} else {
			failures = 0
		}
		watcher.Ran(done, total, c.plan.Approaches[e.approach], r)
		if failures == maxFailures {
			return &FailingError{Report: r}
		}
	}
	if left, _ := c.Left(); left == total {
		return &FailingError{Report: last, None: true}
	}
	return c.again(ctx, runner, watcher)
}

// execute makes one run and keeps its files; of one that was interrupted it keeps
// nothing.
func (c *Campaign) execute(ctx context.Context, runner Runner, e execution) (report.Report, error) {
	if err := context.Cause(ctx); err != nil {
		return report.Report{}, err
	}
	if err := c.sweep(); err != nil {
		return report.Report{}, err
	}
	req := Request{
		Approach: c.plan.Approaches[e.approach],
		Body:     filepath.Join(c.dir, bodyFile),
		Record:   filepath.Join(c.dir, "record."+making),
		Report:   filepath.Join(c.dir, "report."+making),
	}
	err := runner.Run(ctx, req)
	if cause := context.Cause(ctx); cause != nil {
		return report.Report{}, errors.Join(cause, c.sweep())
	}
	if err != nil {
		return report.Report{}, errors.Join(err, c.sweep())
	}
	r, err := readReport(req.Report)
	if err != nil {
		return report.Report{}, err
	}
	// The report comes last: where it is, the run is complete.
	name := filepath.Join(c.Runs(), c.plan.file(e))
	if err := errors.Join(os.Rename(req.Record, name+".jsonl"), os.Rename(req.Report, name+".json")); err != nil {
		return r, err
	}
	return r, c.sweep()
}

// leavings are what a run leaves that is not kept.
func leavings() []string {
	return []string{bodyFile, bodyFile + ".part", bodyFile + ".part.json", bodyFile + ".part.json.new", "record." + making, "report." + making}
}

// sweep removes them.
func (c *Campaign) sweep() error {
	for _, name := range leavings() {
		if err := os.Remove(filepath.Join(c.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
