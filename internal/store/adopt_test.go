package store

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/identity"
)

// theirs puts the first n bytes of the body at dir/x, as another tool would.
func theirs(t *testing.T, n int) (dir string, to Target) {
	t.Helper()
	dir = t.TempDir()
	put(t, filepath.Join(dir, "x"), bodyString(t, body)[:n])
	return dir, Target{Dir: dir, Continue: true}
}

func TestContinueAnotherToolsFile(t *testing.T) {
	dir, to := theirs(t, 300)
	f := open(t, to, hereURL)
	id, done, ok := f.Resume()
	if !ok || id != (identity.Identity{Size: -1}) || len(done) != 1 || done[0] != ranges(0, 300)[0] {
		t.Fatalf("%+v %v %v", id, done, ok)
	}
	wantNames(t, dir, "x")
	must(t, f.Begin(object))
	wantNames(t, dir, "x.part", "x.part.json")
	write(t, f, body, ranges(300, 500)[0])
	must(t, f.Suspend(ranges(0, 500)))

	to.Continue = false // from here on it is a download like any other
	f = open(t, to, hereURL)
	id, done, _ = f.Resume()
	if id != object || len(done) != 1 || done[0].End != 500 {
		t.Fatalf("%+v %v", id, done)
	}
	must(t, f.Begin(object))
	write(t, f, body, ranges(500, 1000)[0])
	name, err := f.Commit(CommitOptions{Size: 1000})
	must(t, err)
	wantNames(t, dir, "x")
	if content(t, name) != bodyString(t, body) {
		t.Fatal("wrong bytes")
	}
}

// TestContinueBesideNAME: a loss of power may leave both names of a rename. A NAME
// that has the same bytes is not joined by a NAME.1, and one with others stays.
func TestContinueBesideNAME(t *testing.T) {
	for there, want := range map[string][]string{
		bodyString(t, body): {"x"},
		strings.Repeat("another's ", len(bodyString(t, body))/10): {"x", "x.1"},
	} {
		dir, to := theirs(t, 300)
		f := open(t, to, hereURL)
		must(t, f.Begin(object))
		must(t, f.Suspend(ranges(0, 300)))
		put(t, filepath.Join(dir, "x"), there)

		f = open(t, to, hereURL)
		must(t, f.Begin(object))
		write(t, f, body, ranges(300, 1000)[0])
		name, err := f.Commit(CommitOptions{Size: 1000})
		must(t, err)
		wantNames(t, dir, want...)
		if filepath.Base(name) != want[len(want)-1] || content(t, name) != bodyString(t, body) || content(t, filepath.Join(dir, "x")) != there {
			t.Errorf("%s, and x is %.20q", name, content(t, filepath.Join(dir, "x")))
		}
	}
}

func TestContinueACompleteFile(t *testing.T) {
	dir, to := theirs(t, 1000)
	f := open(t, to, hereURL)
	must(t, f.Begin(object))
	must(t, f.Checkpoint(ranges(0, 1000)))
	name, err := f.Commit(CommitOptions{Size: 1000})
	must(t, err)
	if name != filepath.Join(dir, "x") {
		t.Fatal(name)
	}
	wantNames(t, dir, "x")

	f = open(t, to, hereURL) // a checksum that does not match
	must(t, f.Begin(object))
	wantStandsInTheWay(t, f.Reject(), ErrStands, filepath.Join(dir, "x"))
	wantNames(t, dir, "x")
	if content(t, dir, "x") != bodyString(t, body) {
		t.Fatal("the file was changed")
	}
}

// Whatever happens, the bytes that were there are still somewhere.
func TestContinueLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		act   func(*File) error
		err   error
		where string
	}{
		"no answer":            {(*File).Close, nil, "x"},
		"no answer, suspended": {func(f *File) error { return f.Suspend(nil) }, nil, "x"},
		"shorter object":       {func(f *File) error { return f.Begin(identity.Identity{Size: 299}) }, ErrChanged, "x"},
		"start over":           {(*File).Restart, ErrKeep, "x"},
		"begun":                {func(f *File) error { return errors.Join(f.Begin(object), f.Close()) }, nil, "x.part"},
		"begun, suspended":     {func(f *File) error { return errors.Join(f.Begin(object), f.Suspend(nil)) }, nil, "x.part"},
		"begun, rejected":      {func(f *File) error { return errors.Join(f.Begin(object), f.Reject()) }, ErrKeep, "x.part"},
		"begun, start over":    {func(f *File) error { return errors.Join(f.Begin(object), f.Restart()) }, ErrKeep, "x.part"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, to := theirs(t, 300)
			f := open(t, to, hereURL)
			err := c.act(f)
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if c.err == ErrKeep { //nolint:errorlint // it is the table's
				wantStandsInTheWay(t, err, ErrKeep, filepath.Join(dir, c.where))
			}
			must(t, f.Close())
			if content(t, dir, c.where) != bodyString(t, body)[:300] {
				t.Fatal("the bytes changed")
			}
			if c.where == "x" {
				wantNames(t, dir, "x")
				return
			}
			// Nor does a later run throw them away by itself.
			f = open(t, Target{Dir: dir}, hereURL)
			wantStandsInTheWay(t, f.Restart(), ErrKeep, filepath.Join(dir, "x.part"))
			must(t, f.Close())
			if _, err := Open(Target{Dir: dir, Name: "x", Explicit: true}, parse(t, otherURL)); !errors.Is(err, ErrKeep) {
				t.Fatalf("another URL: %v", err)
			}
		})
	}
}

