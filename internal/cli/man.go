package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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
			describe(root)
			header := doc.GenManHeader{Source: "mlget " + version(), Manual: "User Commands"}
			if dir != "" {
				err := os.MkdirAll(dir, 0o755) //nolint:gosec // everybody may read them
				if err == nil {
					err = doc.GenManTree(root, &header, dir)
				}
				if err != nil {
					return fileError{fmt.Errorf("--dir: %w", err)}
				}
				return nil
			}
			of, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(root, strings.Join(args, " "))
			}
			return doc.GenMan(of, &header, stdio.Out)
		},
		ValidArgsFunction: completeCommands,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages to `DIR`, and make it")
	return cmd
}

// describe makes Markdown, which manual pages are made of, of what cmd and the commands
// below it say of themselves.
func describe(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	var b strings.Builder
	code := false // lines that are indented stand as they are
	for line := range strings.SplitSeq(text, "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != code {
			code = indented
			b.WriteByte('\n')
		}
		if code {
			b.WriteString("    ")
		}
		b.WriteString(line + "\n")
	}
	if !cmd.HasParent() {
		_, list, _ := strings.Cut(exitHelp, ":\n")
		b.WriteString("\n# EXIT STATUS\n")
		for one := range strings.SplitSeq(strings.ReplaceAll(list, "\n", "·"), "·") {
			if code, what, ok := strings.Cut(strings.TrimSpace(one), " "); ok {
				fmt.Fprintf(&b, "**%s**\n: %s\n\n", code, what)
			}
		}
		b.WriteString(manualOfMlget)
	}
	cmd.Long = b.String()
	for _, sub := range cmd.Commands() {
		describe(sub)
	}
}

// manualOfMlget says what is read and written, and what of the environment matters.
const manualOfMlget = `# FILES
**NAME.part**
: the bytes of a file that is incomplete. NAME appears when all are there and checked.

**NAME.part.json**
: which bytes these are. The same command goes on where it stopped.

**~/.netrc**
: user and password, with --netrc.

# ENVIRONMENT
**http_proxy, https_proxy, no_proxy**
: proxies, http://[USER:PASSWORD@]HOST:PORT, and hosts to do without them. all_proxy is not used.

**SSL_CERT_FILE, SSL_CERT_DIR**
: a file and directories of certificate authorities, as PEM, each instead of the system's; not on macOS and Windows.

**NETRC**
: the file to read with --netrc, instead of ~/.netrc.

**TERM**
: dumb: no progress bars.
`
