package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
)

// TestPapersPage: what docs/papers.md names is there. A link's file exists, and its
// text, where that is a name, is one of the file's: a test function, or another
// declaration. Each command and each of its flags exists, too.
func TestPapersPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/papers.md")
	if err != nil {
		t.Fatal(err)
	}
	problems, links, commands := checkPapers(string(page), "../../docs")
	for _, p := range problems {
		t.Error(p)
	}
	if links < 80 || commands < 20 {
		t.Errorf("%d links and %d commands were checked", links, commands)
	}
}

// TestPapersPageIsChecked: each kind of mistake is found.
func TestPapersPageIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"[limit](../pkg/scheduler/nothing.go)":                        "no such file",
		"[limitt](../pkg/scheduler/emtcp.go)":                         "no limitt",
		"[state](../pkg/scheduler/emtcp.go)":                          "no state",
		"[TestEMTCPShifts](../pkg/scheduler/emtcp_test.go)":           "no TestEMTCPShifts",
		"`mlget simulat --files html`":                                "no command",
		"`mlget simulate --filez html`":                               "--filez",
		"`mlget --known-sizes URL`":                                   "--known-sizes",
		"`linklab bench --filez`":                                     "--filez",
		"`linklab rum`":                                               "linklab rum",
		"held by TestEMTCPTurnsFromACongestedLink":                    "is no link",
		"[energy.md](energie.md)":                                     "no such file",
		"[limit](../pkg/scheduler/emtcp.go) `mlget simulate --files`": "",
	} {
		problems, _, _ := checkPapers(text, "../../docs")
		if got := strings.Join(problems, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// checkPapers says what is wrong with a page that lies in a directory, and how many
// links and commands it has.
func checkPapers(page, dir string) (problems []string, links, commands int) {
	link := regexp.MustCompile(`\[([^\]]+)\]\(([^)#]+)(#[^)]*)?\)`)
	for _, m := range link.FindAllStringSubmatch(page, -1) {
		links++
		if p := checkPaperLink(m[1], filepath.Join(dir, m[2])); p != "" {
			problems = append(problems, p)
		}
	}
	rest := link.ReplaceAllString(page, "")
	for _, name := range regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`).FindAllString(rest, -1) {
		problems = append(problems, name+" is no link")
	}
	for _, m := range regexp.MustCompile("`((mlget|linklab)( [^`]*)?)`").FindAllStringSubmatch(rest, -1) {
		commands++
		words := strings.Fields(m[1])
		if words[0] == "mlget" {
			problems = append(problems, checkPaperCommand(words)...)
		} else {
			problems = append(problems, checkLabCommand(words, filepath.Join(dir, "../internal/linklab"), filepath.Join(dir, "../internal/papers"))...)
		}
	}
	return problems, links, commands
}

// checkPaperLink says what is wrong with a link to a file.
func checkPaperLink(text, file string) string {
	source, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file + ": no such file"
	case err != nil:
		return err.Error()
	case filepath.Ext(file) != ".go" || !regexp.MustCompile(`^\w+$`).MatchString(text):
		return ""
	}
	// A function, method, type, constant or variable, a field, or the package.
	declared := `(?m)^(func (\([^)]*\) )?|type |package |(const |var |\t+)(\w+, )*)` + text + `\b`
	if strings.HasPrefix(text, "Test") {
		declared = `(?m)^func ` + text + `\(t \*testing\.T\)`
	}
	if !regexp.MustCompile(declared).Match(source) {
		return file + ": no " + text
	}
	return ""
}

// checkPaperCommand says what is wrong with a command line of mlget.
func checkPaperCommand(words []string) (problems []string) {
	root := newRootCommand(console.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	cmd := root
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || w != strings.ToLower(w) {
			break
		}
		at := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == w })
		if at < 0 && !cmd.HasSubCommands() {
			break // an argument
		}
		if at < 0 {
			return []string{strings.Join(words, " ") + ": no command " + w}
		}
		cmd = cmd.Commands()[at]
	}
	for _, w := range words {
		name, isLong := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		short := len(w) == 2 && w[0] == '-'
		if isLong && cmd.Flags().Lookup(name) == nil || short && cmd.Flags().ShorthandLookup(w[1:]) == nil {
			problems = append(problems, strings.Join(words, " ")+": no flag "+w)
		}
	}
	return problems
}

// checkLabCommand says what is wrong with a command line of linklab, which runs on
// Linux alone: by its source.
func checkLabCommand(words []string, dirs ...string) (problems []string) {
	var source strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(name)
			source.Write(text)
			return err
		})
		if err != nil {
			return []string{err.Error()}
		}
	}
	has := func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(source.String()) }
	if len(words) > 1 && !has(`Use: +"`+words[1]+`[ "]`) {
		problems = append(problems, "no command "+strings.Join(words[:2], " "))
	}
	for _, w := range words {
		if name, isLong := strings.CutPrefix(w, "--"); isLong && !has(`Var\w*\([^\n]*"`+name+`", `) {
			problems = append(problems, strings.Join(words, " ")+": no flag "+w)
		}
	}
	return problems
}
