package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/term"
)

func newLinksCommand(stdio IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "links",
		Short: "Show what each link can do, and why not",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLinks(cmd.Context(), asJSON, stdio)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runLinks(ctx context.Context, asJSON bool, stdio IO) error {
	infos, err := link.List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(stdio.Out, infos)
	}
	if err := link.WriteTable(stdio.Out, infos); err != nil {
		return err
	}
	if !android.Here("") {
		return nil
	}
	text := fmt.Sprintf("\ncertificates: %s\npower: %s\n",
		term.Printable(authorities()), term.Printable(powerSource(ctx)))
	if inTermux() {
		text += "sleep: termux-wake-lock keeps the phone awake for a long download\n"
	}
	_, err = io.WriteString(stdio.Out, text)
	return err
}

// inTermux says whether this is a program of Termux's.
func inTermux() bool { return strings.Contains(os.Getenv("PREFIX"), "com.termux") }

// powerSource is the source of power readings that would be taken.
func powerSource(ctx context.Context) string {
	for _, f := range powerHere(ctx) {
		if f.Chosen {
			return f.Source + ", " + f.Detail
		}
	}
	return "none can be read (mlget power says why)"
}
