package deptest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// pkg is what a directory's files import: paths, each with a file that names
// it. Those of this module are given by their directory.
type pkg struct {
	imports map[string]string // by files that are built into programs
	tests   map[string]string // by tests
}

// readTree reads the imports of all Go files below root, whatever system they
// are for. A directory with Go files is a package.
func readTree(root string) (map[string]pkg, error) {
	tree := make(map[string]pkg)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")
			if path != root && (hidden || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		p, ok := tree[dir]
		if !ok {
			p = pkg{imports: make(map[string]string), tests: make(map[string]string)}
			tree[dir] = p
		}
		into := p.imports
		if strings.HasSuffix(path, "_test.go") {
			into = p.tests
		}
		return readImports(path, d.Name(), into)
	})
	return tree, err
}

func readImports(path, name string, into map[string]string) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		into[strings.TrimPrefix(imported, module+"/")] = name
	}
	return nil
}

// isOwn says whether a path, as in pkg, is of this module.
func isOwn(path string) bool {
	return within(path, "testdata") || within(path, "internal") || within(path, "pkg") || within(path, "cmd")
}

// isStd says whether a path, as in pkg, is of the standard library: only
// elsewhere do paths begin with a host's name.
func isStd(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !isOwn(path) && !strings.Contains(first, ".")
}
