//go:build linux && (amd64 || arm64) && !race

package store

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newBrief is nil where a write may wait for a server or for a process that implements the file
// system.
func newBrief(file *os.File) *brief {
	var fs unix.Statfs_t
	if unix.Fstatfs(int(file.Fd()), &fs) != nil {
		return nil
	}
	switch uint32(fs.Type) { //nolint:gosec // magic numbers have 32 bits
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
	default:
		return nil
	}
	return briefOf(file)
}

// briefOf is newBrief of a file in a file system of which that is known.
func briefOf(file *os.File) *brief {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	return &brief{raw: raw, begun: time.Now()}
}

func (c *briefCall) write(fd uintptr) {
	before := sleeps()
	n, _, errno := syscall.RawSyscall6(unix.SYS_PWRITE64, fd, uintptr(unsafe.Pointer(unsafe.SliceData(c.p))), uintptr(len(c.p)), uintptr(c.off), 0, 0)
	c.n, c.errno = int(n), errno //nolint:gosec // at most len(p), or with an error
	c.slept = sleeps() != before
}

// lacks says whether nothing in the directory that b is of is called name; false where it cannot
// say, or not at once.
func (b *brief) lacks(name string) bool {
	p, err := unix.BytePtrFromString(name)
	if err != nil || !b.can() {
		return false
	}
	began := time.Since(b.begun)
	var link [1]byte // it need not be one: only whether it is there is of interest
	var errno syscall.Errno
	slept := false
	_ = b.raw.Control(func(fd uintptr) {
		before := sleeps()
		_, _, errno = syscall.RawSyscall6(unix.SYS_READLINKAT, fd, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&link[0])), uintptr(len(link)), 0, 0)
		slept = sleeps() != before
	})
	b.took(began, slept)
	return errno == syscall.ENOENT
}

// sleeps is how often this thread has slept.
func sleeps() int64 {
	var u syscall.Rusage
	_, _, _ = syscall.RawSyscall(unix.SYS_GETRUSAGE, unix.RUSAGE_THREAD, uintptr(unsafe.Pointer(&u)), 0)
	return u.Nvcsw
}

// splice moves at most n bytes from a pipe to file at off. The runtime is not told where b
// can do without.
func (b *brief) splice(pipe int, file *os.File, off int64, n int) (int64, error) {
	if !b.can() {
		return unix.Splice(pipe, nil, int(file.Fd()), &off, n, unix.SPLICE_F_MOVE)
	}
	began, before := time.Since(b.begun), sleeps()
	k, _, errno := syscall.RawSyscall6(unix.SYS_SPLICE, uintptr(pipe), 0, file.Fd(), uintptr(unsafe.Pointer(&off)), uintptr(n), unix.SPLICE_F_MOVE)
	b.took(began, sleeps() != before)
	if errno != 0 {
		return 0, errno
	}
	return int64(k), nil //nolint:gosec // at most n
}
