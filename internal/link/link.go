package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/term"
)

// ErrBind says that a socket could not be tied to its link. Nothing was sent.
var ErrBind = errors.New("cannot bind to the link")

// ErrMetered says that data over a link may cost money, without the user's consent. Nothing was
// sent.
var ErrMetered = errors.New("data over it may cost money")

// ErrWindow says that a link is used at other hours only. Nothing was sent.
var ErrWindow = errors.New("it is outside the hours in which it may be used")

// ErrHere says that an address is this machine's own, and the link another than the
// loopback one. Nothing was sent.
var ErrHere = errors.New("this machine itself is reached over the loopback link only")

// ErrLocal says that an address is link-local, which the link does not open.
var ErrLocal = errors.New("link-local addresses are not allowed")

// ErrFamily says that a host has only addresses that the link, or the family that is
// dialled, leaves out.
var ErrFamily = errors.New("the host has no address of a family that the link has")

// Family is which addresses are dialled.
type Family uint8

// The choices of address family.
const (
	FamilyAny  Family = 0
	FamilyIPv4 Family = 4
	FamilyIPv6 Family = 6
)

// Options are what New needs beyond the link itself.
type Options struct {
	Family         Family
	ConnectTimeout time.Duration // for resolving and connecting together; 0: DefaultConnectTimeout
	// Global refuses link-local addresses (RFC 3927; RFC 4291, 2.5.6), behind which a cloud's
	// metadata or a router's pages are, and this machine's own ones: for a program that downloads
	// what others ask for.
	Global bool
}

// DefaultConnectTimeout bounds a dial where Options say nothing.
const DefaultConnectTimeout = 30 * time.Second

// Link opens connections over one interface.
type Link struct {
	info    Info
	spec    Spec
	family  Family
	timeout time.Duration
	sources []source
	names   names

	barred error // why it opens no connection; nil: it does
	global bool  // as in Options

	shook     atomic.Int64                     // how long the latest handshake took, in ns; 0: there was none
	noQueries atomic.Bool                      // Android's resolver takes no DNS queries
	noAnswer  atomic.Pointer[android.NoAnswer] // what it said last instead of an answer; nil: it gave one
}

// New makes a Link of an interface that List found. A name server and a
// technology in spec replace what List found.
func New(info Info, spec Spec, opts Options) *Link {
	if spec.DNS.IsValid() {
		info.Resolvers = []Resolver{{Method: ResolverGiven, Servers: []netip.AddrPort{spec.DNS}}}
	}
	if spec.Tech != TechUnknown {
		info.Tech = spec.Tech
	}
	l := &Link{
		info:    info,
		spec:    spec,
		family:  opts.Family,
		timeout: opts.ConnectTimeout,
		global:  opts.Global,
	}
	if l.timeout <= 0 {
		l.timeout = DefaultConnectTimeout
	}
	l.sources = l.newSources()
	return l
}

// Barred is the link, but opens no connection, because of why: ErrMetered or ErrWindow.
func (l *Link) Barred(why error) *Link {
	barred := New(l.info, l.spec, Options{Family: l.family, ConnectTimeout: l.timeout})
	barred.barred = why
	return barred
}

// IsBarred says whether the link opens no connection.
func (l *Link) IsBarred() bool { return l.barred != nil }

// Name is the interface's name, raw, or that of a link with a proxy or a gateway of its own, of
// which an interface may have several.
func (l *Link) Name() string {
	if (l.spec.Proxy != "" || l.spec.Via.IsValid()) && l.spec.Name != "" {
		return l.spec.Key()
	}
	return l.info.Name
}

// Info returns the facts of the interface, with the changes that Spec made. The slices in it
// must not be changed.
func (l *Link) Info() Info { return l.info }

// Spec is the user's description of the link.
func (l *Link) Spec() Spec { return l.spec }

// error says which link an error is of.
func (l *Link) error(format string, args ...any) error {
	return fmt.Errorf("link %s: "+format, append([]any{term.Printable(l.Name())}, args...)...)
}

// dialer makes sockets that are tied to the link and lead to dst.
func (l *Link) dialer(network string, dst netip.Addr) (*net.Dialer, error) {
	d := &net.Dialer{
		FallbackDelay: -1, // the race between addresses is run here
		// A range request that is not answered shows no sign of life: probes
		// tell a dead path from a slow server within a minute.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3},
		ControlContext: func(ctx context.Context, network, _ string, c syscall.RawConn) error {
			var bindErr error
			if err := c.Control(func(fd uintptr) { bindErr = bindSocket(ctx, fd, network, &l.info) }); err != nil {
				return fmt.Errorf("%w: %w", ErrBind, err)
			}
			if bindErr != nil {
				return fmt.Errorf("%w: %w", ErrBind, bindErr)
			}
			return nil
		},
	}
	// Several paths in one connection would defeat the purpose.
	d.SetMultipathTCP(false)
	src := l.info.Source4
	if dst.Is6() {
		src = l.info.Source6
	}
	switch {
	case src.IsValid() && strings.HasPrefix(network, "udp"):
		d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(src, 0))
	case src.IsValid():
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(src, 0))
	case l.info.Bind == BindNone, l.info.Bind == BindAddress:
		return nil, fmt.Errorf("%w: no source address leads to it", ErrBind)
	}
	return d, nil
}
