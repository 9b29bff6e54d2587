//go:build !linux && !windows

package store

import (
	"errors"
	"io/fs"
	"os"
)

// openUnnamed: there are no files without names here.
func (*directory) openUnnamed(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }
