package cli

import (
	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
)

// roomyCommands are those that Android's program has no room for: it has none of them.
func roomyCommands(console.IO) []*cobra.Command { return nil }
