package metrics

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlget/mlget/internal/rewrite"
)

// ErrNotFile says that a name is that of a device, a pipe or a directory, which
// must not be replaced by a file.
var ErrNotFile = errors.New("not a regular file")

// WriteFile writes the run's metrics to a file that everybody may read, for
// node_exporter's textfile collector. Whoever reads it sees the old page or the
// new one, whole. Of a symbolic link it is the file behind it that is written.
func WriteFile(name string, run *Run) error {
	if err := writeFile(name, run.Text()); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

func writeFile(name string, text []byte) error {
	switch info, err := os.Stat(name); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w", name, ErrNotFile)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case rewrite.IsOpen(name): // its readers would not see the new one, and the next time the name leads nowhere
		return fmt.Errorf("%s: %w: it stands for one that is open", name, ErrNotFile)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil { // else there is none, or it leads nowhere yet
		name = target
	}
	// A name that the collector, which takes *.prom, does not look at.
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	err = fill(f, text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
	}
	return err
}

func fill(f *os.File, text []byte) error {
	if _, err := f.Write(text); err != nil {
		return err
	}
	_ = f.Chmod(0o644) // where the file system cannot (FAT, FUSE), it says who may read
	return f.Sync()
}
