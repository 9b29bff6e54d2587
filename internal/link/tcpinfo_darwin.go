package link

import (
	"time"

	"golang.org/x/sys/unix"
)

// readTCPInfo: Darwin tells no lowest round-trip time and no time of arrival.
func readTCPInfo(fd uintptr) (TCPInfo, bool) {
	raw, err := unix.GetsockoptTCPConnectionInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_CONNECTION_INFO)
	if err != nil {
		return TCPInfo{}, false
	}
	return TCPInfo{
		RTT:           time.Duration(raw.Srtt) * time.Millisecond,
		BytesReceived: raw.Rxbytes,
		BytesSent:     raw.Txbytes,
		SegsIn:        uint32(raw.Rxpackets),
		SegsOut:       uint32(raw.Txpackets),
		Retrans:       uint32(raw.Txretransmitpackets),
	}, true
}

// readUnread is how many bytes have come and were not read; Darwin is not asked.
func readUnread(uintptr) int { return 0 }
