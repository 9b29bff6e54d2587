package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Take takes f, or fails with ErrBusy. Locks are mandatory here, so the locked byte lies
// far behind any content.
func Take(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 0x7fffffff}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrBusy
	}
	return nil
}

// Close closes f, which ends the lock.
func Close(f *os.File) error { return f.Close() }
