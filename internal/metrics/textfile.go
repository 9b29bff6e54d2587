package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/mlget/mlget/internal/rewrite"
)

// ErrNotFile says that a name is that of a device, a pipe or a directory, which
// must not be replaced by a file.
var ErrNotFile = errors.New("not a regular file")

// WriteFile writes the run's metrics to a world-readable file for node_exporter's textfile
// collector. A reader sees the old page or the new one, whole. If name is a symbolic link, its
// target is written.
func WriteFile(name string, run *Run) error {
	switch info, err := os.Stat(name); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("metrics: %s: %w", name, ErrNotFile)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("metrics: %w", err)
	case rewrite.IsOpen(name): // its readers would not see the new one, and the next time the name leads nowhere
		return fmt.Errorf("metrics: %s: %w: it stands for one that is open", name, ErrNotFile)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil { // else there is none, or it leads nowhere yet
		name = target
	}
	err := prometheus.WriteToTextfile(name, run.registry)
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) && failed.Op == "chmod" {
		err = writeWithoutMode(name, run) // FAT and FUSE have no modes: the file system decides who may read
	}
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

func writeWithoutMode(name string, run *Run) error {
	families, err := run.registry.Gather()
	var text bytes.Buffer
	for _, f := range families {
		_, failed := expfmt.MetricFamilyToText(&text, f)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	return rewrite.File(name, text.Bytes())
}
