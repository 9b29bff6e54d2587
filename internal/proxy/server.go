package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/internal/errno"
)

const (
	// handshakeTime bounds how long a client may take to say what it wants.
	handshakeTime = 10 * time.Second
	// idleClient is how long a client of HTTP may think between two requests.
	idleClient = 2 * time.Minute
	// maxHeader bounds the headers of a request, in bytes: twice what servers take.
	maxHeader = 64 << 10
	// maxAnswerHeader bounds the headers of a server's answer, in bytes: what Chromium takes.
	maxAnswerHeader = 256 << 10
	// endTime bounds how long the end of a client takes whose connection was closed.
	endTime = time.Second
	// maxClients bounds the clients' connections.
	maxClients = 20_000
)

// Config is how a Server works.
type Config struct {
	Self         netip.AddrPort // where it listens; no tunnel leads there
	Placement    Placement
	AffinityHost bool // a client's tunnels to one host stay on one link
	Energy       Energy
	Allow        []netip.Prefix // clients beside this machine's
	Users        *Users         // nil: whoever is a client
	Grace        time.Duration  // that tunnels have to finish at the end
	Spreader     Spreader       // nil: no object is spread over several links
	SpreadFrom   int64          // bytes that an object has at least to be spread
	TLS          *tls.Config    // how the gateway verifies servers; nil: as the system does
	Metrics      http.Handler   // of /metrics; nil: there is none
}

// Server is the proxy.
type Server struct {
	config  atomic.Pointer[Config]
	carrier carrier
	http    *http.Server

	toServer, toGateway *httputil.ReverseProxy

	mu      sync.Mutex
	members []*member
	past    map[string]*member // links that have left, for their counters
	hosts   map[origin]*host
	placed  int // tunnels
	clients map[*client]struct{}
	came    chan struct{} // the first of them has come
	spreads int64         // objects that were spread

	spreading chan struct{} // holds one for each object that is being spread
	finished  bool          // nothing is begun in the background any more
	running   sync.WaitGroup
}

// New makes a Server without links.
func New(cfg Config) *Server {
	s := &Server{
		past: make(map[string]*member), hosts: make(map[origin]*host), clients: make(map[*client]struct{}), came: make(chan struct{}, 1),
		spreading: make(chan struct{}, maxSpreads),
	}
	s.config.Store(&cfg)
	s.toServer, s.toGateway = s.reverse(nil), s.reverse(tame)
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: handshakeTime, IdleTimeout: idleClient, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0),
	}
	return s
}

// Configure makes cfg hold from now on, also for clients that are there, but for where the server
// listens and how it makes connections: Self and TLS.
func (s *Server) Configure(cfg Config) {
	was := s.config.Load()
	cfg.Self, cfg.TLS = was.Self, was.TLS
	s.config.Store(&cfg)
}

// Serve serves clients until ctx ends or the listener fails. Clients' tunnels have the
// grace to finish then. The log package's own log is switched off for the whole program: net/http
// writes there what servers send unasked, as often as they do, and has no other place for it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	log.SetOutput(io.Discard)
	web := &handed{addr: l.Addr(), conns: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.http.Serve(web) // ends with web
	}()
	stop := make(chan struct{})
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		s.keepSampling(stop)
	}()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	err := s.accept(ctx, l, web)
	_ = web.Close()
	<-served
	if ctx.Err() != nil {
		err = nil
	}
	s.finish()
	close(stop)
	<-sampled
	s.carrier.close()
	return err
}

// accept takes clients until the listener fails.
func (s *Server) accept(ctx context.Context, l net.Listener, web *handed) error {
	for {
		conn, err := l.Accept()
		var passing net.Error
		switch {
		case errors.As(err, &passing) && passing.Temporary(): //nolint:staticcheck // too many open files, and the like
			time.Sleep(10 * time.Millisecond)
			continue
		case err != nil:
			return err
		}
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			_ = conn.Close()
			continue
		}
		c := &client{TCPConn: tcp, server: s, addr: addrPort(tcp.RemoteAddr()).Addr().Unmap()}
		if !admits(c.addr, s.config.Load().Allow) || !s.enter(c) {
			reset(tcp)
			continue
		}
		go s.serve(ctx, c, web)
	}
}

