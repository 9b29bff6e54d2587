// Package deptest states which package may import which, and fails when one
// imports more. It reads the sources of all systems, whatever the build tags.
package deptest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestImports(t *testing.T) {
	root := moduleRoot(t)
	tree, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree) < 15 { // the walk missed most of the module
		t.Fatalf("only %d packages found below %s", len(tree), root)
	}
	for _, fault := range check(tree, rules()) {
		t.Error(fault)
	}
	for _, fault := range checkNever(tree, never()) {
		t.Error(fault)
	}
	for _, fault := range checkOnlyBy(tree, onlyBy()) {
		t.Error(fault)
	}
}

// moduleRoot is the directory that holds go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test's directory")
		}
	}
}

// check holds a tree against the rules, both ways.
func check(tree map[string]pkg, rules map[string]rule) (faults []string) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		r, ok := rules[name]
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: no rule for this package", name))
			continue
		}
		p := tree[name]
		imports, tests := strings.Fields(r.imports), strings.Fields(r.tests)
		used := make(map[string]bool)
		faults = append(faults, checkOne(name, p.imports, imports, strings.Fields(r.std), used)...)
		faults = append(faults, checkOne(name+" [test]", p.tests, slices.Concat(imports, tests, strings.Fields(anyTest)), nil, make(map[string]bool))...)
		faults = append(faults, unused(name, imports, used)...)
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if _, ok := tree[name]; !ok {
			faults = append(faults, fmt.Sprintf("%s: there is a rule for it, but no such package", name))
		}
	}
	return faults
}

// checkOne reports the imports that are not allowed, and marks in used what is.
func checkOne(name string, imports map[string]string, allowed, std []string, used map[string]bool) (faults []string) {
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		if isStd(path) {
			if len(std) > 0 && !slices.Contains(std, path) {
				faults = append(faults, fmt.Sprintf("%s: %s imports %s, which is not among its standard packages", name, imports[path], path))
			}
			continue
		}
		ok := false
		for _, a := range allowed {
			// Of this module a rule names the package, of others also a whole module.
			if path == a || !isOwn(path) && within(path, a) {
				used[a] = true
				ok = true
			}
		}
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: %s imports %s, which the rules do not allow", name, imports[path], path))
		}
	}
	return faults
}

// unused reports what is allowed for nothing.
func unused(name string, allowed []string, used map[string]bool) (faults []string) {
	for _, a := range allowed {
		if !used[a] {
			faults = append(faults, fmt.Sprintf("%s: may import %s, but does not: take it out of the rules", name, a))
		}
	}
	return faults
}

// checkNever looks for ways, however long, to what must not be reached.
func checkNever(tree map[string]pkg, never map[string]string) (faults []string) {
	for _, from := range slices.Sorted(maps.Keys(tree)) {
		if prefix := longest(never, from); prefix != "" {
			banned := never[prefix]
			for _, way := range ways(tree, from) {
				for _, b := range strings.Fields(banned) {
					if within(way[len(way)-1], b) {
						faults = append(faults, fmt.Sprintf("%s must never reach %s: %s", prefix, b, strings.Join(way, " -> ")))
					}
				}
			}
		}
	}
	return faults
}

// longest is the longest of the keys that a package lies below: the rule for it.
func longest(never map[string]string, pkg string) (prefix string) {
	for key := range never {
		if within(pkg, key) && len(key) > len(prefix) {
			prefix = key
		}
	}
	return prefix
}

// ways gives one way from a package to each that it reaches.
func ways(tree map[string]pkg, from string) [][]string {
	var all [][]string
	seen := map[string]bool{from: true}
	queue := [][]string{{from}}
	for len(queue) > 0 {
		way := queue[0]
		queue = queue[1:]
		for _, path := range slices.Sorted(maps.Keys(tree[way[len(way)-1]].imports)) {
			if seen[path] {
				continue
			}
			seen[path] = true
			next := append(slices.Clone(way), path)
			all = append(all, next)
			queue = append(queue, next)
		}
	}
	return all
}

// checkOnlyBy looks for importers of what is reserved for others.
func checkOnlyBy(tree map[string]pkg, onlyBy map[string]string) (faults []string) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		for path, file := range tree[name].imports {
			for reserved, by := range onlyBy {
				inside := isOwn(path) && path != reserved || within(name, reserved)
				if !inside && within(path, reserved) && !slices.Contains(strings.Fields(by), name) {
					faults = append(faults, fmt.Sprintf("%s: %s imports %s, which is reserved for %q", name, file, path, by))
				}
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// within says whether path is prefix or lies below it.
func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
