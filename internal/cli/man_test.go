package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/program"
)

// TestManuals: the pages that are embedded are what the commands say of themselves; with
// UPDATE_GOLDEN=1 it writes them. They have all that the help says of flags: nothing is taken
// for Markdown.
func TestManuals(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the pages are those of Linux")
	}
	root, dir := newRootCommand(console.IO{}), t.TempDir()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		dir = "man"
	}
	usages := map[string][]string{}
	everyCommand(root, func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				usages[pageName(c)] = append(usages[pageName(c)], "--"+f.Name, strings.ReplaceAll(f.Usage, "`", ""), flags.Details(f))
			}
		})
	})
	describe(root)
	// A page that says when it was made would differ each time.
	header := doc.GenManHeader{Source: "mlget " + program.Release, Manual: "User Commands", Date: &time.Time{}}
	if err := doc.GenManTree(root, &header, dir); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	embedded, _ := filepath.Glob("man/*.1") // the pattern is right
	if err != nil || len(pages) != len(embedded) {
		t.Errorf("%d pages are embedded, want %d: UPDATE_GOLDEN=1 go test ./internal/cli -run TestManuals", len(embedded), len(pages))
	}
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page = bytes.Replace(page, []byte(`"Jan 0001"`), []byte(`""`), 1)
		if dir == "man" {
			if err := os.WriteFile(name, page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if old, err := os.ReadFile(filepath.Join("man", filepath.Base(name))); err != nil || !bytes.Equal(old, page) {
			t.Errorf("%s is not what the command says: UPDATE_GOLDEN=1 go test ./internal/cli -run TestManuals", filepath.Base(name))
		}
		plain := strings.NewReplacer(`\fB`, "", `\fR`, "", `\fP`, "").Replace(string(page))
		for _, text := range usages[filepath.Base(name)] {
			if !strings.Contains(plain, text) {
				t.Errorf("%s does not have %q", filepath.Base(name), text)
			}
		}
	}
}

// TestShorthandsCanBeTyped holds that a flag's short name is a letter or a digit.
func TestShorthandsCanBeTyped(t *testing.T) {
	short := regexp.MustCompile(`^[A-Za-z0-9]?$`)
	everyCommand(newRootCommand(console.IO{}), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !short.MatchString(f.Shorthand) {
				t.Errorf("%s: --%s has the short name %q", c.CommandPath(), f.Name, f.Shorthand)
			}
		})
	})
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1" }

func everyCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		everyCommand(sub, do)
	}
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
		_, list, _ := strings.Cut(exit.Help, ":\n")
		b.WriteString("\n# EXIT STATUS\n")
		for one := range strings.SplitSeq(strings.ReplaceAll(list, "\n", "·"), "·") {
			if code, what, ok := strings.Cut(strings.TrimSpace(one), " "); ok {
				fmt.Fprintf(&b, "**%s**\n: %s\n\n", code, what)
			}
		}
		b.WriteString(manualOfMlget)
	}
	cmd.Long = b.String()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if more := flags.Details(f); more != "" {
			f.Usage += ". " + more
		}
	})
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

// TestHelpFitsATerminal: help, and of other commands the flags, fit 80 columns; codes are told
// once.
func TestHelpFitsATerminal(t *testing.T) {
	everyCommand(newRootCommand(IO{}), func(c *cobra.Command) {
		var b strings.Builder
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		c.SetOut(&b)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if c.HasParent() {
			_, text, _ = strings.Cut(text, "\nFlags:\n")
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		if codes := strings.Count(b.String(), "130 interrupted"); (codes == 1) == c.HasParent() {
			t.Errorf("%s: exit codes are told %d times", c.CommandPath(), codes)
		}
	})
}
