package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/program"
)

func newVersionCommand(stdio console.IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the build's target",
		Args:  flags.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return printVersion(stdio.Out, program.This(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printVersion(w io.Writer, b program.Build, asJSON bool) error {
	if asJSON {
		return console.WriteJSON(w, b)
	}
	_, err := fmt.Fprintf(w, "mlget %s for %s (%s)\n", b.Version, b.Target(), b.Go)
	return err
}
