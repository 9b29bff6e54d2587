package scheduler

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestHeuristicsHaveARow: what can be switched off has a row in docs/scheduler.md, which says
// what it is worth, and the other way round.
func TestHeuristicsHaveARow(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var switches []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`without\("([a-z-]+)"\)`).FindAllSubmatch(text, -1) {
			switches = append(switches, string(m[1]))
		}
	}
	page, err := os.ReadFile("../../docs/scheduler.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllSubmatch(page, -1) {
		rows = append(rows, string(m[1]))
	}
	slices.Sort(switches)
	slices.Sort(rows)
	if switches = slices.Compact(switches); !slices.Equal(switches, rows) {
		t.Errorf("docs/scheduler.md has rows for %q; switches there are for %q", rows, switches)
	}
}
