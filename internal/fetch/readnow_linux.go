//go:build !race

package fetch

import (
	"syscall"
	"unsafe"
)

// readNow is read(2) of a socket that does not block, by a call of which Go's runtime is not
// told: that would wake its monitor.
func readNow(fd uintptr, p []byte) (n int, errno syscall.Errno) {
	got, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(got), errno //nolint:gosec // at most len(p)
}

// writeNow is write(2) in the same way: how many bytes of p the socket has taken.
func writeNow(fd uintptr, p []byte) int {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0
	}
	return int(n) //nolint:gosec // at most len(p)
}
