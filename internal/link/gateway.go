package link

import (
	"errors"
	"net/netip"
)

// ErrGateway says that no route of its own leads over a gateway.
var ErrGateway = errors.New("no route of its own can be made")

// gatewayFix are the commands that give a link to a gateway an address of its own, by which
// its packets find their way without any right of this program's.
func gatewayFix(name string, via netip.Addr) string {
	family := ""
	if via.Is6() {
		family = "-6 "
	}
	dev := shellWord(name)
	return "as root, or with a second address: sudo ip " + family + "addr add ADDRESS/PREFIX dev " + dev + "; sudo ip " + family + "route add default via " +
		via.String() + " dev " + dev + " table 101; sudo ip " + family + "rule add from ADDRESS table 101"
}

// over is the link as it is by its gateway alone: of the gateway's family, and with what ties
// sockets to its route.
func (g *Gateway) over(i Info) Info {
	four := g.via.Is4()
	addrs := i.Addrs
	i.Addrs = nil
	for _, p := range addrs {
		if p.Addr().Is4() == four {
			i.Addrs = append(i.Addrs, p)
		}
	}
	i.Default4, i.Default6 = four, !four
	i.Source4, i.Source6 = netip.Addr{}, netip.Addr{}
	if four {
		i.Source4 = g.source
	} else {
		i.Source6 = g.source
	}
	i.mark = g.mark
	return i
}
