package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mlget/mlget/internal/identity"
)

// TestReplace: a file that was there is replaced when every byte of the new one is there, and
// keeps its mode; what is no file, or another URL's of the same run, is left alone.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	fetch := func(t *testing.T, to Target, url string) string {
		t.Helper()
		f := open(t, to, url)
		must(t, f.Begin(identity.Identity{Size: body.Size, ETag: `"e"`}))
		write(t, f, body, ranges(0, body.Size)[0])
		if b, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(b) != "old" {
			t.Errorf("before the end there is %d bytes, %v", len(b), err)
		}
		name, err := f.Commit(CommitOptions{Size: body.Size})
		must(t, err)
		return name
	}
	x := filepath.Join(dir, "x")
	put(t, x, "old")
	must(t, os.Chmod(x, 0o640))
	if name := fetch(t, Target{Dir: dir, Replace: true}, hereURL); name != x || content(t, x) != bodyString(t, body) {
		t.Errorf("saved as %s", name)
	}
	if fi, err := os.Stat(x); err != nil || fi.Mode().Perm()&0o777 != 0o640 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	wantNames(t, dir, "x")

	put(t, x, "old")
	r := NewRun(dir)
	defer r.Close()
	fi, err := os.Lstat(x)
	must(t, err)
	r.take(x, fi, originOf(parse(t, hereURL)))
	if name := fetch(t, Target{Dir: dir, Name: "x", Replace: true, Run: r}, "http://h.org/other"); name != x+".1" {
		t.Errorf("another URL's is saved as %s", name)
	}
	must(t, os.Remove(x+".1"))

	must(t, os.Remove(x))
	put(t, filepath.Join(dir, "theirs"), "old")
	t.Run("link", func(t *testing.T) {
		if os.Symlink("theirs", x) != nil {
			t.Skip("links are for some here only")
		}
		if name := fetch(t, Target{Dir: dir, Replace: true}, hereURL); name != x+".1" || content(t, filepath.Join(dir, "theirs")) != "old" {
			t.Errorf("a link is replaced: %s", name)
		}
	})
}
