package store

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// preallocate reserves size bytes for f without changing its length, so that
// the length still tells how far bytes were written. Only lack of room is an
// error; a file system that cannot do it is used sparse. In one in memory room would be
// made by clearing it, a quarter of a second per gigabyte in which no link is read from.
func preallocate(f *os.File, size int64) error {
	var fs unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &fs) == nil && uint32(fs.Type) == unix.TMPFS_MAGIC {
		return nil
	}
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EFBIG):
			return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
		default:
			return nil
		}
	}
}

// syncData makes f's bytes and its length durable, but not its times.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// renameNoReplace moves from to a name that must be free.
func (d *directory) renameNoReplace(from, to string) error {
	if d.run.onAndroid() { // older ones kill a process for renameat2
		return d.linkNoReplace(from, to)
	}
	at, name := d.at(from)
	_, target := d.at(to)
	err := unix.Renameat2(at, name, at, target, unix.RENAME_NOREPLACE)
	if err == syscall.EINVAL || err == syscall.ENOSYS { //nolint:errorlint // a bare number
		return d.linkNoReplace(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// inOrder says whether path is in a file system that makes what was done to
// directories and to the lengths of files durable in the order in which it was done,
// so that syncing a file never keeps it and loses what was there before it.
func inOrder(path string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return false
	}
	return uint32(fs.Type) == unix.EXT4_SUPER_MAGIC || uint32(fs.Type) == unix.XFS_SUPER_MAGIC
}

// largeFile has a file of over 2 GiB opened by a 32-bit program: unlike os.OpenFile, os.Root
// does not ask for that.
const largeFile = unix.O_LARGEFILE
