package store

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/filelock"
	"github.com/mlget/mlget/pkg/scheduler"
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
	if f.target.Run.onAndroid() { // no links there
		return false
	}
	file, err := f.dir.takeUnnamed()
	if err != nil {
		return false
	}
	if !f.dir.namesLater(file) {
		_ = file.Close() // it is empty
		return false
	}
	f.file, f.nameless, f.fresh, f.id.Size = file, true, true, -1
	return true
}

// namesLater says whether a file that was made without a name in the directory, as the first
// one was, can get one later, for good.
func (d *directory) namesLater(first *os.File) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nameless == nil {
		_, err := os.Stat(reachOf(first)) // by which it would be given
		can := err == nil && linksLast(first)
		d.nameless = &can
	}
	return *d.nameless
}

// sparesMost is how many files without a name are made ahead where more than one is likely to be
// wanted: the first system call after a pause has Go's runtime wake its monitor, which costs more
// than the others. sparesFrom is how many descriptors a process has to have for that.
const (
	sparesMost = 7
	sparesFrom = 1024
)

// takeUnnamed gives a file without a name for the bytes of a download.
func (d *directory) takeUnnamed() (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := len(d.spares) - 1; last >= 0 {
		file := d.spares[last]
		d.spares = d.spares[:last]
		return file, nil
	}
	file, err := d.openUnnamed(0o666)
	if err != nil || d.run == nil || !d.run.spares || d.nameless == nil || !*d.nameless {
		return file, err
	}
	for range sparesMost {
		spare, err := d.openUnnamed(0o666)
		if err != nil {
			break
		}
		d.spares = append(d.spares, spare)
	}
	return file, nil
}

// mayHaveSpares says whether the process may have that many files open that it need not spare any.
func mayHaveSpares() bool {
	var most unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_NOFILE, &most) == nil && most.Cur >= sparesFrom
}

// openUnnamed makes a file without a name in the directory.
func (d *directory) openUnnamed(mode fs.FileMode) (*os.File, error) {
	at, dir := unix.AT_FDCWD, d.path
	if d.handle != nil {
		at, dir = int(d.handle.Fd()), "."
	}
	// os.OpenFile would see whether it can be waited for, in five system calls.
	fd, err := unix.Openat(at, dir, unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, uint32(mode))
	if err != nil {
		return nil, os.NewSyscallError("openat", err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, "a file without a name")), nil
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

// moveTo gives what there is of f, which is at part or nameless, a name that must be
// free.
func (f *File) moveTo(part, name string) error {
	if f.nameless {
		return f.dir.linkTo(f.file, name)
	}
	return f.dir.renameNoReplace(part, name)
}

// linkTo gives file, which has no name yet, a name that must be free.
func (d *directory) linkTo(file *os.File, name string) error {
	at, base := d.at(name)
	err := unix.Linkat(unix.AT_FDCWD, reachOf(file), at, base, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: file.Name(), New: name, Err: err}
	}
	return nil
}

// takeName turns a nameless file, whose bytes are durable, into a NAME.part with a journal that
// claims done. If that name is in use meanwhile, the next one is taken. The journal comes
// first, and is durable before the .part is there: a journal without a .part is harmless, a
// .part without a journal would belong to no download. While the journal stands alone it is
// locked, which tells it from one that a killed run left.
func (f *File) takeName(done []scheduler.Range) error {
	if err := lock(f.file); err != nil {
		return fail("lock", f.path, err)
	}
	b, err := f.journalOf(done)
	if err != nil {
		return err
	}
	w, err := f.dir.openUnnamed(partMode)
	if err != nil {
		return fail("write", f.path+journalSuffix, err)
	}
	if err := f.file.Chmod(partMode); err != nil { // others can reach it from now on
		_ = w.Close() // it is empty
		return fail("write", f.path+partSuffix, err)
	}
	defer filelock.Close(w) //nolint:errcheck // it was synced
	_, err = w.Write(b)
	if err = cmp.Or(err, w.Sync(), lock(w)); err != nil {
		return fail("write", f.path+journalSuffix, err)
	}
	for n := range maxNumber + 1 {
		name := numbered(f.first, n)
		err := f.tryName(name, w)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fail("open", name+partSuffix, err)
		}
		f.path, f.nameless, f.fresh = name, false, false
		made, err := w.Stat()
		if err != nil {
			return fail("look at", name+journalSuffix, err)
		}
		f.written = newWritten(made, b)
		return f.syncNames()
	}
	return fail("open", f.first, fs.ErrExist)
}

// tryName gives f and its journal w that name, unless it is in use.
func (f *File) tryName(name string, w *os.File) error {
	for _, taken := range []string{name, name + partSuffix} {
		if f.dir.exists(taken) {
			return fs.ErrExist
		}
	}
	if err := f.dir.dropRelicAt(name + journalSuffix); err != nil {
		return err
	}
	if err := f.dir.linkTo(w, name+journalSuffix); err != nil {
		return err
	}
	err := f.dir.sync()
	if err == nil {
		err = f.dir.linkTo(f.file, name+partSuffix)
	}
	if err != nil { // it must not be taken for that of the .part that has come to be there
		f.dir.removeSame(w, name+journalSuffix)
	}
	return err
}

// dropRelicAt removes a journal, if one is there, that an earlier run has left without a
// .part. Anything else is ErrExist.
func (d *directory) dropRelicAt(path string) error {
	j, current, err := d.openLocked(path, 0, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fs.ErrExist // in use, or not accessible
	}
	defer j.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(j, maxJournal+1))
	if err == nil {
		_, err = decodeJournal(b)
	}
	if !current || err != nil && !errors.Is(err, errBlank) {
		return fs.ErrExist
	}
	return d.remove(path)
}

// removeSame removes what is at path if it is the file w.
func (d *directory) removeSame(w *os.File, path string) {
	ours, err := w.Stat()
	if err != nil {
		return
	}
	if there, err := d.lstat(path); err == nil && os.SameFile(ours, there) {
		_ = d.remove(path) // else it is replaced by the one whose name it is
	}
}
