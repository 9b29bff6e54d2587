package engine

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/testbody"
)

const mib = 1 << 20

// object is what a decent server serves, and what a test wants otherwise.
type object struct {
	body     testbody.Body
	etag     string
	encoding string
	modified time.Time
	gate     func(w http.ResponseWriter, r *http.Request, n int64) bool // true: it has answered request n itself
	requests atomic.Int64
	sent     atomic.Int64 // body bytes of 200 and 206

	mu     sync.Mutex
	ranges []string
}

func newObject(size int64) *object {
	return &object{body: testbody.Body{Size: size, Seed: 11}, etag: `"v1"`, modified: time.Unix(1_000_000_000, 0)}
}

func (o *object) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := o.requests.Add(1)
	o.mu.Lock()
	o.ranges = append(o.ranges, r.Header.Get("Range"))
	etag, modified, body, encoding := o.etag, o.modified, o.body, o.encoding
	o.mu.Unlock()
	if o.gate != nil && o.gate(w, r, n) {
		return
	}
	if etag != "" {
		w.Header().Set("Etag", etag)
	}
	if encoding != "" {
		w.Header().Set("Content-Encoding", encoding)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(&counter{ResponseWriter: w, n: &o.sent}, r, "", modified, body.Reader())
}

// become makes it another object.
func (o *object) become(body testbody.Body, etag string, modified time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.body, o.etag, o.modified = body, etag, modified
}

// encode makes it one of another content coding.
func (o *object) encode(encoding string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.encoding = encoding
}

// counter counts body bytes.
type counter struct {
	http.ResponseWriter
	n      *atomic.Int64
	failed bool
}

func (c *counter) WriteHeader(status int) {
	c.failed = status >= 300
	c.ResponseWriter.WriteHeader(status)
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	if !c.failed {
		c.n.Add(int64(n))
	}
	return n, err
}

// bytesOf is the bytes [off, end) of b.
func bytesOf(b testbody.Body, off, end int64) []byte {
	p := make([]byte, end-off)
	if _, err := b.ReadAt(p, off); err != nil && err != io.EOF { //nolint:errorlint // a formula
		panic(err)
	}
	return p
}

// whole answers with all of it, whatever range was asked for.
func (o *object) whole(w http.ResponseWriter) {
	w.Header().Set("Etag", o.etag)
	w.Header().Set("Content-Length", fmt.Sprint(o.body.Size))
	_, _ = io.Copy(&counter{ResponseWriter: w, n: &o.sent}, o.body.Reader())
}

// noRanges is the gate of a server without ranges.
func (o *object) noRanges(w http.ResponseWriter, _ *http.Request, _ int64) bool {
	o.whole(w)
	return true
}

// lengthless is whole, but does not tell how long that is, as servers do not of pages that
// are made anew.
func (o *object) lengthless(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	_, _ = io.Copy(&counter{ResponseWriter: w, n: &o.sent}, o.body.Reader())
}

// asked is the first byte that a request asks for; 0 without a range.
func asked(r *http.Request) (off, end int64) {
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &off, &end)
	return off, end + 1
}

// serve runs a handler and returns where.
func serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	return serveAt(t, "127.0.0.1:0", h)
}

func serveAt(t testing.TB, addr string, h http.Handler) *httptest.Server {
	t.Helper()
	ln, err := listen(t, addr)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener = ln
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func serveTLS(t testing.TB, h http.Handler) (*httptest.Server, fetch.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	if n := netOf(t); n != nil {
		_ = s.Listener.Close()
		ln, err := n.listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.Listener = ln
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s, fetch.Config{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}
}

// serveStranger is a server over TLS with a certificate that nobody vouches for.
func serveStranger(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	if n := netOf(t); n != nil {
		_ = s.Listener.Close()
		if s.Listener, err = n.listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}} //nolint:gosec // as TLS is by default
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// at is a URL of a server, under a name that each link resolves as it likes.
func at(t testing.TB, s *httptest.Server, host, path string) *url.URL {
	t.Helper()
	u, err := url.Parse(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		u.Host = net.JoinHostPort(host, u.Port())
	}
	return u
}

// hijack answers in raw bytes and closes the connection.
func hijack(w http.ResponseWriter, raw ...[]byte) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write(bytes.Join(raw, nil))
	_ = conn.Close()
}

// listen is within the test's net.
func listen(t testing.TB, addr string) (net.Listener, error) {
	if n := netOf(t); n != nil {
		return n.listen(addr)
	}
	return net.Listen("tcp", addr)
}
