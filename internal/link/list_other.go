//go:build !linux

package link

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
)

// Addresses set aside for documentation (RFC 5737, RFC 3849). A UDP socket is
// connected to them to learn whether there is a route; nothing is sent.
const (
	probe4 = "192.0.2.1:9"
	probe6 = "[2001:db8::1]:9"
)

// List finds every interface and checks it; see the function List. Where the
// system has no other way to tell, a default route is found by connecting a
// UDP socket that is bound to the link, which sends nothing.
func (s System) List(ctx context.Context) ([]Info, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	infos := make([]Info, 0, len(interfaces))
	for _, ifi := range interfaces {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		loopback := ifi.Flags&net.FlagLoopback != 0
		i := Info{
			Name:      ifi.Name,
			Index:     ifi.Index,
			Up:        ifi.Flags&net.FlagUp != 0,
			Carrier:   ifi.Flags&net.FlagRunning != 0,
			Addrs:     addrsOf(ifi),
			RPFilter:  -1,
			Resolvers: s.resolvers(ifi.Index, loopback),
			Tech:      techHere(ifi.Name),
			Virtual:   classify(ifi.Name, "", loopback),
			Problems:  []Problem{},
		}
		i.checkState()
		i.checkBind(ctx)
		if i.Bind == BindIndex {
			i.Default4 = i.reaches(ctx, "udp4", probe4)
			i.Default6 = i.reaches(ctx, "udp6", probe6)
		}
		if i.worst(Fatal) == nil {
			i.checkRoutes()
			i.checkResolvers()
		}
		infos = append(infos, i)
	}
	return Apply(infos, nil), nil
}

func addrsOf(ifi net.Interface) []netip.Prefix {
	list := []netip.Prefix{}
	addrs, err := ifi.Addrs()
	if err != nil {
		return list
	}
	for _, a := range addrs {
		ipnet, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(ipnet.IP)
		if !ok {
			continue
		}
		ones, _ := ipnet.Mask.Size()
		list = append(list, netip.PrefixFrom(addr.Unmap(), ones))
	}
	return list
}

// techHere: on Apple's systems en0 may be Wi-Fi as well as Ethernet.
func techHere(name string) Tech {
	if t := guessTech(name); t != TechEthernet || runtime.GOOS != "darwin" {
		return t
	}
	return TechUnknown
}

func (i *Info) checkState() {
	usable := false
	for _, p := range i.Addrs {
		usable = usable || !p.Addr().IsLinkLocalUnicast()
	}
	switch {
	case !i.Up && runtime.GOOS == "windows": // which does not tell one from the other
		i.problem(Fatal, "it is not connected, or switched off", "")
	case !i.Up:
		i.problem(Fatal, "it is down", "")
	case !i.Carrier:
		i.problem(Fatal, "it has no carrier", "")
	case !usable:
		i.problem(Fatal, "it has no address", "")
	}
}

func (i *Info) checkRoutes() {
	if !i.Default4 && !i.Default6 && i.Virtual != VirtualLoopback {
		i.problem(Warning, "no default route leads through it: only its own network can be reached", "")
	}
}

// reaches says whether a socket bound to the link has a route to addr.
func (i *Info) reaches(ctx context.Context, network, addr string) bool {
	l := New(*i, Spec{}, Options{})
	d, err := l.dialer(network, netip.MustParseAddrPort(addr).Addr())
	if err != nil {
		return false
	}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return false
	}
	return c.Close() == nil
}
