package store

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	rerunURL  = "http://h/x"
	changedAt = "Thu, 29 Feb 2024 12:00:00 GMT"
)

func changed() time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC) }

func rerun(dir string) Target { return Target{Dir: dir, Rerun: true} }

// getAll gets all of b as identity says and commits it.
func getAll(t *testing.T, f *File, id identity.Identity, b testbody.Body) string {
	t.Helper()
	must(t, f.Begin(id))
	if !f.Whole() {
		write(t, f, b, scheduler.Range{End: b.Size})
	}
	name, err := f.Commit(CommitOptions{Size: b.Size})
	must(t, err)
	return filepath.Base(name)
}

// What is there already, and what becomes of it in a rerun.
func TestRerun(t *testing.T) {
	b := testbody.Body{Size: 3000, Seed: 1}
	other := testbody.Body{Size: 3000, Seed: 2}
	id := identity.Identity{Size: 3000, ETag: `"e"`, LastModified: changedAt}
	untold := identity.Identity{Size: 3000}
	unsized := identity.Identity{Size: -1, LastModified: changedAt}
	file := func(name string, b testbody.Body, at time.Time) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, name), bodyString(t, b))
			must(t, os.Chtimes(filepath.Join(dir, name), time.Time{}, at))
		}
	}
	both := func(all ...func(t *testing.T, dir string)) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			for _, f := range all {
				f(t, dir)
			}
		}
	}
	now := time.Now()
	for name, c := range map[string]struct {
		there    func(t *testing.T, dir string)
		id       identity.Identity
		standing bool
		whole    bool
		want     string
		names    []string
	}{
		"nothing":                {func(*testing.T, string) {}, id, false, false, "x", []string{"x"}},
		"same size and time":     {file("x", b, changed()), id, true, true, "x", []string{"x"}},
		"time of a FAT":          {file("x", b, changed().Add(time.Second)), id, true, true, "x", []string{"x"}},
		"same size, other time":  {file("x", other, now), id, true, false, "x.1", []string{"x", "x.1"}},
		"same bytes, other time": {file("x", b, now), id, true, false, "x", []string{"x"}},
		"other size":             {file("x", testbody.Body{Size: 2999}, changed()), id, true, false, "x.1", []string{"x", "x.1"}},
		"no time told":           {file("x", b, now), untold, true, true, "x", []string{"x"}},
		"no size told":           {file("x", b, now), unsized, true, false, "x", []string{"x"}},
		"no size told, another":  {file("x", other, now), unsized, true, false, "x.1", []string{"x", "x.1"}},
		"under its number": {
			both(file("x", other, now), file("x.1", b, changed())), id, true, true, "x.1", []string{"x", "x.1"},
		},
		"a directory": {
			func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "x"), 0o700)) },
			id, false, false, "x.1",
			[]string{"x", "x.1"},
		},
		"a symbolic link to the same": {
			both(file("y", b, changed()), func(t *testing.T, dir string) { must(t, os.Symlink("y", filepath.Join(dir, "x"))) }),
			id, false, false, "x.1",
			[]string{"x", "x.1", "y"},
		},
		"somebody's .part beside": {
			both(file("x", other, now), file("x.1.part", other, now)), id, true, false, "x.2", []string{"x", "x.1.part", "x.2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.there(t, dir)
			before := names(t, dir)
			if there, _ := rerun(dir).Standing(parse(t, rerunURL)); there != c.standing {
				t.Fatalf("standing before it is opened: %v", there)
			}
			f := open(t, rerun(dir), rerunURL)
			if f.Standing() != c.standing {
				t.Fatalf("standing: %v", f.Standing())
			}
			if f.Standing() && name != "somebody's .part beside" {
				wantNames(t, dir, before...) // nothing was made before it was known
			}
			must(t, f.Begin(c.id))
			if f.Whole() != c.whole {
				t.Fatalf("whole: %v", f.Whole())
			}
			if !c.whole {
				write(t, f, b, scheduler.Range{End: b.Size})
			}
			got, err := f.Commit(CommitOptions{Size: b.Size})
			must(t, err)
			if filepath.Base(got) != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
			wantNames(t, dir, c.names...)
			if content(t, got) != bodyString(t, b) {
				t.Error("these are other bytes")
			}
			// Once more, and it is there.
			if c.id.Size >= 0 {
				again := open(t, rerun(dir), rerunURL)
				must(t, again.Begin(c.id))
				if !again.Whole() || again.Name() != got {
					t.Errorf("the next run: whole %v, %s", again.Whole(), again.Name())
				}
				must(t, again.Close())
			}
		})
	}
}

