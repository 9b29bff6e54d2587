package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestNoFileIsTwoURLs: what this run has just saved, or found, is of the size and the time of
// another URL's object, and called as that is to be. Of that one all is fetched.
func TestNoFileIsTwoURLs(t *testing.T) {
	id := identity.Identity{Size: 3000, LastModified: changedAt}
	a, b := testbody.Body{Size: 3000, Seed: 1}, testbody.Body{Size: 3000, Seed: 2}
	for name, there := range map[string]time.Time{"saved": {}, "found": changed(), "found by its bytes": changed().Add(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			to := rerun(dir)
			if to.Run = newRun(t, dir); !there.IsZero() {
				put(t, filepath.Join(dir, "x"), bodyString(t, a))
				must(t, os.Chtimes(filepath.Join(dir, "x"), time.Time{}, there))
			}
			if got := getAll(t, open(t, to, "http://h/a/x"), id, a); got != "x" {
				t.Fatal(got)
			}
			if got := getAll(t, open(t, to, "http://h/b/x"), id, b); got != "x.1" {
				t.Error(got)
			}
			again := open(t, to, "http://h/a/x") // a list may name it twice
			if must(t, again.Begin(id)); !again.Whole() || filepath.Base(again.Name()) != "x" {
				t.Errorf("%s is fetched again", again.Name())
			}
			must(t, again.Close())
			for name, b := range map[string]testbody.Body{"x": a, "x.1": b} {
				if content(t, filepath.Join(dir, name)) != bodyString(t, b) {
					t.Errorf("%s is another's", name)
				}
			}
		})
	}
}

// TestContinueLeavesWhatThisRunSaved: -c goes on with a NAME that is there, but not with another
// URL's of the same run.
func TestContinueLeavesWhatThisRunSaved(t *testing.T) {
	dir := t.TempDir()
	to := rerun(dir)
	to.Continue, to.Run = true, newRun(t, dir)
	a, b := testbody.Body{Size: 3000, Seed: 1}, testbody.Body{Size: 5000, Seed: 2}
	if got := getAll(t, open(t, to, "http://h/a/x"), identity.Identity{Size: a.Size}, a); got != "x" {
		t.Fatal(got)
	}
	if got := getAll(t, open(t, to, "http://h/b/x"), identity.Identity{Size: b.Size}, b); got != "x.1" {
		t.Error(got)
	}
	if content(t, filepath.Join(dir, "x")) != bodyString(t, a) {
		t.Error("x is not what it was")
	}
}

// TestTwoRunsAtOnceLeaveOneFile, though each has had a name and a journal for it.
func TestTwoRunsAtOnceLeaveOneFile(t *testing.T) {
	dir := t.TempDir()
	b := testbody.Body{Size: 3000, Seed: 1}
	id := identity.Identity{Size: b.Size}
	first := open(t, rerun(dir), rerunURL)
	second, err := Open(rerun(dir), parse(t, rerunURL))
	if err != nil {
		t.Skip("here the second is told that the first is at work:", err)
	}
	for _, f := range []*File{first, second} {
		must(t, f.Begin(id))
		write(t, f, b, scheduler.Range{End: b.Size})
		must(t, f.Checkpoint([]scheduler.Range{{End: b.Size}}))
	}
	for _, f := range []*File{first, second} {
		name, err := f.Commit(CommitOptions{Size: b.Size})
		must(t, err)
		if filepath.Base(name) != "x" {
			t.Errorf("%s", name)
		}
	}
	wantNames(t, dir, "x")
}

// newRun is closed when the test ends.
func newRun(t *testing.T, dir string) *Run {
	t.Helper()
	r := NewRun(dir)
	t.Cleanup(r.Close)
	return r
}
