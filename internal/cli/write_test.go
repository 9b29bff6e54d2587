package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// What is there is replaced by something whole or stays, whatever the name leads through.
func TestCreateReplacesOnSuccessOnly(t *testing.T) {
	failed := errors.New("no more of it")
	write := func(fail error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, "new")
			return errors.Join(err, fail)
		}
	}
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
			file := name
			if c.to != "" {
				if runtime.GOOS == "windows" {
					t.Skip("links are for some here only")
				}
				file = filepath.Join(dir, c.to)
				if err := os.Symlink(c.to, name); err != nil {
					t.Fatal(err)
				}
			}
			if c.old != "" {
				if err := os.WriteFile(file, []byte(c.old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := entries(t, dir)
			if err := create(name, write(failed)); !errors.Is(err, failed) || !errors.As(err, new(fileError)) {
				t.Errorf("%v", err)
			}
			if text, err := os.ReadFile(file); string(text) != c.old || (err == nil) != (c.old != "") {
				t.Errorf("after a failure: %q, %v", text, err)
			}
			if n := entries(t, dir); n != before {
				t.Errorf("%d files after a failure, %d before", n, before)
			}
			if err := create(name, write(nil)); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "new" {
				t.Errorf("%q, %v", text, err)
			}
			if info, err := os.Lstat(name); err != nil || info.Mode().IsRegular() != (c.to == "") {
				t.Errorf("the link is gone: %v", err)
			}
			if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && c.old != "" && info.Mode().Perm() != 0o600 {
				t.Errorf("it is more open than it was: %v", info.Mode())
			}
		})
	}
	if err := create(os.DevNull, write(nil)); err != nil {
		t.Errorf("a device: %v", err)
	}
	if err := create(filepath.Join(t.TempDir(), "none", "x"), write(nil)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such directory: %v", err)
	}
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestCreateKeepsAnOpenFile whose name a link leads to: another one in its place would not reach
// who has it open.
func TestCreateKeepsAnOpenFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files have other names, or none")
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is read by its name
	link := filepath.Join(dir, "link")
	if err := os.Symlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), link); err != nil {
		t.Fatal(err)
	}
	if err := create(link, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 3)
	if _, err := f.ReadAt(text, 0); err != nil || string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
}