// A file about which only its bytes can tell.
func TestRerunLate(t *testing.T) {
	b := testbody.Body{Size: 3000, Seed: 1}
	id := identity.Identity{Size: 3000, LastModified: changedAt}
	for _, c := range []struct {
		seed uint64
		want string
		all  []string
	}{{1, "x", []string{"x"}}, {2, "x.1", []string{"x", "x.1"}}} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "x"), bodyString(t, testbody.Body{Size: 3000, Seed: c.seed}))
		f := open(t, Target{Dir: dir, Rerun: true, Late: true}, rerunURL)
		if f.Standing() {
			t.Error("it is to be found out late")
		}
		if got := getAll(t, f, id, b); got != c.want {
			t.Errorf("it is %s, want %s", got, c.want)
		}
		wantNames(t, dir, c.all...)
		again := open(t, rerun(dir), rerunURL) // which needs no late look
		must(t, again.Begin(id))
		if !again.Whole() {
			t.Error("the next run does not know it")
		}
	}
}

// Two runs of one job at the same time leave one file of each.
func TestRerunTwice(t *testing.T) {
	dir := t.TempDir()
	b, other := testbody.Body{Size: 3000, Seed: 1}, testbody.Body{Size: 3000, Seed: 2}
	var all []*File
	for _, body := range []testbody.Body{b, b, other} {
		f, err := Open(rerun(dir), parse(t, rerunURL))
		if err != nil {
			t.Skip("here the second is told that the first is at work:", err)
		}
		t.Cleanup(func() { _ = f.Close() })
		must(t, f.Begin(identity.Identity{Size: 3000, LastModified: changedAt}))
		write(t, f, body, scheduler.Range{End: 3000})
		all = append(all, f)
	}
	for i, want := range []string{"x", "x", "x.1"} {
		name, err := all[i].Commit(CommitOptions{Size: 3000})
		must(t, err)
		if filepath.Base(name) != want {
			t.Errorf("%d is %s, want %s", i, name, want)
		}
	}
	wantNames(t, dir, "x", "x.1")
}

// What is begun leaves nothing behind before there is something to record, and then
// it can be found again.
func TestRerunRecords(t *testing.T) {
	dir := t.TempDir()
	b := testbody.Body{Size: 3000, Seed: 1}
	id := identity.Identity{Size: 3000, LastModified: changedAt}
	f := open(t, rerun(dir), rerunURL)
	must(t, f.Begin(id))
	write(t, f, b, scheduler.Range{End: 1000})
	must(t, f.Suspend(nil))
	wantNames(t, dir)

	f = open(t, rerun(dir), rerunURL)
	must(t, f.Begin(id))
	write(t, f, b, scheduler.Range{End: 1000})
	must(t, f.Checkpoint(ranges(0, 1000)))
	wantNames(t, dir, "x.part", "x.part.json")
	if _, err := Open(rerun(dir), parse(t, rerunURL)); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one: %v", err)
	}
	write(t, f, b, scheduler.Range{Off: 1000, End: 2000})
	must(t, f.Suspend(ranges(0, 2000)))

	f = open(t, rerun(dir), rerunURL)
	if _, done, ok := f.Resume(); !ok || done[0].End != 2000 {
		t.Fatalf("resume: %v", done)
	}
	must(t, f.Begin(id))
	write(t, f, b, scheduler.Range{Off: 2000, End: 3000})
	_, err := f.Commit(CommitOptions{Size: 3000})
	must(t, err)
	wantNames(t, dir, "x")
	if content(t, dir, "x") != bodyString(t, b) {
		t.Error("these are other bytes")
	}
}

