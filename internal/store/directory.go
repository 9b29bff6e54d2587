package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/filelock"
)

// directory is where the files of a download are. It is opened once and used through its
// descriptor to the end: a directory on the way to it that is replaced by a symbolic link
// meanwhile leads nowhere. Paths are given to its methods whole, as messages show them; of
// these the last element counts.
type directory struct {
	path   string
	files  files
	root   *os.Root // nil: only the path is used
	handle *os.File // the directory itself; nil as root is
	brief  *brief   // of handle; nil: the runtime is told of every look at it

	run  *Run // whose directory it is; nil: of one download alone
	refs int  // guarded by run.mu

	mu       sync.Mutex
	grant    *grant     // nil: not asked for yet
	nameless *bool      // see namesLater; nil: not asked for yet
	spares   []*os.File // files without a name that were made for those to come
}

// files are the operations of os.Root that, by path, package os has as well.
type files interface {
	Lstat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Remove(name string) error
	Rename(from, to string) error
	Link(from, to string) error
	Chtimes(name string, atime, mtime time.Time) error
}

// byPath is for a directory that may be written but not read, of which there is no
// descriptor.
type byPath string

func (p byPath) join(name string) string                { return filepath.Join(string(p), name) }
func (p byPath) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(p.join(name)) }
func (p byPath) Remove(name string) error               { return os.Remove(p.join(name)) }
func (p byPath) Rename(from, to string) error           { return os.Rename(p.join(from), p.join(to)) }
func (p byPath) Link(from, to string) error             { return os.Link(p.join(from), p.join(to)) }

func (p byPath) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(p.join(name), flag, perm) //nolint:gosec // it is the user's directory
}

func (p byPath) Chtimes(name string, atime, mtime time.Time) error {
	return os.Chtimes(p.join(name), atime, mtime)
}

// openDirectory opens the directory at path.
func openDirectory(path string) (*directory, error) {
	root, err := os.OpenRoot(path)
	if usedByPath && errors.Is(err, fs.ErrPermission) {
		return &directory{path: path, files: byPath(path)}, nil
	}
	if err != nil {
		return nil, err
	}
	return directoryOf(path, root)
}

// directoryOf takes root over.
func directoryOf(path string, root *os.Root) (*directory, error) {
	handle, err := root.Open(".")
	if err != nil {
		_ = root.Close() // nothing was written
		return nil, err
	}
	return &directory{path: path, files: root, root: root, handle: handle, brief: newBrief(handle)}, nil
}

// below makes the directory sub, a clean path, and opens it. It does not lead out of d, not
// by symbolic links either.
func (d *directory) below(sub string) (*directory, error) {
	if d.root == nil {
		return nil, fs.ErrPermission
	}
	path := filepath.Join(d.path, sub)
	made := lacking(path)
	if err := d.root.MkdirAll(sub, 0o777); err != nil {
		return nil, err
	}
	if err := syncParents(made); err != nil {
		return nil, err
	}
	root, err := d.root.OpenRoot(sub)
	if err != nil {
		return nil, err
	}
	return directoryOf(path, root)
}

// release gives the directory up, which the last one to do so closes.
func (d *directory) release() {
	if d.run != nil {
		d.run.mu.Lock()
		defer d.run.mu.Unlock()
		if d.refs--; d.refs > 0 {
			return
		}
		d.run.forget(d)
	}
	d.close()
}

func (d *directory) close() {
	for _, spare := range d.spares {
		_ = spare.Close() // it is empty
	}
	if d.root != nil { // nothing was written through either
		_ = d.handle.Close()
		_ = d.root.Close()
	}
}

func (d *directory) lstat(path string) (fs.FileInfo, error) {
	name := filepath.Base(path)
	if d.brief.lacks(name) { // as is mostly the case
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: syscall.ENOENT}
	}
	return d.files.Lstat(name)
}

func (d *directory) remove(path string) error {
	return filelock.Patiently(func() error { return d.files.Remove(filepath.Base(path)) })
}

