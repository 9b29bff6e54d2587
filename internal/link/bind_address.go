//go:build !linux && !darwin && !windows

package link

import (
	"context"
	"errors"
	"net"
	"net/netip"
)

// bindSocket: the dialer's local address is all there is.
func bindSocket(_ context.Context, _ uintptr, _ string, info *Info) error {
	if info.Bind != BindAddress {
		return errors.New("no way to bind is known")
	}
	return nil
}

// checkBind: this system cannot bind a socket to an interface. An unbound socket uses the link
// of the default route, so only that link can be used, by its source address.
func (i *Info) checkBind(ctx context.Context) {
	i.Source4 = i.chosen(ctx, "udp4", probe4)
	i.Source6 = i.chosen(ctx, "udp6", probe6)
	i.Default4, i.Default6 = i.Source4.IsValid(), i.Source6.IsValid()
	if i.Virtual == VirtualLoopback {
		i.useOwnAddresses()
	}
	if i.Source4.IsValid() || i.Source6.IsValid() {
		i.Bind = BindAddress
		return
	}
	i.problem(Fatal, cannotBind, bindHint)
}

// useOwnAddresses binds to addresses that lead nowhere else.
func (i *Info) useOwnAddresses() {
	for _, p := range i.Addrs {
		switch a := p.Addr(); {
		case a.Is4() && a.IsLoopback():
			i.Source4 = a
		case a.Is6() && a.IsLoopback():
			i.Source6 = a
		}
	}
}

// chosen is the link's address if the system would use it to reach addr.
func (i *Info) chosen(ctx context.Context, network, addr string) netip.Addr {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return netip.Addr{}
	}
	defer c.Close() //nolint:errcheck // nothing was written
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	for _, p := range i.Addrs {
		if p.Addr() == local.Addr().Unmap() {
			return p.Addr()
		}
	}
	return netip.Addr{}
}
