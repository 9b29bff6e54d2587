package rewrite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestFile: whatever the name leads through, what is there is replaced, with its mode, and
// nothing is left beside it.
func TestFile(t *testing.T) {
	for _, c := range []struct {
		name, to, old string // what name links to, if anything; what is there
	}{
		{name: "new"},
		{name: "old", old: "precious"},
		{name: "link", to: "old", old: "precious"},
		{name: "dangling", to: "new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, c.name)
			file, files := name, 1
			if c.to != "" {
				if runtime.GOOS == "windows" {
					t.Skip("links are for some here only")
				}
				file, files = filepath.Join(dir, c.to), 2
				if err := os.Symlink(c.to, name); err != nil {
					t.Fatal(err)
				}
			}
			if c.old != "" {
				if err := os.WriteFile(file, []byte(c.old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := File(name, []byte("new")); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "new" {
				t.Errorf("%q, %v", text, err)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) != files {
				t.Errorf("%v, %v: want %d", list, err, files)
			}
			if info, err := os.Lstat(name); err != nil || info.Mode().IsRegular() != (c.to == "") {
				t.Errorf("the link is gone: %v", err)
			}
			if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && c.old != "" && info.Mode().Perm() != 0o600 {
				t.Errorf("it is more open than it was: %v", info.Mode())
			}
		})
	}
	if err := File(os.DevNull, []byte("new")); err != nil {
		t.Errorf("a device: %v", err)
	}
	if err := File(filepath.Join(t.TempDir(), "none", "x"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such directory: %v", err)
	}
}

// TestAnOpenFile whose name a link leads to: another one in its place would not reach who
// has it open, and what is in it stays.
func TestAnOpenFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files have other names, or none")
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is read by its name
	if _, err := f.WriteString("old"); err != nil {
		t.Fatal(err)
	}
	names := []string{filepath.Join(dir, "link"), filepath.Join(dir, "fds", fmt.Sprint(f.Fd())), fmt.Sprintf("/dev/fd/%d", f.Fd()), fmt.Sprintf("/proc/self/fd/%d", f.Fd())}
	if err := errors.Join(os.Symlink("/proc/self/fd", filepath.Join(dir, "fds")), os.Symlink(fmt.Sprintf("fds/%d", f.Fd()), names[0])); err != nil {
		t.Fatal(err)
	}
	want := "old"
	for _, name := range names {
		if err := File(name, []byte(" new")); err != nil {
			t.Fatal(err)
		}
		more, err := Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := more.WriteString(" more"); err != nil {
			t.Error(err)
		}
		if err := more.Close(); err != nil {
			t.Error(err)
		}
		want += " new more"
		text := make([]byte, len(want)+1)
		if n, _ := f.ReadAt(text, 0); string(text[:n]) != want {
			t.Errorf("%s: %q, want %q", name, text[:n], want)
		}
	}
	for name, want := range map[string]bool{"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true, os.DevNull: false, "/dev/shm/x": false, f.Name(): false} {
		if IsOpen(name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
	// By its own name it is a file as any other.
	if f, err := Create(f.Name()); err != nil || f.Close() != nil {
		t.Error(err)
	}
	if fi, err := f.Stat(); err != nil || fi.Size() > 0 {
		t.Errorf("%d bytes, %v", fi.Size(), err)
	}
}

// TestFileWaitsForReader: a file that another program is just reading is replaced when it has
// been read. Windows refuses before, and writing over it would show the reader half of each.
func TestFileWaitsForReader(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	before, err := reader.Stat()
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- File(name, []byte("new")) }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until there is something to take its place
		beside, err := filepath.Glob(filepath.Join(dir, ".mlget-*.tmp"))
		if err != nil || time.Now().After(end) {
			t.Fatal(err)
		}
		if after, err := os.Stat(name); len(beside) > 0 || err == nil && !os.SameFile(before, after) {
			break
		}
	}
	text, err := io.ReadAll(reader)
	if err := errors.Join(err, reader.Close()); err != nil || string(text) != "old" {
		t.Errorf("the reader has %q, %v", text, err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(name); err != nil || os.SameFile(before, after) {
		t.Errorf("%v: the file was written over", err)
	}
}
