package cli

import "github.com/spf13/cobra"

// newBenchCommand holds what measures mlget, and what that needs.
func newBenchCommand(stdio IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure mlget itself: campaigns, datasets, sweeps over parameters",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchDatasetCommand(stdio), newBenchSweepCommand(stdio), newBenchRunCommand(stdio))
	return cmd
}
