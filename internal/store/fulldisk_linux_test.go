package store

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

// inOwnMounts runs the calling test again in a process with its own mounts,
// with a file system of 1 MiB at the returned place. In the first process it
// gives false.
func inOwnMounts(t *testing.T) (string, bool) {
	t.Helper()
	if os.Getenv(childEnv) != "" {
		dir := os.Getenv("MLGET_STORE_TEST_DIR")
		must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0755"))
		return dir, true
	}
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	if dir := flag.Lookup("test.gocoverdir"); dir != nil && dir.Value.String() != "" {
		cmd.Args = append(cmd.Args, "-test.gocoverdir="+dir.Value.String()) // what it covers counts, too
	}
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childEnv+"=mounts", "MLGET_STORE_TEST_DIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("no mount namespaces here")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return "", false
}

func TestFullDisk(t *testing.T) {
	dir, ok := inOwnMounts(t)
	if !ok {
		return
	}
	// Room for the whole is asked for before a byte is fetched.
	f := open(t, Target{Dir: dir}, hereURL)
	var e *Error
	if err := f.Begin(identity.Identity{Size: 2 << 20}); !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &e) {
		t.Fatalf("preallocating 2 MiB of 1: %v", err)
	}
	must(t, f.Close())
	wantNames(t, dir)

	// It is said how much is missing.
	var room *NoRoom
	f = open(t, Target{Dir: dir}, hereURL)
	if err := f.Begin(identity.Identity{Size: 2 << 20}); !errors.As(err, &room) || room.Needed != 2<<20 || room.Free < 1<<19 || room.Free > 1<<20 {
		t.Errorf("2 MiB of 1: %v", err)
	}
	must(t, f.Close())

	// What was done is kept if the rest does not fit any more.
	b := testbody.Body{Size: 700 << 10, Seed: 4}
	id := identity.Identity{Size: b.Size, ETag: `"e"`}
	f = open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(id))
	write(t, f, b, ranges(0, 100<<10)[0])
	must(t, f.Suspend(ranges(0, 100<<10)))
	must(t, os.Truncate(filepath.Join(dir, "x.part"), 100<<10)) // gives the reserved room back
	put(t, filepath.Join(dir, "other"), string(make([]byte, 600<<10)))
	f = open(t, Target{Dir: dir}, hereURL)
	if err := f.Begin(id); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	var fs unix.Statfs_t
	must(t, unix.Statfs(dir, &fs))
	if free := fs.Bfree * uint64(fs.Bsize); free < 300<<10 {
		t.Errorf("the failed reservation still holds room: %d bytes are free", free)
	}
	must(t, f.Suspend(ranges(0, 100<<10)))
	must(t, os.Remove(filepath.Join(dir, "other")))
	f = open(t, Target{Dir: dir}, hereURL)
	if _, done, ok := f.Resume(); !ok || done[0].End != 100<<10 {
		t.Fatal(done, f.Notice())
	}
	must(t, f.Begin(id))
	write(t, f, b, ranges(100<<10, b.Size)[0])
	name, err := f.Commit(CommitOptions{Size: b.Size})
	must(t, err)
	if content(t, name) != bodyString(t, b) {
		t.Fatal("wrong bytes")
	}
}

// TestRunsFilesShareTheRoom: each of two files of 1.5 MiB fits, but not both.
func TestRunsFilesShareTheRoom(t *testing.T) {
	dir, ok := inOwnMounts(t)
	if !ok {
		return
	}
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT, "size=2m,mode=0755"))
	r := NewRun(dir)
	defer r.Close()
	id := identity.Identity{Size: 3 << 19, ETag: `"e"`}
	one := open(t, Target{Dir: dir, Run: r, Rerun: true}, hereURL)
	must(t, one.Begin(id))
	other := open(t, Target{Dir: dir, Run: r, Rerun: true}, "http://h.org/other")
	var room *NoRoom
	if err := other.Begin(id); !errors.As(err, &room) {
		t.Errorf("the second of two files that do not fit together: %v", err)
	}
	must(t, other.Close())
	must(t, one.Close())
	other = open(t, Target{Dir: dir, Run: r, Rerun: true}, "http://h.org/other")
	if err := other.Begin(id); err != nil {
		t.Errorf("the first one is gone: %v", err)
	}
	must(t, other.Close())
}

