//go:build !windows

package link

import (
	"bufio"
	"bytes"
	"net/netip"
	"strconv"
	"strings"
)

// linkServers gives the name servers of one link, as systemd-networkd keeps
// them: the files of leases, then those of links, in which other servers
// than the lease's may stand.
func (s System) linkServers(index int) (ResolverMethod, []netip.AddrPort) {
	for _, dir := range [...]string{"leases", "links"} {
		_, remote := splitLocal(parseLease(readSmall(s.path("run/systemd/netif", dir, strconv.Itoa(index)))))
		if len(remote) > 0 {
			return ResolverNetworkd, remote
		}
	}
	return ResolverNetworkd, nil
}

// parseLease gives the name servers of a file in systemd-networkd's form:
// DNS=10.0.0.1 [fe80::1%eth0]:53#name.
func parseLease(b []byte) []netip.AddrPort {
	var servers []netip.AddrPort
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		list, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "DNS=")
		if !ok {
			continue
		}
		for field := range strings.FieldsSeq(list) {
			address, _, _ := strings.Cut(field, "#") // behind it: the name for TLS
			servers = appendServer(servers, address)
		}
	}
	return servers
}
