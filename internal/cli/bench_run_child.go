package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/campaign"
)

// graceTime is how long a download may take to save its state when it is
// interrupted.
const graceTime = 20 * time.Second

// selfRunner downloads by running this program anew, so that no run finds what
// another one has left: connections, caches, a grown heap.
type selfRunner struct {
	url   string
	flags []string // before those that a run needs
	stdio IO
}

// Run downloads once.
func (s *selfRunner) Run(ctx context.Context, r campaign.Request) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{"mlget"}, s.flags...)
	args = append(args,
		"--links", strings.Join(r.Approach.Links, ","), "--algorithm", r.Approach.Algorithm, "--energy", r.Approach.Energy,
		"--quiet", "--output", r.Body, "--record", r.Record, "--report", r.Report, s.url)
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = args
	cmd.Stdout, cmd.Stderr = s.stdio.Err, s.stdio.Err
	apart(cmd)
	cmd.WaitDelay = graceTime
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() == exitUsage {
			return usageError{errors.New("the flags behind -- are not those of a download")}
		}
		if _, missing := os.Stat(r.Report); missing == nil {
			return nil // it failed, and its report says why
		}
		return fmt.Errorf("a download ended without a report: %w", err)
	}
	return err
}
