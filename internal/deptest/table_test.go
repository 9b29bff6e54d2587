package deptest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readTable reads the table of responsibilities in docs/architecture.md: by package, the
// patterns of its files that have a row. A package's row is followed by those of its files.
func readTable(root string) (map[string][]string, error) {
	b, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(string(b), "\n## Who is responsible for what\n")
	text, _, _ = strings.Cut(text, "\n## ")
	name := regexp.MustCompile("`([^`]+)`")
	table, pkg := make(map[string][]string), ""
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
			if file := m[1]; !strings.Contains(strings.TrimSuffix(file, "/"), "/") {
				table[pkg] = append(table[pkg], file)
			} else {
				pkg = file
				table[pkg] = nil
			}
		}
	}
	return table, nil
}

// TestTable: where the table has rows for a package's files, every file has one, and every
// row a file. What is called as its package is in the package's own row.
func TestTable(t *testing.T) {
	root := moduleRoot(t)
	table, err := readTable(root)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for pkg, patterns := range table {
		if len(patterns) == 0 {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(pkg)))
		if err != nil {
			t.Errorf("docs/architecture.md: %v", err)
		}
		used := make(map[string]bool)
		for _, e := range entries {
			name := e.Name()
			if e.IsDir() {
				name += "/"
			}
			listed := false
			for _, p := range patterns {
				if ok, err := path.Match(p, name); err != nil {
					t.Errorf("docs/architecture.md: %q: %v", p, err)
				} else if ok {
					listed, used[p] = true, true
				}
			}
			own := name == "doc.go" || name == path.Base(pkg)+".go"
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !listed && !own {
				t.Errorf("docs/architecture.md says nothing of %s/%s", pkg, name)
			}
		}
		for _, p := range patterns {
			if rows++; !used[p] {
				t.Errorf("docs/architecture.md: %s has no %s", pkg, p)
			}
		}
	}
	if rows < 200 {
		t.Errorf("only %d files and patterns were found in docs/architecture.md", rows)
	}
}
