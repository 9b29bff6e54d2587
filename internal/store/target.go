package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Target is where a download is to go.
type Target struct {
	Dir  string // created with its parents if missing; "": the working directory
	Name string // "": the URL's; relative to Dir unless Explicit and absolute
	// Explicit: the user named the file (-o). It is replaced if it exists, as
	// curl does, and Name may lead to other directories, which must exist. A
	// symbolic link is replaced, not followed. Otherwise nothing is ever
	// replaced: NAME.1, NAME.2... is used, and Name is made safe as in
	// NameFromURL.
	Explicit bool
	// Continue: the user asked to go on with what is there (-c): a NAME that
	// another tool left, or a .part that was begun from another URL. Begin
	// renames such a NAME to NAME.part, and from then on nothing but Commit
	// or the user ends it.
	Continue bool
}

// errTaken: this name is not ours to use, the next one may be.
var errTaken = errors.New("name taken")

// Open finds a name for what u leads to, checks that it can be written, locks
// it and loads what an earlier run left. It destroys nothing and renames
// nothing; if no Begin follows, Close leaves things as they were.
//
// The name is the first of NAME, NAME.1, NAME.2... that does not exist and
// whose .part does not exist either or is an unfinished download of the same
// URL, which is then resumed. The same URL being downloaded to it right now is
// ErrBusy. Explicit and Continue settle for NAME.
func Open(t Target, u *url.URL) (*File, error) {
	if n := len(t.Name); t.Explicit && n > 0 && os.IsPathSeparator(t.Name[n-1]) {
		return nil, fail("open", t.Name, ErrDirectory)
	}
	if t.Dir != "" {
		if err := os.MkdirAll(t.Dir, 0o777); err != nil {
			return nil, fail("create directory", t.Dir, err)
		}
	}
	path, from := t.path(u), originOf(u)
	for n := range maxNumber + 1 {
		name := path
		if n > 0 {
			name = numbered(path, n)
		}
		f := &File{path: name, from: from, explicit: t.Explicit, mode: 0o666}
		err := f.open(t)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errTaken) {
			return nil, err
		}
	}
	return nil, fail("open", path, fmt.Errorf("%w, and so are %d numbered ones", fs.ErrExist, maxNumber))
}

// OpenStream opens a target that can only be written in order: a device or a
// pipe that the user named, /dev/stdout among them. ok is false, with no
// error, if t is not of that kind: then Open is the way. Opening a named pipe
// waits for its reader.
func OpenStream(t Target) (w *os.File, ok bool, err error) {
	if !t.Explicit || t.Name == "" {
		return nil, false, nil
	}
	path := t.path(&url.URL{})
	if !isStream(path) {
		return nil, false, nil
	}
	flags := os.O_WRONLY
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
		flags |= os.O_APPEND // /dev/stdout sent to a file, perhaps with >>
	}
	w, err = os.OpenFile(path, flags, 0)
	return w, true, fail("open", path, err)
}

// path is the first name to try.
func (t Target) path(u *url.URL) string {
	switch {
	case t.Name == "":
		return filepath.Join(t.Dir, NameFromURL(u))
	case !t.Explicit:
		return filepath.Join(t.Dir, cleanName(t.Name, fatRules()))
	case filepath.IsAbs(t.Name):
		return t.Name
	}
	return filepath.Join(t.Dir, t.Name)
}

// fatRules says whether names must do for FAT.
func fatRules() bool { return runtime.GOOS == "windows" || runtime.GOOS == "android" }

func numbered(path string, n int) string { return fmt.Sprintf("%s.%d", path, n) }

// isStream says whether path leads to a device or a pipe, or is one of the
// links by which the system names open files: replacing those would be absurd.
func isStream(path string) bool {
	fi, err := os.Stat(path)
	if err != nil || fi.IsDir() {
		return false
	}
	if !fi.Mode().IsRegular() {
		return true
	}
	if !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/proc/") {
		return false
	}
	fi, err = os.Lstat(path)
	return err == nil && fi.Mode()&fs.ModeSymlink != 0
}
