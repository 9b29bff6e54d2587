package program

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// childPatience is how long a download may take to save its state when it is
// interrupted.
const childPatience = 20 * time.Second

// Command is a download in another process of this program, which finds
// nothing that an earlier one has left: connections, caches, a grown heap. The end
// of ctx interrupts it, and kills it when it is still there after some time. self
// are the words that start the program (launch.Launch.Self).
func Command(ctx context.Context, self []string, args ...string) *exec.Cmd {
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

// LastLine is the last line that is no hint, cut to a bearable length.
func LastLine(text string) string {
	const bearable = 300
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "hint: ") {
			last = line
		}
	}
	return strings.ToValidUTF8(last[:min(len(last), bearable)], "")
}
