package store

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

const (
	hereURL  = "https://joe:pw@h.example/d/x?sig=secret"
	otherURL = "https://h.example/e/x"
)

var (
	object = identity.Identity{Size: 1000, ETag: `"v1"`} //nolint:gochecknoglobals // constants cannot be structs
	body   = testbody.Body{Size: 1000, Seed: 3}          //nolint:gochecknoglobals // the same
)

// interrupted leaves an unfinished download of u in dir, [0,400) done.
func interrupted(t testing.TB, to Target, u string) {
	t.Helper()
	f := open(t, to, u)
	must(t, f.Begin(object))
	write(t, f, body, ranges(0, 400)[0])
	must(t, f.Suspend(ranges(0, 400)))
}

// Which name Open takes, by what is there before.
func TestOpenChoosesAName(t *testing.T) {
	type prepare func(t *testing.T, dir string)
	file := func(name, s string) prepare {
		return func(t *testing.T, dir string) { put(t, filepath.Join(dir, name), s) }
	}
	unfinished := func(u string) prepare {
		return func(t *testing.T, dir string) { interrupted(t, Target{Dir: dir}, u) }
	}
	directory := func(name string) prepare {
		return func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, name), 0o755)) }
	}
	link := func(name, to string) prepare {
		return func(t *testing.T, dir string) {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
		}
	}
	damage := func(t *testing.T, dir string) {
		unfinished(hereURL)(t, dir)
		put(t, filepath.Join(dir, "x.part.json"), `{"mlget_journal":1`)
	}
	shorten := func(t *testing.T, dir string) {
		unfinished(hereURL)(t, dir)
		must(t, os.Truncate(filepath.Join(dir, "x.part"), 399))
	}
	relic := func(t *testing.T, dir string) {
		unfinished(otherURL)(t, dir)
		must(t, os.Remove(filepath.Join(dir, "x.part")))
	}
	all := func(list ...prepare) prepare {
		return func(t *testing.T, dir string) {
			for _, p := range list {
				p(t, dir)
			}
		}
	}
	plain, explicit, goOn := Target{}, Target{Name: "x", Explicit: true}, Target{Continue: true}
	for name, c := range map[string]struct {
		there  prepare
		to     Target
		want   string // "": an error
		resume bool
		notice string
		err    error
	}{
		"nothing":                             {all(), plain, "x", false, "", nil},
		"complete":                            {file("x", "old"), plain, "x.1", false, "", nil},
		"complete twice":                      {all(file("x", ""), file("x.1", "")), plain, "x.2", false, "", nil},
		"complete, explicit":                  {file("x", "old"), explicit, "x", false, "", nil},
		"unfinished":                          {unfinished(hereURL), plain, "x", true, "", nil},
		"unfinished, explicit":                {unfinished(hereURL), explicit, "x", true, "", nil},
		"unfinished and complete":             {all(unfinished(hereURL), file("x", "")), plain, "x.1", false, "", nil},
		"unfinished and complete, explicit":   {all(unfinished(hereURL), file("x", "")), explicit, "x", true, "", nil},
		"unfinished and complete, continue":   {all(unfinished(hereURL), file("x", "")), goOn, "x", true, "", nil},
		"unfinished of another URL":           {unfinished(otherURL), plain, "x.1", false, "", nil},
		"unfinished of another URL, explicit": {unfinished(otherURL), explicit, "x", false, "another URL", nil},
		"unfinished of another URL, continue": {unfinished(otherURL), goOn, "x", true, "", nil},
		"damaged journal":                     {damage, plain, "x", false, "damaged", nil},
		"too short a part":                    {shorten, plain, "x", false, "399 bytes", nil},
		"relic of a journal":                  {relic, plain, "x", false, "", nil},
		"part of another tool":                {file("x.part", "theirs"), plain, "x.1", false, "", nil},
		"part of another tool, explicit":      {file("x.part", "theirs"), explicit, "", false, "", ErrForeign},
		"part of another tool, continue":      {file("x.part", "theirs"), goOn, "", false, "", ErrForeign},
		"file named like the journal":         {file("x.part.json", "{}"), plain, "x.1", false, "", nil},
		"file named like it, explicit":        {file("x.part.json", "{}"), explicit, "", false, "", ErrForeign},
		"both of another tool":                {all(file("x.part", "theirs"), file("x.part.json", "{}")), plain, "x.1", false, "", nil},
		"both of another tool, explicit":      {all(file("x.part", "theirs"), file("x.part.json", "{}")), explicit, "", false, "", ErrForeign},
		"both of another tool, continue":      {all(file("x.part", "theirs"), file("x.part.json", "{}")), goOn, "", false, "", ErrForeign},
		"empty part":                          {file("x.part", ""), plain, "x", false, "", nil},
		"directory":                           {directory("x"), plain, "x.1", false, "", nil},
		"directory, explicit":                 {directory("x"), explicit, "", false, "", ErrDirectory},
		"directory, continue":                 {directory("x"), goOn, "x.1", false, "", nil},
		"part is a directory":                 {directory("x.part"), plain, "x.1", false, "", nil},
		"part is a directory, explicit":       {directory("x.part"), explicit, "", false, "", ErrForeign},
		"journal is a directory":              {all(unfinished(hereURL), func(t *testing.T, d string) { must(t, os.Remove(filepath.Join(d, "x.part.json"))) }, directory("x.part.json")), plain, "x.1", false, "", nil},
		"name is a link":                      {link("x", "/nowhere"), plain, "x.1", false, "", nil},
		"name is a link, continue":            {link("x", "/nowhere"), goOn, "", false, "", ErrForeign},
		"name is a link to a directory":       {link("x", "/"), explicit, "", false, "", ErrDirectory},
		"part is a link":                      {all(file("y", "theirs"), link("x.part", "y")), plain, "x.1", false, "", nil},
		"part is a link, explicit":            {all(file("y", "theirs"), link("x.part", "y")), explicit, "", false, "", ErrForeign},
		"journal is a link":                   {all(file("y", "theirs"), link("x.part.json", "y")), plain, "x.1", false, "", nil},
		"left by another tool":                {file("x", "theirs"), goOn, "x", true, "", nil},
		"left by another tool, explicit":      {file("x", "theirs"), Target{Name: "x", Explicit: true, Continue: true}, "x", true, "", nil},
		"name with a path":                    {all(), Target{Name: "../../x"}, "_._.._x", false, "", nil},
		"a directory that is not there":       {all(), Target{Name: "no/", Explicit: true}, "", false, "", ErrDirectory},
		"missing directory, explicit":         {all(), Target{Name: "no/x", Explicit: true}, "", false, "", fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.there(t, dir)
			before := names(t, dir)
			c.to.Dir = dir
			f, err := Open(c.to, parse(t, hereURL))
			if c.want == "" {
				var e *Error
				if !errors.Is(err, c.err) || !errors.As(err, &e) {
					t.Fatalf("error %v, want %v", err, c.err)
				}
				wantNames(t, dir, before...)
				return
			}
			must(t, err)
			_, done, ok := f.Resume()
			if f.Name() != filepath.Join(dir, c.want) || ok != c.resume || ok != (len(done) > 0) {
				t.Errorf("%s, resumed: %v, want %s, %v", f.Name(), ok, c.want, c.resume)
			}
			if !strings.Contains(f.Notice(), c.notice) || c.notice == "" && f.Notice() != "" {
				t.Errorf("notice %q, want %q", f.Notice(), c.notice)
			}
			must(t, f.Close())
			if name == "empty part" || name == "relic of a journal" {
				before = nil
			}
			wantNames(t, dir, before...) // nothing is lost and nothing is left
		})
	}
}

func TestOpenMakesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	f := open(t, Target{Dir: dir}, "http://h/x")
	wantNames(t, dir, "x.part", "x.part.json")
	must(t, f.Close())
	wantNames(t, dir)
	put(t, filepath.Join(dir, "file"), "")
	if _, err := Open(Target{Dir: filepath.Join(dir, "file", "c")}, parse(t, "http://h/x")); err == nil {
		t.Fatal("a file was taken for a directory")
	}
}

func TestOneNameTwoDownloads(t *testing.T) {
	dir := t.TempDir()
	f := open(t, Target{Dir: dir}, hereURL)
	for name, to := range map[string]Target{
		"same URL": {Dir: dir}, "explicit": {Dir: dir, Name: "x", Explicit: true}, "continue": {Dir: dir, Continue: true},
	} {
		if _, err := Open(to, parse(t, hereURL)); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := open(t, Target{Dir: dir}, otherURL)
	if other.Name() != filepath.Join(dir, "x.1") {
		t.Fatalf("the other URL went to %s", other.Name())
	}
	must(t, f.Close())
	again := open(t, Target{Dir: dir}, hereURL)
	if again.Name() != filepath.Join(dir, "x") {
		t.Fatalf("the name was not free again: %s", again.Name())
	}
}

// Many downloads of one name at once, each of another URL: every one gets a
// name of its own and keeps its bytes.
func TestManyDownloadsOfOneName(t *testing.T) {
	const workers, rounds = 8, 10
	dir := t.TempDir()
	var mu sync.Mutex
	got := map[string]uint64{} // the seed of what was put at a path
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for r := range rounds {
				b := testbody.Body{Size: 100, Seed: uint64(w*rounds + r)}
				name, err := fetch(dir, b, r%3 == 2)
				if err != nil {
					t.Error(err)
					return
				}
				if name == "" {
					continue
				}
				mu.Lock()
				if _, twice := got[name]; twice {
					t.Errorf("%s was given twice", name)
				}
				got[name] = b.Seed
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for name, seed := range got {
		if content(t, name) != bodyString(t, testbody.Body{Size: 100, Seed: seed}) {
			t.Errorf("%s has another's bytes", name)
		}
	}
	if n := len(names(t, dir)); n != len(got) || len(got) < workers*rounds/2 {
		t.Fatalf("%d files for %d downloads: %q", n, len(got), names(t, dir))
	}
}

// fetch downloads b in dir, or gives up halfway.
func fetch(dir string, b testbody.Body, giveUp bool) (string, error) {
	f, err := Open(Target{Dir: dir}, &url.URL{Scheme: "http", Host: "h", Path: "/x", RawQuery: strconv.FormatUint(b.Seed, 10)})
	if err != nil {
		return "", err
	}
	if err := f.Begin(identity.Identity{Size: b.Size}); err != nil {
		return "", err
	}
	if giveUp {
		return "", f.Close()
	}
	p := make([]byte, b.Size)
	if _, err := b.ReadAt(p, 0); err != nil {
		return "", err
	}
	if _, err := f.WriteAt(p, 0); err != nil {
		return "", err
	}
	return f.Commit(CommitOptions{Size: b.Size})
}

func TestAdoptedNameIsLocked(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "x"), "theirs")
	_ = open(t, Target{Dir: dir, Continue: true}, hereURL)
	if _, err := Open(Target{Dir: dir, Continue: true}, parse(t, hereURL)); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
}

