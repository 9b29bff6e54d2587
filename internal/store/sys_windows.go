package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/mlget/mlget/internal/filelock"
)

const (
	// noFollow has no counterpart for open here; links are found before it.
	noFollow = 0
	// noWait: opening does not wait on Windows.
	noWait = 0
)

// owner is not checked on Windows, where a directory's access control list decides.
type owner struct{}

func ownerOf(fs.FileInfo) owner { return owner{} }

func (owner) isUser() bool { return true }

// links is not known of a fs.FileInfo here.
func links(fs.FileInfo) uint64 { return 1 }

// fileKey tells files apart, whatever they are called: C:\PROGRA~1 and C:\Program Files are
// one. name is set for a file that cannot be asked.
type fileKey struct {
	volume uint32
	index  uint64
	name   string
}

func keyOf(path string, _ fs.FileInfo) fileKey {
	byName := fileKey{name: strings.ToLower(path)}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return byName
	}
	file, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return byName
	}
	defer windows.CloseHandle(file) //nolint:errcheck // nothing was written
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(file, &info); err != nil {
		return byName
	}
	return fileKey{volume: info.VolumeSerialNumber, index: uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)}
}

// usedByPath: a directory that cannot be opened is not used. A file that os.OpenFile opens
// does not share deletion, as os.Root's do, so that it could be neither renamed nor removed.
const usedByPath = false

// syncNames does nothing, as syncDir.
func syncNames(*os.File) error { return nil }

// syncDir does nothing: directories cannot be synced here.
func syncDir(string) error { return nil }

// inOrder: NTFS has one log, and elsewhere there is nothing to be done about it.
func inOrder(string) bool { return true }

// preallocate does nothing: without privileges a file can only be lengthened, and its length
// shows how far bytes were written.
func preallocate(*os.File, int64) error { return nil }

// syncData makes f's bytes durable.
func syncData(f *os.File) error { return f.Sync() }

// renameNoReplace moves from to a name that must be free. It goes by their paths, which lead
// nowhere else meanwhile: the file is open, and Windows renames no directory that an open
// file is below.
func (*directory) renameNoReplace(from, to string) error {
	a, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	b, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	err = filelock.Patiently(func() error { return windows.MoveFileEx(a, b, windows.MOVEFILE_WRITE_THROUGH) })
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// portable adds to an error of Windows the number by which other systems know it, which the
// rest of the program looks for.
func portable(err error) error {
	no, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return err
	}
	switch no {
	case windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA:
		no = syscall.EPIPE
	case windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL:
		no = syscall.ENOSPC
	case windows.ERROR_DISK_QUOTA_EXCEEDED:
		no = syscall.EDQUOT
	case windows.ERROR_WRITE_PROTECT:
		no = syscall.EROFS
	default:
		return err
	}
	return fmt.Errorf("%w: %w", no, err)
}

// largeFile is of Linux alone.
const largeFile = 0
