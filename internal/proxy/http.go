package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// idleServer is how long a connection to a server is kept for another request.
	idleServer = 30 * time.Second
	// maxIdle bounds how many are kept.
	maxIdle = 100
)

// planKey is where a request's context has its plan.
type planKey struct{}

// plan is how a request may reach its server: by a connection that there is, or a new one.
type plan struct {
	origin   origin
	attempts []attempt
	protocol string
	placed   atomic.Pointer[tunnel]     // counts for the request until it has a connection
	remote   atomic.Pointer[netip.Addr] // the server's address, once there is a connection
}

// tunnel is the one that was placed for the request, or a further one.
func (p *plan) tunnel(s *Server) *tunnel {
	if t := p.placed.Swap(nil); t != nil {
		return t
	}
	return s.placeAgain(p.origin, p.protocol, p.attempts[0].link)
}

// done removes the tunnel that was placed for the request, if it was not needed.
func (p *plan) done(s *Server) {
	if t := p.placed.Swap(nil); t != nil {
		s.remove(t)
	}
}

// reverse passes requests on, and their answers but for what change changes.
func (s *Server) reverse(change func(*http.Response) error) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.RawQuery = r.In.URL.RawQuery // which it would tidy
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values := r.In.Header[name]; values != nil { // which it would drop
					r.Out.Header[name] = values
				}
			}
		},
		Transport:      s,
		ModifyResponse: change,
		FlushInterval:  -1, // whatever comes is passed on at once
		BufferPool:     new(copyBuffers),
		ErrorLog:       log.New(io.Discard, "", 0),
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, err) },
	}
}

// ServeHTTP answers the requests of HTTP.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	viaProxy := r.Method == http.MethodConnect || r.URL.IsAbs()
	switch {
	case !viaProxy:
		s.local(w, r)
	case !s.authorised(r.Header["Proxy-Authorization"]):
		w.Header().Set("Proxy-Authenticate", realm)
		endAfter(w, r)
		http.Error(w, errPassword.Error(), http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		s.connectHTTP(w, r)
	case r.URL.Scheme != "http" || r.URL.Host == "":
		http.Error(w, "only http URLs are fetched: https goes through CONNECT", http.StatusBadRequest)
	case !mayForward(r):
		w.Header().Set("Allow", "CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")
		if r.Method == http.MethodTrace {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	default:
		s.forward(w, r, s.toServer, httpProtocol)
	}
}

// endAfter has the connection of a CONNECT end with the answer that refuses it: what the client
// has sent ahead is not its next request.
func endAfter(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		w.Header().Set("Connection", "close")
	}
}

// mayForward counts a request's forwards down, for the methods that have them (RFC 9110, 7.6.2).
// It is false where none is left: the proxy is the one that is meant.
func mayForward(r *http.Request) bool {
	left := r.Header.Get("Max-Forwards")
	if r.Method != http.MethodTrace && r.Method != http.MethodOptions || left == "" {
		return true
	}
	n, err := strconv.ParseUint(left, 10, 32)
	if err == nil && n > 0 {
		r.Header.Set("Max-Forwards", strconv.FormatUint(n-1, 10))
	}
	return err != nil || n > 0
}

const realm = `Basic realm="mlget", charset="UTF-8"`

// authorised says whether the user that a header names may use the proxy.
func (s *Server) authorised(header []string) bool {
	if s.config.Load().Users == nil {
		return true
	}
	basic := http.Request{Header: http.Header{"Authorization": header}}
	user, password, ok := basic.BasicAuth()
	return ok && s.config.Load().Users.admit(user, password)
}

// local answers requests to the proxy itself, which only this machine and those that
// may use the proxy make. The name in Host keeps pages out that have had their own name lead
// here (DNS rebinding).
func (s *Server) local(w http.ResponseWriter, r *http.Request) {
	if !isOwnName(r.Host) {
		http.Error(w, "this is a proxy, which has no such host", http.StatusMisdirectedRequest)
		return
	}
	if r.URL.Path != "/healthz" && !s.authorised(r.Header["Authorization"]) {
		w.Header().Set("Www-Authenticate", realm)
		http.Error(w, errPassword.Error(), http.StatusUnauthorized)
		return
	}
	if u, ok := destination(r.RequestURI); ok {
		s.gateway(w, r, u)
		return
	}
	s.serveOwn(w, r)
}

// isOwnName says whether a Host header names the proxy: an address, or localhost.
func isOwnName(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	_, err = netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

// connectHTTP makes a tunnel for CONNECT (RFC 9110, 9.3.6).
func (s *Server) connectHTTP(w http.ResponseWriter, r *http.Request) {
	endAfter(w, r)
	if host, port, err := net.SplitHostPort(r.RequestURI); err != nil || host == "" || !isPort(port) {
		http.Error(w, "CONNECT wants HOST:PORT", http.StatusBadRequest)
		return
	}
	t, server, err := s.dial(r.Context(), clientOf(r), connectProtocol, r.RequestURI)
	if err != nil {
		fail(w, err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.remove(t)
		reset(server)
		return
	}
	c, ok := conn.(*client)
	if !ok { // the listener hands out no others
		s.remove(t)
		reset(server)
		_ = conn.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	early, _ := buffered.Peek(buffered.Reader.Buffered())
	go func() { // the request's goroutine and buffers are not kept for it
		defer s.remove(t)
		if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			reset(server)
			_ = c.Close()
			return
		}
		s.tunnel(t, c, server, early)
	}()
}

// isPort says whether a text is the number of a port.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// forward passes a request on to its server over the link where it is served soonest.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, with *httputil.ReverseProxy, protocol string) {
	port := r.URL.Port()
	if port == "" {
		port = r.URL.Scheme // which the resolver knows
	}
	o, err := originOf(clientOf(r), net.JoinHostPort(r.URL.Hostname(), port))
	if err != nil {
		fail(w, err)
		return
	}
	t, attempts := s.place(o, protocol)
	if t == nil {
		fail(w, errNoLink)
		return
	}
	p := &plan{origin: o, attempts: attempts, protocol: protocol}
	p.placed.Store(t)
	defer p.done(s)
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		addr := addrPort(info.Conn.RemoteAddr()).Addr()
		p.remote.Store(&addr)
		if c, ok := info.Conn.(*counted); ok && info.Reused {
			p.done(s)
			s.reused(c.tunnel)
		}
	}})
	with.ServeHTTP(w, r.WithContext(context.WithValue(ctx, planKey{}, p)))
}

