package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// spliceFile does so with a file, which need not be there.
func spliceFile(path, report string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("report: %w", err)
	}
	if err := os.WriteFile(path, []byte(splice(string(old), report)), 0o644); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
