package store

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

func TestDownload(t *testing.T) {
	dir := t.TempDir()
	f := open(t, Target{Dir: dir}, hereURL)
	if _, err := f.WriteAt([]byte("early"), 0); !errors.Is(err, ErrClosed) {
		t.Fatalf("before Begin: %v", err)
	}
	must(t, f.Begin(object))
	write(t, f, body, ranges(500, 1000)[0])
	must(t, f.Checkpoint(ranges(500, 1000)))
	write(t, f, body, ranges(0, 500)[0])
	wantNames(t, dir, "x.part", "x.part.json")
	all, err := io.ReadAll(io.NewSectionReader(f, 0, object.Size))
	must(t, err)
	if string(all) != bodyString(t, body) {
		t.Fatal("ReadAt gives other bytes")
	}
	when := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	name, err := f.Commit(CommitOptions{Size: object.Size, ModTime: when})
	must(t, err)
	wantNames(t, dir, "x")
	if name != filepath.Join(dir, "x") || content(t, name) != bodyString(t, body) {
		t.Fatalf("%s is wrong", name)
	}
	fi, err := os.Stat(name)
	must(t, err)
	if !fi.ModTime().Equal(when) {
		t.Errorf("changed at %v, want %v", fi.ModTime(), when)
	}
	must(t, f.Close())
	wantNames(t, dir, "x")
	if _, err := f.WriteAt([]byte("late"), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("after Commit: %v", err)
	}
	for what, err := range map[string]error{
		"Begin": f.Begin(object), "Checkpoint": f.Checkpoint(nil), "Reject": f.Reject(),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Commit: %v", what, err)
		}
	}
}

func TestModeFollowsUmask(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "model"), "") // 0644
	probe, err := os.OpenFile(filepath.Join(dir, "probe"), os.O_CREATE|os.O_RDWR, 0o666)
	must(t, err)
	must(t, probe.Close())
	want, err := os.Stat(filepath.Join(dir, "probe"))
	must(t, err)
	finish := func(to Target) os.FileMode {
		f := open(t, to, hereURL)
		must(t, f.Begin(identity.Identity{Size: 0}))
		name, err := f.Commit(CommitOptions{})
		must(t, err)
		fi, err := os.Stat(name)
		must(t, err)
		return fi.Mode()
	}
	if got := finish(Target{Dir: dir}); got != want.Mode() {
		t.Errorf("mode %v, want %v", got, want.Mode())
	}
	must(t, os.Chmod(filepath.Join(dir, "x"), 0o640))
	if got := finish(Target{Dir: dir, Name: "x", Explicit: true}); got != 0o640 {
		t.Errorf("replacing, mode %v, want that of the file before", got)
	}
}

func TestResumeAcrossRuns(t *testing.T) {
	dir := t.TempDir()
	to := Target{Dir: dir}
	interrupted(t, to, hereURL)
	wantNames(t, dir, "x.part", "x.part.json")
	f := open(t, to, hereURL)
	id, done, ok := f.Resume()
	if !ok || id != object || len(done) != 1 || done[0] != ranges(0, 400)[0] {
		t.Fatalf("%+v %v %v", id, done, ok)
	}
	must(t, f.Begin(object))
	if _, again, _ := f.Resume(); len(again) != 1 {
		t.Fatal("Begin forgot what was done")
	}
	write(t, f, body, ranges(400, 1000)[0])
	name, err := f.Commit(CommitOptions{Size: 1000})
	must(t, err)
	if content(t, name) != bodyString(t, body) {
		t.Fatal("wrong bytes")
	}
	wantNames(t, dir, "x")
}

func TestAnotherObjectIsNeverMixedIn(t *testing.T) {
	dir := t.TempDir()
	to := Target{Dir: dir}
	interrupted(t, to, hereURL)
	f := open(t, to, hereURL)
	changed := identity.Identity{Size: 800, ETag: `"v2"`}
	if err := f.Begin(changed); !errors.Is(err, ErrChanged) {
		t.Fatal(err)
	}
	must(t, f.Restart())
	if _, _, ok := f.Resume(); ok {
		t.Fatal("Restart kept what was done")
	}
	must(t, f.Begin(changed))
	if content(t, dir, "x.part") != "" {
		t.Fatal("bytes of the old object are still there")
	}
	v2 := testbody.Body{Size: 800, Seed: 9}
	write(t, f, v2, ranges(600, 800)[0])
	must(t, f.Suspend(ranges(600, 800)))
	f = open(t, to, hereURL)
	id, done, _ := f.Resume()
	if id != changed || len(done) != 1 || done[0].Off != 600 {
		t.Fatalf("%+v %v", id, done)
	}
	must(t, f.Begin(changed))
	write(t, f, v2, ranges(0, 600)[0])
	name, err := f.Commit(CommitOptions{Size: 800})
	must(t, err)
	if content(t, name) != bodyString(t, v2) {
		t.Fatal("wrong bytes")
	}
}

