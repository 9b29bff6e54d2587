// Package rewrite puts a text in the place of a file's, all of it or nothing.
//
// Contract: reports and pages, which fit into memory; downloads are internal/store's.
package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mlget/mlget/internal/filelock"
)

// File writes text beside what name leads to and takes its place when it is whole: on an
// error, such as that of a full disk, what was there stays. What is no file, or where nothing
// can take its place, is written to as it is.
func File(name string, text []byte) error { return replace(name, text, 0) }

// Private is File for secrets: the file is for its owner alone, also where it was not before.
func Private(name string, text []byte) error { return replace(name, text, 0o600) }

// replace is File; the file's mode is that given, or else what it was.
func replace(name string, text []byte, only fs.FileMode) error {
	mode, path := cmp.Or(only, 0o666), behind(name)
	old, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !old.Mode().IsRegular(), isDescriptor(path):
		return overwrite(name, text)
	default:
		mode = cmp.Or(only, old.Mode().Perm())
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // may it be written to?
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), fmt.Sprintf(".mlget-%08x.tmp", rand.Uint32())), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case old != nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		return overwrite(name, text) // a file of ours in a directory of others
	case err != nil:
		return &fs.PathError{Op: "create", Path: name, Err: errors.Unwrap(err)}
	}
	_, err = f.Write(text)
	if old != nil {
		_ = f.Chmod(mode) // the umask may have narrowed it; not every file system can
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
		return err
	}
	if err = filelock.Patiently(func() error { return os.Rename(f.Name(), path) }); err != nil {
		_ = os.Remove(f.Name())
		if old != nil { // a mount point, or another's file in a directory like /tmp
			return overwrite(name, text)
		}
	}
	return err
}

// overwrite writes text to what is there.
func overwrite(name string, text []byte) error {
	f, err := Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// Create is os.Create, but adds to what somebody has open: a shell may have opened it
// with >>. A terminal or another device is written to as it is: Android lets nobody
// open Termux's for appending.
func Create(name string) (*os.File, error) {
	how := os.O_TRUNC
	if there, err := os.Stat(name); err == nil && there.Mode()&fs.ModeDevice != 0 {
		how = 0
	} else if IsOpen(name) {
		how = os.O_APPEND
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|how, 0o666) // for reading, too: a pipe whose reader has gone holds nobody up
}

// IsOpen says whether a name leads to that of an open file, as /dev/stdout does.
func IsOpen(name string) bool { return isDescriptor(behind(name)) }

// isDescriptor says whether a name is that of an open file, which its reader has open,
// too: another one in its place would not reach him.
func isDescriptor(name string) bool {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // on Linux /dev/fd leads to /proc
	}
	return err == nil && (dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/"))
}

// behind is what a name leads to through symbolic links, whether it is there or not; as
// far as that of an open file.
func behind(name string) string {
	for range 40 { // as many as Linux follows
		if isDescriptor(name) {
			break
		}
		to, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Dir(name) + string(filepath.Separator) + to // not cleaned: .. may be behind a link
		}
		name = to
	}
	return name
}
