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
		"rerun, found late":     {func(dir string) Target { return Target{Dir: dir, Rerun: true, Late: true} }, rerunURL, []string{"x"}},
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

// TestOwnJournalWithoutDescriptor: where no descriptor is left to read a journal, it is known as the one
// that was written by its number, size and time, and another one in its place is not.
func TestOwnJournalWithoutDescriptor(t *testing.T) {
	dir := t.TempDir()
	f := open(t, Target{Dir: dir}, rerunURL)
	defer f.Close() //nolint:errcheck // nothing was written
	must(t, f.Begin(identity.Identity{Size: 3000}))
	path := filepath.Join(dir, "x.part.json")
	look := func() os.FileInfo {
		t.Helper()
		there, err := os.Lstat(path)
		must(t, err)
		return there
	}
	if !f.written.looksLike(look()) {
		t.Error("the journal that was written is not known")
	}
	text, err := os.ReadFile(path)
	must(t, err)
	at := look().ModTime()
	must(t, os.Rename(path, path+".kept"))
	put(t, path, string(text))
	must(t, os.Chtimes(path, at, at))
	if f.written.looksLike(look()) {
		t.Error("a copy in its place is taken for it")
	}
	must(t, os.Rename(path+".kept", path))
	must(t, os.Chtimes(path, changed(), changed()))
	if f.written.looksLike(look()) {
		t.Error("one that was changed since is taken for it")
	}
}
