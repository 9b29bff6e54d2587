//go:build linux && (race || (!amd64 && !arm64))

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// splice moves at most n bytes from a pipe to file at off.
func (*brief) splice(pipe int, file *os.File, off int64, n int) (int64, error) {
	moved, err := unix.Splice(pipe, nil, int(file.Fd()), &off, n, unix.SPLICE_F_MOVE)
	return int64(moved), err //nolint:unconvert // an int on some machines
}
