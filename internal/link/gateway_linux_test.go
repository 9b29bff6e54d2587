package link

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// madeBy are the routes and rules, as another library reads them, that bear mlget's mark.
func madeBy(t *testing.T, family int) (routes []netlink.Route, rules []netlink.Rule) {
	t.Helper()
	all, err := netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	must(t, err)
	for _, r := range all {
		if r.Protocol == gatewayProtocol {
			routes = append(routes, r)
		}
	}
	found, err := netlink.RuleList(family)
	must(t, err)
	for _, r := range found {
		if r.Priority == gatewayPriority {
			rules = append(rules, r)
		}
	}
	return routes, rules
}

// TestGatewayHasRoutesOfItsOwn: a link by a router has a rule and a table with a route by that
// router and one that refuses, which stays when the card goes down; nothing is left at the end.
func TestGatewayHasRoutesOfItsOwn(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	p := newProvider(t, "rmnet0", 2)
	i := labSystem(t, "nameserver "+labDNS).find(t, "rmnet0")
	near, err := netlink.LinkByName("rmnet0")
	must(t, err)
	for family, via := range map[int]string{netlink.FAMILY_V4: "10.2.0.1", netlink.FAMILY_V6: "2001:db8:2::1"} {
		g, err := OpenGateway(i, netip.MustParseAddr(via))
		must(t, err)
		over, err := g.Over(i)
		must(t, err)
		if (family == netlink.FAMILY_V4) != over.Default4 || over.Default4 == over.Default6 {
			t.Errorf("%s: default routes %v, %v", via, over.Default4, over.Default6)
		}
		routes, rules := madeBy(t, family)
		refused, led := 0, 0
		for _, r := range routes {
			if r.Type == unix.RTN_UNREACHABLE {
				refused++
			} else if r.Gw.Equal(net.ParseIP(via)) && r.LinkIndex == p.index {
				led++
			}
		}
		if refused != 1 || led != 1 || len(rules) != 1 || rules[0].Table != routes[0].Table || rules[0].Mark != uint32(routes[0].Table) {
			t.Errorf("%s: routes %v, rules %v", via, routes, rules)
		}
		must(t, netlink.LinkSetDown(near))
		if routes, _ = madeBy(t, family); len(routes) != 1 || routes[0].Type != unix.RTN_UNREACHABLE {
			t.Errorf("%s: with the card down: %v", via, routes)
		}
		must(t, netlink.LinkSetUp(near))
		addr, err := netlink.ParseAddr("2001:db8:2::2/64")
		must(t, err)
		addr.Flags = unix.IFA_F_NODAD
		must(t, netlink.AddrReplace(near, addr)) // IPv6 forgets it with the card
		_, err = g.Over(i)
		must(t, err)
		if routes, _ = madeBy(t, family); len(routes) != 2 {
			t.Errorf("%s: with the card up again: %v", via, routes)
		}
		must(t, g.Close())
		if routes, rules = madeBy(t, family); len(routes)+len(rules) != 0 {
			t.Errorf("%s: left: %v, %v", via, routes, rules)
		}
	}
	if _, err := OpenGateway(i, netip.MustParseAddr("198.51.100.7")); err == nil {
		t.Error("a router that is no neighbour was taken")
	}
}
