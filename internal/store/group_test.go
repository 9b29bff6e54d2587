package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// ready opens a file of that name and writes all of it.
func ready(t testing.TB, dir, name string, b testbody.Body) Pending {
	t.Helper()
	f := open(t, Target{Dir: dir, Name: name, Rerun: name[0] == 'f'}, "http://h/"+name) // both ways
	must(t, f.Begin(identity.Identity{Size: b.Size}))
	write(t, f, b, scheduler.Range{End: b.Size})
	return Pending{File: f, Options: CommitOptions{Size: b.Size}}
}

func TestCommitAll(t *testing.T) {
	dir := t.TempDir()
	body := func(i int) testbody.Body { return testbody.Body{Size: int64(100*i + 1), Seed: uint64(i)} }
	var batch []Pending
	for i := range 30 {
		batch = append(batch, ready(t, filepath.Join(dir, fmt.Sprint("d", i%3)), fmt.Sprint("f", i), body(i)))
	}
	// Some things go wrong; each with its own.
	short := ready(t, dir, "short", body(5))
	short.Options.Size++
	closed := ready(t, dir, "closed", body(5))
	must(t, closed.File.Close())
	taken := ready(t, dir, "taken", body(6))
	put(t, filepath.Join(dir, "taken"), "somebody's")
	batch = append(batch, short, closed, taken)

	done := CommitAll(batch)
	for i := range 30 {
		want := filepath.Join(dir, fmt.Sprint("d", i%3), fmt.Sprint("f", i))
		if done[i].Err != nil || done[i].Name != want {
			t.Fatalf("%d: %+v", i, done[i])
		}
		if content(t, want) != bodyString(t, body(i)) {
			t.Errorf("%s: other bytes", want)
		}
	}
	if !errors.Is(done[30].Err, ErrIncomplete) || !errors.Is(done[31].Err, ErrClosed) {
		t.Errorf("short: %v, closed: %v", done[30].Err, done[31].Err)
	}
	if done[32].Err != nil || filepath.Base(done[32].Name) != "taken.1" || content(t, dir, "taken") != "somebody's" {
		t.Errorf("taken: %+v", done[32])
	}
	must(t, short.File.Close())
	wantNames(t, dir, "d0", "d1", "d2", "taken", "taken.1")
	for d := range 3 {
		if got := names(t, filepath.Join(dir, fmt.Sprint("d", d))); len(got) != 10 {
			t.Errorf("there are %q", got)
		}
	}
	if len(CommitAll(nil)) != 0 {
		t.Error("something of nothing")
	}
}

// A sync that failed once is not forgotten: the kernel may have dropped the bytes.
func TestCommitAllAfterFailedSync(t *testing.T) {
	dir := t.TempDir()
	bad, good := ready(t, dir, "bad", testbody.Body{Size: 10}), ready(t, dir, "good", testbody.Body{Size: 10})
	bad.File.broken = errors.New("the disk is gone")
	done := CommitAll([]Pending{bad, good})
	if !errors.Is(done[0].Err, bad.File.broken) || done[0].Name != "" || done[1].Err != nil {
		t.Errorf("%+v", done)
	}
	wantNames(t, dir, "bad.part", "bad.part.json", "good")
}

// Between a file's new name and the removal of its journal the directory is synced. A run that
// takes NAME.part meanwhile keeps a journal of its own, and its file is not claimed by ours.
func TestNameIsBegunAgainBeforeTheEnd(t *testing.T) {
	to := Target{Dir: t.TempDir(), Name: "x", Explicit: true}
	renamed := func() (f *File, journal bool) {
		f = open(t, to, hereURL)
		must(t, f.Begin(object))
		write(t, f, body, scheduler.Range{End: body.Size})
		c := commit{f: f}
		c.prepare(CommitOptions{Size: body.Size}, map[*directory]error{})
		c.synced(nil)
		c.rename()
		must(t, c.err)
		return f, c.journal
	}
	first, journal := renamed()
	other := open(t, to, hereURL) // its journal says the same
	must(t, other.Begin(object))
	before := tree(t, to.Dir)
	must(t, first.end(journal))
	if now := tree(t, to.Dir); !maps.Equal(now, before) {
		t.Errorf("there are %q, and were %q", now, before)
	}
	must(t, other.Close())
	wantNames(t, to.Dir, "x")

	first, journal = renamed()
	put(t, filepath.Join(to.Dir, "x.part"), "a stranger's")
	must(t, first.end(journal))
	wantNames(t, to.Dir, "x", "x.part")
}

// The files' own syncs say which of them could not be written.
func TestSyncFilesThatAreClosed(t *testing.T) {
	dir := t.TempDir()
	var files []*os.File
	for i := range 20 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		must(t, err)
		if i%5 == 0 {
			must(t, f.Close())
		} else {
			defer f.Close() //nolint:errcheck // a test's
		}
		files = append(files, f)
	}
	for i, err := range syncFiles(files) {
		if (err != nil) != (i%5 == 0) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// BenchmarkCommit gives many small files their names: each by itself, or together.
func BenchmarkCommit(b *testing.B) {
	const files, size = 300, 128 << 10
	for name, at := range map[string]int{"one by one": 1, "by 16": 16, "by 256": 256} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				p := make([]byte, size)
				b.StartTimer()
				var batch []Pending
				for i := range files {
					f := open(b, Target{Dir: dir, Name: fmt.Sprint("f", i), Rerun: true}, "http://h/x")
					must(b, f.Begin(identity.Identity{Size: size}))
					_, err := f.WriteAt(p, 0)
					must(b, err)
					batch = append(batch, Pending{f, CommitOptions{Size: size}})
					if len(batch) == at || i == files-1 {
						for _, c := range CommitAll(batch) {
							must(b, c.Err)
						}
						batch = batch[:0]
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/files, "µs/file")
		})
	}
}