// Without a size nothing is reserved, and the disk runs full while writing.
func TestDiskRunsFull(t *testing.T) {
	dir, ok := inOwnMounts(t)
	if !ok {
		return
	}
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(identity.Identity{Size: -1, ETag: `"e"`}))
	p := make([]byte, 64<<10)
	write(t, f, body, ranges(0, 1000)[0])
	must(t, f.Checkpoint(ranges(0, 1000)))
	var err error
	for off := int64(1000); err == nil && off < 4<<20; off += int64(len(p)) {
		_, err = f.WriteAt(p, off)
	}
	var e *Error
	if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &e) {
		t.Fatal(err)
	}
	// There may be no room for a new journal; then the old one stands.
	if err := f.Suspend(ranges(0, 2000)); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if _, done, ok := open(t, Target{Dir: dir}, hereURL).Resume(); !ok || done[0].End < 1000 {
		t.Fatal("the state is gone", done)
	}
}

// TestDiskIsFullBeforeTheFirstCheckpoint: what has come by then is kept, but for the few bytes
// whose room its journal needs.
func TestDiskIsFullBeforeTheFirstCheckpoint(t *testing.T) {
	dir, ok := inOwnMounts(t)
	if !ok {
		return
	}
	filler := filepath.Join(dir, "filler")
	for name, c := range map[string]struct {
		to   Target
		size int64 // as Begin is told
	}{
		"known":           {Target{Dir: dir}, 700 << 10},
		"not known":       {Target{Dir: dir}, -1},
		"without a name":  {Target{Dir: dir, Rerun: true}, 700 << 10},
		"named by a user": {Target{Dir: dir, Name: "x", Explicit: true}, 700 << 10},
	} {
		for _, ends := range []bool{true, false} { // is the last byte among those that came
			b := testbody.Body{Size: 700 << 10, Seed: 4}
			id := identity.Identity{Size: c.size, ETag: `"e"`}
			f := open(t, c.to, hereURL)
			must(t, f.Begin(id))
			put(t, filler, string(make([]byte, 600<<10)))
			var done int64
			p := make([]byte, 16<<10)
			last := b.Size
			if ends {
				last -= int64(len(p))
				write(t, f, b, ranges(last, b.Size)[0])
			}
			for {
				_, _ = b.ReadAt(p, done)
				n, err := f.WriteAt(p, done)
				if done += int64(n); err != nil {
					if !errors.Is(err, syscall.ENOSPC) {
						t.Fatal(err)
					}
					break
				}
			}
			for err := error(nil); err == nil; { // no room for other files' pages either
				err = appendTo(filler, 1)
			}
			there := ranges(0, done)
			if ends {
				there = ranges(0, done, last, b.Size)
			}
			if err := f.Suspend(there); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			must(t, os.Remove(filler))
			f = open(t, c.to, hereURL)
			_, kept, _ := f.Resume()
			if len(kept) == 0 || endOf(kept[:1]) < done-128<<10 {
				t.Fatalf("%s: of %v are kept %v; %s", name, there, kept, f.Notice())
			}
			must(t, f.Begin(id))
			at := int64(0)
			for _, r := range append(kept, ranges(b.Size, b.Size+1)[0]) {
				if at < r.Off {
					write(t, f, b, ranges(at, min(r.Off, b.Size))[0])
				}
				at = r.End
			}
			path, err := f.Commit(CommitOptions{Size: b.Size})
			must(t, err)
			if content(t, path) != bodyString(t, b) {
				t.Errorf("%s: wrong bytes", name)
			}
			must(t, os.Remove(path))
			wantNames(t, dir)
		}
	}
}

func appendTo(path string, n int) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = w.Write(make([]byte, n))
		err = errors.Join(err, w.Close())
	}
	return err
}

func TestReadOnly(t *testing.T) {
	dir, ok := inOwnMounts(t)
	if !ok {
		return
	}
	put(t, filepath.Join(dir, "old"), "theirs")
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for _, to := range []Target{
		{Dir: dir},
		{Dir: filepath.Join(dir, "new")},
		{Dir: dir, Name: "old", Explicit: true},
		{Dir: dir, Name: "old", Continue: true},
	} {
		_, err := Open(to, parse(t, hereURL))
		var e *Error
		if !errors.Is(err, syscall.EROFS) || !errors.As(err, &e) {
			t.Errorf("%+v: %v", to, err)
		}
	}
}

// With no room for even the journal, nothing is left behind.
func TestNoRoomForTheJournal(t *testing.T) {
	dir, ok := inOwnMounts(t)
	if !ok {
		return
	}
	must(t, os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 1<<20), 0o644))
	if _, err := Open(Target{Dir: dir}, parse(t, hereURL)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	wantNames(t, dir, "fill")
}
