package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newManCommand(stdio IO) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print the manual page, or that of a command",
		Long: `man prints a manual page for man(1) to show:
  mlget man | man -l /dev/stdin
With --dir it writes all of them, mlget.1 and those of the commands.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.InitDefaultHelpFlag()
			root.InitDefaultVersionFlag()
			if dir != "" {
				if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // everybody may read them
					return fileError{fmt.Errorf("--dir: %w", err)}
				}
				return writeManuals(dir, root)
			}
			of, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), strings.Join(args, " "))
			}
			_, err = io.WriteString(stdio.Out, manual(of))
			return err
		},
		ValidArgsFunction: completeCommands,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages to `DIR`, and make it")
	return cmd
}

// writeManuals writes the page of cmd, and those of the commands below it.
func writeManuals(dir string, cmd *cobra.Command) error {
	if err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(manual(cmd)), 0o644); err != nil { //nolint:gosec // everybody may read it
		return fileError{err}
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			if err := writeManuals(dir, sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// pageName is a command's page: mlget-links for mlget links.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manual is a command's page, in the man macros of roff, which groff and mandoc
// both know.
func manual(cmd *cobra.Command) string {
	var p roff
	p.macro("TH", strings.ToUpper(pageName(cmd)), "1", "", "mlget "+Version, "User Commands")
	p.macro("SH", "NAME")
	p.text(pageName(cmd) + " - " + lowerFirst(cmd.Short))
	p.macro("SH", "SYNOPSIS")
	p.macro("B", cmd.CommandPath())
	use := strings.TrimSpace(strings.TrimPrefix(cmd.Use, cmd.Name()))
	if cmd.HasAvailableLocalFlags() && !strings.Contains(use, "[flags]") {
		use = strings.TrimSpace("[flags] " + use)
	}
	p.text(use)
	p.macro("SH", "DESCRIPTION")
	description := cmd.Long
	if description == "" {
		description = cmd.Short + "."
	}
	p.paragraphs(description)
	if cmd.HasAvailableLocalFlags() {
		p.macro("SH", "OPTIONS")
		p.flags(cmd.LocalFlags())
	}
	if cmd.HasAvailableSubCommands() {
		p.macro("SH", "COMMANDS")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				p.macro("TP")
				p.macro("B", sub.CommandPath())
				p.text(sub.Short + ".")
			}
		}
	}
	if cmd.Example != "" {
		p.macro("SH", "EXAMPLES")
		p.verbatim(cmd.Example)
	}
	if !cmd.HasParent() {
		p.files()
	}
	p.exits()
	p.macro("SH", "SEE ALSO")
	p.seeAlso(cmd)
	return p.String()
}

// files says what is read and written, and what of the environment matters.
func (p *roff) files() {
	p.macro("SH", "FILES")
	for _, f := range [][2]string{
		{"NAME.part", "the bytes of a file that is incomplete. NAME appears when all are there and checked."},
		{"NAME.part.json", "which bytes these are. The same command goes on where it stopped."},
		{"~/.netrc", "user and password, with --netrc."},
	} {
		p.macro("TP")
		p.macro("I", f[0])
		p.text(f[1])
	}
	p.macro("SH", "ENVIRONMENT")
	for _, e := range [][2]string{
		{"http_proxy, https_proxy, no_proxy", "proxies, http://[USER:PASSWORD@]HOST:PORT, and hosts to do without them. all_proxy is not used."},
		{"SSL_CERT_FILE, SSL_CERT_DIR", "a file and directories of certificate authorities, as PEM, each instead of the system's; not on macOS and Windows."},
		{"NETRC", "the file to read with --netrc, instead of ~/.netrc."},
		{"TERM", "dumb: no progress bars."},
	} {
		p.macro("TP")
		p.macro("B", e[0])
		p.text(e[1])
	}
}

// exits lists the exit codes as the help does.
func (p *roff) exits() {
	p.macro("SH", "EXIT STATUS")
	_, list, _ := strings.Cut(exitHelp, ":\n")
	for one := range strings.SplitSeq(strings.ReplaceAll(list, "\n", "·"), "·") {
		if code, what, ok := strings.Cut(strings.TrimSpace(one), " "); ok {
			p.macro("TP", "5")
			p.macro("B", code)
			p.text(what)
		}
	}
}

func (p *roff) seeAlso(cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, pageName(cmd.Parent())+"(1)")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, pageName(sub)+"(1)")
		}
	}
	p.text(strings.Join(append(pages, "curl(1)", "wget(1)"), ", "))
}

// flags are a list of what can be given.
func (p *roff) flags(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := bold("--" + f.Name)
		if f.Shorthand != "" {
			name = bold("-"+f.Shorthand) + ", " + name
		}
		if value != "" {
			name += " " + italic(value)
		}
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			usage += fmt.Sprintf(" (default %s)", strings.Trim(f.DefValue, "[]"))
		}
		p.macro("TP")
		p.line(name)
		p.text(usage)
	})
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
