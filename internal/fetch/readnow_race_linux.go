//go:build race

package fetch

import (
	"errors"
	"syscall"
)

// readNow is read(2) by package syscall, from which the race detector learns that what a
// server in the same process did before it sent the bytes came before they were read.
func readNow(fd uintptr, p []byte) (n int, errno syscall.Errno) {
	n, err := syscall.Read(int(fd), p)
	errno, _ = errors.AsType[syscall.Errno](err)
	return max(n, 0), errno
}

// writeNow is write(2) by package syscall: how many bytes of p the socket has taken.
func writeNow(fd uintptr, p []byte) int {
	n, err := syscall.Write(int(fd), p)
	if err != nil {
		return 0
	}
	return n
}