// A name that was taken meanwhile is left alone.
func TestRerunRecordsElsewhere(t *testing.T) {
	dir := t.TempDir()
	id := identity.Identity{Size: 3000, LastModified: changedAt}
	f := open(t, rerun(dir), rerunURL)
	must(t, f.Begin(id))
	if !slices.Equal(names(t, dir), nil) {
		t.Skip("files have names from the start here")
	}
	put(t, filepath.Join(dir, "x"), "theirs")
	put(t, filepath.Join(dir, "x.1.part"), "theirs")
	put(t, filepath.Join(dir, "x.2.part.json"), "theirs")
	b := testbody.Body{Size: 3000, Seed: 1}
	write(t, f, b, scheduler.Range{End: 3000})
	must(t, f.Checkpoint(ranges(0, 3000)))
	wantNames(t, dir, "x", "x.1.part", "x.2.part.json", "x.3.part", "x.3.part.json")
	must(t, f.Reject())
	for _, name := range []string{"x", "x.1.part", "x.2.part.json"} {
		if content(t, dir, name) != "theirs" {
			t.Errorf("%s was written to", name)
		}
	}
}

// Bytes that are wrong are kept to be looked at.
func TestRerunRejects(t *testing.T) {
	dir := t.TempDir()
	b := testbody.Body{Size: 3000, Seed: 1}
	f := open(t, rerun(dir), rerunURL)
	must(t, f.Begin(identity.Identity{Size: 3000}))
	write(t, f, b, scheduler.Range{End: 3000})
	must(t, f.Reject())
	wantNames(t, dir, "x.part", "x.part.json")

	// And a new start throws away what was written.
	f = open(t, rerun(dir), "http://h/y")
	must(t, f.Begin(identity.Identity{Size: 3000}))
	write(t, f, b, scheduler.Range{End: 3000})
	must(t, f.Restart())
	short := testbody.Body{Size: 10, Seed: 5}
	if got := getAll(t, f, identity.Identity{Size: 10}, short); got != "y" || content(t, dir, "y") != bodyString(t, short) {
		t.Errorf("it is %s", got)
	}
}

// A file that was looked for and not begun leaves no trace, nor do those beside it.
func TestRerunClosed(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "x"), "x")
	put(t, filepath.Join(dir, "x.part.json"), "not ours")
	f := open(t, rerun(dir), rerunURL)
	must(t, f.Close())
	f = open(t, rerun(dir), rerunURL)
	must(t, f.Suspend(nil))
	wantNames(t, dir, "x", "x.part.json")
	if _, err := f.Commit(CommitOptions{}); err == nil {
		t.Error("it was committed")
	}
}

// Bytes of an earlier run under a number, beside another object of the name.
func TestRerunResumes(t *testing.T) {
	dir := t.TempDir()
	b := testbody.Body{Size: 3000, Seed: 1}
	id := identity.Identity{Size: 3000, LastModified: changedAt}
	put(t, filepath.Join(dir, "x"), "another")
	f := open(t, rerun(dir), rerunURL)
	must(t, f.Begin(id))
	write(t, f, b, scheduler.Range{End: 1000})
	must(t, f.Suspend(ranges(0, 1000)))
	wantNames(t, dir, "x", "x.1.part", "x.1.part.json")
	for name, want := range map[string]bool{"x": false, "x.1": true} {
		if _, left := (Target{Dir: dir, Name: name}).Standing(parse(t, rerunURL)); left != want {
			t.Errorf("left of %s: %v", name, left)
		}
	}

	f = open(t, rerun(dir), rerunURL)
	if _, done, ok := f.Resume(); !ok || len(done) != 1 || !f.Standing() {
		t.Fatalf("resume: %v, standing: %v", done, f.Standing())
	}
	must(t, f.Begin(id))
	if f.Whole() {
		t.Fatal("it is whole")
	}
	write(t, f, b, scheduler.Range{Off: 1000, End: 3000})
	name, err := f.Commit(CommitOptions{Size: 3000})
	must(t, err)
	wantNames(t, dir, "x", "x.1")
	if content(t, name) != bodyString(t, b) {
		t.Error("these are other bytes")
	}
}

