package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"time"
)

// dialed is a connection on which no request has been made yet.
type dialed struct {
	raw   net.Conn   // as the Dialer made it
	tls   *tlsStream // on top of raw, or nil
	h2    bool
	key   originKey
	wait  *wait    // until the server answers; nil: there is no request yet
	proxy *url.URL // speak absolute-form to this proxy; nil: speak to the origin
}

// stream is the connection on which HTTP is spoken.
func (d *dialed) stream() net.Conn {
	if d.tls != nil {
		return d.tls
	}
	return d.raw
}

// mark is when a reader of raw is woken.
func (d *dialed) mark() *readMark {
	if d.tls != nil {
		return d.tls.wire.mark
	}
	return newReadMark(d.raw, false)
}

// dial connects to an origin, through a proxy where one is configured. It does
// not close what it made when ctx ends after it has returned.
func (c *Client) dial(ctx context.Context, key originKey) (*dialed, *Error) {
	tooSlow := fmt.Errorf("no connection to %s within %v", key.addr, c.cfg.ConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.ConnectTimeout, tooSlow)
	defer cancel()
	d, rtt, err := c.connect(ctx, key)
	if err != nil {
		if errors.Is(context.Cause(ctx), tooSlow) {
			return nil, &Error{Class: Network, Err: tooSlow}
		}
		return nil, dialError(ctx, err)
	}
	c.opened(d, rtt)
	return d, nil
}

func (c *Client) connect(ctx context.Context, key originKey) (*dialed, time.Duration, error) {
	proxy, err := c.proxyFor(key)
	if err != nil {
		return nil, 0, err
	}
	d := &dialed{}
	place := c.cfg.Addresses.place(key.addr)
	addrs := c.cfg.Addresses.of(place)
	if proxy != nil {
		addrs = []string{proxyAddr(proxy)}
	}
	var rtt time.Duration
	addr := ""
	for _, addr = range addrs {
		if d.raw, rtt, err = timedDial(ctx, c.dialer, addr); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		if proxy != nil && ctx.Err() == nil {
			e := dialError(ctx, err)
			e.Err = fmt.Errorf("proxy %s: %w", addr, e.Err)
			return nil, 0, e
		}
		return nil, 0, err
	}
	c.cfg.Peers.shook(key, c.trace, rtt)
	if c.trace != nil {
		c.trace.RoundTrip(d.raw, rtt)
	}
	d.raw = direct(d.raw, c.trace)
	// A handshake that does not know contexts is unblocked by closing.
	wire := d.raw
	stop := context.AfterFunc(ctx, func() { _ = wire.Close() })
	defer stop()
	if proxy != nil {
		err = c.enter(ctx, d, proxy, key.scheme, withoutZone(place))
	}
	if err == nil {
		err = c.secure(ctx, d, key)
	}
	if err != nil {
		_ = d.raw.Close()
		return nil, 0, err
	}
	return d, rtt, nil
}

// secure makes the TLS handshake where the scheme asks for one, and decides on
// the protocol.
func (c *Client) secure(ctx context.Context, d *dialed, key originKey) error {
	if key.scheme != "https" {
		d.h2 = c.cfg.Protocol == HTTP2PriorKnowledge && d.proxy == nil
		return nil
	}
	conf := &tls.Config{}
	if c.cfg.TLS != nil {
		conf = c.cfg.TLS.Clone()
	}
	host, _, _ := net.SplitHostPort(withoutZone(key.addr))
	if conf.ServerName == "" {
		conf.ServerName = host
	}
	protocol := c.cfg.Protocol
	c.mu.Lock()
	if o := c.origins[key]; o != nil && o.http1 {
		protocol = HTTP1
	}
	c.mu.Unlock()
	switch protocol {
	case HTTP1:
		conf.NextProtos = []string{"http/1.1"}
	case HTTP2PriorKnowledge:
		conf.NextProtos = []string{"h2"}
	case Auto, HTTP2:
		conf.NextProtos = []string{"h2", "http/1.1"}
	}
	d.tls = newTLSStream(d.raw, conf, &c.ahead)
	if err := d.tls.HandshakeContext(ctx); err != nil {
		return handshakeError(ctx, host, err)
	}
	d.h2 = d.tls.ConnectionState().NegotiatedProtocol == "h2"
	if c.cfg.Protocol == HTTP2PriorKnowledge && !d.h2 {
		return protocolError("%s does not speak HTTP/2", key.addr)
	}
	return nil
}

// timedDial dials and measures the TCP handshake, which is about one round trip,
// without the resolving of names when the Dialer is built on net.Dialer (which
// reports to httptrace); otherwise the time includes it.
func timedDial(ctx context.Context, d Dialer, addr string) (net.Conn, time.Duration, error) {
	var (
		mu      sync.Mutex
		started = make(map[string]time.Time, 2)
		took    = make(map[string]time.Duration, 2)
	)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart: func(_, addr string) {
			mu.Lock()
			defer mu.Unlock()
			if _, again := started[addr]; !again { // the faster connection began with this address
				started[addr] = time.Now()
			}
		},
		ConnectDone: func(_, addr string, err error) {
			mu.Lock()
			defer mu.Unlock()
			if at, ok := started[addr]; ok && err == nil {
				took[addr] = time.Since(at)
			}
		},
	})
	begin := time.Now()
	conn, err := d.DialContext(ctx, "tcp", addr)
	whole := time.Since(begin)
	if err != nil {
		return nil, 0, err
	}
	mu.Lock()
	defer mu.Unlock()
	if t, ok := took[conn.RemoteAddr().String()]; ok {
		return conn, t, nil
	}
	return conn, whole, nil
}

// opened reports a new connection.
func (c *Client) opened(d *dialed, rtt time.Duration) {
	if c.trace == nil {
		return
	}
	proto := "1.1"
	if d.h2 {
		proto = "2"
	}
	c.trace.ConnOpened(d.raw.LocalAddr(), d.raw.RemoteAddr(), proto, rtt)
}

// without is list without x, in place.
func without[T comparable](list []T, x T) []T {
	return slices.DeleteFunc(list, func(y T) bool { return y == x })
}
