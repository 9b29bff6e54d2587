package store

import (
	"errors"
	"io/fs"
	"os"
)

// Reasons for refusing to touch a file. They come wrapped in an *Error.
var (
	// ErrBusy: another process, or another download of this one, is at work
	// on the same name.
	ErrBusy = errors.New("another mlget is downloading to it")
	// ErrForeign: what stands in the way was not made by mlget and is left
	// alone: a .part without a journal, a symbolic link, a device.
	ErrForeign = errors.New("in the way and not made by mlget")
	// ErrDirectory: the name to write is a directory.
	ErrDirectory = errors.New("is a directory")
	// ErrKeep: going on would throw away bytes that another tool had left and
	// that were taken over with Target.Continue, or those of another URL.
	ErrKeep = errors.New("holds bytes of another tool or another URL, which would be lost")
	// ErrLeft: there is a part to continue that was not known before Begin: Resume returns it.
	ErrLeft = errors.New("an earlier run has left a part of it")
	// ErrBegun: the name to write is the .part or the journal of an unfinished download.
	ErrBegun = errors.New("belongs to the unfinished download")
	// ErrUnfinished: a file that is there may be as long as the object, but another
	// program has not written all of it.
	ErrUnfinished = errors.New("another program has not finished it")
	// ErrPoses: what was fetched would be believed as a journal of mlget's.
	ErrPoses = errors.New("would be taken for the state of an unfinished download of mlget's")
	// ErrStands: a complete NAME that was there before is not what was asked for.
	ErrStands = errors.New("was there before, and is left as it is")
	// ErrChanged: the object is not the one that the bytes on disk are of.
	ErrChanged = errors.New("the object is another one than that on disk")
	// ErrReserved: the name that the user gave cannot be that of a file on Windows.
	ErrReserved = errors.New("not a file name on Windows")
	// ErrStream: the target is a device or a pipe; see OpenStream.
	ErrStream = errors.New("is not a regular file and can only be written in order")
	// ErrReplaced means that the file that was being written was removed or replaced by another
	// program.
	ErrReplaced = errors.New("was removed or replaced by somebody else meanwhile")
	// ErrOutside: bytes were offered outside the object or, to a Stream,
	// outside the window.
	ErrOutside = errors.New("bytes outside of what was asked for")
	// ErrIncomplete: bytes are missing at the end.
	ErrIncomplete = errors.New("bytes are missing")
	// ErrClosed: the File or Stream was closed, or does not take bytes yet.
	ErrClosed = errors.New("not open for writing")
)

// Reserving is the Op of an Error about missing room for the whole object.
const Reserving = "reserve room for"

// Error is a failure of file I/O. Err leads to the system's error number
// (errors.Is(err, syscall.ENOSPC)) or to one of the reasons of this package.
type Error struct {
	Op   string // what was being done: "open", "write", "sync", "rename"...
	Path string
	Err  error
}

func (e *Error) Error() string { return e.Op + " " + e.Path + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail wraps err, taking the place of the standard library's wrappers, which
// would say the operation and the path a second time.
func fail(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return err
	}
	switch e := err.(type) { //nolint:errorlint // only the outermost is replaced
	case *fs.PathError:
		err = e.Err
	case *os.LinkError:
		err = e.Err
	case *os.SyscallError:
		err = e.Err
	}
	return &Error{Op: op, Path: path, Err: portable(err)}
}
