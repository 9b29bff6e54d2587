package sim

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The simulator asks no clock and touches no network, and neither does what it
// imports from this module.
func TestImports(t *testing.T) {
	const module = "github.com/mlget/mlget/"
	allowed := map[string]bool{module + "pkg/scheduler": true, module + "internal/linklab/scenario": true}
	for _, dir := range []string{".", "../linklab/scenario"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range f.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if path == "net" || strings.HasPrefix(path, "net/") || strings.Contains(path, ".") && !allowed[path] {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}
