package fetch

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/testbody"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hosts dials names by a table, as a link's resolver would.
type hosts map[string]string

func (h hosts) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if to, ok := h[addr]; ok {
		addr = to
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

func client(t testing.TB, cfg Config) *Client {
	t.Helper()
	return clientOver(t, cfg, &net.Dialer{})
}

func clientOver(t testing.TB, cfg Config, d Dialer) *Client {
	t.Helper()
	log := &connLog{}
	log.spare.Store(math.MaxInt64)
	c := NewClient(&cfg, d, log)
	t.Cleanup(c.Close)
	return c
}

// connLog is the connections that a client has opened.
type connLog struct {
	mu            sync.Mutex
	n             int
	local, remote net.Addr // of the latest
	proto         string
	vain, spare   atomic.Int64
	reads         atomic.Int64
}

func (l *connLog) InVain(n int64) {
	l.vain.Add(n)
	l.spare.Add(-n)
}

func (l *connLog) Spare() int64 { return max(0, l.spare.Load()) }

func (l *connLog) Read() { l.reads.Add(1) }

func (*connLog) RoundTrip(net.Conn, time.Duration) {}

func (l *connLog) ConnOpened(local, remote net.Addr, proto string, _ time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	l.local, l.remote, l.proto = local, remote, proto
}

// connections is how many connections a client of these helpers has opened.
func connections(c *Client) int {
	l := c.trace.(*connLog)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

func parse(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// serveBody serves an object with ranges, as a decent server does.
func serveBody(b testbody.Body) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"v1"`)
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Unix(1_000_000_000, 0), b.Reader())
	})
}

// part is the bytes [off, end) of b.
func part(t testing.TB, b testbody.Body, off, end int64) []byte {
	t.Helper()
	p := make([]byte, end-off)
	if _, err := b.ReadAt(p, off); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return p
}

func sum(p []byte) string {
	h := sha256.Sum256(p)
	return hex.EncodeToString(h[:])
}

// must gets, reads and closes.
func must(t testing.TB, c *Client, u *url.URL, off, end int64) []byte {
	t.Helper()
	r, err := c.Get(t.Context(), u, off, end)
	if err != nil {
		t.Fatalf("get [%d, %d): %v", off, end, err)
	}
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read [%d, %d): %v", off, end, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

// mustFail gets, or gets and reads, and returns the *Error.
func mustFail(t testing.TB, c *Client, u *url.URL, off, end int64) *Error {
	t.Helper()
	r, err := c.Get(t.Context(), u, off, end)
	if err == nil {
		_, err = io.ReadAll(r)
		if e := r.Close(); e != nil {
			t.Fatal(e)
		}
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("want an *Error, got %v", err)
	}
	return e
}

// rawServer runs serve for every connection, with its number from 0.
type rawServer struct {
	ln    net.Listener
	wg    sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
}

// peer is a connection as a scripted server sees it.
type peer struct {
	t testing.TB
	net.Conn
	br *bufio.Reader
	n  int // number of the connection
}

// request reads one request; nil when the client has gone.
func (p *peer) request() *http.Request {
	r, err := http.ReadRequest(p.br)
	if err != nil {
		return nil
	}
	return r
}

// say writes text as it stands.
func (p *peer) say(text string) { _, _ = io.WriteString(p, text) }

// part answers with a 206 of b for [off, end) and extra header lines.
func (p *peer) part(b testbody.Body, off, end int64, extra string) {
	p.say(head206(off, end, b.Size, extra) + string(part(p.t, b, off, end)))
}

func head206(off, end, size int64, extra string) string {
	return fmt.Sprintf("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %d-%d/%d\r\nContent-Length: %d\r\n%s\r\n",
		off, end-1, size, end-off, extra)
}

func newRawServer(t testing.TB, serve func(*peer)) *rawServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{ln: ln}
	s.wg.Go(func() {
		for n := 0; ; n++ {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.wg.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(&peer{t: t, Conn: conn, br: bufio.NewReader(conn), n: n})
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

func (s *rawServer) url(t testing.TB) *url.URL { return parse(t, "http://"+s.ln.Addr().String()+"/f") }

// tlsServer is a rawServer over TLS. It ends its connections without a close_notify, unless
// serve does so before.
type tlsServer struct {
	*rawServer
	trusted Config // of clients
}

// newTLSServer speaks proto.
func newTLSServer(t testing.TB, proto string, serve func(*peer)) *tlsServer {
	t.Helper()
	known := httptest.NewUnstartedServer(nil) // by its certificate
	known.StartTLS()
	known.Close()
	conf := &tls.Config{Certificates: known.TLS.Certificates, NextProtos: []string{proto}} //nolint:gosec // a test's
	return &tlsServer{
		rawServer: newRawServer(t, func(p *peer) {
			p.Conn = tls.Server(p.Conn, conf)
			p.br = bufio.NewReader(p.Conn)
			serve(p)
		}),
		trusted: Config{TLS: known.Client().Transport.(*http.Transport).TLSClientConfig},
	}
}

func (s *tlsServer) url(t testing.TB) *url.URL { return parse(t, "https://"+s.ln.Addr().String()+"/f") }

// accepted is how many connections have come.
func (s *rawServer) accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// flavour is one way to speak HTTP.
type flavour struct {
	name   string
	proto  string
	server func(testing.TB, http.Handler) *httptest.Server
	config func(*httptest.Server) Config
}

func flavours() []flavour {
	plain := func(t testing.TB, h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetHTTP1(true)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		t.Cleanup(func() { closeServer(s) })
		return s
	}
	secure := func(h2 bool) func(testing.TB, http.Handler) *httptest.Server {
		return func(t testing.TB, h http.Handler) *httptest.Server {
			s := httptest.NewUnstartedServer(h)
			s.EnableHTTP2 = h2
			s.StartTLS()
			t.Cleanup(func() { closeServer(s) })
			return s
		}
	}
	trusting := func(v HTTPVersion) func(*httptest.Server) Config {
		return func(s *httptest.Server) Config {
			return Config{Protocol: v, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}
		}
	}
	return []flavour{
		{"h1", "1.1", plain, func(*httptest.Server) Config { return Config{} }},
		{"h1-tls", "1.1", secure(false), trusting(Auto)},
		{"h1-tls-by-choice", "1.1", secure(true), trusting(HTTP1)},
		{"h2", "2", secure(true), trusting(Auto)},
		{"h2c", "2", plain, func(*httptest.Server) Config { return Config{Protocol: HTTP2PriorKnowledge} }},
	}
}

// closeServer ends connections in use as well. Close alone waits for the server to see that
// its client has gone, which under wine a write does not always see.
func closeServer(s *httptest.Server) {
	s.CloseClientConnections()
	s.Close()
}

// lines joins header lines for a raw answer.
func lines(l ...string) string { return strings.Join(l, "\r\n") + "\r\n\r\n" }

// quiet is a log for servers that are expected to complain.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// readerOf reads a response, with or without waiting first for what comes.
func readerOf(r *Response, wait bool) io.Reader {
	if wait {
		return afterWait{r}
	}
	return r
}

type afterWait struct{ *Response }

func (w afterWait) Read(p []byte) (int, error) {
	w.Wait(len(p))
	return w.Response.Read(p)
}
