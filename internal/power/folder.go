package power

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

const (
	// maxFile bounds what is read of a file, in bytes. It is the most that an
	// attribute in sysfs can have.
	maxFile = 4096
	// maxEntries bounds what is read of a directory.
	maxEntries = 1024
)

// Reasons why a file or directory gives nothing.
var (
	errNotFile = errors.New("not a regular file")
	errNotDir  = errors.New("not a directory")
	errTooLong = errors.New("longer than 4 KiB")
	errNumber  = errors.New("not a number")
)

// folder is a directory of the tree. Symbolic links are followed, as they must be in
// /sys/class, but never out of the tree. Files are opened for each reading: it costs a few
// microseconds, and replaced files are seen. A replaced directory is not, until renew.
type folder struct {
	root *os.Root
	buf  *[maxFile + 1]byte // what the last read gave
	tree string             // the directory that stands for /sys
	path string             // of this one, in the tree
	kind string             // what its device says that it is
}

// openTree opens the directory that stands for /sys.
func openTree(name string) (folder, error) {
	// Opening a FIFO would wait for its writer.
	if info, err := os.Stat(name); err != nil {
		return folder{}, because(name, err)
	} else if !info.IsDir() {
		return folder{}, because(name, errNotDir)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return folder{}, because(name, err)
	}
	return folder{root: root, buf: new([maxFile + 1]byte), tree: name, path: "."}, nil
}

// folder opens a directory below f.
func (f folder) folder(name string) (folder, error) {
	if info, err := f.root.Stat(name); err != nil {
		return folder{}, because(path.Base(name), err)
	} else if !info.IsDir() {
		return folder{}, because(path.Base(name), errNotDir)
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return folder{}, because(path.Base(name), err)
	}
	sub := folder{root: root, buf: f.buf, tree: f.tree, path: path.Join(f.path, name)}
	sub.kind = sub.word("type") + " " + sub.word("name")
	return sub, nil
}

// renew opens the directory again, by its name: it may have been removed with its device, and
// be there again. If it is another device's now, it is not used.
func (f *folder) renew() {
	tree, err := openTree(f.tree)
	if err != nil {
		return
	}
	defer tree.close()
	again, err := tree.folder(f.path)
	switch {
	case err != nil:
	case again.kind != f.kind:
		again.close()
	default:
		f.close()
		f.root = again.root
	}
}

// close releases the directory, but not subdirectories that were opened through it.
func (f folder) close() { _ = f.root.Close() } // nothing was written

// list returns the sorted names of a directory's entries. Its error, never nil, explains why
// nothing is found if no entry fits.
func (f folder) list(name string) ([]string, error) {
	d, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNone
	}
	if err != nil {
		return nil, because(name, err)
	}
	defer d.Close() //nolint:errcheck // it is only read
	if info, err := d.Stat(); err != nil || !info.IsDir() {
		return nil, because(name, errNotDir)
	}
	entries, err := d.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, because(name, err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	return names, errNone
}

// read gives what a file holds, until the next read. A FIFO or a device is
// refused without waiting for it.
func (f folder) read(name string) ([]byte, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, because(name, err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	if info, err := file.Stat(); err != nil {
		return nil, because(name, err)
	} else if !info.Mode().IsRegular() {
		return nil, because(name, errNotFile)
	}
	// Not Read: a driver that answers EAGAIN would have it wait for a readiness
	// that never comes.
	n, err := file.ReadAt(f.buf[:], 0)
	switch {
	case err == nil:
		return nil, because(name, errTooLong)
	case !errors.Is(err, io.EOF):
		return nil, because(name, err)
	}
	return f.buf[:n], nil
}

// number gives the integer that a file holds.
func (f folder) number(name string) (int64, error) {
	text, err := f.read(name)
	if err != nil {
		return 0, err
	}
	n, ok := parseNumber(text)
	if !ok {
		return 0, because(name, errNumber)
	}
	return n, nil
}

// has says whether all the named files exist; empty names are ignored.
func (f folder) has(files ...string) bool {
	for _, name := range files {
		if name != "" {
			if _, err := f.root.Stat(name); err != nil {
				return false
			}
		}
	}
	return true
}

// word gives the text of a file that holds a name; empty where there is none.
func (f folder) word(name string) string {
	text, err := f.read(name)
	if err != nil {
		return ""
	}
	return parseWord(text)
}

// because names what could not be read and why, without the path and the system
// call that an error of package os tells besides.
func because(name string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) { // the only type that err can have
		err = p.Err
	}
	return fmt.Errorf("%s: %w", parseWord([]byte(name)), err)
}
