package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/mlget/mlget/internal/event/eventtest"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "mlget.prom")
	run := after(eventtest.TwoLinks())
	for range 2 { // new, and over an old one
		if err := WriteFile(name, run); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(text, page(t, run, "")) {
			t.Errorf("%v: %s", err, text)
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode() != 0o644 {
		t.Errorf("mode %v: node_exporter is another user", info.Mode())
	}
	wantFiles(t, dir, "mlget.prom")
}

// TestWriteFileBehindLink: a link stays one, wherever it leads.
func TestWriteFileBehindLink(t *testing.T) {
	there, here := t.TempDir(), t.TempDir()
	run := after(eventtest.TwoLinks())
	file, link := filepath.Join(there, "real.prom"), filepath.Join(here, "link.prom")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, run); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, page(t, run, "")) {
		t.Errorf("%v: %s", err, text)
	}
	wantFiles(t, here, "link.prom")
	wantFiles(t, there, "real.prom")
}

// wantFiles wants these names in dir and no others.
func wantFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(names) {
		t.Fatalf("%v, want %v", found, names)
	}
	for i, f := range found {
		if f.Name() != names[i] {
			t.Errorf("%v, want %v", found, names)
		}
	}
}

func TestWriteFileFails(t *testing.T) {
	dir := t.TempDir()
	run := New("1", "go1")
	if err := WriteFile(filepath.Join(dir, "missing", "x.prom"), run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such directory: %v", err)
	}
	for _, name := range []string{dir, os.DevNull} {
		if err := WriteFile(name, run); !errors.Is(err, ErrNotFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantFiles(t, dir)
}

// TestWriteFileOfAnOpenFile: neither it, which a shell may have opened with >>, nor the
// link to it is replaced.
func TestWriteFileOfAnOpenFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files have other names, or none")
	}
	dir := t.TempDir()
	log, link := filepath.Join(dir, "log"), filepath.Join(dir, "out.prom")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is read by its name
	if _, err := f.WriteString("old"); err != nil {
		t.Fatal(err)
	}
	to := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, to} {
		if err := WriteFile(name, New("1", "go1")); !errors.Is(err, ErrNotFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(log); err != nil || string(text) != "old" {
		t.Errorf("%q, %v", text, err)
	}
	if at, err := os.Readlink(link); err != nil || at != to {
		t.Errorf("the link leads to %q, %v", at, err)
	}
	wantFiles(t, dir, "log", "out.prom")
}

// TestWriteFileIsAtomic: a concurrent reader sees one page or the other.
func TestWriteFileIsAtomic(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is being read cannot be replaced")
	}
	name := filepath.Join(t.TempDir(), "x.prom")
	one, two := after(eventtest.TwoLinks()), after(eventtest.ManyFiles(9))
	if err := WriteFile(name, one); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	done := make(chan struct{})
	wait.Go(func() {
		defer close(done)
		for i := range 100 {
			run := one
			if i%2 == 0 {
				run = two
			}
			if err := WriteFile(name, run); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(text, page(t, one, "")) && !bytes.Equal(text, page(t, two, "")) {
			t.Fatalf("%v: %d bytes", err, len(text))
		}
	}
	wait.Wait()
}
