package cli

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
)

// manuals has a page for each command, man/mlget-COMMAND.1, made by a test: cobra/doc,
// which makes them, and its Markdown would weigh a quarter of a megabyte.
//
//go:embed man/*.1
var manuals embed.FS //nolint:gochecknoglobals // the only form in which Go embeds files

func newManCommand(stdio console.IO) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print the manual page, or that of a command",
		Long: `man prints a manual page for man(1) to show:
  mlget man | man -l /dev/stdin
With --dir it writes all of them, mlget.1 and those of the commands.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" {
				if err := writeManuals(dir); err != nil {
					return exit.FileError{Err: fmt.Errorf("--dir: %w", err)}
				}
				return nil
			}
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), strings.Join(args, " "))
			}
			page, err := manuals.ReadFile("man/" + strings.ReplaceAll(of.CommandPath(), " ", "-") + ".1")
			if err != nil {
				return err
			}
			_, err = stdio.Out.Write(page)
			return err
		},
		ValidArgsFunction: completeCommands,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages to `DIR`, and create it")
	return cmd
}

// writeManuals writes all pages into dir.
func writeManuals(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // everybody may read them
		return err
	}
	pages, err := manuals.ReadDir("man")
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := manuals.ReadFile("man/" + page.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, page.Name()), text, 0o644) //nolint:gosec // everybody may read it
		}
		if err != nil {
			return err
		}
	}
	return nil
}
