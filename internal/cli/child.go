package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"
)

// childPatience is how long a download may take to save its state when it is
// interrupted.
const childPatience = 20 * time.Second

// childCommand is a download in another process of this program, which finds
// nothing that an earlier one has left: connections, caches, a grown heap. The end
// of ctx interrupts it, and kills it when it is still there after some time. self
// are the words that start the program (launch.Launch.Self).
func childCommand(ctx context.Context, self []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, self[0], append(slices.Clone(self[1:]), args...)...)
	cmd.Args[0] = "mlget"
	cmd.Cancel = func() error {
		err := cmd.Process.Signal(os.Interrupt)
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return cmd.Process.Kill() // a system without such a signal
		}
		return err
	}
	cmd.WaitDelay = childPatience
	apart(cmd)
	return cmd
}
