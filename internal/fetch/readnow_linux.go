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
