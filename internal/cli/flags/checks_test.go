package flags

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/exit"
)

// TestUnexpectedArgumentHasAHint: the way to what the command takes.
func TestUnexpectedArgumentHasAHint(t *testing.T) {
	cmd := &cobra.Command{Use: "doctor"}
	if err := NoArgs(cmd, nil); err != nil {
		t.Error(err)
	}
	err := NoArgs(cmd, []string{"nope"})
	if usage, ok := errors.AsType[exit.UsageError](err); !ok || usage.Error() != `unexpected argument "nope"` || usage.Hint != "doctor --help lists what there is" {
		t.Errorf("%v", err)
	}
}
