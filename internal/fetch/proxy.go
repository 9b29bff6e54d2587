package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/proxy"
)

// CheckProxy says why p cannot be used as a proxy, without quoting it.
func CheckProxy(p *url.URL) error {
	switch p.Scheme {
	case "http", "https", "socks4", "socks4a", "socks5", "socks5h":
	default:
		return protocolError("proxy: %q proxies are not supported, only http, https, socks5, socks5h and socks4a", p.Scheme)
	}
	if p.Hostname() == "" {
		return protocolError("proxy: its url has no host")
	}
	return nil
}

// proxyAddr is where a proxy is reached.
func proxyAddr(p *url.URL) string {
	port := p.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.Scheme]
	}
	if port == "" {
		port = "1080" // RFC 1928, 3
	}
	return net.JoinHostPort(Hostname(p), port)
}

// proxyFor is the proxy for an origin, or nil.
func (c *Client) proxyFor(key originKey) (*url.URL, error) {
	if d, ok := c.dialer.(Proxied); ok {
		if p := d.Proxy(); p != nil {
			return p, CheckProxy(p)
		}
	}
	if c.cfg.Proxies == nil {
		return nil, nil
	}
	p, err := c.cfg.Proxies.For(&url.URL{Scheme: key.scheme, Host: key.addr})
	if err != nil {
		return nil, protocolError("proxy: %w", urlError(err))
	}
	if p != nil {
		err = CheckProxy(p)
	}
	return p, err
}

// enter has a proxy, to which d has just been connected, lead to addr, or makes it the one
// that requests are made of.
func (c *Client) enter(ctx context.Context, d *dialed, p *url.URL, scheme, addr string) error {
	switch p.Scheme {
	case "socks5", "socks5h":
		return socks5(ctx, d.raw, p, addr)
	case "socks4", "socks4a":
		return socks4a(d.raw, p, addr)
	case "https":
		if err := c.secureProxy(ctx, d, Hostname(p)); err != nil {
			return err
		}
	}
	if scheme == "https" {
		return connectThrough(d.raw, p, addr)
	}
	d.proxy = p
	return nil
}

// secureProxy makes the TLS handshake with an https proxy.
func (c *Client) secureProxy(ctx context.Context, d *dialed, host string) error {
	conf := &tls.Config{}
	if c.cfg.TLS != nil {
		// Settings for the file's server do not apply to the proxy.
		conf.RootCAs, conf.InsecureSkipVerify = c.cfg.TLS.RootCAs, c.cfg.TLS.InsecureSkipVerify
	}
	conf.ServerName, conf.NextProtos = host, []string{"http/1.1"}
	conn := tls.Client(d.raw, conf)
	if err := conn.HandshakeContext(ctx); err != nil {
		e := handshakeError(ctx, host, err)
		e.Err = fmt.Errorf("proxy: %w", e.Err)
		return e
	}
	d.raw = conn
	return nil
}

// proxyAuth is the value of Proxy-Authorization for a proxy with a user.
func proxyAuth(p *url.URL) string {
	if p.User == nil {
		return ""
	}
	password, _ := p.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.User.Username()+":"+password))
}

// connectThrough asks an HTTP proxy for a tunnel to addr.
func connectThrough(conn net.Conn, p *url.URL, addr string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", addr, addr)
	if a := proxyAuth(p); a != "" {
		fmt.Fprintf(&b, "Proxy-Authorization: %s\r\n", a)
	}
	b.WriteString("\r\n")
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	// Reading ahead is safe: a TLS server does not speak first. Were it to, what it
	// said would be lost and the handshake fail.
	br := bufio.NewReader(io.LimitReader(conn, maxHeaderBytes))
	res, err := finalHeader(br, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // the tunnel is the body
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	if res.StatusCode/100 == 2 {
		return nil
	}
	e := statusError(res)
	e.Err = fmt.Errorf("proxy answered %d to a tunnel to %s", res.StatusCode, addr)
	return e
}

// connected is a Dialer of golang.org/x/net/proxy that has dialled already.
type connected struct{ net.Conn }

func (c connected) Dial(string, string) (net.Conn, error) { return c.Conn, nil }
func (c connected) DialContext(context.Context, string, string) (net.Conn, error) {
	return c.Conn, nil
}

// socks5 asks a SOCKS5 proxy for a connection to addr (RFC 1928, RFC 1929). The proxy
// resolves names, as for net/http and browsers: the link's resolver may not know them.
func socks5(ctx context.Context, conn net.Conn, p *url.URL, addr string) error {
	var auth *proxy.Auth
	if p.User != nil {
		password, _ := p.User.Password()
		auth = &proxy.Auth{User: p.User.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", proxyAddr(p), auth, connected{conn})
	if err == nil {
		_, err = d.(proxy.ContextDialer).DialContext(ctx, "tcp", addr)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok { // it repeats addresses
		err = op.Err
	}
	class := Network
	if text := err.Error(); strings.Contains(text, "authenticat") { // x/net has no types for these
		class = Auth
	}
	return &Error{Class: class, Err: fmt.Errorf("proxy: socks5: %w", err)}
}

// socks4a asks a SOCKS4a proxy for a connection to addr, which may be a name.
func socks4a(conn net.Conn, p *url.URL, addr string) error {
	const version, connect, granted = 4, 1, 90
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return err
	}
	user := p.User.Username()
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil && !ip.Unmap().Is4():
		return protocolError("proxy: socks4a knows no IPv6 addresses; socks5 does")
	case len(host) > 255 || len(user) > 255 || strings.ContainsRune(host+user, 0):
		return protocolError("proxy: socks4a cannot carry this host or user")
	}
	ask := []byte{version, connect, byte(port >> 8), byte(port)}
	if err == nil {
		four := ip.Unmap().As4()
		ask = append(append(append(ask, four[:]...), user...), 0)
	} else { // an address that is none says that a name follows
		ask = append(append(ask, 0, 0, 0, 1), user...)
		ask = append(append(append(ask, 0), host...), 0)
	}
	if _, err := conn.Write(ask); err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	var answer [8]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	switch {
	case answer[0] != 0:
		return protocolError("proxy: its answer is not that of socks4a")
	case answer[1] == granted:
		return nil
	case answer[1] == 92 || answer[1] == 93: // it could not identify the user
		return &Error{Class: Auth, Err: errors.New("proxy: socks4a: the user was refused")}
	}
	return &Error{Class: Network, Err: fmt.Errorf("proxy: socks4a: no connection to %s (%d)", addr, answer[1])}
}
