package link

import (
	"math/bits"

	"golang.org/x/sys/windows"
)

// IP_UNICAST_IF and IPV6_UNICAST_IF of ws2ipdef.h; they have the same number.
const unicastIF = 31

// setIndex ties a socket to an interface. Windows takes the index in network
// byte order for IPv4 and in its own for IPv6.
func setIndex(fd uintptr, index int, ipv6 bool) error {
	if ipv6 {
		return windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_IPV6, unicastIF, index)
	}
	// All Windows machines are little-endian.
	swapped := int(int32(bits.ReverseBytes32(uint32(index))))
	return windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_IP, unicastIF, swapped)
}
