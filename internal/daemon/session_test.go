package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/filelock"
)

// TestPackedOptions: what is packed comes back, one by one and as a whole, and through JSON.
func TestPackedOptions(t *testing.T) {
	for _, o := range []Options{{}, {"out": "a b"}, {"out": "", "dir": "x", "header": "A: b\nC: d\n", "a": "out"}} {
		p := o.Pack()
		text, err := json.Marshal(p)
		var again Packed
		if err := errors.Join(err, json.Unmarshal(text, &again)); err != nil || again != p || !maps.Equal(p.All(), o) {
			t.Errorf("%v: %q, %s, %v", o, p, text, err)
		}
		for name, want := range o {
			if got, ok := p.Lookup(name); !ok || got != want {
				t.Errorf("%v: %s is %q, %v", o, name, got, ok)
			}
		}
		if value, ok := p.Lookup("x"); ok || value != "" {
			t.Errorf("%v: x is %q", o, value)
		}
	}
	for _, bad := range []string{`{"":"x"}`, `{"a\u0000b":"x"}`, `{"a":"b\u0000"}`, `[]`, `{"a":1}`} {
		if err := json.Unmarshal([]byte(bad), new(Packed)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func mustOpen(t *testing.T, name string) (*Session, *Queue, Options) {
	t.Helper()
	q := NewQueue(1000)
	s, global, err := OpenSession(name, q)
	if err != nil {
		t.Fatal(err)
	}
	return s, q, global
}

// contents is all that a queue holds, as text.
func contents(t *testing.T, q *Queue) string {
	t.Helper()
	text, err := json.Marshal([][]*Job{q.waiting, q.stopped})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSessionCutAnywhere cuts the file off behind every byte, as a kill while it is written
// does: the queue is what it was after the last change that is whole.
func TestSessionCutAnywhere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "session")
	s, q, _ := mustOpen(t, name)
	r := rand.New(rand.NewPCG(1, 2))
	after := map[int]string{} // by the size of the file
	mark := func() {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		loaded := NewQueue(1000)
		for _, list := range [][]*Job{q.waiting, q.stopped} {
			for _, j := range list {
				c := j.clone()
				loaded.Put(&c, -1)
			}
		}
		after[int(info.Size())] = contents(t, loaded)
	}
	mark()
	for i := range 60 {
		var err error
		switch at := r.IntN(max(1, len(q.waiting))); {
		case len(q.waiting) < 3 || r.IntN(3) == 0:
			j := &Job{GID: GID(i + 1), State: Waiting, URIs: []string{"http://example.org/\n"}}
			q.Put(j, at)
			err = s.Put(q, j)
		case r.IntN(4) == 0:
			j := q.waiting[at]
			q.Forget(j)
			err = s.Gone(j.GID)
		case r.IntN(3) == 0:
			j := q.waiting[at]
			q.Set(j, Complete)
			err = s.Put(q, j)
		default:
			j := q.waiting[at]
			if _, err = q.Move(j, r.IntN(len(q.waiting))); err == nil {
				q.Set(j, Paused)
				err = s.Put(q, j)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		mark()
	}
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for n := range len(all) + 1 {
		if at, ok := after[n]; ok {
			want = at
		}
		if want == "" {
			continue // of the first line
		}
		q := NewQueue(1000)
		if _, err := readSession(bytes.NewReader(all[:n]), q); err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if got := contents(t, q); got != want {
			t.Fatalf("cut at %d:\n%s\nwant\n%s", n, got, want)
		}
	}
}

func TestActiveJobsComeFirstAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "session")
	s, q, _ := mustOpen(t, name)
	for g := range GID(4) {
		q.Put(&Job{GID: g + 1, State: Waiting, URIs: []string{"http://example.org"}}, -1)
	}
	for _, g := range []GID{3, 2} {
		j, _ := q.Job(g)
		q.Set(j, Active)
	}
	if err := s.Rewrite(q, Options{"split": "3"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenSession(name, NewQueue(1)); !errors.Is(err, filelock.ErrBusy) {
		t.Errorf("a second process opens the session: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, q, global := mustOpen(t, name)
	defer s.Close() //nolint:errcheck // the test is over
	if got := gids(q.waiting); len(got) != 4 || got[0] != 3 || got[1] != 2 || got[2] != 1 {
		t.Errorf("the queue is %v", got)
	}
	if global["split"] != "3" {
		t.Errorf("global options: %v", global)
	}
}

// TestRewriteReplacesSession: the session is another file after it was written anew, so that no
// kill meanwhile leaves half of it. One that cannot be written anew is added to as before.
func TestRewriteReplacesSession(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "session")
	s, q, _ := mustOpen(t, name)
	for g := range GID(3) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		before, err := f.Stat() // by its descriptor: Windows looks a path up again when it compares
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		j := &Job{GID: g + 1, State: Waiting, URIs: []string{"http://example.org"}}
		q.Put(j, -1)
		if err := errors.Join(s.Put(q, j), s.Rewrite(q, nil)); err != nil {
			t.Fatal(err)
		}
		if after, err := os.Stat(name); err != nil || os.SameFile(before, after) {
			t.Errorf("%v: the session was written over", err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v: %v are left", err, entries)
	}
	other := filepath.Join(dir, "other")
	s.name = filepath.Join(other, "session") // whose directory is not there
	if err := s.Rewrite(q, nil); err == nil {
		t.Error("it was written to a directory that is not there")
	}
	if err := s.Put(q, &Job{GID: 9, State: Paused}); err == nil {
		t.Error("a change is written to nothing")
	}
	s.name = name
	j := &Job{GID: 4, State: Waiting, URIs: []string{"http://example.org"}}
	q.Put(j, -1)
	if err := errors.Join(s.Rewrite(q, nil), s.Close()); err != nil {
		t.Fatal(err)
	}
	s, q, _ = mustOpen(t, name)
	defer s.Close() //nolint:errcheck // the test is over
	if got := gids(q.waiting); len(got) != 4 {
		t.Errorf("the queue is %v", got)
	}
}

func TestSessionHoldsNoSecrets(t *testing.T) {
	name := filepath.Join(t.TempDir(), "session")
	s, q, _ := mustOpen(t, name)
	j := &Job{
		GID: 7, State: Waiting, URIs: []string{"http://joe:hunter2@example.org/a"},
		Options: Options{
			"http-passwd": "hunter2", "all-proxy": "http://u:hunter2@proxy:1/",
			"header": "Accept: a\nCookie: hunter2\nAuthorization: Basic hunter2\nX-Auth-Token: hunter2\n",
		}.Pack(),
	}
	q.Put(j, -1)
	if err := errors.Join(s.Put(q, j), s.Global(Options{"rpc-secret": "hunter2"}), s.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%v: %s", err, text)
	}
	info, err := os.Stat(name)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v: others may read it: %v", err, info.Mode())
	}
	s, q, _ = mustOpen(t, name)
	defer s.Close() //nolint:errcheck // the test is over
	if j, ok := q.Job(7); !ok || j.State != Paused || j.Options.Get("header") != "Accept: a\n" || j.Message == "" {
		t.Errorf("the job came back as %+v", j)
	}
}

func FuzzSession(f *testing.F) {
	f.Add([]byte(`{"job":{"gid":"00000000000000a1","state":"active","uris":["http://a/"]},"at":-1}` + "\n" + `{"gone":"00000000000000a1"}` + "\n"))
	f.Add([]byte(`{"job":{"gid":"00000000000000a1","state":"paused"},"at":5}` + "\n" + `{"job":{"gid":"00000000000000a1","state":"error"}}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		q := NewQueue(1000)
		if _, err := readSession(bytes.NewReader(text), q); err != nil {
			return
		}
		if len(q.active) > 0 || len(q.waiting)+len(q.stopped) != len(q.jobs) {
			t.Errorf("%d jobs; %d wait, %d stopped, %d active", len(q.jobs), len(q.waiting), len(q.stopped), len(q.active))
		}
	})
}

// TestUnsoundJobsAreRefused: numbers that no job has are of a file that something has damaged.
func TestUnsoundJobsAreRefused(t *testing.T) {
	for member, ok := range map[string]bool{
		`"number":1`: true, `"number":-1`: false, `"size":-5`: false, `"done":-1`: false, `"used":-1`: false, `"retries":-9`: false,
		`"state":"asleep"`: false, `"gid":"0000000000000000"`: false,
	} {
		name := filepath.Join(t.TempDir(), "session")
		line := `{"job":{"gid":"00000000000000a1","state":"waiting","uris":["http://example.org/"],` + member + `},"at":-1}` + "\n"
		if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := OpenSession(name, NewQueue(10))
		if (err == nil) != ok {
			t.Errorf("%s: %v", member, err)
		}
		if s != nil {
			_ = s.Close()
		}
	}
}
