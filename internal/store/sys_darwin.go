package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// preallocate does nothing: F_PREALLOCATE reserves from the end of the file
// on, which does not fit a file that is filled in any order.
func preallocate(*os.File, int64) error { return nil }

// syncData makes f's bytes durable.
func syncData(f *os.File) error { return f.Sync() }

// inOrder: APFS goes from one consistent state to the next, and HFS+ has one log.
func inOrder(string) bool { return true }

// renameNoReplace moves from to a name that must be free.
func (d *directory) renameNoReplace(from, to string) error {
	at, name := d.at(from)
	_, target := d.at(to)
	err := unix.RenameatxNp(at, name, at, target, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return d.linkNoReplace(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// largeFile is of Linux alone.
const largeFile = 0
