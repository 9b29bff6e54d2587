package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

// runOnce gets b as a job of one file in dir would, and gives its name.
func runOnce(t *testing.T, to Target, id identity.Identity, b testbody.Body) string {
	t.Helper()
	run := NewRun(to.Dir)
	defer run.Close()
	to.Rerun, to.Run = true, run
	f := open(t, to, rerunURL)
	err := f.Begin(id)
	if errors.Is(err, ErrLeft) {
		if was, _, _ := f.Resume(); differ(was, id) {
			must(t, f.Restart())
		}
		err = f.Begin(id)
	}
	must(t, err)
	if !f.Whole() {
		write(t, f, b, ranges(0, b.Size)[0])
	}
	name, err := f.Commit(CommitOptions{Size: b.Size})
	must(t, err)
	return filepath.Base(name)
}

// TestRerunSeesANewETag of a server that tells no date, whose object has the same size.
func TestRerunSeesANewETag(t *testing.T) {
	a, b := testbody.Body{Size: 3000, Seed: 1}, testbody.Body{Size: 3000, Seed: 2}
	for name, c := range map[string]struct {
		first, second identity.Identity
		theirs        bool // the first was another program's
		want          string
	}{
		"new":                  {identity.Identity{Size: 3000, ETag: `"a"`}, identity.Identity{Size: 3000, ETag: `"b"`}, false, "x.1"},
		"the same":             {identity.Identity{Size: 3000, ETag: `"a"`}, identity.Identity{Size: 3000, ETag: `"a"`}, false, "x"},
		"new, weak":            {identity.Identity{Size: 3000, ETag: `W/"a"`}, identity.Identity{Size: 3000, ETag: `W/"b"`}, false, "x.1"},
		"weak now":             {identity.Identity{Size: 3000, ETag: `"a"`}, identity.Identity{Size: 3000, ETag: `W/"a"`}, false, "x"},
		"none then":            {identity.Identity{Size: 3000}, identity.Identity{Size: 3000, ETag: `"b"`}, false, "x"},
		"none now":             {identity.Identity{Size: 3000, ETag: `"a"`}, identity.Identity{Size: 3000}, false, "x"},
		"a date that is none":  {identity.Identity{Size: 3000, ETag: `"a"`, LastModified: "0"}, identity.Identity{Size: 3000, ETag: `"b"`, LastModified: "0"}, false, "x.1"},
		"the same date":        {identity.Identity{Size: 3000, ETag: `"a"`, LastModified: changedAt}, identity.Identity{Size: 3000, ETag: `"b"`, LastModified: changedAt}, false, "x"},
		"of another program's": {identity.Identity{}, identity.Identity{Size: 3000, ETag: `"b"`}, true, "x"},
	} {
		for _, sub := range []string{"", "sub"} {
			for _, goOn := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %q, %v", name, sub, goOn), func(t *testing.T) {
					to := Target{Dir: t.TempDir(), Sub: sub, Continue: goOn}
					if c.theirs {
						must(t, os.MkdirAll(filepath.Join(to.Dir, sub), 0o755))
						put(t, filepath.Join(to.Dir, sub, "x"), bodyString(t, a))
					} else if got := runOnce(t, to, c.first, a); got != "x" {
						t.Fatalf("the first became %s", got)
					}
					for range 2 {
						if got := runOnce(t, to, c.second, b); got != c.want {
							t.Errorf("the second became %s", got)
						}
					}
					if content(t, to.Dir, sub, "x") != bodyString(t, a) {
						t.Error("x has changed")
					}
					if c.want == "x.1" && content(t, to.Dir, sub, "x.1") != bodyString(t, b) {
						t.Error("x.1 is not the second")
					}
				})
			}
		}
	}
}

// TestNoFinishedListWithoutNeed: where servers tell dates, a job leaves nothing but its files.
func TestNoFinishedListWithoutNeed(t *testing.T) {
	b := testbody.Body{Size: 3000, Seed: 1}
	to := Target{Dir: t.TempDir()}
	runOnce(t, to, identity.Identity{Size: 3000, ETag: `"a"`, LastModified: changedAt}, b)
	runOnce(t, Target{Dir: to.Dir, Name: "y"}, identity.Identity{Size: 3000}, b)
	wantNames(t, to.Dir, "x", "y")
}

