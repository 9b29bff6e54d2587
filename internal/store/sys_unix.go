//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow makes open fail on a symbolic link.
const noFollow = unix.O_NOFOLLOW

// fileKey tells files apart, whatever they are called.
type fileKey struct{ device, inode uint64 }

func keyOf(_ string, fi fs.FileInfo) fileKey {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fileKey{}
	}
	return fileKey{uint64(st.Dev), st.Ino} //nolint:unconvert,gosec // it has another type elsewhere
}

// closeFirst: an open file can be renamed and removed here.
const closeFirst = false

// syncDir makes the names in dir durable. A directory that cannot be opened or
// synced (FUSE, execute-only) is left to the kernel; a device that fails is an
// error.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // not readable: its names can still be written
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); errors.Is(err, syscall.EIO) {
		return err
	}
	return nil
}

// linkNoReplace moves from to a name that must be free, by a hard link: both
// names lead to the same bytes for a moment, and none ever to nothing. Where
// there are no hard links (FAT, Android's SELinux) the name is reserved by an
// empty file that is then replaced.
func linkNoReplace(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		// One of the two names must be durable at any time.
		if dir := filepath.Dir(to); !inOrder(dir) {
			err = syncDir(dir)
		}
		return errors.Join(err, os.Remove(from))
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	r, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// brokenPipe: EPIPE is what the system says here.
func brokenPipe(err error) error { return err }
