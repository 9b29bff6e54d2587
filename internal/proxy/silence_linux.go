package proxy

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// lastWord is how long ago the peer sent or acknowledged anything.
func lastWord(c *net.TCPConn) (ago time.Duration, ok bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var info *unix.TCPInfo
	if ctl := raw.Control(func(fd uintptr) {
		info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); ctl != nil || err != nil {
		return 0, false
	}
	return time.Duration(min(info.Last_ack_recv, info.Last_data_recv)) * time.Millisecond, true
}
