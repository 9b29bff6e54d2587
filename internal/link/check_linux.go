package link

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const metricStep = 100 // how far behind the others a suggested default route stands

func (i *Info) flow4(src netip.Addr, oif int) flow {
	return flow{family: unix.AF_INET, src: src, oif: oif, name: i.Name}
}

func (i *Info) flow6(src netip.Addr, oif int) flow {
	return flow{family: unix.AF_INET6, src: src, oif: oif, name: i.Name}
}

// findDefaultRoutes looks for the routes that a socket bound to the link would
// take. One that only packets from the link's address get (ip rule from ...)
// needs the socket bound to that address as well: the kernel looks for a route
// before it chooses an address.
func (i *Info) findDefaultRoutes(f *fib) {
	i.Default4 = len(f.lookup(i.flow4(netip.Addr{}, i.Index))) > 0
	i.Default6 = len(f.lookup(i.flow6(netip.Addr{}, i.Index))) > 0
	for _, p := range i.Addrs {
		switch a := p.Addr(); {
		case a.Is4() && !i.Default4:
			if len(f.lookup(i.flow4(a, i.Index))) > 0 {
				i.Default4, i.Source4 = true, a
			}
		case a.Is6() && !i.Default6 && !a.IsLinkLocalUnicast():
			if len(f.lookup(i.flow6(a, i.Index))) > 0 {
				i.Default6, i.Source6 = true, a
			}
		}
	}
}

// findRouters finds where the routes of sockets that are bound to the link lead, which may
// depend on their addresses.
func (i *Info) findRouters(f *fib) {
	add := func(source netip.Addr, to flow) {
		if r := f.route(to); r.gateway.IsValid() && !slices.ContainsFunc(i.routers, func(other router) bool { return other.gateway == r.gateway }) {
			i.routers = append(i.routers, router{source, r.gateway})
		}
	}
	add(netip.Addr{}, i.flow4(netip.Addr{}, i.Index))
	add(netip.Addr{}, i.flow6(netip.Addr{}, i.Index))
	for _, p := range i.Addrs {
		switch a := p.Addr(); {
		case a.Is4():
			add(a, i.flow4(a, i.Index))
		case !a.IsLinkLocalUnicast():
			add(a, i.flow6(a, i.Index))
		}
	}
}

// checkState looks for what keeps a link from carrying anything at all.
func (i *Info) checkState() {
	name := shellWord(i.Name)
	usable := slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool { return !p.Addr().IsLinkLocalUnicast() })
	switch {
	case !i.Up:
		i.problem(Fatal, "it is down", "sudo ip link set "+name+" up")
	case !i.Carrier && i.Tech == TechWiFi:
		i.problem(Fatal, "it has no carrier: not connected to a Wi-Fi network", "nmcli device connect "+name)
	case !i.Carrier:
		i.problem(Fatal, "it has no carrier: no cable, no signal or nobody at the other end", "")
	case !usable:
		i.problem(Fatal, "it has no address", "nmcli device connect "+name+" || sudo dhcpcd "+name)
	}
}

// checkRoutes looks for a default route. Without one the kernel takes every
// address for a neighbour of a socket bound to the device (LINKS-AND-ANDROID,
// first row): a server that is not one is never reached. As the server may be
// one, a link that is named is taken all the same.
func (i *Info) checkRoutes(f *fib, pointToPoint bool) {
	if i.Default4 || i.Default6 || i.Virtual == VirtualLoopback {
		return
	}
	via := " via GATEWAY"
	if pointToPoint {
		via = ""
	}
	i.problem(Warning, "no default route leads through it: only its own network can be reached",
		fmt.Sprintf("sudo ip route add default%s dev %s metric %d", via, shellWord(i.Name), f.maxMetric(unix.AF_INET)+metricStep))
}

// checkReversePath finds links whose replies a strict reverse path filter
// drops: the route back to the server, from the link's address, leads through
// another link.
func (i *Info) checkReversePath(f *fib) {
	if _, within := f.vrfs[i.Index]; within || i.RPFilter != 1 || !i.Default4 || i.Virtual == VirtualLoopback {
		return // what comes into a VRF goes by its routes
	}
	for _, p := range i.Addrs {
		src := p.Addr()
		if !src.Is4() || i.Source4.IsValid() && src != i.Source4 {
			continue
		}
		if slices.Contains(f.lookup(i.flow4(src, 0)), i.Index) {
			return // the first address is the one that the kernel chooses
		}
		i.problem(Fatal, "the kernel drops the replies: rp_filter is 1 (strict) and the best default route leads through another link",
			"sudo sysctl -w "+shellWord("net.ipv4.conf."+strings.ReplaceAll(i.Name, ".", "/")+".rp_filter=2"))
		return
	}
}

// checkBind decides how sockets are bound to the link. refused is the error of trying to bind
// one to the device.
func (i *Info) checkBind(f *fib, refused error) {
	if refused == nil {
		i.Bind = BindDevice
		return
	}
	// By source address only where routing by source is known to lead here.
	i.Source4, i.Source6 = netip.Addr{}, netip.Addr{}
	for _, p := range i.Addrs {
		a := p.Addr()
		if a.IsLinkLocalUnicast() || !f.hasSourceRule(a) {
			continue
		}
		if a.Is4() && !i.Source4.IsValid() && onlyThrough(f.lookup(i.flow4(a, 0)), i.Index) {
			i.Source4 = a
		}
		if a.Is6() && !i.Source6.IsValid() && onlyThrough(f.lookup(i.flow6(a, 0)), i.Index) {
			i.Source6 = a
		}
	}
	why := fmt.Sprintf("a socket cannot be bound to it (%v)", refused)
	if i.Source4.IsValid() || i.Source6.IsValid() {
		i.Bind = BindAddress
		i.Default4, i.Default6 = i.Source4.IsValid(), i.Source6.IsValid()
		i.problem(Note, why+"; its address is, which a routing rule sends through it", "")
		return
	}
	i.problem(Fatal, why+"; that takes Linux 5.7 or the right to use raw sockets",
		`sudo setcap cap_net_raw+ep "$(command -v mlget)"`)
}

func onlyThrough(devs []int, index int) bool { return len(devs) == 1 && devs[0] == index }
