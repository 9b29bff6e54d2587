// Package links is the command that shows the links.
package links

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/measure"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/roots"
	"github.com/mlget/mlget/internal/term"
)

// NewCommand makes the command.
func NewCommand(stdio console.IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "links",
		Short: "Show which links can be used, and why others cannot",
		Args:  flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLinks(cmd.Context(), asJSON, stdio)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runLinks(ctx context.Context, asJSON bool, stdio console.IO) error {
	infos, err := link.List(ctx)
	if err != nil {
		return err
	}
	plans, planErr := dataPlans(ctx)
	if asJSON {
		return console.WriteJSON(stdio.Out, withPlans(infos, plans))
	}
	if err := link.WriteTable(stdio.Out, infos); err != nil {
		return err
	}
	if _, err := io.WriteString(stdio.Out, describePlans(plans, planErr)); err != nil {
		return err
	}
	if !android.Here("") {
		return nil
	}
	if !slices.ContainsFunc(infos, func(i link.Info) bool { return i.Up && i.Virtual != link.VirtualLoopback && len(i.Addrs) > 0 }) {
		if _, err := io.WriteString(stdio.Out, "\nNo network is connected: are Wi-Fi and mobile data off, or is aeroplane mode on?\n"); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("\nhotspots: Android tells no program that a Wi-Fi is metered: --link wifi,metered=yes says so\ncertificates: %s\npower: %s\n",
		term.Printable(Authorities()), term.Printable(powerSource(ctx)))
	if InTermux() {
		text += "sleep: termux-wake-lock keeps the phone awake for a long download\n"
	}
	_, err = io.WriteString(stdio.Out, text)
	return err
}

// InTermux says whether this is a program of Termux's.
func InTermux() bool { return strings.Contains(os.Getenv("PREFIX"), "com.termux") }

// powerSource is the source of power readings that would be taken.
func powerSource(ctx context.Context) string {
	for _, f := range measure.Here(ctx) {
		if f.Chosen {
			return f.Source + ", " + f.Detail
		}
	}
	return "none can be read (mlget power says why)"
}

// Authorities says whom TLS trusts here.
func Authorities() string {
	r := roots.Find("")
	switch {
	case r.Source == roots.FromEnvironment:
		return r.Source
	case !android.Here(""):
		return roots.FromGo
	case r.Count == 0:
		return r.Source
	}
	return fmt.Sprintf("%s (%d)", r.Source, r.Count)
}
