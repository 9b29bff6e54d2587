//go:build unix

package power

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFilesThatAreNotRegular: whatever stands in the place of a file, reading it ends
// at once and without a number.
func TestFilesThatAreNotRegular(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "directory"), 0o755),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
		os.Symlink("fifo", filepath.Join(dir, "link-to-fifo")),
		os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "huge"), nil, 0o644),
		os.Truncate(filepath.Join(dir, "huge"), 100e6),
		os.WriteFile(filepath.Join(dir, "long"), bytes.Repeat([]byte("1"), maxFile+1), 0o644),
		os.WriteFile(outside, []byte("5"), 0o644),
		os.Symlink(outside, filepath.Join(dir, "outside")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Symlink("/dev/zero", filepath.Join(dir, "device")),
		os.WriteFile(filepath.Join(dir, "good"), []byte("5\n"), 0o644),
		os.Symlink("../"+filepath.Base(dir)+"/good", filepath.Join(dir, "above")),
		os.Symlink("directory/../good", filepath.Join(dir, "inside")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := openTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for name, want := range map[string]error{
		"missing": fs.ErrNotExist, "directory": errNotFile, "fifo": errNotFile, "link-to-fifo": errNotFile,
		"empty": errNumber, "huge": errTooLong, "long": errTooLong, "outside": nil, "above": nil, "loop": nil, "device": nil,
	} {
		n, err := f.number(name)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %d, %v, want %v", name, n, err, want)
		}
		if err != nil && bytes.Contains([]byte(err.Error()), []byte(dir)) {
			t.Errorf("%s: the error tells paths: %v", name, err)
		}
	}
	for _, name := range []string{"good", "inside"} {
		if n, err := f.number(name); err != nil || n != 5 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	for _, name := range []string{"fifo", "good", "huge", "missing", "loop", "outside"} {
		if sub, err := f.folder(name); err == nil {
			sub.close()
			t.Errorf("%s is a directory", name)
		}
		if names, err := f.list(name); len(names) > 0 || err == nil {
			t.Errorf("%s is a directory of %q", name, names)
		}
		if tree, err := openTree(filepath.Join(dir, name)); err == nil {
			tree.close()
			t.Errorf("%s is a tree", name)
		}
	}
}

// TestTreeOfFIFOs: every file of every source is a pipe without a writer.
func TestTreeOfFIFOs(t *testing.T) {
	for _, tree := range []string{"galaxy-s7", "laptop", "pixel-odpm", "jetson", "server"} {
		dir := unpack(t, tree)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || filepath.Base(path) == "type" || filepath.Base(path) == "name" {
				return err
			}
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
		if src, err := choose(context.Background(), config(Auto, dir)); err == nil {
			t.Errorf("%s: %+v", tree, src.describe())
			src.close()
		}
	}
}