// The object changed between two runs, of which the first got a part of it.
func TestRerunResumesAnother(t *testing.T) {
	dir := t.TempDir()
	b := testbody.Body{Size: 3000, Seed: 1}
	put(t, filepath.Join(dir, "x"), "another")
	f := open(t, rerun(dir), rerunURL)
	must(t, f.Begin(identity.Identity{Size: 4000, LastModified: changedAt}))
	write(t, f, testbody.Body{Size: 4000, Seed: 3}, scheduler.Range{End: 1000})
	must(t, f.Suspend(ranges(0, 1000)))

	f = open(t, rerun(dir), rerunURL)
	if got := getAll(t, f, identity.Identity{Size: 3000, LastModified: changedAt}, b); got != "x.1" {
		t.Errorf("it is %s", got)
	}
	if content(t, dir, "x.1") != bodyString(t, b) {
		t.Error("these are other bytes")
	}
	wantNames(t, dir, "x", "x.1")
}

// -c in a job of several files goes on with what another tool left, and does not
// ask for what is whole.
func TestRerunContinues(t *testing.T) {
	b := testbody.Body{Size: 3000, Seed: 1}
	id := identity.Identity{Size: 3000, LastModified: changedAt}
	to := func(dir string) Target { return Target{Dir: dir, Rerun: true, Continue: true} }

	dir := t.TempDir()
	put(t, filepath.Join(dir, "x"), bodyString(t, b)[:1200])
	f := open(t, to(dir), rerunURL)
	if err := f.Begin(id); !errors.Is(err, ErrLeft) {
		t.Fatal(err)
	}
	wantNames(t, dir, "x") // before it is known that it can be continued
	must(t, f.Begin(id))
	if _, done, ok := f.Resume(); !ok || f.Whole() || done[0].End != 1200 {
		t.Fatalf("resume: %v, whole: %v", done, f.Whole())
	}
	write(t, f, b, scheduler.Range{Off: 1200, End: 3000})
	_, err := f.Commit(CommitOptions{Size: 3000})
	must(t, err)
	wantNames(t, dir, "x")
	if content(t, dir, "x") != bodyString(t, b) {
		t.Error("these are other bytes")
	}

	dir = t.TempDir()
	put(t, filepath.Join(dir, "x"), bodyString(t, b)) // now, not when it was changed
	f = open(t, to(dir), rerunURL)
	must(t, f.Begin(id))
	if !f.Whole() {
		t.Error("it is not whole")
	}
}

// A whole file that turns out not to be the object is not written to.
func TestRerunRestart(t *testing.T) {
	dir := t.TempDir()
	b := testbody.Body{Size: 3000, Seed: 1}
	put(t, filepath.Join(dir, "x"), bodyString(t, testbody.Body{Size: 3000, Seed: 2}))
	f := open(t, rerun(dir), rerunURL)
	must(t, f.Begin(identity.Identity{Size: 3000}))
	if _, err := f.WriteAt([]byte("x"), 0); err == nil || !f.Whole() {
		t.Fatal("a file that is whole was written to")
	}
	must(t, f.Restart())
	if got := getAll(t, f, identity.Identity{Size: 3000, LastModified: changedAt}, b); got != "x.1" {
		t.Errorf("it is %s", got)
	}
	wantNames(t, dir, "x", "x.1")
}

