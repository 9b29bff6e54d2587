package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The lines between which a report stands in a document that says more.
const (
	spliceBegin = "<!-- begin: linklab bench -->\n"
	spliceEnd   = "<!-- end: linklab bench -->\n"
)

// splice puts a report into a document: between its marks if it has them, else
// in the place of all of it.
func splice(document, report string) string {
	before, rest, ok := strings.Cut(document, spliceBegin)
	if !ok {
		return report
	}
	_, after, ok := strings.Cut(rest, spliceEnd)
	if !ok {
		return report
	}
	return before + spliceBegin + report + spliceEnd + after
}

// spliceFile does so with a file, which need not be there. What it says besides stays
// until all of the new text is beside it: the disk may be full.
func spliceFile(path, report string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("report: %w", err)
	}
	if err := replace(path, []byte(splice(string(old), report))); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// replace writes the text beside a file and puts it in its place. What is no file, a
// link for instance, and what others' directories hold is written in place.
func replace(path string, text []byte) error {
	mode := fs.FileMode(0o644)
	switch info, err := os.Lstat(path); {
	case err == nil && !info.Mode().IsRegular():
		return os.WriteFile(path, text, mode)
	case err == nil:
		mode = info.Mode().Perm()
	}
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	err := os.WriteFile(beside, text, mode)
	if errors.Is(err, fs.ErrPermission) {
		return os.WriteFile(path, text, mode)
	}
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		_ = os.Remove(beside) // the first error counts
	}
	return err
}
