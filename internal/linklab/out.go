package linklab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckOut says why a file could not be written at the end of a run, before it begins:
// some take hours. It leaves everything as it is. An empty path is that of no file.
func CheckOut(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		path = filepath.Dir(path)
		if info, err = os.Stat(path); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s: not a directory", path)
		}
		return err
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s: is a directory", path)
	case !info.Mode().IsRegular(): // to open a pipe would wait for its reader
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