// Directories that others named stay below the one that the user named.
func TestSub(t *testing.T) {
	for sub, want := range map[string]string{
		"":                  "x",
		"a/b":               "a/b/x",
		"/a//./b/":          "a/b/x",
		"../../a":           "_./_./a/x",
		"..":                "_./x",
		".git/a\x00\x1bb":   "_git/a__b/x",
		`a\..\b`:            "a_.._b/x",
		"\xff/\u202e":       "_/_/x",
		"ä/a\u0308":         "ä/a\u0308/x",
		"%2e%2e/a":          "%2e%2e/a/x",
		" /a":               "index.html/a/x",
		"CON/nul.txt":       "CON/nul.txt/x",
		"a/b/../../../etc/": "a/b/_./_./_./etc/x",
	} {
		if fat, differs := map[string]string{
			"../../a": "_/_/a/x", "..": "_/x", " /a": "_/a/x", "CON/nul.txt": "_CON/_nul.txt/x", "a/b/../../../etc/": "a/b/_/_/_/etc/x",
		}[sub]; (*Run)(nil).fatRules() && differs {
			want = fat
		}
		dir := t.TempDir()
		to := Target{Dir: filepath.Join(dir, "p"), Sub: sub}
		if got := filepath.ToSlash(to.Path(parse(t, rerunURL))); got != filepath.ToSlash(filepath.Join(dir, "p", want)) {
			t.Errorf("%q: %s, want %s", sub, got, want)
		}
		f := open(t, to, rerunURL)
		must(t, f.Close())
		wantNames(t, dir, "p")
		if _, err := os.Stat(filepath.Dir(f.Name())); err != nil {
			t.Errorf("%q: %v", sub, err)
		}
	}
}

// A time that no file can have is none: the file gets that of now, and is the object.
func TestRerunAtImpossibleTimes(t *testing.T) {
	b := testbody.Body{Size: 3000, Seed: 1}
	for _, at := range []string{
		"Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 13 Dec 1901 20:45:51 GMT", "Fri, 11 Apr 2262 23:47:17 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
	} {
		dir := t.TempDir()
		id := identity.Identity{Size: 3000, LastModified: at}
		begun := time.Now().Add(-sameTime)
		getAll(t, open(t, rerun(dir), rerunURL), id, b)
		if fi, err := os.Stat(filepath.Join(dir, "x")); err != nil || fi.ModTime().Before(begun) || fi.ModTime().After(time.Now().Add(sameTime)) {
			t.Errorf("%s: %v, %v", at, fi.ModTime(), err)
		}
		f := open(t, rerun(dir), rerunURL)
		must(t, f.Begin(id))
		if !f.Whole() {
			t.Errorf("%s: it is fetched again", at)
		}
		must(t, f.Close())
	}
}

// TestNamesOfParts: a file whose name its user did not give is never called what a later download
// of another would go on with, on no file system.
func TestNamesOfParts(t *testing.T) {
	for name, want := range map[string]string{
		"x.part": "x.part_", "x.PART": "x.PART_", "x.part.json": "x.part.json_", "x.part.json.new": "x.part.json.new_",
		"part": "part", "x.partial": "x.partial", "x.part.txt": "x.part.txt",
		"x.pa%E2%80%8Crt": "x.pa\u200crt_", "x.p%EF%B8%8Fart": "x.p\ufe0fart_", "x.part.j%C5%BFon": "x.part.j\u017fon_",
	} {
		for kind, to := range map[string]Target{"by itself": {}, "of many": {Rerun: true}, "continued": {Continue: true}} {
			if got := to.Path(parse(t, "http://h/"+name)); got != want {
				t.Errorf("%s, %s: %q, want %q", name, kind, got, want)
			}
		}
		if got := (Target{Name: "x.part", Explicit: true}).Path(parse(t, "http://h/y")); got != "x.part" {
			t.Errorf("as the user said: %s", got)
		}
	}
}