func TestRejectedAdoptionIsNotEmptied(t *testing.T) {
	dir, to := theirs(t, 300)
	f := open(t, to, hereURL)
	must(t, f.Begin(object))
	wantStandsInTheWay(t, f.Reject(), ErrKeep, filepath.Join(dir, "x.part"))
	f = open(t, to, hereURL)
	wantStandsInTheWay(t, f.Begin(object), ErrKeep, filepath.Join(dir, "x.part"))
	if content(t, dir, "x.part") != bodyString(t, body)[:300] {
		t.Fatal("the bytes changed")
	}
}

// wantStandsInTheWay: err is why, and names the file that is in the way.
func wantStandsInTheWay(t *testing.T, err, why error, path string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, why) || e.Path != path {
		t.Fatalf("%v, want %v of %s", err, why, path)
	}
}

// A crash after the journal was written and before NAME was renamed.
func TestAdoptionInterruptedHalfway(t *testing.T) {
	dir, to := theirs(t, 300)
	f := open(t, to, hereURL)
	must(t, f.Begin(object))
	must(t, f.Close())
	must(t, os.Rename(filepath.Join(dir, "x.part"), filepath.Join(dir, "x")))

	f = open(t, to, hereURL)
	if _, done, _ := f.Resume(); len(done) != 1 || done[0].End != 300 {
		t.Fatal(done)
	}
	must(t, f.Close())
	f = open(t, Target{Dir: dir}, hereURL)
	if f.Name() != filepath.Join(dir, "x.1") {
		t.Fatal(f.Name())
	}
}

// Before the server answers, another program may save another file under the name, as editors
// and rsync do. It is not taken for the one that was there.
func TestAdoptedNameIsReplaced(t *testing.T) {
	const saved = "somebody has just saved this"
	for _, n := range []int{300, int(object.Size)} {
		dir, to := theirs(t, n)
		f := open(t, to, hereURL)
		put(t, filepath.Join(dir, "new"), saved)
		must(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "x")))
		wantStandsInTheWay(t, f.Begin(object), ErrReplaced, filepath.Join(dir, "x"))
		must(t, f.Close())
		wantNames(t, dir, "x")
		if got := content(t, dir, "x"); got != saved {
			t.Errorf("of %d bytes: %q", n, got)
		}
	}
}

// Another mlget, to which -o named it, has begun meanwhile: its journal stays.
func TestAdoptedNameIsBegunByAnother(t *testing.T) {
	dir, to := theirs(t, 300)
	f := open(t, to, hereURL)
	other := open(t, Target{Dir: dir, Name: "x", Explicit: true}, otherURL)
	must(t, other.Begin(object))
	write(t, other, body, ranges(0, 400)[0])
	must(t, other.Checkpoint(ranges(0, 400)))
	before := tree(t, dir)
	wantStandsInTheWay(t, f.Begin(object), fs.ErrExist, filepath.Join(dir, "x.part"))
	must(t, f.Close())
	if now := tree(t, dir); !maps.Equal(now, before) {
		t.Errorf("there are %q, and were %q", now, before)
	}
}

// -c with a journal of another URL is for signed URLs that were renewed; if
// the object is another one, the other download is not thrown away.
func TestContinueFromAnotherURL(t *testing.T) {
	dir := t.TempDir()
	interrupted(t, Target{Dir: dir}, otherURL)
	to := Target{Dir: dir, Continue: true}
	f := open(t, to, hereURL)
	if err := f.Restart(); !errors.Is(err, ErrKeep) {
		t.Fatal(err)
	}
	must(t, f.Begin(object))
	must(t, f.Suspend(ranges(0, 400)))
	to.Continue = false
	if _, _, ok := open(t, to, hereURL).Resume(); !ok {
		t.Fatal("it did not become the new URL's")
	}
}
