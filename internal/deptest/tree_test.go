package deptest

import (
	"errors"
	"go/build"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	all := build.Default
	all.UseAllFiles = true
	// Measurements of single heuristics switch them off by *_ablation.go; no program has it.
	all.ReadDir = func(dir string) ([]fs.FileInfo, error) {
		files, err := readDir(dir)
		return slices.DeleteFunc(files, func(f fs.FileInfo) bool { return strings.HasSuffix(f.Name(), "_ablation.go") }), err
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")
		if path != root && (hidden || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		p, err := all.ImportDir(path, 0)
		if empty := (*build.NoGoError)(nil); errors.As(err, &empty) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		tree[filepath.ToSlash(rel)] = pkg{imports: named(p.ImportPos), tests: named(p.TestImportPos, p.XTestImportPos)}
		return err
	})
	return tree, err
}

// readDir lists a directory as build.Context wants it.
func readDir(dir string) (files []fs.FileInfo, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		files = append(files, info)
	}
	return files, err
}

// named gives what is imported, each with a file that names it.
func named(all ...map[string][]token.Position) map[string]string {
	imports := make(map[string]string)
	for _, one := range all {
		for path, at := range one {
			imports[strings.TrimPrefix(path, module+"/")] = filepath.Base(at[0].Filename)
		}
	}
	return imports
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