// serve finds out what a client speaks, and serves what is no HTTP.
func (s *Server) serve(ctx context.Context, c *client, web *handed) {
	_ = c.SetDeadline(time.Now().Add(handshakeTime))
	if _, err := io.ReadFull(c.TCPConn, c.first[:]); err != nil {
		_ = c.Close()
		return
	}
	c.unread = true
	if c.first[0] != socks4 && c.first[0] != socks5 {
		_ = c.SetDeadline(time.Time{})
		web.hand(c)
		return
	}
	r := bufio.NewReaderSize(c, 512)
	req, err := readSOCKS(r, c, s.config.Load().Users)
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	protocol := socks5Protocol
	if req.version == socks4 {
		protocol = socks4Protocol
	}
	t, server, err := s.dial(ctx, c.addr, protocol, req.target)
	if err != nil {
		_ = replySOCKS(c, req.version, replyFor(err))
		_ = c.Close()
		return
	}
	defer s.remove(t)
	if err := replySOCKS(c, req.version, succeeded); err != nil {
		reset(server)
		_ = c.Close()
		return
	}
	early, _ := r.Peek(r.Buffered())
	s.tunnel(t, c, server, early)
}

// tunnel carries bytes between a client and a server until both have ended. early is what
// the client has sent ahead.
func (s *Server) tunnel(t *tunnel, c *client, server *net.TCPConn, early []byte) {
	defer c.Close() //nolint:errcheck // it may have been closed
	if !s.connected(t, c.TCPConn) {
		reset(c.TCPConn, server)
		return
	}
	if _, err := server.Write(early); err != nil {
		reset(c.TCPConn, server)
		return
	}
	t.up.Add(int64(len(early)))
	s.carrier.join(t, c.TCPConn, server)
}

// replyFor is SOCKS5's word for an error of connecting.
func replyFor(err error) byte {
	switch {
	case isForbidden(err):
		return notAllowed
	case errno.IsRefused(err):
		return refused
	case isUnreachable(err):
		return hostUnreachable
	}
	return generalFailure
}

// keepSampling looks at the tunnels now and then, as long as there are clients: a proxy that nobody
// uses wakes nobody.
func (s *Server) keepSampling(stop <-chan struct{}) {
	ticker := time.NewTicker(sampleTime)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-stop:
			return
		case now := <-ticker.C:
			s.sample(now.Sub(last))
			last = now
			if s.count() == 0 {
				ticker.Stop()
			}
		case <-s.came:
			ticker.Reset(sampleTime)
			last = time.Now()
		}
	}
}

// finish waits for clients until the grace is over, and ends those that are still there.
func (s *Server) finish() {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Load().Grace)
	defer cancel()
	_ = s.http.Shutdown(ctx)
	for s.config.Load().Grace > 0 && s.count() > 0 && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	s.mu.Lock()
	for c := range s.clients {
		reset(c.TCPConn)
	}
	for _, m := range s.members {
		m.resetTunnels()
	}
	s.mu.Unlock()
	_ = s.http.Close()
	for end := time.Now().Add(endTime); s.count() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	s.finished = true
	s.mu.Unlock()
	s.running.Wait()
}

// background runs f, and has finish wait for its end; false: the server has finished. Handlers of
// net/http may outlast their server.
func (s *Server) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		s.running.Go(f)
	}
	return !s.finished
}

func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}

// enter counts a client in, unless there are too many.
func (s *Server) enter(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= maxClients {
		return false
	}
	s.clients[c] = struct{}{}
	if len(s.clients) == 1 {
		select {
		case s.came <- struct{}{}:
		default:
		}
	}
	return true
}

// client is a connection of a client, whose first byte was read to find out what it speaks.
type client struct {
	*net.TCPConn
	server *Server
	addr   netip.Addr
	first  [1]byte
	unread bool // first is still to be read
}

func (c *client) Read(b []byte) (int, error) {
	if c.unread && len(b) > 0 {
		c.unread = false
		return copy(b, c.first[:]), nil
	}
	return c.TCPConn.Read(b)
}

// Close counts the client out.
func (c *client) Close() error {
	c.server.mu.Lock()
	delete(c.server.clients, c)
	c.server.mu.Unlock()
	return c.TCPConn.Close()
}

// handed is a listener to which connections are handed by whoever has accepted them.
type handed struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// hand hands a connection to whoever accepts, and closes it where nobody does any more.
func (h *handed) hand(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handed) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handed) Addr() net.Addr { return h.addr }
