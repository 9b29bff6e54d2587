package fetch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canMark: polling honours SO_RCVLOWAT, and setting it looks again at what is
// there since Linux 4.18 (before, with the next packet). The kernel lets no mark
// exceed what the receive buffer may hold, and reports a full buffer, the
// connection's end and errors whatever the mark (tcp(7), socket(7)).
const canMark = true

func setReadMark(fd uintptr, n int) error {
	if errno := setOption(fd, syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n); errno != 0 {
		return errno
	}
	return nil
}

// setOption sets an option of a socket by a call that bypasses the runtime: see directConn.
func setOption(fd uintptr, level, name, value int) syscall.Errno {
	v := int32(value) //nolint:gosec // no option is larger
	_, _, errno := syscall.RawSyscall6(unix.SYS_SETSOCKOPT, fd, uintptr(level), uintptr(name), uintptr(unsafe.Pointer(&v)), unsafe.Sizeof(v), 0)
	return errno
}

// keptBack is how many bytes of a body's end a server on c may keep back until those before
// are acknowledged: a packet's; 0: not known. Those of the loopback device grow with the
// window up to all that one can have, and two of them are sent together.
func keptBack(c syscall.RawConn) (bytes int64) {
	const jumbo, most = 9000, 2*64<<10 + leastMark
	_ = c.Control(func(fd uintptr) {
		if n, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG); err == nil {
			bytes = int64(n)
		}
	})
	if bytes > jumbo {
		return most
	}
	return bytes
}

// acknowledge sends the acknowledgement that is due at once, if there is one.
func acknowledge(fd uintptr) {
	_ = setOption(fd, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
}

// queued is how many received bytes a socket holds.
func queued(fd uintptr) int64 {
	n := int32(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, fd, unix.TIOCINQ, uintptr(unsafe.Pointer(&n))); errno != 0 {
		return 0
	}
	return int64(n)
}

// pollSet is poll(2)'s argument, kept because making it allocates.
type pollSet [1]unix.PollFd

// marked says whether a socket has as many bytes as its mark asks for, or none will come
// any more. Like all that does not wait, it goes by directConn's system calls.
func (p *pollSet) marked(fd uintptr) bool {
	for {
		p[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN} //nolint:gosec // a descriptor is small
		now := unix.Timespec{}
		n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p[0])), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		if errno != syscall.EINTR {
			return n != 0 || errno != 0
		}
	}
}
