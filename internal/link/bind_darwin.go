package link

import "golang.org/x/sys/unix"

// setIndex ties a socket to an interface. IP_BOUND_IF scopes the lookup of
// routes to those of the interface, default routes included.
func setIndex(fd uintptr, index int, ipv6 bool) error {
	if ipv6 {
		return unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_BOUND_IF, index)
	}
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BOUND_IF, index)
}
