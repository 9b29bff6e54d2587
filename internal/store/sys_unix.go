//go:build unix

package store

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// noFollow makes open fail on a symbolic link.
	noFollow = unix.O_NOFOLLOW
	// noWait makes open of a named pipe not wait for its other end.
	noWait = unix.O_NONBLOCK
)

// owner is whose a file is.
type owner uint32

func ownerOf(fi fs.FileInfo) owner {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return owner(math.MaxUint32)
	}
	return owner(st.Uid)
}

// isUser says whether the owner is the user of this process.
func (o owner) isUser() bool { return int64(o) == int64(os.Geteuid()) }

// links is how many names a file has.
func links(fi fs.FileInfo) uint64 {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Nlink) //nolint:unconvert,gosec // it has another type elsewhere
}

// fileKey tells files apart, whatever they are called.
type fileKey struct{ device, inode uint64 }

func keyOf(_ string, fi fs.FileInfo) fileKey {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fileKey{}
	}
	return fileKey{uint64(st.Dev), st.Ino} //nolint:unconvert,gosec // it has another type elsewhere
}

// usedByPath: a directory that may be written but not read is used by its path.
const usedByPath = true

// at is how a system call reaches the file at path: from a descriptor, by a name.
func (d *directory) at(path string) (fd int, name string) {
	if d.handle == nil {
		return unix.AT_FDCWD, path
	}
	return int(d.handle.Fd()), filepath.Base(path)
}

// syncDir makes the names in dir durable. A directory that cannot be opened or
// synced (FUSE, execute-only) is left to the kernel; a device that fails is an
// error.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // not readable: its names can still be written
	}
	defer func() { _ = d.Close() }()
	return syncNames(d)
}

// syncNames is syncDir of an open directory.
func syncNames(d *os.File) error {
	if err := d.Sync(); errors.Is(err, syscall.EIO) {
		return err
	}
	return nil
}

// linkNoReplace moves from to a name that must be free, by a hard link: both
// names lead to the same bytes for a moment, and none ever to nothing. Where
// there are no hard links (FAT, Android's SELinux) the name is reserved by an
// empty file that is then replaced.
func (d *directory) linkNoReplace(from, to string) error {
	err := d.link(from, to)
	if err == nil {
		// One of the two names must be durable at any time.
		if !inOrder(d.shown()) {
			err = d.sync()
		}
		return errors.Join(err, d.remove(from))
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	r, err := d.openFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, partMode)
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	if err := d.rename(from, to); err != nil {
		return errors.Join(err, d.remove(to))
	}
	return nil
}

// portable: unix systems report a broken pipe as EPIPE already.
func portable(err error) error { return err }
