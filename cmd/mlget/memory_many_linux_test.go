package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMemoryOfManyURLs: of each URL of a list less than 1 KB is kept, whatever
// becomes of it; here, that it does not exist, which takes no time.
func TestMemoryOfManyURLs(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	peak := func(urls int) int64 {
		var list strings.Builder
		for i := range urls {
			fmt.Fprintf(&list, "%s/none/some/directory/of/files/file-%08d.html\n", s.clear.URL, i)
		}
		name := fmt.Sprint(urls, ".txt")
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(list.String()), 0o600))
		mlget(t, dir, "-P", "out", "-i", name, "--report", "r.json").want(t, 8, fmt.Sprintf("and %d more that failed", urls-20))
		r := readReport(t, filepath.Join(dir, "r.json"))
		if r.FilesTotal != urls || len(r.Files) != urls || r.FilesDone != 0 {
			t.Fatalf("%d of %d files, %d in the report", r.FilesDone, r.FilesTotal, len(r.Files))
		}
		return r.MaxRSSBytes
	}
	const few, many = 500, 20_000
	before := peak(few)
	each := (peak(many) - before) / (many - few)
	t.Logf("%d bytes a URL", each)
	if each > 1024+256 { // the peak of a run varies by some megabytes
		t.Errorf("%d bytes are kept of each URL", each)
	}
}
