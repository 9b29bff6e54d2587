package fetch

import "syscall"

// hasSpoken says whether the server of an idle connection has sent unrequested bytes, which
// would be taken for the answer to the next request, whatever that is, or has closed it. Where
// the connection is not the kernel's own, or the system cannot tell, it is false. early says
// that there was no request on it yet: over TLS, tickets for further sessions may have come
// then.
func (hc *h1Conn) hasSpoken(early bool) bool {
	if hc.br.Buffered() > 0 || hc.tls.spoken(early) {
		return true
	}
	if early && hc.nc != hc.raw {
		return false
	}
	c, ok := kernels(hc.raw).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	spoken := false
	err = raw.Read(func(fd uintptr) bool {
		spoken = waiting(fd)
		return true // however it is: it is not waited for
	})
	return err == nil && spoken
}