// What was there is safe until Begin, whatever the server answers.
func TestNothingIsLostBeforeBegin(t *testing.T) {
	dir := t.TempDir()
	interrupted(t, Target{Dir: dir}, otherURL)
	f := open(t, Target{Dir: dir, Name: "x", Explicit: true}, hereURL)
	if f.Notice() == "" {
		t.Error("no notice")
	}
	must(t, f.Suspend(nil)) // a 404, say
	f = open(t, Target{Dir: dir}, otherURL)
	if _, done, ok := f.Resume(); !ok || len(done) != 1 {
		t.Fatal("the other download's progress is gone")
	}
	must(t, f.Restart())
	must(t, f.Close())
	f = open(t, Target{Dir: dir}, otherURL)
	if _, _, ok := f.Resume(); !ok {
		t.Fatal("Restart without Begin destroyed it")
	}
}

func TestEmptyPartIsNotLeft(t *testing.T) {
	dir := t.TempDir()
	for _, end := range []func(*File) error{
		func(f *File) error { return f.Close() },
		func(f *File) error { return f.Suspend(nil) },
		func(f *File) error { return errors.Join(f.Begin(object), f.Close()) },
		func(f *File) error { return errors.Join(f.Begin(object), f.Suspend(nil)) },
	} {
		must(t, end(open(t, Target{Dir: dir}, hereURL)))
		wantNames(t, dir)
	}
}

func TestRejectKeepsTheBytesAndStartsOver(t *testing.T) {
	dir := t.TempDir()
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(object))
	write(t, f, body, ranges(0, 1000)[0])
	must(t, f.Checkpoint(ranges(0, 1000)))
	must(t, f.Reject())
	wantNames(t, dir, "x.part", "x.part.json")
	if content(t, dir, "x.part") != bodyString(t, body) {
		t.Fatal("the bytes are gone")
	}
	f = open(t, Target{Dir: dir}, hereURL)
	if _, _, ok := f.Resume(); ok || f.Name() != filepath.Join(dir, "x") {
		t.Fatal("wrong bytes would be resumed")
	}
	must(t, f.Begin(object))
}

func TestBytesOutsideTheObjectAreRefused(t *testing.T) {
	f := open(t, Target{Dir: t.TempDir()}, hereURL)
	must(t, f.Begin(object))
	p := make([]byte, 10)
	for _, off := range []int64{-1, 991, 1000, 1 << 62, 1<<63 - 1} {
		if n, err := f.WriteAt(p, off); n != 0 || !errors.Is(err, ErrOutside) {
			t.Errorf("at %d: %d, %v", off, n, err)
		}
	}
	if _, err := f.WriteAt(p, 990); err != nil {
		t.Error(err)
	}
	for name, done := range map[string][]scheduler.Range{
		"beyond": ranges(0, 1001), "unsorted": ranges(5, 6, 0, 1), "empty": ranges(3, 3),
	} {
		if err := f.Checkpoint(done); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, size := range []int64{-1, 999, 1001} {
		if _, err := f.Commit(CommitOptions{Size: size}); !errors.Is(err, ErrIncomplete) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// The journal does not take the caller's word where the file says otherwise.
func TestUnwrittenBytesAreNotClaimed(t *testing.T) {
	dir := t.TempDir()
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(object))
	write(t, f, body, ranges(0, 10)[0])
	if err := f.Checkpoint(ranges(0, 11)); !errors.Is(err, ErrIncomplete) {
		t.Fatal(err)
	}
	if _, err := f.Commit(CommitOptions{Size: 1000}); !errors.Is(err, ErrIncomplete) {
		t.Fatal(err)
	}
}

func TestUnknownSize(t *testing.T) {
	dir := t.TempDir()
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(identity.Identity{Size: -1}))
	write(t, f, body, ranges(0, 700)[0])
	must(t, f.Checkpoint(ranges(0, 700)))
	name, err := f.Commit(CommitOptions{Size: 600})
	must(t, err)
	if content(t, name) != bodyString(t, body)[:600] {
		t.Fatal("wrong bytes")
	}
}

func TestNothingIsReplacedAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(identity.Identity{Size: 0}))
	put(t, filepath.Join(dir, "x"), "came in between")
	must(t, os.Mkdir(filepath.Join(dir, "x.1"), 0o755))
	name, err := f.Commit(CommitOptions{})
	must(t, err)
	if name != filepath.Join(dir, "x.2") || content(t, dir, "x") != "came in between" {
		t.Fatalf("went to %s", name)
	}
	f = open(t, Target{Dir: dir, Name: "x", Explicit: true}, hereURL)
	must(t, f.Begin(identity.Identity{Size: 0}))
	name, err = f.Commit(CommitOptions{})
	must(t, err)
	if name != filepath.Join(dir, "x") || content(t, name) != "" {
		t.Fatal("an explicit name was not replaced")
	}
}