func (d *directory) rename(from, to string) error {
	return filelock.Patiently(func() error { return d.files.Rename(filepath.Base(from), filepath.Base(to)) })
}

func (d *directory) link(from, to string) error {
	return d.files.Link(filepath.Base(from), filepath.Base(to))
}

// setTime sets when the file at path was changed, if it is known and can be.
func (d *directory) setTime(path string, at time.Time) {
	if !at.IsZero() {
		_ = d.files.Chtimes(filepath.Base(path), time.Time{}, at) // see Commit
	}
}

// openFile opens path. It does not wait for the other end of a named pipe, and with os.O_EXCL
// does not follow a symbolic link. An existing path need not be a regular file.
func (d *directory) openFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	if flags&(os.O_RDWR|os.O_CREATE) == 0 {
		flags |= noWait
	}
	return d.files.OpenFile(filepath.Base(path), flags|noFollow|largeFile, mode)
}

// exists says whether anything is at path. A path that cannot be examined counts as existing.
func (d *directory) exists(path string) bool {
	_, err := d.lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// sync makes the names in the directory durable. One that cannot be opened or synced (FUSE,
// execute-only) is left to the kernel; a device that fails is an error.
func (d *directory) sync() error {
	if d.handle == nil {
		return nil
	}
	return syncNames(d.handle)
}

// shown is the directory's path in a message.
func (d *directory) shown() string { return filepath.Clean(d.path) }

// grant is what a new file in a directory gets: its mode by the umask and the directory's
// default ACL, its owner by the file system. FAT, Android's shared storage and NFS for root
// give every file an owner of their own.
type grant struct {
	mode  fs.FileMode
	owner owner
}

// grants finds out what a file that is created in the directory gets, by creating one that
// is gone at once. It fails where none can be.
func (d *directory) grants() (grant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.grant != nil {
		return *d.grant, nil
	}
	named := ""
	probe, err := d.openUnnamed(0o666)
	if err != nil {
		named = filepath.Join(d.path, probeName())
		probe, err = d.openFile(named, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if err != nil {
		return grant{}, err
	}
	fi, err := probe.Stat()
	_ = probe.Close() // it is empty
	if named != "" {
		err = errors.Join(err, d.remove(named))
	}
	if err != nil {
		return grant{}, err
	}
	d.grant = &grant{mode: fi.Mode().Perm(), owner: ownerOf(fi)}
	return *d.grant, nil
}

// probeName is a name for a file that is gone at once.
func probeName() string { return fmt.Sprintf(".mlget-%016x", rand.Uint64()) }

// Why a file is not used although it has the right name.
var (
	errOthers = fmt.Errorf("%w: it belongs to another user", ErrForeign)
	errLinked = fmt.Errorf("%w: it has a second name (a hard link)", ErrForeign)
)

// planted says why a file is left alone that looks as if it had been put there for mlget;
// "": it does not.
func planted(err error) string {
	switch {
	case errors.Is(err, errOthers):
		return "it belongs to another user"
	case errors.Is(err, errLinked):
		return "it has a second name (a hard link)"
	}
	return ""
}

// ours fails with ErrForeign unless fi is a plain file that no other user can write to, as its
// owner or by a second name (hard link): whoever may put files into the directory could have
// put it there for mlget to fill in.
func (d *directory) ours(fi fs.FileInfo) error {
	if !fi.Mode().IsRegular() {
		return ErrForeign
	}
	own, err := d.owned(fi)
	switch {
	case err != nil:
		return err
	case !own:
		return errOthers
	case links(fi) > 1:
		return errLinked
	}
	return nil
}

// owned says whether the file has the owner that one created in the directory gets.
func (d *directory) owned(fi fs.FileInfo) (bool, error) {
	of := ownerOf(fi)
	if of.isUser() {
		return true, nil
	}
	grant, err := d.grants()
	return err == nil && of == grant.owner, err
}
