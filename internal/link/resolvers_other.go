//go:build !windows

package link

import (
	"net/netip"
	"strconv"
)

// linkServers gives the name servers of one link, as systemd-networkd keeps
// them: the files of leases, then those of links, in which others servers
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
