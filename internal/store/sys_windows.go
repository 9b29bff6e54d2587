package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

const (
	// noFollow has no counterpart for open here; links are found before it.
	noFollow = 0
	// noWait: opening waits for nobody here.
	noWait = 0
)

// owner is not looked at here: who may write to a directory's files is for its access
// control list to say.
type owner struct{}

func ownerOf(fs.FileInfo) owner { return owner{} }

func (owner) isUser() bool { return true }

// links is not known of a fs.FileInfo here.
func links(fs.FileInfo) uint64 { return 1 }

// fileKey tells files apart, by their names alone.
type fileKey string

func keyOf(path string, _ fs.FileInfo) fileKey {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return fileKey(strings.ToLower(path))
}

// closeFirst: os.OpenFile does not share deletion, so an open file can be
// neither renamed nor removed.
const closeFirst = true

// syncNames does nothing, as syncDir.
func syncNames(*os.File) error { return nil }

// syncDir does nothing: directories cannot be synced here.
func syncDir(string) error { return nil }

// inOrder: NTFS has one log, and elsewhere there is nothing to be done about it.
func inOrder(string) bool { return true }

// preallocate does nothing: lengthening the file is all that there is without
// privileges, and the length tells how far bytes were written.
func preallocate(*os.File, int64) error { return nil }

// syncData makes f's bytes durable.
func syncData(f *os.File) error { return f.Sync() }

// renameNoReplace moves from to a name that must be free. The directory's handle, which is
// open, keeps its path from leading elsewhere.
func (*directory) renameNoReplace(from, to string) error {
	a, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	b, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	if err := windows.MoveFileEx(a, b, windows.MOVEFILE_WRITE_THROUGH); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// brokenPipe gives the system's two words for it the name that others use.
func brokenPipe(err error) error {
	if errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA) {
		return fmt.Errorf("%w: %w", syscall.EPIPE, err)
	}
	return err
}

// largeFile is of Linux alone.
const largeFile = 0
