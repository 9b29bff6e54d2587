package deptest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFaultsAreFound breaks each kind of rule in a small module of its own.
func TestFaultsAreFound(t *testing.T) {
	type files map[string]string
	good := files{
		"pkg/core/core.go":            "package core\nimport \"fmt\"\nvar _ = fmt.Sprint\n",
		"internal/act/act.go":         "package act\nimport _ \"github.com/mlget/mlget/pkg/core\"\n",
		"internal/act/act_windows.go": "package act\nimport _ \"example.org/sys/windows\"\n",
		"internal/act/act_test.go":    "package act_test\nimport _ \"github.com/mlget/mlget/internal/help\"\n",
		"internal/help/help.go":       "package help\n",
		"internal/watch/watch.go":     "package watch\n",
		"internal/act/testdata/x.go":  "package x\nimport _ \"example.org/elsewhere\"\n",
		".cache/mod/x.go":             "package x\n",
	}
	rules := map[string]rule{
		"pkg/core":       {std: "fmt"},
		"internal/act":   {imports: "pkg/core example.org/sys", tests: "internal/help"},
		"internal/help":  {},
		"internal/watch": {},
	}
	never := map[string]string{"internal/act": "internal/watch"}
	onlyBy := map[string]string{"internal/help": "", "example.org/sys": "internal/act"}

	for name, tc := range map[string]struct {
		file, text string // added to, or instead of, the good ones
		want       string // part of the only fault; empty: there is none
	}{
		"good":              {},
		"new arrow":         {"internal/watch/more.go", `package watch; import _ "github.com/mlget/mlget/pkg/core"`, "more.go imports pkg/core, which the rules do not allow"},
		"on another system": {"internal/watch/more_plan9.go", `package watch; import _ "github.com/mlget/mlget/pkg/core"`, "more_plan9.go imports pkg/core"},
		"behind a tag":      {"internal/watch/more.go", "//go:build never\n\npackage watch\nimport _ \"github.com/mlget/mlget/pkg/core\"", "more.go imports pkg/core"},
		"new module":        {"internal/watch/more.go", `package watch; import _ "example.org/other/x"`, "imports example.org/other/x"},
		"longer name":       {"internal/act/more.go", `package act; import _ "example.org/system"`, "imports example.org/system"},
		"standard package":  {"pkg/core/more.go", `package core; import _ "time"`, "more.go imports time, which is not among"},
		"new arrow of test": {"internal/help/help_test.go", `package help; import _ "github.com/mlget/mlget/pkg/core"`, "internal/help [test]: help_test.go imports pkg/core"},
		"std in a test":     {"pkg/core/core_test.go", `package core; import _ "time"`, ""},
		"new package":       {"internal/fresh/fresh.go", "package fresh", "internal/fresh: no rule"},
		"arrow gone":        {"internal/act/act.go", "package act", "internal/act: may import pkg/core, but does not"},
		"package gone":      {"internal/watch/watch.go", "", "internal/watch: there is a rule for it, but no such package"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range good {
				write(t, root, file, text)
			}
			if tc.file != "" {
				write(t, root, tc.file, tc.text)
			}
			tree, err := readTree(root)
			if err != nil {
				t.Fatal(err)
			}
			got := check(tree, rules)
			got = append(got, checkNever(tree, never)...)
			got = append(got, checkOnlyBy(tree, onlyBy)...)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("unexpected: %q", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("got %q, want one fault with %q", got, tc.want)
			}
		})
	}
}

// write makes a file with its directories, or removes it where text is empty.
func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if text == "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWaysAndReservations(t *testing.T) {
	to := func(paths ...string) pkg {
		p := pkg{imports: make(map[string]string)}
		for _, path := range paths {
			p.imports[path] = "f.go"
		}
		return p
	}
	tree := map[string]pkg{
		"internal/a":     to("internal/b"),
		"internal/b":     to("internal/c", "net/http"),
		"internal/c":     to("internal/a/sub"), // below what is reserved, but not it
		"internal/a/sub": to(),
		"internal/d":     to("internal/c"),
	}
	for _, tc := range []struct{ from, banned, want string }{
		{"internal/a", "internal/c", "internal/a -> internal/b -> internal/c"},
		{"internal/a", "net", "internal/a -> internal/b -> net/http"},
		{"internal/d", "internal/b", ""},
		{"internal/c", "internal/d net", ""},
	} {
		got := strings.Join(checkNever(tree, map[string]string{tc.from: tc.banned}), "\n")
		if (tc.want == "") != (got == "") || !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s to %s: got %q, want %q", tc.from, tc.banned, got, tc.want)
		}
	}
	for _, tc := range []struct{ reserved, by, want string }{
		{"internal/c", "internal/b internal/d", ""},
		{"internal/c", "internal/b", "internal/d: f.go imports internal/c"},
		{"net/http", "", "internal/b: f.go imports net/http"},
		{"internal/a", "", ""},
	} {
		got := strings.Join(checkOnlyBy(tree, map[string]string{tc.reserved: tc.by}), "\n")
		if (tc.want == "") != (got == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s by %q: got %q, want %q", tc.reserved, tc.by, got, tc.want)
		}
	}
}

// TestLongestKeyIsTheRule: what lies below a package with a rule may have one of its own.
func TestLongestKeyIsTheRule(t *testing.T) {
	tree := map[string]pkg{
		"internal/a":     {imports: map[string]string{"internal/b": "a.go"}},
		"internal/a/sub": {imports: map[string]string{"internal/b": "sub.go", "net": "sub.go"}},
		"internal/b":     {},
	}
	rules := map[string]string{"internal/a": "internal/b", "internal/a/sub": "net"}
	want := []string{
		"internal/a must never reach internal/b: internal/a -> internal/b",
		"internal/a/sub must never reach net: internal/a/sub -> net",
	}
	if got := checkNever(tree, rules); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
