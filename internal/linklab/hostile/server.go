package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// Fault is what goes wrong, when, how often and for whom.
type Fault struct {
	Kind  Kind
	At    int64        // bytes of bodies that must have been sent before, over all connections
	Times int          // how many answers are hit; 0: all from then on
	Edge  netip.Prefix // clients that are hit; the zero value: all
}

// Config says what a server is.
type Config struct {
	Body  testbody.Body // the object, or the first of several
	Other testbody.Body // what it changes into, or is mistaken for
	Fault Fault
	Gate  *Gate       // where the server stops until it is opened; may be nil
	TLS   *tls.Config // with a certificate; nil: the listeners for TLS are not served
	// Renewed is a certificate as good as TLS's, Bad one of an unknown authority;
	// both are of use to faults of certificates only.
	Renewed, Bad tls.Certificate
}

// Server is a server that runs.
type Server struct {
	cfg    Config
	traits Traits
	srv    *http.Server
	done   chan struct{}
	wg     sync.WaitGroup
	conns  connSet

	sent    atomic.Int64 // bytes of bodies
	struck  atomic.Int64 // answers that were to be hit
	healed  atomic.Bool
	changed atomic.Bool           // the object is Other now
	keys    sync.Map              // edge -> *signature
	cut     atomic.Bool           // a body was cut so that the next request meets the fault
	serving sync.Map              // edge -> *atomic.Int64: requests being served
	before  atomic.Pointer[asked] // what was asked for last, where that is of interest

	mu  sync.Mutex
	err error
}

// Start serves on the listeners, which it closes in the end. Either may be nil.
func Start(c Config, plain, secure net.Listener) *Server {
	s := &Server{cfg: c, traits: TraitsOf(c.Fault.Kind), done: make(chan struct{})}
	s.conns.open = map[*trackedConn]struct{}{}
	p := &http.Protocols{}
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s.srv = &http.Server{
		Handler:           s,
		Protocols:         p,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // a client that hangs up is what is wanted
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	if c.TLS != nil {
		s.srv.TLSConfig = c.TLS.Clone()
		if c.Gate != nil {
			s.srv.TLSConfig.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				c.Gate.reach(PlaceTLS, edgeOf(h.Conn.RemoteAddr()), s.done)
				return nil, nil
			}
		}
	}
	if s.srv.TLSConfig != nil && s.traits.TLS {
		// Without a server name, GetCertificate is called only if Certificates is empty.
		s.srv.TLSConfig.Certificates, s.srv.TLSConfig.GetCertificate = nil, s.certificate
	}
	if plain != nil {
		s.wg.Go(func() { s.keep(s.srv.Serve(trackingListener{plain, s})) })
	}
	if secure != nil && c.TLS != nil {
		tracked := trackingListener{secure, s}
		if s.traits.Raw2 {
			s.wg.Go(func() { s.serveRaw2(tracked) })
		} else {
			s.wg.Go(func() { s.keep(s.srv.ServeTLS(tracked, "", "")) })
		}
	}
	return s
}

// certificate is what a handshake is given.
func (s *Server) certificate(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
	switch {
	case !s.strike(edgeOf(h.Conn.RemoteAddr())):
		return &s.cfg.TLS.Certificates[0], nil
	case s.cfg.Fault.Kind == BadCert:
		return &s.cfg.Bad, nil
	}
	return &s.cfg.Renewed, nil
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

func (s *Server) keep(err error) {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

// Heal ends the fault: from now on the server is a good one. An object that has
// changed stays changed.
func (s *Server) Heal() { s.healed.Store(true) }

// Struck is how many answers the fault has hit.
func (s *Server) Struck() int64 {
	n := s.struck.Load()
	if s.cfg.Fault.Times > 0 {
		n = min(n, int64(s.cfg.Fault.Times))
	}
	return n
}

// Object is what the server serves now as the n-th object.
func (s *Server) Object(n int) testbody.Body {
	if s.changed.Load() {
		return Nth(s.cfg.Other, n)
	}
	return Nth(s.cfg.Body, n)
}

// Nth is the n-th of the objects whose first one is b: as large, and all
// different.
func Nth(b testbody.Body, n int) testbody.Body {
	b.Seed += uint64(n) << 24
	return b
}

// Reset cuts the connections of the clients with an RST.
func (s *Server) Reset(edge netip.Prefix) { s.conns.reset(edge) }

// Close cuts all connections and waits; it returns why the server had ended
// before, if it had.
func (s *Server) Close() error {
	close(s.done)
	err := s.srv.Close()
	s.conns.closeAll()
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = errors.Join(err, s.err); err != nil {
		return fmt.Errorf("hostile server: %w", err)
	}
	return nil
}

// due says whether the fault's place has been reached, for a client.
func (s *Server) due(edge netip.Addr) bool {
	f := s.cfg.Fault
	return f.Kind != None && !s.healed.Load() && s.sent.Load() >= f.At && (!f.Edge.IsValid() || f.Edge.Contains(edge))
}

// strike says whether the fault hits now.
func (s *Server) strike(edge netip.Addr) bool {
	if !s.due(edge) {
		return false
	}
	n := s.struck.Add(1)
	return s.cfg.Fault.Times == 0 || n <= int64(s.cfg.Fault.Times)
}

// pause waits, and says whether to go on.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.done:
	}
	return false
}

// edgeOf is the address of a client.
func edgeOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
