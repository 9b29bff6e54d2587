package store

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mlget/mlget/internal/identity"
)

// TestBriefLacks: of a directory it is known what is not there, whatever what is there may be.
func TestBriefLacks(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	d, err := openDirectory(dir)
	must(t, err)
	defer d.close()
	if d.brief == nil {
		t.Skip("the runtime is told of every call here")
	}
	for name, want := range map[string]bool{
		"file": false, "dir": false, "link": false, ".": false, "none": true, "a\x00b": false,
		string(make([]byte, 5000)): false,
	} {
		if got := d.brief.lacks(name); got != want {
			t.Errorf("%.20q: %v", name, got)
		}
		if _, err := d.lstat(name); os.IsNotExist(err) != want {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// TestFilesMadeAhead: of the files that a run makes ahead each is a download's own, nothing of
// them is seen, and those that are left over are closed in the end. A process that may have
// few descriptors makes none.
func TestFilesMadeAhead(t *testing.T) {
	for _, ahead := range []bool{true, false} {
		dir := t.TempDir()
		before := len(descriptors(t))
		r := NewRun(dir)
		r.spares = ahead
		var open []*File
		for i := range 3 {
			f, err := Open(Target{Dir: dir, Name: strconv.Itoa(i), Rerun: true, Run: r}, &url.URL{Scheme: "http", Host: "h", Path: "/" + strconv.Itoa(i)})
			must(t, err)
			if !f.nameless {
				t.Skip("files have names from the beginning here")
			}
			must(t, f.Begin(identity.Identity{Size: 1}))
			_, err = f.WriteAt([]byte{'0' + byte(i)}, 0)
			must(t, err)
			open = append(open, f)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%v, %v", entries, err)
		}
		if n := len(open[0].dir.spares); ahead != (n > 0) {
			t.Errorf("%d were made ahead", n)
		}
		for i, f := range open {
			name, err := f.Commit(CommitOptions{Size: 1})
			must(t, err)
			if b, err := os.ReadFile(name); err != nil || string(b) != strconv.Itoa(i) {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
		r.Close()
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
			t.Errorf("%v, %v", entries, err)
		}
		if n := len(descriptors(t)); n != before {
			t.Errorf("%d descriptors, %d before", n, before)
		}
	}
}

func descriptors(t *testing.T) []fs.DirEntry {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return fds
}