func TestJournalHoldsNoCredentialsAndIsPrivate(t *testing.T) {
	dir := t.TempDir()
	interrupted(t, Target{Dir: dir}, hereURL)
	j := content(t, dir, "x.part.json")
	for _, secret := range []string{"joe", "pw", "secret"} {
		if strings.Contains(j, secret) {
			t.Errorf("%q is in %s", secret, j)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	fi, err := os.Stat(filepath.Join(dir, "x.part.json"))
	must(t, err)
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("the journal has mode %v", fi.Mode())
	}
}

func TestStreamsAreNotFiles(t *testing.T) {
	to := Target{Name: os.DevNull, Explicit: true}
	if _, err := Open(to, parse(t, hereURL)); !errors.Is(err, ErrStream) {
		t.Fatal(err)
	}
	w, ok, err := OpenStream(t.Context(), to)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := w.Write([]byte("gone")); err != nil {
		t.Fatal(err)
	}
	must(t, w.Close())
	dir := t.TempDir()
	put(t, filepath.Join(dir, "x"), "")
	for _, to := range []Target{
		{Dir: dir, Name: "x", Explicit: true},
		{Dir: dir, Name: "y", Explicit: true},
		{Dir: dir, Name: ".", Explicit: true},
		{Name: os.DevNull},
		{},
	} {
		if _, ok, err := OpenStream(t.Context(), to); ok || err != nil {
			t.Errorf("%+v: %v, %v", to, ok, err)
		}
	}
}
