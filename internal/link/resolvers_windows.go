package link

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/windows"
)

// linkServers gives the name servers of one adapter.
func (s System) linkServers(index int) (ResolverMethod, []netip.AddrPort) {
	const flags = windows.GAA_FLAG_SKIP_UNICAST | windows.GAA_FLAG_SKIP_ANYCAST | windows.GAA_FLAG_SKIP_MULTICAST
	// Microsoft advises to begin with 15 kB; the call says how much it takes.
	size := uint32(15 << 10)
	var buf []byte
	for {
		buf = make([]byte, size)
		err := windows.GetAdaptersAddresses(windows.AF_UNSPEC, flags, 0,
			(*windows.IpAdapterAddresses)(unsafe.Pointer(&buf[0])), &size)
		if err == nil {
			break
		}
		if err != windows.ERROR_BUFFER_OVERFLOW || size <= uint32(len(buf)) { //nolint:errorlint // a plain errno
			return ResolverAdapter, nil
		}
	}
	var servers []netip.AddrPort
	for a := (*windows.IpAdapterAddresses)(unsafe.Pointer(&buf[0])); a != nil; a = a.Next {
		if int(a.IfIndex) != index && int(a.Ipv6IfIndex) != index {
			continue
		}
		for d := a.FirstDnsServerAddress; d != nil; d = d.Next {
			if addr, ok := netip.AddrFromSlice(d.Address.IP()); ok {
				servers = appendServer(servers, addr.Unmap().String())
			}
		}
	}
	_, remote := splitLocal(servers)
	return ResolverAdapter, remote
}
