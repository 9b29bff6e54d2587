package link

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// TCPInfo is the kernel's knowledge of a TCP connection. A field that this system or kernel
// does not have is 0.
type TCPInfo struct {
	MinRTT        time.Duration // recent minimum of the round-trip time (Linux: of the last five minutes)
	RTT           time.Duration // smoothed round-trip time (RFC 6298's SRTT)
	ReceiveRTT    time.Duration // round-trip time of the data that comes, queues included (Linux, with timestamps)
	ReceiveWindow int64         // bytes that the peer may be allowed to send ahead at present (Linux)
	BytesReceived uint64        // in order, payload of TCP: TLS and HTTP overhead included
	BytesSent     uint64        // the same of what went out, sent again or not
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
func ReadTCPInfo(c net.Conn) (info TCPInfo, ok bool) {
	_ = control(c, func(fd uintptr) { info, ok = readTCPInfo(fd) })
	return info, ok
}

// IsSocket says whether a connection, or what it wraps, is a socket of the kernel's.
func IsSocket(c net.Conn) bool { return control(c, func(uintptr) {}) == nil }

// control lets do ask the kernel about c.
func control(c net.Conn, do func(fd uintptr)) error {
	for {
		wrapper, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = wrapper.NetConn()
	}
	conn, ok := c.(syscall.Conn)
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(do)
}

// The bytes of a packet beside its data: IP and TCP headers, and TCP's timestamps, which all
// systems send.
const (
	headers4 = 20 + 20 + 12 // bytes; RFC 791, 9293, 7323
	headers6 = 40 + 20 + 12 // bytes; RFC 8200
)

// ReadTraffic is how many bytes have crossed the link for c, in both directions, with all
// headers, as the carrier counts them. Of these, unread have come and were not read yet.
// Packets that came twice, or were lost before they came, are not counted. It is false where
// the system does not tell.
func ReadTraffic(c net.Conn) (bytes, unread int64, ok bool) {
	var info TCPInfo
	_ = control(c, func(fd uintptr) {
		if info, ok = readTCPInfo(fd); ok {
			unread = int64(readUnread(fd))
		}
	})
	headers := int64(headers4)
	if a, tcp := c.LocalAddr().(*net.TCPAddr); tcp && a.IP.To4() == nil {
		headers = headers6
	}
	bytes = int64(info.BytesReceived) + int64(info.BytesSent) + headers*(int64(info.SegsIn)+int64(info.SegsOut))
	return bytes, min(unread, int64(info.BytesReceived)), ok
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