// TestFinishedListIsNotTrusted: the list may hold anything, be another user's, or be in use. A
// file is never taken for complete because of it, and foreign files are left alone.
func TestFinishedListIsNotTrusted(t *testing.T) {
	a, b := testbody.Body{Size: 3000, Seed: 1}, testbody.Body{Size: 3000, Seed: 2}
	line := `{"name":"x","size_bytes":3000,"etag":"\"a\""}` + "\n"
	for name, c := range map[string]struct {
		text string
		want string // what becomes of an object with the ETag "b"
		kept bool   // the file is left as it is
	}{
		"right":                    {finishedHead + line, "x.1", false},
		"half a line at the end":   {finishedHead + line + `{"name":"y","si`, "x.1", false},
		"damage in the middle":     {finishedHead + "\x00\xff\n[]\n{}\n" + line, "x.1", false},
		"another version":          {`{"mlget_finished":2}` + "\n" + line, "x", true},
		"somebody's":               {"precious\n" + line, "x", true},
		"without an end":           {finishedHead + strings.Repeat(line, 1000) + strings.Repeat("z", maxJournal), "x.1", false},
		"the latest of a name":     {finishedHead + strings.ReplaceAll(line, "a", "c") + line, "x.1", false},
		"of another size":          {finishedHead + strings.ReplaceAll(line, "3000", "2999"), "x.1", false},
		"a negative size":          {finishedHead + strings.ReplaceAll(line, "3000", "-1"), "x", false},
		"an endless ETag":          {finishedHead + strings.ReplaceAll(line, "a\\", strings.Repeat("a", 2000)+"\\"), "x", false},
		"of the object's own ETag": {finishedHead + strings.ReplaceAll(line, `\"a\"`, `\"b\"`), "x", false},
		"a directory":              {"", "x", true},
		"a link":                   {"", "x", true},
	} {
		t.Run(name, func(t *testing.T) {
			to := Target{Dir: t.TempDir()}
			path := filepath.Join(to.Dir, finishedName)
			put(t, filepath.Join(to.Dir, "x"), bodyString(t, a))
			switch name {
			case "a directory":
				must(t, os.Mkdir(path, 0o755))
			case "a link":
				put(t, filepath.Join(to.Dir, "z"), finishedHead+line)
				must(t, os.Symlink("z", path))
			default:
				put(t, path, c.text)
			}
			before := tree(t, to.Dir)
			if got := runOnce(t, to, identity.Identity{Size: 3000, ETag: `"b"`}, b); got != c.want {
				t.Errorf("it became %s", got)
			}
			now := tree(t, to.Dir)
			if kept := now[path] == before[path]; c.kept && !kept {
				t.Error("the file was changed")
			}
			delete(before, path)
			delete(now, path)
			delete(now, filepath.Join(to.Dir, "x.1"))
			if !maps.Equal(before, now) {
				t.Errorf("there are %d files, and were %d", len(now), len(before))
			}
			if !c.kept {
				if _, lines := decodeFinished([]byte(content(t, path))); lines < 0 || lines > 100 {
					t.Errorf("it has %d lines", lines)
				}
			}
		})
	}
}

// TestTwoRunsRememberAtOnce: one of them does, and the other goes by sizes.
func TestTwoRunsRememberAtOnce(t *testing.T) {
	dir := t.TempDir()
	b := testbody.Body{Size: 3000, Seed: 1}
	var runs []*Run
	for n := range 2 {
		run := newRun(t, dir)
		runs = append(runs, run)
		f := open(t, Target{Dir: dir, Name: fmt.Sprint("x", n), Rerun: true, Run: run}, rerunURL)
		getAll(t, f, identity.Identity{Size: 3000, ETag: `"a"`}, b)
	}
	for _, run := range runs {
		run.Close()
	}
	of, lines := decodeFinished([]byte(content(t, dir, finishedName)))
	if len(of) != 1 || of["x0"].ETag != `"a"` || lines != 2 {
		t.Errorf("%v in %d lines", of, lines)
	}
	wantNames(t, dir, finishedName, "x0", "x1")
}

// TestFinishedListOfAnotherUser is neither believed nor written to.
func TestFinishedListOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	to := Target{Dir: t.TempDir()}
	a := testbody.Body{Size: 3000, Seed: 1}
	path := filepath.Join(to.Dir, finishedName)
	put(t, filepath.Join(to.Dir, "x"), bodyString(t, a))
	put(t, path, finishedHead+`{"name":"x","size_bytes":3000,"etag":"\"a\""}`+"\n")
	must(t, os.Chown(path, 1234, 1234))
	before := content(t, path)
	if got := runOnce(t, to, identity.Identity{Size: 3000, ETag: `"b"`}, a); got != "x" {
		t.Errorf("it became %s", got)
	}
	if content(t, path) != before {
		t.Error("it was written to")
	}
}

func FuzzDecodeFinished(f *testing.F) {
	for _, s := range []string{
		"", finishedHead, finishedHead + `{"name":"x","size_bytes":1,"etag":"\"a\""}`, "{}\n", finishedHead + "\x00\n\n{",
		finishedHead + `{"name":"\ud800","size_bytes":1e3,"etag":"a"}` + "\n", finishedHead + `{"name":"x","size_bytes":9223372036854775808,"etag":"a"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		of, lines := decodeFinished(b)
		if lines < len(of) && lines >= 0 || lines < 0 && len(of) > 0 {
			t.Fatalf("%d names of %d lines", len(of), lines)
		}
		for name, l := range of {
			if name != l.Name || name == "" || l.Size < 0 || l.ETag == "" || len(l.ETag) > maxValidator {
				t.Fatalf("%q: %+v", name, l)
			}
		}
		if lines < 0 {
			return
		}
		w, err := os.CreateTemp(t.TempDir(), "")
		must(t, err)
		defer w.Close() //nolint:errcheck // it is only a test's
		n, err := rewriteFinished(w, of)
		must(t, err)
		again, lines := decodeFinished([]byte(content(t, w.Name())))
		if !maps.Equal(of, again) || lines != len(of)+1 {
			t.Fatalf("%d bytes say %v, and were written for %v", n, again, of)
		}
	})
}
