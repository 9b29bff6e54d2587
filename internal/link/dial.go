package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// stagger is how long a connection attempt has to itself before the next
// address is tried beside it: RFC 8305, section 5, "Connection Attempt Delay".
const stagger = 250 * time.Millisecond

// A first packet that is lost, as all are while a radio is away, is sent again only after a
// second (RFC 6298, 2.1). Where it is known how soon the link answers, up to knocks sockets
// in all try one address, lateTrips handshakes apart, and at least stagger.
const (
	knocks    = 3
	lateTrips = 3
)

// maxAddrs bounds how many addresses of a host are tried, whatever a name server answers.
const maxAddrs = 16

// DialContext resolves the host in addr (host:port) and connects to it, both
// over this link only. Several addresses are tried as RFC 8305 says. network
// is "tcp", "tcp4" or "tcp6". The error names the link; a host that does not
// exist is a *net.DNSError with IsNotFound in its chain, a socket that could
// not be bound wraps ErrBind.
func (l *Link) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	family, ok := l.family.with(network)
	if !ok {
		return nil, l.error("dial %s: no %s with the address family that was asked for", addr, network)
	}
	if l.barred != nil {
		return nil, l.error("%w", l.barred)
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, l.error("%w", err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service) // reads a file at most
	if err != nil {
		return nil, l.error("%w", err)
	}
	addrs, err := l.lookup(ctx, host, family)
	if err != nil {
		return nil, err
	}
	// The following stays so at every try: it is marked as a name that leads nowhere.
	if l.info.Virtual != VirtualLoopback && !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !IsHere(a) }) {
		return nil, l.error("%w", &net.DNSError{
			Err: ErrHere.Error(), UnwrapErr: ErrHere, Name: host, IsNotFound: true,
		})
	}
	if l.info.Virtual == VirtualLoopback && !slices.ContainsFunc(addrs, ownAddress) {
		return nil, l.error("%w", &net.DNSError{
			Err: "the loopback link reaches this machine only", Name: host, IsNotFound: true,
		})
	}
	if l.global {
		if addrs = slices.DeleteFunc(slices.Clone(addrs), l.isOwn); len(addrs) == 0 {
			return nil, l.error("%w", &net.DNSError{
				Err: ErrHere.Error(), UnwrapErr: ErrHere, Name: host, IsNotFound: true,
			})
		}
		if addrs = slices.DeleteFunc(addrs, isLinkLocal); len(addrs) == 0 {
			return nil, l.error("%w", &net.DNSError{
				Err: ErrLocal.Error(), UnwrapErr: ErrLocal, Name: host, IsNotFound: true,
			})
		}
	}
	if addrs = l.order(addrs, family); len(addrs) == 0 {
		return nil, l.error("%w", &net.DNSError{
			Err: ErrFamily.Error(), UnwrapErr: ErrFamily, Name: host, IsNotFound: true,
		})
	}
	conn, err := l.connect(ctx, addrs, uint16(port))
	if err != nil {
		l.names.doubt(name{host, family})
		return nil, l.error("%w", err)
	}
	return conn, nil
}

// connect connects to the first of several addresses that answers.
func (l *Link) connect(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	return race(ctx, len(addrs), stagger,
		func(ctx context.Context, i int) (net.Conn, error) {
			return l.knock(ctx, netip.AddrPortFrom(addrs[i], port))
		},
		func(err error) bool { return errors.Is(err, ErrBind) }, discard)
}

// knock connects to one address over as many sockets as it takes: the first that has an
// answer, a refusal included, has it for all.
func (l *Link) knock(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	shook := time.Duration(l.shook.Load())
	n := knocks
	if shook == 0 {
		n = 1
	}
	return race(ctx, n, max(stagger, lateTrips*shook),
		func(ctx context.Context, _ int) (net.Conn, error) {
			began := time.Now()
			conn, err := l.dialBound(ctx, "tcp", to)
			if err == nil {
				l.shook.Store(int64(Handshake(conn, time.Since(began))))
			}
			return conn, err
		},
		func(error) bool { return true }, discard)
}

