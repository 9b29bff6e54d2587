package store

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// openUnnamed makes a file in the directory that is gone when it is closed, or when the process
// ends, however it does.
func (d *directory) openUnnamed(mode fs.FileMode) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL | windows.FILE_FLAG_DELETE_ON_CLOSE
	return d.openFile(filepath.Join(d.path, probeName()), flags, mode)
}
