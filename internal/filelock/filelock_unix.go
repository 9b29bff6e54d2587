//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Take takes f, or fails with ErrBusy.
func Take(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrBusy
		default:
			return nil
		}
	}
}

// Close closes f, which others may take from now on. Closing alone does not see to that
// at once: a child that is just being started has every descriptor of ours until it runs
// its program.
func Close(f *os.File) error {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // it may have none
	return f.Close()
}

// Patiently is do. Nobody's having a file open keeps it from being renamed or removed.
func Patiently(do func() error) error { return do() }