func discard(unused net.Conn) { _ = unused.Close() }

func isLinkLocal(addr netip.Addr) bool { return addr.Unmap().IsLinkLocalUnicast() }

// IsHere says whether addr is this machine whatever its addresses are: systems take the
// unspecified one for it, too, when connecting.
func IsHere(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return addr.IsLoopback() || addr.IsUnspecified()
}

// ownAddress says whether addr is this machine itself, as far as that can be told:
// where the system does not say which addresses it has, any may be.
func ownAddress(addr netip.Addr) bool {
	if IsHere(addr) {
		return true
	}
	mine, err := net.InterfaceAddrs()
	return err != nil || isAmong(addr, mine)
}

// isOwn says whether addr is one of the link's own, or another of this machine as far as the
// system says which there are: services that are not meant for others may listen at it.
func (l *Link) isOwn(addr netip.Addr) bool {
	mine, _ := net.InterfaceAddrs() // Android's newer versions do not say
	return isAmong(addr, mine) || slices.ContainsFunc(l.info.Addrs, func(p netip.Prefix) bool { return p.Addr() == addr.Unmap() })
}

func isAmong(addr netip.Addr, list []net.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(list, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap().WithZone("") == addr
	})
}

// dialBound connects to one address over the link.
func (l *Link) dialBound(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	if IsHere(to.Addr()) && l.info.Virtual != VirtualLoopback {
		// The kernel would send this out and let the caller wait.
		return nil, fmt.Errorf("dial %v: %w", to, ErrHere)
	}
	d, err := l.dialer(network, to.Addr())
	if err != nil {
		return nil, err
	}
	return d.DialContext(ctx, network, to.String())
}

// with narrows the family by a network's name.
func (f Family) with(network string) (Family, bool) {
	want := FamilyAny
	switch {
	case strings.HasSuffix(network, "4"):
		want = FamilyIPv4
	case strings.HasSuffix(network, "6"):
		want = FamilyIPv6
	}
	switch {
	case !strings.HasPrefix(network, "tcp"):
		return 0, false
	case want == FamilyAny:
		return f, true
	case f == FamilyAny:
		return want, true
	}
	return f, f == want
}

// allows says whether addr is of the family.
func (f Family) allows(addr netip.Addr) bool {
	return f == FamilyAny || (f == FamilyIPv4) == addr.Is4()
}

// order picks the addresses that the link can reach and interleaves the
// families (RFC 8305, section 4). IPv6 comes first only where the link has a
// default route for it and an address that is valid everywhere, as RFC 6724
// prefers IPv4 to unique local addresses.
func (l *Link) order(addrs []netip.Addr, family Family) []netip.Addr {
	has4, has6 := l.info.has()
	var four, six []netip.Addr
	for _, a := range addrs {
		a = a.Unmap()
		switch {
		case !a.IsValid() || !family.allows(a):
		case a.Is4():
			// Without an address of its own the kernel would use another link's.
			if has4 {
				four = append(four, a)
			}
		case a.IsLinkLocalUnicast():
			if a.Zone() == "" {
				a = a.WithZone(l.info.Name)
			}
			six = append(six, a)
		case has6:
			six = append(six, a)
		}
	}
	lead, follow := four, six
	if l.prefers6() {
		lead, follow = six, four
	}
	ordered := make([]netip.Addr, 0, len(lead)+len(follow))
	for i := range max(len(lead), len(follow)) {
		if i < len(lead) {
			ordered = append(ordered, lead[i])
		}
		if i < len(follow) {
			ordered = append(ordered, follow[i])
		}
	}
	return ordered[:min(len(ordered), maxAddrs)]
}

func (l *Link) prefers6() bool {
	if !l.info.Default6 {
		return false
	}
	for _, p := range l.info.Addrs {
		if a := p.Addr(); a.Is6() && a.IsGlobalUnicast() && !a.IsPrivate() {
			return true
		}
	}
	return false
}
