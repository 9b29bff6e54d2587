package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/spf13/cobra"
)

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

// fingerprint tells downloads with other flags from those with the same ones. Flags may
// hold passwords, and are not kept; nor is enough of their hash to guess them by.
func fingerprint(flags []string) string {
	sum := sha256.Sum256([]byte(strings.Join(flags, "\x00")))
	return hex.EncodeToString(sum[:2])
}
