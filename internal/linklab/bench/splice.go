package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mlget/mlget/internal/rewrite"
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
	if err := rewrite.File(path, []byte(splice(string(old), report))); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
