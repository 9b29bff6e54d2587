package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/errno"
	"github.com/mlget/mlget/internal/link"
)

const (
	// The time a link has to connect before the next one tries as well: two of the times
	// that it usually takes and some for servers that are farther away, within these.
	minStall = 100 * time.Millisecond
	maxStall = time.Second
	// newStall is that of a link over which nothing has been connected.
	newStall = 300 * time.Millisecond
)

// errNoLink is returned where no link may carry a tunnel.
var errNoLink = errors.New("no link can be used")

// stalls estimates how long connecting takes over a link, names included, as RFC 6298
// estimates round trips. The zero value knows nothing.
type stalls struct{ mean, deviation time.Duration }

func (s *stalls) add(took time.Duration) {
	if s.mean == 0 {
		s.mean, s.deviation = took, took/2
		return
	}
	s.deviation += ((took - s.mean).Abs() - s.deviation) / 4
	s.mean += (took - s.mean) / 8
}

// limit is when connecting has stalled.
func (s *stalls) limit() time.Duration {
	if s.mean == 0 {
		return newStall
	}
	return min(max(2*s.mean+4*s.deviation, minStall), maxStall)
}

// dialled is what an attempt to connect came to.
type dialled struct {
	link *member
	conn *net.TCPConn
	took time.Duration
	err  error
}

// dial makes a tunnel to a target, host:port, for a client. Links are tried in the order of
// their places; each has some time before the next one tries as well, and the first that is
// connected has it.
func (s *Server) dial(ctx context.Context, client netip.Addr, protocol, target string) (*tunnel, *net.TCPConn, error) {
	o, err := originOf(client, target)
	if err != nil {
		return nil, nil, err
	}
	t, attempts := s.place(o, protocol)
	if t == nil {
		return nil, nil, errNoLink
	}
	conn, err := s.connect(ctx, t, attempts, target)
	return t, conn, err
}

// originOf is what a tunnel to a target leads from and to. It refuses addresses that the
// client is not to reach.
func originOf(client netip.Addr, target string) (origin, error) {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return origin{}, err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if err := checkAddress(client, addr); err != nil {
			return origin{}, err
		}
	}
	return origin{client.Unmap(), strings.ToLower(strings.TrimSuffix(host, "."))}, nil
}

// connect makes a tunnel, which was placed on the first link of attempts, to a target. Where that
// fails it removes the tunnel.
func (s *Server) connect(ctx context.Context, t *tunnel, attempts []attempt, target string) (*net.TCPConn, error) {
	conn, err := s.race(ctx, t, attempts, target)
	if err == nil {
		err = checkDestination(t.origin.client, addrPort(conn.LocalAddr()), addrPort(conn.RemoteAddr()), s.config.Load().Self)
		if err == nil && !s.connected(t, conn) {
			err = errNoLink
		}
		if err != nil {
			reset(conn)
		}
	}
	if err != nil {
		s.remove(t)
		return nil, err
	}
	return conn, nil
}

// race connects over one link after the other until one is connected.
func (s *Server) race(ctx context.Context, t *tunnel, attempts []attempt, target string) (*net.TCPConn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan dialled, len(attempts)) // those who come too late must not wait
	timer := time.NewTimer(0)
	defer timer.Stop()
	var first error
	for started, running := 0, 0; started < len(attempts) || running > 0; {
		next := timer.C
		if started == len(attempts) {
			next = nil
		}
		select {
		case <-next:
			a := attempts[started]
			go func() { results <- a.dial(ctx, target) }()
			timer.Reset(a.wait)
			started++
			running++
		case r := <-results:
			running--
			s.note(r)
			if r.err == nil {
				s.won(t, r.link, attempts[:started])
				go discard(results, running)
				return r.conn, nil
			}
			if first == nil {
				first = r.err
			}
			if ctx.Err() != nil || errno.IsRefused(r.err) || errno.IsReset(r.err) {
				go discard(results, running)
				return nil, r.err // an answer, or nobody waits for one
			}
			timer.Reset(0)
		}
	}
	return nil, first
}

// discard closes what still comes of attempts that nobody needs.
func discard(results <-chan dialled, running int) {
	for range running {
		if r := <-results; r.conn != nil {
			_ = r.conn.Close()
		}
	}
}

// dial connects over one link.
func (a attempt) dial(ctx context.Context, target string) dialled {
	began := time.Now()
	conn, err := a.network.DialContext(ctx, "tcp", target)
	r := dialled{link: a.link, took: time.Since(began), err: err}
	if err != nil {
		return r
	}
	var ok bool
	if r.conn, ok = conn.(*net.TCPConn); !ok {
		_ = conn.Close()
		r.err = fmt.Errorf("%T is no TCP connection", conn)
	}
	return r
}

// blames says whether an error of connecting is the link's fault and not the server's.
func blames(err error) bool {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled), errno.IsRefused(err), errno.IsReset(err):
		return false
	case errors.As(err, &dns):
		return !dns.IsNotFound
	}
	return true
}

// isUnreachable says whether a name leads nowhere, or nowhere from here.
func isUnreachable(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) || errno.IsUnreachable(err)
}

// isForbidden says whether a destination is one that nobody is led to.
func isForbidden(err error) bool { return errors.Is(err, errForbidden) || errors.Is(err, link.ErrHere) }

func addrPort(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}
