package link

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"
)

// A name server that says nothing for queryStagger gets a competitor, and a
// source that says nothing for sourceTimeout a successor.
const (
	queryStagger  = time.Second
	sourceTimeout = 8 * time.Second
)

// errNoServer is how the resolver for hosts files says that a name is not there.
var errNoServer = errors.New("no name server is known")

// source is a Resolver that can be asked.
type source struct {
	resolver Resolver
	servers  []*net.Resolver // one for each of resolver.Servers
}

// lookup resolves host over this link: a literal address without asking anyone,
// then the hosts file, then localhost, then what is remembered, then the link's resolvers in their
// order until one gives an answer. A host that does not exist, or that no name
// server is known for, is a *net.DNSError with IsNotFound in the error's chain.
func (l *Link) lookup(ctx context.Context, host string, family Family) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if addrs, err := hostsFile().LookupNetIP(ctx, family.ipNetwork(), host); err == nil {
		return unmapped(addrs), nil
	}
	if isLocalhost(host) {
		return localAddrs(family), nil
	}
	addrs, err := l.names.find(ctx, name{host, family}, func(ctx context.Context) ([]netip.Addr, error) {
		return l.askAll(ctx, host, family)
	})
	if err != nil {
		return nil, l.error("%w", err)
	}
	return addrs, nil
}

// isLocalhost says whether host is this machine by its name alone, without the hosts file,
// which does not name it on Windows. No name server is to be asked (RFC 6761, 6.3).
func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// localAddrs are this machine's addresses of a family.
func localAddrs(family Family) []netip.Addr {
	v6, v4 := netip.IPv6Loopback(), netip.AddrFrom4([4]byte{127, 0, 0, 1})
	switch family {
	case FamilyIPv4:
		return []netip.Addr{v4}
	case FamilyIPv6:
		return []netip.Addr{v6}
	case FamilyAny:
	}
	return []netip.Addr{v6, v4}
}

// askAll asks one source after the other.
func (l *Link) askAll(ctx context.Context, host string, family Family) ([]netip.Addr, error) {
	var first error
	for i, s := range l.sources {
		addrs, err := l.ask(ctx, s, host, family, i < len(l.sources)-1)
		if err == nil {
			return unmapped(addrs), nil
		}
		if isNotFound(err) || ctx.Err() != nil {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = &net.DNSError{Err: errNoServer.Error(), Name: host, IsNotFound: true}
	}
	return nil, first
}

// ask queries one source; where others follow it does not get all the time.
func (l *Link) ask(ctx context.Context, s source, host string, family Family, others bool) ([]netip.Addr, error) {
	if others {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, sourceTimeout)
		defer cancel()
	}
	if s.resolver.Method == ResolverResolved {
		return varlinkLookup(ctx, s.resolver.Socket, host, l.info.Index, family.number())
	}
	addrs, err := race(ctx, len(s.servers), queryStagger,
		func(ctx context.Context, i int) ([]netip.Addr, error) {
			return s.servers[i].LookupNetIP(ctx, family.ipNetwork(), host)
		}, isNotFound, func([]netip.Addr) {})
	if err != nil && s.resolver.Method == ResolverAndroid && l.noQueries.Load() {
		return l.askAndroid9(ctx, s.resolver.Socket, host, family)
	}
	if s.resolver.Method == ResolverAndroid {
		err = l.final(host, err)
	}
	return addrs, err
}

func (l *Link) newSources() []source {
	sources := make([]source, 0, len(l.info.Resolvers))
	for _, r := range l.info.Resolvers {
		s := source{resolver: r}
		if r.Method == ResolverAndroid && l.info.Android != nil {
			s.servers = append(s.servers, l.askingAndroid(r.Socket))
		}
		for _, server := range r.Servers {
			s.servers = append(s.servers, l.asking(server, r.Method == ResolverSystem))
		}
		sources = append(sources, s)
	}
	return sources
}

// asking makes a resolver that knows one server. Where it is one on this
// machine its socket is not bound, as it could not reach it.
func (l *Link) asking(server netip.AddrPort, unbound bool) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var (
			conn net.Conn
			err  error
		)
		if unbound {
			var d net.Dialer
			conn, err = d.DialContext(ctx, network, server.String())
		} else {
			conn, err = l.dialBound(ctx, network, server)
		}
		if err != nil {
			return nil, err
		}
		// The net package leaves a cancelled query open until its time-out of seconds. Its ctx
		// ends with the exchange at the latest.
		context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // fails when it is closed
		return conn, nil
	}}
}

// hostsFile makes a resolver that knows the hosts file only.
func hostsFile() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errNoServer
	}}
}

// unmapped turns IPv4 addresses in IPv6 form into plain ones, in place.
func unmapped(addrs []netip.Addr) []netip.Addr {
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs
}

func isNotFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// ipNetwork is the family as LookupNetIP takes it.
func (f Family) ipNetwork() string {
	switch f {
	case FamilyIPv4:
		return "ip4"
	case FamilyIPv6:
		return "ip6"
	case FamilyAny:
	}
	return "ip"
}

// number is the family as Varlink takes it.
func (f Family) number() int {
	switch f {
	case FamilyIPv4:
		return afInet
	case FamilyIPv6:
		return afInet6
	case FamilyAny:
	}
	return afAny
}