// A failed sync may have lost bytes that the next sync would not speak of.
func TestAFailedSyncIsFinal(t *testing.T) {
	dir := t.TempDir()
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(object))
	write(t, f, body, ranges(0, 1000)[0])
	must(t, f.Checkpoint(ranges(0, 100)))
	if err := f.sync(func(*os.File) error { return syscall.EIO }); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := f.Checkpoint(ranges(0, 1000)); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if _, err := f.Commit(CommitOptions{Size: 1000}); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := f.Suspend(ranges(0, 1000)); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if _, done, _ := open(t, Target{Dir: dir}, hereURL).Resume(); len(done) != 1 || done[0].End != 100 {
		t.Fatalf("the journal claims %v", done)
	}
}

func TestErrorsSayWhatAndWhere(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(Target{Dir: dir, Name: "no/x", Explicit: true}, parse(t, hereURL))
	want := "open " + filepath.Join(dir, "no", "x.part") + ": "
	if err == nil || !bytes.HasPrefix([]byte(err.Error()), []byte(want)) || bytes.Count([]byte(err.Error()), []byte(dir)) != 1 {
		t.Fatalf("%v, want %s...", err, want)
	}
}

func TestConcurrentWritesAndCheckpoints(t *testing.T) {
	const block, writers = 4 << 10, 8
	dir := t.TempDir()
	b := testbody.Body{Size: 4 << 20, Seed: 5}
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(identity.Identity{Size: b.Size, ETag: `"e"`}))
	share := b.Size / writers
	var mu sync.Mutex
	done := make([]scheduler.Range, writers)
	var group sync.WaitGroup
	for i := range done {
		done[i] = scheduler.Range{Off: int64(i) * share, End: int64(i) * share}
		group.Go(func() {
			p := make([]byte, block)
			for off := int64(i) * share; off < int64(i+1)*share; off += block {
				_, _ = b.ReadAt(p, off) // within the body
				if _, err := f.WriteAt(p, off); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				done[i].End = off + block
				mu.Unlock()
			}
		})
	}
	snapshot := func() []scheduler.Range {
		mu.Lock()
		defer mu.Unlock()
		var out []scheduler.Range
		for _, r := range done {
			if !r.Empty() {
				out = append(out, r)
			}
		}
		return out
	}
	for range 10 {
		must(t, f.Checkpoint(snapshot()))
	}
	group.Wait()
	name, err := f.Commit(CommitOptions{Size: b.Size})
	must(t, err)
	if content(t, name) != bodyString(t, b) {
		t.Fatal("wrong bytes")
	}
}

func TestWriteAtAllocatesNothing(t *testing.T) {
	f := open(t, Target{Dir: t.TempDir()}, hereURL)
	must(t, f.Begin(identity.Identity{Size: 1 << 20}))
	p := make([]byte, 16<<10)
	if n := testing.AllocsPerRun(200, func() {
		if _, err := f.WriteAt(p, rand.Int64N(1<<20-16<<10)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations per block", n)
	}
}

func BenchmarkWriteAt(b *testing.B) {
	const size = 256 << 20
	f := open(b, Target{Dir: b.TempDir()}, hereURL)
	must(b, f.Begin(identity.Identity{Size: size}))
	p := make([]byte, 256<<10)
	b.SetBytes(int64(len(p)))
	off := int64(0)
	for b.Loop() {
		if _, err := f.WriteAt(p, off); err != nil {
			b.Fatal(err)
		}
		off = (off + int64(len(p))) % size
	}
}
