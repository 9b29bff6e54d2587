package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

func TestNamedPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	must(t, unix.Mkfifo(path, 0o600))
	to := Target{Name: path, Explicit: true}
	if _, err := Open(to, parse(t, hereURL)); !errors.Is(err, ErrStream) {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		read <- string(b)
	}()
	w, ok, err := OpenStream(t.Context(), to)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	s := released(w, 100)
	for _, r := range ranges(50, 100, 0, 50) {
		write(t, s, body, r)
	}
	must(t, s.Finish(t.Context(), 100))
	must(t, w.Close())
	if got := <-read; got != bodyString(t, body)[:100] {
		t.Fatal("the reader saw other bytes")
	}
	must(t, os.Rename(path, path+".part")) // in the place of a .part
	if _, err := Open(to, parse(t, hereURL)); !errors.Is(err, ErrForeign) {
		t.Fatal(err)
	}
	wantNames(t, dir, "pipe.part")
}

// TestNamedPipeWithoutOtherEnd: waiting for a named pipe's other end can be cancelled.
func TestNamedPipeWithoutOtherEnd(t *testing.T) {
	for name, open := range map[string]func(ctx context.Context, path string) (*os.File, error){
		"written": func(ctx context.Context, path string) (*os.File, error) {
			w, _, err := OpenStream(ctx, Target{Name: path, Explicit: true})
			return w, err
		},
		"read": func(ctx context.Context, path string) (*os.File, error) {
			return OpenWaiting(ctx, path, os.O_RDONLY)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pipe")
			must(t, unix.Mkfifo(path, 0o600))
			errOver := errors.New("over")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(errOver) })
			if _, err := open(ctx, path); !errors.Is(err, errOver) {
				t.Error(err)
			}
			both, err := os.OpenFile(path, os.O_RDWR, 0) // releases an open that still waits
			must(t, err)
			must(t, both.Close())
		})
	}
}

// /dev/stdout sent to a file: the link must not be replaced, and what the
// shell appends to must not be overwritten.
func TestLinkToAnOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, "before ")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	to := Target{Name: fmt.Sprintf("/proc/self/fd/%d", f.Fd()), Explicit: true}
	if _, err := Open(to, parse(t, hereURL)); !errors.Is(err, ErrStream) {
		t.Fatal(err)
	}
	w, ok, err := OpenStream(t.Context(), to)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	_, err = io.WriteString(w, "after")
	must(t, err)
	must(t, w.Close())
	must(t, f.Close())
	if got := content(t, path); got != "before after" {
		t.Fatal(got)
	}
}

// The ways of taking a name that no other file may have.
func TestRenameNoReplace(t *testing.T) {
	for name, move := range map[string]func(d *directory, from, to string) error{
		"the system's":          (*directory).renameNoReplace,
		"by a link":             (*directory).linkNoReplace,
		"by a reservation":      func(d *directory, from, to string) error { return withoutLinks(d).linkNoReplace(from, to) },
		"of an unreadable one":  func(d *directory, from, to string) error { return unread(d).renameNoReplace(from, to) },
		"by a link, unreadable": func(d *directory, from, to string) error { return unread(d).linkNoReplace(from, to) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d, err := openDirectory(dir)
			must(t, err)
			t.Cleanup(d.release)
			must(t, os.Chmod(dir, 0o777))
			a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
			put(t, a, "a")
			put(t, b, "b")
			if err := move(d, a, b); !errors.Is(err, os.ErrExist) || content(t, b) != "b" || content(t, a) != "a" {
				t.Errorf("%v", err)
			}
			must(t, move(d, a, c))
			if content(t, c) != "a" {
				t.Error("wrong bytes")
			}
			wantNames(t, dir, "b", "c")
		})
	}
}

// withoutLinks is d in a file system that has no hard links, such as FAT.
func withoutLinks(d *directory) *directory {
	return &directory{path: d.path, files: linkless{d.files}, root: d.root, handle: d.handle}
}

type linkless struct{ files }

func (linkless) Link(string, string) error { return unix.EPERM }

// unread is d where it may be written but not read.
func unread(d *directory) *directory { return &directory{path: d.path, files: byPath(d.path)} }

// TestLinksInDevShmAreTheUsers: they are replaced as everywhere else; what they lead to is not
// written behind what it holds.
func TestLinksInDevShmAreTheUsers(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "mlget-link-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(shm)) })
	target := filepath.Join(t.TempDir(), "target")
	put(t, target, "old")
	must(t, os.Symlink(target, filepath.Join(shm, "link")))
	to := Target{Name: filepath.Join(shm, "link"), Explicit: true}
	if w, ok, err := OpenStream(t.Context(), to); ok || err != nil {
		t.Fatal("it is taken for a stream", w, err)
	}
	b := testbody.Body{Size: 3000, Seed: 1}
	getAll(t, open(t, to, hereURL), identity.Identity{Size: b.Size}, b)
	if got := content(t, target); got != "old" {
		t.Errorf("what the link leads to is %q", got)
	}
	if content(t, shm, "link") != bodyString(t, b) {
		t.Error("the link was not replaced")
	}
}

// TestPhonesNames: what runs on 32-bit phones was not built for Android, and their shared
// storage refuses the same names.
func TestPhonesNames(t *testing.T) {
	dir, ok := inOwnMounts(t)
	if !ok {
		return
	}
	to := Target{Dir: dir, Served: true}
	if got, want := to.Path(parse(t, "http://h/12:30%3F")), filepath.Join(dir, "12:30?"); runtime.GOOS == "linux" && got != want {
		t.Fatalf("elsewhere: %q, want %q", got, want)
	}
	must(t, os.Mkdir(filepath.Join(dir, "__properties__"), 0o755))
	must(t, unix.Mount(dir, "/dev", "", unix.MS_BIND, ""))
	if got, want := to.Path(parse(t, "http://h/12:30%3F")), filepath.Join(dir, "12_30_"); got != want {
		t.Errorf("of a URL: %q, want %q", got, want)
	}
	if got, want := to.served(dir, "a|b"), filepath.Join(dir, "a_b"); got != want {
		t.Errorf("as served: %q, want %q", got, want)
	}
}
