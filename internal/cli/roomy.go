//go:build !android

package cli

import (
	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/daemon"
)

// roomyCommands are those that Android's program has no room for below its 16 MB.
func roomyCommands(stdio console.IO) []*cobra.Command {
	return []*cobra.Command{daemon.NewCommand(stdio)}
}
