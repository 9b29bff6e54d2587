//go:build unix

package fetch

import (
	"errors"
	"syscall"
)

// waiting says whether a read of a socket would not have to wait, for bytes, the end
// or an error.
func waiting(fd uintptr) bool {
	var one [1]byte
	for {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if !errors.Is(err, syscall.EINTR) {
			return !errors.Is(err, syscall.EAGAIN)
		}
	}
}