// RoundTrip sends a request by its plan. A large answer goes on over all links.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := r.Context().Value(planKey{}).(*plan)
	if !ok {
		return nil, errNoLink
	}
	if !s.mayBeSpread(r) {
		return p.send(r)
	}
	if p.protocol == gatewayProtocol {
		whole := r.Clone(r.Context())
		if end, ok := shorten(r, s.config.Load().SpreadFrom); ok {
			resp, err := p.sendShort(r)
			if err != nil || s.lengthen(r, resp, end, p.only()) {
				return resp, err
			}
			_ = resp.Body.Close()
			return p.send(whole)
		}
	}
	resp, err := p.send(r)
	if err == nil {
		s.spread(r, resp, p.only())
	}
	return resp, err
}

// send sends a request over the plan's first link.
func (p *plan) send(r *http.Request) (*http.Response, error) {
	transport := p.attempts[0].link.beyond
	if isLocal(p.origin.client) {
		transport = p.attempts[0].link.here
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// ReverseProxy would leave these answers' connections open.
	switch {
	case resp.StatusCode < http.StatusContinue:
		err = fmt.Errorf("the server's answer has the status %d", resp.StatusCode)
	case resp.StatusCode == http.StatusSwitchingProtocols && !strings.EqualFold(resp.Header.Get("Upgrade"), r.Header.Get("Upgrade")):
		err = errors.New("the server speaks another protocol than it was asked for")
	default:
		return resp, nil
	}
	_ = resp.Body.Close()
	return nil, err
}

// sendShort sends a request whose answer is so short that it may as well be read to its end
// when its client has gone: then the connection is kept.
func (p *plan) sendShort(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	attached := context.AfterFunc(r.Context(), cancel)
	resp, err := p.send(r.WithContext(ctx))
	attached()
	return resp, err
}

// only is the address that other links are led to: for other machines' requests that of the
// server that has answered, which was looked at.
func (p *plan) only() netip.Addr {
	if addr := p.remote.Load(); addr != nil && !isLocal(p.origin.client) {
		return *addr
	}
	return netip.Addr{}
}

// transport makes requests over a link. A connection of it may be another link's, where that
// one was connected sooner.
func (s *Server) transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			p, ok := ctx.Value(planKey{}).(*plan)
			if !ok {
				return nil, errNoLink
			}
			t := p.tunnel(s)
			conn, err := s.connect(ctx, t, p.attempts, addr)
			if err != nil {
				return nil, err
			}
			return &counted{TCPConn: conn, tunnel: t, server: s}, nil
		},
		TLSClientConfig:    s.config.Load().TLS.Clone(),
		DisableCompression: true, // what the client asks for is what it gets

		MaxResponseHeaderBytes: maxAnswerHeader,
		MaxIdleConns:           maxIdle,
		IdleConnTimeout:        idleServer,
	}
}

// counted is a tunnel that requests are sent through.
type counted struct {
	*net.TCPConn
	tunnel *tunnel
	server *Server
	once   sync.Once
}

func (c *counted) Read(b []byte) (int, error) {
	f := flow{&c.tunnel.down, c.tunnel.limiter}
	n, err := c.TCPConn.Read(b[:f.most(len(b))])
	f.passed(n)
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	c.tunnel.up.Add(int64(n))
	return n, err
}

// ReadFrom counts, which TCPConn's own would not.
func (c *counted) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}

// WriteTo counts, which TCPConn's own would not.
func (c *counted) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{c})
}

func (c *counted) Close() error {
	c.once.Do(func() { c.server.remove(c.tunnel) })
	return c.TCPConn.Close()
}

// copyBuffers lends what bodies are copied through.
type copyBuffers struct{ pool sync.Pool }

const copySize = 32 << 10

func (p *copyBuffers) Get() []byte {
	if b, ok := p.pool.Get().(*[copySize]byte); ok {
		return b[:]
	}
	return make([]byte, copySize)
}

func (p *copyBuffers) Put(b []byte) { p.pool.Put((*[copySize]byte)(b)) }

// clientOf is the address of a request's client.
func clientOf(r *http.Request) netip.Addr {
	a, _ := netip.ParseAddrPort(r.RemoteAddr)
	return a.Addr().Unmap()
}

// fail tells the client why a server cannot be reached.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	var timeout net.Error
	switch {
	case isForbidden(err):
		status = http.StatusForbidden
	case errors.Is(err, errNoLink):
		status = http.StatusServiceUnavailable
	case errors.As(err, &timeout) && timeout.Timeout():
		status = http.StatusGatewayTimeout
	}
	http.Error(w, err.Error(), status)
}
