package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// A file of a job of many is mostly complete after a moment. Then NAME.part and its
// journal are four changes to the directory, and a deleted file: on ext4, which does
// not use the place of one again for some seconds and looks at each, most of what a
// small file costs. So it has no name at first (O_TMPFILE), and NAME is its first
// one. It becomes NAME.part when there is something to record of it. If mlget dies
// before, nothing is left.

// openNameless makes a file without a name in f's directory, and says whether it
// could.
func (f *File) openNameless() bool {
	if onAndroid() { // no links there
		return false
	}
	// os.OpenFile would see whether it can be waited for, in five system calls.
	fd, err := unix.Open(filepath.Dir(f.path), unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, uint32(f.mode))
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), f.path+partSuffix)
	// It is by this that it gets a name later.
	if _, err := os.Stat(reachOf(file)); err != nil || !linksLast(file) {
		_ = file.Close() // it is empty
		return false
	}
	f.file, f.nameless, f.fresh, f.id.Size = file, true, true, -1
	return true
}

// linksLast says whether file is in a file system of which it is known that a file
// that got its name after it was synced has it for good when the directory is synced.
func linksLast(file *os.File) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(int(file.Fd()), &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// reachOf is a path that leads to an open file whether it has a name or not.
func reachOf(file *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(file.Fd())) }

// reach is a path that leads to what there is of f.
func (f *File) reach() string {
	if f.nameless {
		return reachOf(f.file)
	}
	return f.path + partSuffix
}

// give gives what there is of f, which is at part or nameless, a name that must be
// free.
func (f *File) give(part, name string) error {
	if f.nameless {
		return f.link(name)
	}
	return renameNoReplace(part, name)
}

func (f *File) link(name string) error {
	err := unix.Linkat(unix.AT_FDCWD, reachOf(f.file), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: f.path, New: name, Err: err}
	}
	return nil
}

// takeName makes a nameless file a NAME.part, so that it can have a journal. Where
// somebody has come to use that name, it is the next one.
func (f *File) takeName() error {
	if !f.nameless {
		return nil
	}
	if err := lock(f.file); err != nil {
		return fail("lock", f.path, err)
	}
	for n := range maxNumber + 1 {
		name := numbered(f.first, n)
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		if _, err := os.Lstat(name + journalSuffix); err == nil {
			continue
		}
		err := f.link(name + partSuffix)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fail("open", name+partSuffix, err)
		}
		f.path, f.nameless, f.fresh = name, false, false
		return nil
	}
	return fail("open", f.first, fs.ErrExist)
}
