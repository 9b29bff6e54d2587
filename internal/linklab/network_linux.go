package linklab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The server's addresses, which every link leads to, are those set aside for
// documentation, so that nothing real is ever shadowed by mistake.
const (
	serverIPv4 = "192.0.2.1"
	serverIPv6 = "2001:db8::1"
)

const (
	mtu = 1500
	// firstMetric and backupMetric are what NetworkManager and dhcpcd give to
	// the preferred and to further default routes; the first link wins.
	firstMetric  = 100
	backupMetric = 600
	// firstTable is the routing table of the first link's source rule.
	firstTable = 101
	rulePrio   = 1000
	// deviceQueue is so long that only the emulator's queue ever drops: the
	// device hands over to it as fast as it can be read.
	deviceQueue = 20000
	// congestion is what the server uses: what most servers on the Internet
	// use, whatever this machine prefers.
	congestion = "cubic"
)

// subnet is the addressing of one link.
type subnet struct {
	name                   string // of the client's device
	server                 string // of the server's device
	client4, gateway4      netip.Prefix
	client6, gateway6      netip.Prefix
	metric, table, rulePri int
}

// subnetOf numbers the i-th link.
func subnetOf(i int, name string) subnet {
	s := subnet{name: name, server: "srv-" + name, metric: firstMetric, table: firstTable + i, rulePri: rulePrio + i}
	if len(s.server) >= unix.IFNAMSIZ {
		s.server = "srv-" + strconv.Itoa(i)
	}
	if i > 0 {
		s.metric = backupMetric + i - 1
	}
	n := byte(i + 1)
	s.client4 = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, n, 0, 2}), 24)
	s.gateway4 = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, n, 0, 1}), 24)
	v6 := [16]byte{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 5: n, 15: 2}
	s.client6 = netip.PrefixFrom(netip.AddrFrom16(v6), 64)
	v6[15] = 1
	s.gateway6 = netip.PrefixFrom(netip.AddrFrom16(v6), 64)
	return s
}

// visit is the subnet with the client's addresses of its n-th time on the link,
// counted from 1.
func (s subnet) visit(n int) subnet {
	const hosts = 200 // then they come again
	host := byte(2 + max(0, n-1)%hosts)
	v4, v6 := s.client4.Addr().As4(), s.client6.Addr().As16()
	v4[3], v6[15] = host, host
	s.client4 = netip.PrefixFrom(netip.AddrFrom4(v4), s.client4.Bits())
	s.client6 = netip.PrefixFrom(netip.AddrFrom16(v6), s.client6.Bits())
	return s
}

// addrs are the client's addresses on the link.
func (s subnet) addrs() (all []netip.Addr) {
	for _, e := range s.ends() {
		all = append(all, e.client.Addr())
	}
	return all
}

// ends are the addresses of both ends of a link.
type ends struct{ client, gateway netip.Prefix }

// ends are those of each family that the kernel knows.
func (s subnet) ends() []ends {
	e := []ends{{s.client4, s.gateway4}}
	if hasIPv6() {
		e = append(e, ends{s.client6, s.gateway6})
	}
	return e
}

// hasIPv6 says whether the kernel knows IPv6.
func hasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

// receiveBuffer is the largest receive buffer of a connection in bytes, where
// nothing is said: room for 300 Mbit/s over 300 ms and a queue.
const receiveBuffer = 32 << 20

// prepareNamespace sets what a namespace needs before it has devices; rmem is its
// largest receive buffer in bytes. It runs on the namespace's thread, as everything below does.
func prepareNamespace(rpFilter int, rmem int64) error {
	for _, s := range []struct{ path, value string }{
		// A new namespace inherits these, and each setting of all and of the
		// device counts: say them.
		{"ipv4/conf/all/rp_filter", strconv.Itoa(rpFilter)},
		{"ipv4/conf/default/rp_filter", strconv.Itoa(rpFilter)},
		{"ipv6/conf/all/disable_ipv6", "0"},
		{"ipv6/conf/default/disable_ipv6", "0"},
		// The devices say nothing by themselves.
		{"ipv6/conf/default/addr_gen_mode", "1"},
		{"ipv6/conf/default/accept_ra", "0"},
		{"ipv6/conf/default/router_solicitations", "0"},
		// Runs do not learn from each other.
		{"ipv4/tcp_no_metrics_save", "1"},
		// Autotuning as usual.
		{"ipv4/tcp_rmem", fmt.Sprintf("4096 %d %d", min(131072, rmem), rmem)},
		{"ipv4/tcp_wmem", "4096 65536 33554432"},
		// Any user in the namespace may ping.
		{"ipv4/ping_group_range", "0 0"},
	} {
		path := filepath.Join("/proc/sys/net", s.path)
		err := os.WriteFile(path, []byte(s.value), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sysctl: %w", err)
		}
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("device lo: %w", err)
	}
	return nil
}

