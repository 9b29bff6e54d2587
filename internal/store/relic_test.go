package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestJournalBesideAWholeFile: a run that is killed after it has given the file its name leaves
// the journal. The next run, which finds the file whole, removes that one and no other.
func TestJournalBesideAWholeFile(t *testing.T) {
	b := testbody.Body{Size: 3000, Seed: 1}
	id := identity.Identity{Size: 3000, LastModified: changedAt}
	for name, c := range map[string]struct {
		target func(dir string) Target
		url    string
		names  []string
	}{
		"rerun":                 {rerun, rerunURL, []string{"x"}},
		"rerun, continued":      {func(dir string) Target { return Target{Dir: dir, Rerun: true, Continue: true} }, rerunURL, []string{"x"}},
		"continued":             {func(dir string) Target { return Target{Dir: dir, Continue: true} }, rerunURL, []string{"x"}},
		"of another URL":        {rerun, "http://other/x", []string{"x", "x.part.json"}},
		"of another, continued": {func(dir string) Target { return Target{Dir: dir, Continue: true} }, "http://other/x", []string{"x", "x.part.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, Target{Dir: dir}, rerunURL)
			must(t, f.Begin(id))
			write(t, f, b, scheduler.Range{End: b.Size})
			must(t, f.Checkpoint([]scheduler.Range{{End: b.Size}}))
			journal, err := os.ReadFile(filepath.Join(dir, "x.part.json"))
			must(t, err)
			_, err = f.Commit(CommitOptions{Size: b.Size, ModTime: changed()})
			must(t, err)
			put(t, filepath.Join(dir, "x.part.json"), string(journal))

			again := open(t, c.target(dir), c.url)
			must(t, again.Begin(id))
			if !again.Whole() {
				write(t, again, b, scheduler.Range{End: b.Size})
			}
			_, err = again.Commit(CommitOptions{Size: b.Size})
			must(t, err)
			wantNames(t, dir, c.names...)
			if content(t, filepath.Join(dir, "x")) != bodyString(t, b) {
				t.Error("these are other bytes")
			}
		})
	}
}
