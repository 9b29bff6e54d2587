//go:build !linux

package link

import (
	"fmt"
	"net/netip"
)

// Gateway is one of several routers behind an interface; this system cannot choose among them.
type Gateway struct {
	via, source netip.Addr
	mark        uint32
}

// OpenGateway fails: only Linux is asked for routes of one's own.
func OpenGateway(Info, netip.Addr) (*Gateway, error) {
	return nil, fmt.Errorf("%w: via= is for Linux", ErrGateway)
}

// Over is the link by the gateway.
func (g *Gateway) Over(i Info) (Info, error) { return g.over(i), nil }

// Close has nothing to do.
func (g *Gateway) Close() error { return nil }