// addServerAddresses gives the server its addresses, on lo: they belong to no
// link.
func addServerAddresses() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("device lo: %w", err)
	}
	for _, a := range serverAddresses() {
		addr := netip.MustParseAddr(a)
		if err := addAddress(lo, netip.PrefixFrom(addr, addr.BitLen())); err != nil {
			return err
		}
	}
	return nil
}

// addServerDevice makes the server's end of a link. Replies to the client's
// address on a link go out over that link.
func addServerDevice(s subnet) (*tun, error) {
	return addDevice(s.server, func(dev netlink.Link) error {
		for _, e := range s.ends() {
			if err := addAddress(dev, e.gateway); err != nil {
				return err
			}
			if err := addServerRoute(dev, e.gateway); err != nil {
				return err
			}
		}
		return nil
	})
}

// addServerRoute makes the route to a link's client. The congestion control
// is the route's: the namespace's default may be restricted to what the
// machine's owner allowed, and a route holds for any server.
func addServerRoute(dev netlink.Link, p netip.Prefix) error {
	r := &netlink.Route{LinkIndex: dev.Attrs().Index, Dst: ipNet(p.Masked()), Scope: netlink.SCOPE_LINK, Congctl: congestion}
	if err := netlink.RouteAdd(r); err == nil {
		return nil
	}
	// A kernel without it has to do with its own.
	r.Congctl = ""
	if err := netlink.RouteAdd(r); err != nil {
		return fmt.Errorf("route to %v: %w", p.Masked(), err)
	}
	return nil
}

// addClientDevice makes the client's end of a link with its default routes.
func addClientDevice(s subnet, sourceRules bool) (*tun, error) {
	return addDevice(s.name, func(dev netlink.Link) error {
		for _, e := range s.ends() {
			client, gateway := e.client, e.gateway.Addr().AsSlice()
			if err := addAddress(dev, client); err != nil {
				return err
			}
			index := dev.Attrs().Index
			routes := []netlink.Route{
				{LinkIndex: index, Dst: ipNet(client.Masked()), Src: client.Addr().AsSlice(), Scope: netlink.SCOPE_LINK},
				{LinkIndex: index, Dst: everything(client.Addr()), Gw: gateway, Priority: s.metric},
			}
			if sourceRules {
				routes = append(routes, netlink.Route{
					LinkIndex: index, Dst: everything(client.Addr()), Gw: gateway, Table: s.table,
				})
			}
			for _, r := range routes {
				if err := netlink.RouteAdd(&r); err != nil {
					return fmt.Errorf("route %v: %w", r.Dst, err)
				}
			}
			if sourceRules {
				if err := addSourceRule(s, client.Addr()); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// addSourceRule sends what bears the address over its own link.
func addSourceRule(s subnet, a netip.Addr) error {
	r := netlink.NewRule()
	r.Family = unix.AF_INET
	if a.Is6() {
		r.Family = unix.AF_INET6
	}
	r.Src = ipNet(netip.PrefixFrom(a, a.BitLen()))
	r.Table = s.table
	r.Priority = s.rulePri
	if err := netlink.RuleAdd(r); err != nil {
		return fmt.Errorf("rule from %v: %w", a, err)
	}
	return nil
}

// addDevice makes a TUN device, brings it up and sets it up; on an error the
// device is gone again.
func addDevice(name string, setUp func(netlink.Link) error) (*tun, error) {
	t, err := openTUN(name)
	if err != nil {
		return nil, err
	}
	dev, err := netlink.LinkByName(name)
	if err == nil {
		err = errors.Join(
			netlink.LinkSetMTU(dev, mtu),
			netlink.LinkSetTxQLen(dev, deviceQueue),
			netlink.LinkSetUp(dev),
		)
	}
	if err == nil {
		err = setUp(dev)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("device %s: %w", name, err), t.Close())
	}
	return t, nil
}

// addAddress adds an address that is usable at once and brings no routes.
func addAddress(dev netlink.Link, p netip.Prefix) error {
	a := &netlink.Addr{IPNet: ipNet(p), Flags: unix.IFA_F_NOPREFIXROUTE}
	if p.Addr().Is6() {
		a.Flags |= unix.IFA_F_NODAD
	}
	if err := netlink.AddrAdd(dev, a); err != nil {
		return fmt.Errorf("address %v: %w", p, err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// everything is the destination of a default route of the address's family.
func everything(a netip.Addr) *net.IPNet {
	if a.Is4() {
		return ipNet(netip.PrefixFrom(netip.IPv4Unspecified(), 0))
	}
	return ipNet(netip.PrefixFrom(netip.IPv6Unspecified(), 0))
}
