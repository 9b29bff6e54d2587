package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/campaign"
	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/launch"
)

// selfRunner downloads by starting this program again.
type selfRunner struct {
	url   string
	flags []string // before those that a run needs
	stdio console.IO
}

// Run downloads once.
func (s *selfRunner) Run(ctx context.Context, r campaign.Request) error {
	self, err := launch.Of(os.Args).Self()
	if err != nil {
		return err
	}
	args := append(slices.Clone(s.flags),
		"--links", strings.Join(r.Approach.Links, ","), "--algorithm", r.Approach.Algorithm, "--energy", r.Approach.Energy,
		"--quiet", "--output", r.Body, "--record", r.Record, "--report", r.Report, s.url)
	cmd := program.Command(ctx, self, args...)
	cmd.Stdout, cmd.Stderr = s.stdio.Err, s.stdio.Err
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		if ended.ExitCode() == exit.Usage {
			return exit.UsageError{Err: errors.New("the flags behind -- are not those of a download")}
		}
		if _, missing := os.Stat(r.Report); missing == nil {
			return nil // it failed, and its report says why
		}
		return fmt.Errorf("a download ended without a report: %w", err)
	}
	return err
}
