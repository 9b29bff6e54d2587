package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

// childPatience is how long a child may take to end in order.
const childPatience = 5 * time.Second

// childCommand is another process of this program, which the end of ctx
// interrupts, and ends after some time.
func childCommand(ctx context.Context, self string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel = func() error {
		err := cmd.Process.Signal(os.Interrupt)
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return cmd.Process.Kill() // a system without such a signal
		}
		return err
	}
	cmd.WaitDelay = childPatience
	return cmd
}
