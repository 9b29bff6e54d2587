package link

import (
	"net"
	"syscall"
	"time"
)

// TCPInfo is what the kernel knows of a TCP connection. A field that this
// system or kernel does not have is 0.
type TCPInfo struct {
	MinRTT        time.Duration // lowest round-trip time of late (Linux: of the last five minutes)
	RTT           time.Duration // smoothed round-trip time (RFC 6298's SRTT)
	ReceiveRTT    time.Duration // round-trip time of the data that comes, queues included (Linux, with timestamps)
	ReceiveWindow int64         // bytes that the peer may be allowed to send ahead at present (Linux)
	BytesReceived uint64        // in order, payload of TCP: TLS and HTTP overhead included
	LastDataRecv  time.Duration // time since the last payload came
	SegsIn        uint32
	SegsOut       uint32
	DataSegsIn    uint32 // of SegsIn, those with data
	DataSegsOut   uint32 // of SegsOut, those with data
	OutOfOrder    uint32 // segments that came out of order: what loss looks like to a receiver
	Retrans       uint32 // segments that this side sent again
}

// ReadTCPInfo asks the kernel about c, which may be a *net.TCPConn or wrap one
// as *tls.Conn does (NetConn). It is false where c is no open TCP connection
// or the system does not tell.
func ReadTCPInfo(c net.Conn) (TCPInfo, bool) {
	for {
		wrapper, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = wrapper.NetConn()
	}
	conn, ok := c.(syscall.Conn)
	if !ok {
		return TCPInfo{}, false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return TCPInfo{}, false
	}
	var info TCPInfo
	if err := raw.Control(func(fd uintptr) { info, ok = readTCPInfo(fd) }); err != nil {
		return TCPInfo{}, false
	}
	return info, ok
}

// Handshake is how long a new connection's handshake took, by what its maker has measured.
// The kernel knows better than a process that had to wait for its turn, and of a handshake
// that lost a packet how far the server is.
func Handshake(c net.Conn, took time.Duration) time.Duration {
	if info, ok := ReadTCPInfo(c); ok && info.RTT > 0 {
		return min(took, info.RTT)
	}
	return took
}
