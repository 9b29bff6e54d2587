package fetch

import "syscall"

// canMark: polling honours SO_RCVLOWAT, and setting it looks again at what is
// there since Linux 4.18 (before, with the next packet). The kernel lets no mark
// exceed what the receive buffer may hold, and reports a full buffer, the
// connection's end and errors whatever the mark (tcp(7), socket(7)).
const canMark = true

func setReadMark(fd uintptr, n int) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)
}
