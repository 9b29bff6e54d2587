package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestManual: a page has all that the help says of flags; nothing is taken for Markdown.
func TestManual(t *testing.T) {
	fresh := newRootCommand(IO{})
	for _, c := range append(fresh.Commands(), fresh) {
		var out bytes.Buffer
		root := newRootCommand(IO{Out: &out})
		root.SetArgs(append([]string{"man"}, strings.Fields(c.CommandPath())[1:]...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		page := strings.NewReplacer(`\fB`, "", `\fR`, "", `\fP`, "").Replace(out.String())
		c.Flags().VisitAll(func(f *pflag.Flag) {
			usage := strings.ReplaceAll(f.Usage, "`", "")
			if !f.Hidden && (!strings.Contains(page, "--"+f.Name) || !strings.Contains(page, usage)) {
				t.Errorf("%s: --%s %s", c.CommandPath(), f.Name, usage)
			}
		})
	}
}