// TestServerMakesNoJournal: a server that has both files of an unfinished download does not get
// them to be believed, though the user gives them these names.
func TestServerMakesNoJournal(t *testing.T) {
	from := t.TempDir()
	interrupted(t, Target{Dir: from}, hereURL)
	dir := t.TempDir()
	for _, name := range []string{"x.part", "x.part.json"} {
		text := content(t, from, name)
		f := open(t, Target{Dir: dir, Name: name, Explicit: true}, "http://evil/"+name)
		must(t, f.Begin(identity.Identity{Size: int64(len(text))}))
		_, err := f.WriteAt([]byte(text), 0)
		must(t, err)
		_, err = f.Commit(CommitOptions{Size: int64(len(text))})
		if poses := name == "x.part.json"; errors.Is(err, ErrPoses) != poses || !poses && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, f.Close())
	}
	f := open(t, Target{Dir: dir}, hereURL)
	if _, done, ok := f.Resume(); ok {
		t.Errorf("%s goes on with %v", f.Name(), done)
	}
	must(t, f.Close())

	for _, text := range []string{`{"a":1}`, "{}", "", "no JSON"} { // what else has such a name
		f := open(t, Target{Dir: dir, Name: "y.part.json", Explicit: true}, hereURL)
		must(t, f.Begin(identity.Identity{Size: int64(len(text))}))
		_, err := f.WriteAt([]byte(text), 0)
		must(t, err)
		_, err = f.Commit(CommitOptions{Size: int64(len(text))})
		must(t, err)
	}
}

// TestNamedLikeAnUnfinishedDownload: -o replaces what it names, but not what another download will
// go on with, which would then go on with these bytes.
func TestNamedLikeAnUnfinishedDownload(t *testing.T) {
	dir := t.TempDir()
	interrupted(t, Target{Dir: dir}, hereURL)
	before := tree(t, dir)
	for _, name := range []string{"x.part", "x.part.json"} {
		if _, err := Open(Target{Dir: dir, Name: name, Explicit: true}, parse(t, otherURL)); !errors.Is(err, ErrBegun) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := tree(t, dir); !maps.Equal(now, before) {
		t.Errorf("there are %q, and were %q", now, before)
	}
	must(t, os.Remove(filepath.Join(dir, "x.part.json")))
	f := open(t, Target{Dir: dir, Name: "x.part", Explicit: true}, otherURL) // nothing will go on with it
	must(t, f.Close())
}

// Symbolic links are the user's own, but lead out all the same.
func TestSubLeadsOut(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "p"), 0o700))
	must(t, os.Symlink("..", filepath.Join(dir, "p", "out")))
	if f, err := Open(Target{Dir: filepath.Join(dir, "p"), Sub: "out/new"}, parse(t, rerunURL)); err == nil {
		t.Errorf("opened %s", f.Name())
	}
	wantNames(t, dir, "p")
}

func FuzzCleanSub(f *testing.F) {
	for _, s := range []string{"a/b", "../..", "/etc", `..\..`, ".", "a/./..//b", "\x00/\xff", "CON/aux."} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, s string, fat bool) {
		sub := cleanSub(s, fat || runtime.GOOS == "windows") // all of its file systems have that rule
		if sub == "" {
			return
		}
		if !filepath.IsLocal(sub) || sub != filepath.Clean(sub) || len(sub) > (maxName+1)*maxDepth {
			t.Fatalf("%q: %q", s, sub)
		}
		if again := cleanSub(filepath.ToSlash(sub), fat || runtime.GOOS == "windows"); again != sub {
			t.Fatalf("%q: %q, then %q", s, sub, again)
		}
	})
}
