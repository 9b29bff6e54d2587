package filelock

import (
	"errors"
	"os"
	"time"

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

// Patiently repeats a renaming or removal that fails because another process has the file open
// without sharing deletion: whoever just reads it does, and virus scanners and indexers do so
// for a moment, whenever a file is closed. The time is that of cmd/go/internal/robustio.
func Patiently(do func() error) error {
	const longest = time.Second // and two altogether
	for wait := time.Millisecond; ; wait *= 2 {
		err := do()
		inUse := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !inUse || wait > longest {
			return err
		}
		time.Sleep(wait)
	}
}
