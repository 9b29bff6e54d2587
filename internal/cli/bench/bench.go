// Package bench holds the commands that measure mlget.
package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/get"
)

// NewCommand holds what measures mlget, and what that needs.
func NewCommand(stdio console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure mlget itself: campaigns, datasets, sweeps over parameters",
		Args:  flags.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchDatasetCommand(stdio), newBenchSweepCommand(stdio), newBenchRunCommand(stdio))
	return cmd
}

// fingerprints tell downloads with other flags from those with the same ones, flag by flag,
// so that one can be told which of them differs. A file that a flag names counts by what is
// in it, wherever it lies, and a directory, which may be a tree of /sys that is being
// written, not at all.
func fingerprints(flags []string) map[string]string {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	var o get.Options
	o.AddFlags(known)
	prints := make(map[string]string)
	err := known.ParseAll(flags, func(f *pflag.Flag, value string) error {
		name := "--" + f.Name
		prints[name] += fingerprint([]string{flagValue(f.Name, value)})
		return nil
	})
	if err != nil { // the download will say what is wrong with them
		return map[string]string{"the flags behind --": fingerprint(flags)}
	}
	return prints
}

// flagValue is the part of a flag's value by which campaigns are compared.
func flagValue(name, value string) string {
	switch name {
	case "cacert", "energy-model", "sysfs":
	default:
		return value
	}
	info, err := os.Stat(value)
	switch {
	case err != nil:
		return value
	case info.IsDir():
		return "a directory"
	case !info.Mode().IsRegular() || info.Size() > mostOfFile:
		return value
	}
	text, err := os.ReadFile(value)
	if err != nil {
		return value
	}
	return string(text)
}

// mostOfFile bounds a file whose content counts.
const mostOfFile = 16 << 20

// fingerprint tells downloads with other flags from those with the same ones. Flags may
// hold passwords, and are not kept; nor is enough of their hash to guess them by.
func fingerprint(flags []string) string {
	sum := sha256.Sum256([]byte(strings.Join(flags, "\x00")))
	return hex.EncodeToString(sum[:2])
}
