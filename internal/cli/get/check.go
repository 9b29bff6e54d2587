package get

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/policy"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// limitTime ends ctx when --max-time after begun is over.
func (o *Options) limitTime(ctx context.Context, begun time.Time) (context.Context, context.CancelFunc) {
	if o.maxTime <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, begun.Add(o.maxTime), exit.ErrMaxTime)
}

// check finds what is wrong with flags that only make sense together.
func (o *Options) check() (mode progress.Mode, err error) {
	if o.links, err = flags.NamedLinks(o.links); err != nil {
		return mode, err
	}
	if mode, err = progress.ParseMode(o.progress); err != nil {
		return mode, exit.UsageError{Err: err}
	}
	if err = cmp.Or(policy.Check(o.algorithm), flags.CheckEnergy(o.power.policy),
		flags.OnlyOf("--mode", tuning.Names(), o.mode)); err != nil {
		return mode, err
	}
	switch {
	case o.blockSize.Bytes > 64<<20:
		return mode, exit.Usagef("--block-size: %s is more than 64M", o.blockSize.Text)
	case sameFile(o.reportFile, o.recordFile), sameFile(o.outputPath(), o.reportFile), sameFile(o.outputPath(), o.recordFile):
		return mode, exit.Usagef("--output, --report and --record must be different files")
	case sameFile(o.outputPath(), o.inputFile), sameFile(o.reportFile, o.inputFile), sameFile(o.recordFile, o.inputFile), sameFile(o.metrics.textfile, o.inputFile), sameFile(o.cookies.save, o.inputFile):
		return mode, exit.Usagef("--input-file would be overwritten")
	case sameFile(o.dumpHeader, o.outputPath()), sameFile(o.dumpHeader, o.reportFile), sameFile(o.dumpHeader, o.recordFile), sameFile(o.dumpHeader, o.inputFile), sameFile(o.dumpHeader, o.cookies.save):
		return mode, exit.Usagef("--dump-header must be a file of its own")
	case sameFile(o.cookies.save, o.outputPath()), sameFile(o.cookies.save, o.reportFile), sameFile(o.cookies.save, o.recordFile):
		return mode, exit.Usagef("--save-cookies must be a file of its own")
	case o.output != "" && (os.IsPathSeparator(o.output[len(o.output)-1]) || o.isDirectory()):
		return mode, exit.UsageError{Err: fmt.Errorf("--output: %s is a directory", o.output), Hint: "-P DIR saves in a directory"}
	case o.ipv4 && o.ipv6:
		return mode, exit.Usagef("-4 and -6 exclude each other")
	}
	return mode, nil
}

// isDirectory says whether the output would be a directory that is there.
func (o *Options) isDirectory() bool {
	if o.output == "-" {
		return false
	}
	fi, err := os.Stat(o.outputPath())
	return err == nil && fi.IsDir()
}

// outputPath is where the output is to go; "" and "-" stay as they are.
func (o *Options) outputPath() string {
	if o.output == "" || o.output == "-" {
		return o.output
	}
	return o.target().Path(nil)
}

// target is where a single file is to be saved.
func (o *Options) target() store.Target {
	return store.Target{Dir: o.dir, Name: o.output, Explicit: o.output != "", Continue: o.resume, Served: o.served, OwnTime: o.ownTime}
}

// settleEnergy chooses the energy policy where the user has not: of many files with
// the least energy, links are part of the choice.
func (o *Options) settleEnergy(t *task) {
	switch {
	case o.power.policy != "":
	case t.one == nil && o.mode == tuning.LowE.String():
		o.power.policy = scheduler.EnergyMin.String()
	default:
		o.power.policy = scheduler.EnergyOff.String()
	}
}

// sameFile says whether two files are one, by their names or by what is there.
func sameFile(a, b string) bool {
	switch {
	case a == "", b == "", a == "-", b == "-", a == os.DevNull:
		return false
	case filepath.Clean(a) == filepath.Clean(b):
		return true
	}
	fi, err := os.Stat(a)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(fi, other)
}

// streams says whether the output takes bytes once and in order: standard output, a
// pipe, a device.
func (o *Options) streams() bool {
	if o.output == "-" {
		return true
	}
	fi, err := os.Stat(o.output)
	return o.output != "" && err == nil && !fi.Mode().IsRegular() && !fi.IsDir()
}
