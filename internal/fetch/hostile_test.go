package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// TestHostile answers a request for bytes [10, 20) with bytes off a script.
func TestHostile(t *testing.T) {
	const ok = "HTTP/1.1 206 Partial Content"
	ten := "0123456789"
	for _, c := range []struct {
		name, answer string
		class        Class  // 0: the answer is good
		text         string // within the error
	}{
		{"good", lines(ok, "Content-Range: bytes 10-19/100", "Content-Length: 10") + ten, 0, ""},
		{"good, size unknown", lines(ok, "Content-Range: bytes 10-19/*", "Content-Length: 10") + ten, 0, ""},
		{"good, object shorter", lines(ok, "Content-Range: bytes 10-14/15", "Content-Length: 5") + ten[:5], 0, ""},
		{"good, no length", lines(ok, "Content-Range: bytes 10-19/100", "Connection: close") + ten, 0, ""},
		{"good, chunked", lines(ok, "Content-Range: bytes 10-19/100", "Transfer-Encoding: chunked") + "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n", 0, ""},
		{"good, http/1.0", lines("HTTP/1.0 206 OK", "Content-Range: bytes 10-19/100", "Content-Length: 10") + ten, 0, ""},
		{"good, interim", lines("HTTP/1.1 100 Continue") + lines("HTTP/1.1 103 Early Hints", "Link: </x>") + lines(ok, "Content-Range: bytes 10-19/100", "Content-Length: 10") + ten, 0, ""},
		{"good, identity", lines(ok, "Content-Range: bytes 10-19/100", "Content-Length: 10", "Content-Encoding: identity") + ten, 0, ""},

		{"no content-range", lines(ok, "Content-Length: 10") + ten, Protocol, "0 content-range"},
		{"good, content-range twice", lines(ok, "Content-Range: bytes 10-19/100", "Content-Range: bytes 10-19/100", "Content-Length: 10") + ten, 0, ""},
		{"two content-ranges", lines(ok, "Content-Range: bytes 10-19/100", "Content-Range: bytes 10-19/101", "Content-Length: 10") + ten, Protocol, "2 content-range"},
		{"starts early", lines(ok, "Content-Range: bytes 9-19/100", "Content-Length: 11") + "x" + ten, Protocol, "[10, 20)"},
		{"starts late", lines(ok, "Content-Range: bytes 11-19/100", "Content-Length: 9") + ten[1:], Protocol, "[10, 20)"},
		{"ends late", lines(ok, "Content-Range: bytes 10-20/100", "Content-Length: 11") + ten + "x", Protocol, "[10, 20)"},
		{"ends early", lines(ok, "Content-Range: bytes 10-18/100", "Content-Length: 9") + ten[:9], 0, ""}, // RFC 9110, 15.3.7: a part of what was asked for
		{"ends early, size unknown", lines(ok, "Content-Range: bytes 10-18/*", "Content-Length: 9") + ten[:9], 0, ""},
		{"beyond its own size", lines(ok, "Content-Range: bytes 10-19/15", "Content-Length: 10") + ten, Protocol, "content-range"},
		{"unsatisfied 206", lines(ok, "Content-Range: bytes */100", "Content-Length: 10") + ten, Protocol, "content-range"},
		{"other unit", lines(ok, "Content-Range: pages 10-19/100", "Content-Length: 10") + ten, Protocol, "content-range"},
		{"length disagrees", lines(ok, "Content-Range: bytes 10-19/100", "Content-Length: 11") + ten + "x", Protocol, "content-length 11"},
		{"multipart", lines(ok, "Content-Type: multipart/byteranges; boundary=x", "Content-Length: 10") + ten, Protocol, "several ranges"},
		{"gzip", lines(ok, "Content-Range: bytes 10-19/100", "Content-Length: 10", "Content-Encoding: gzip") + ten, 0, ""},
		{"two codings", lines(ok, "Content-Range: bytes 10-19/100", "Content-Length: 10", "Content-Encoding: br, zstd") + ten, 0, ""},
		{"escape in coding", lines(ok, "Content-Range: bytes 10-19/100", "Content-Encoding: \x1b[2Jx") + ten, Protocol, "malformed"},
		{"a part as if it were the whole", lines("HTTP/1.1 200 OK", "Content-Range: bytes 10-19/100", "Content-Length: 10") + ten, Protocol, "10-19/100"},
		{"the first part as if it were the whole", lines("HTTP/1.1 200 OK", "Content-Range: bytes 0-9/100", "Content-Length: 10") + ten, Protocol, "0-9/100"},
		{"nonsense of a range as if it were the whole", lines("HTTP/1.1 200 OK", "Content-Range: bytes 10-4/5", "Content-Length: 0"), Protocol, "10-4/5"},
		{"truncated", lines(ok, "Content-Range: bytes 10-19/100", "Content-Length: 10") + ten[:9], Network, "closed early"},
		{"truncated without length", lines(ok, "Content-Range: bytes 10-19/100", "Connection: close") + ten[:9], Network, "1 bytes missing"},
		{"truncated chunked", lines(ok, "Content-Range: bytes 10-19/100", "Transfer-Encoding: chunked") + "4\r\n0123\r\n", Network, "closed early"},
		{"chunked too short", lines(ok, "Content-Range: bytes 10-19/100", "Transfer-Encoding: chunked") + "4\r\n0123\r\n0\r\n\r\n", Network, "6 bytes missing"},
		{"chunked too long", lines(ok, "Content-Range: bytes 10-19/100", "Transfer-Encoding: chunked") + "b\r\n0123456789a\r\n0\r\n\r\n", Protocol, "longer"},
		{"bad chunk", lines(ok, "Content-Range: bytes 10-19/100", "Transfer-Encoding: chunked") + "zz\r\n0123", Network, "chunk"},
		{"nothing", "", Network, "closed early"},
		{"half a header", "HTTP/1.1 206 Partial\r\nContent-", Network, "closed early"},
		{"not http", "SSH-2.0-OpenSSH_9.9\r\n\r\n", Protocol, "malformed"},
		{"version before HTTP/1", lines("HTTP/0.9 206 OK", "Content-Range: bytes 10-19/100", "Content-Length: 10") + ten, Protocol, "HTTP/0.9"},
		{"HTTP/2 spelt out", lines("HTTP/2.0 206 OK", "Content-Range: bytes 10-19/100", "Content-Length: 10") + ten, Protocol, "HTTP/2.0"},
		{"bad header line", lines(ok, "no colon here"), Protocol, "malformed"},
		{"two lengths", lines(ok, "Content-Length: 10", "Content-Length: 11") + ten, Protocol, "malformed"},
		{"negative length", lines(ok, "Content-Length: -1"), Protocol, "malformed"},
		{"switching protocols", lines("HTTP/1.1 101 Switching Protocols", "Upgrade: x", "Connection: upgrade"), Protocol, "switches"},
		{"interim flood", strings.Repeat(lines("HTTP/1.1 103 Early Hints"), 1000), Protocol, "interim"},
		{"endless header", "HTTP/1.1 206 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 1000)+"\r\n", 1000), Protocol, "too large"},
		{"endless line", "HTTP/1.1 206 OK\r\nX: " + strings.Repeat("b", 1<<20), Protocol, "too large"},
		{"endless interim header", "HTTP/1.1 103 Hm\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 1000)+"\r\n", 1000), Protocol, "too large"},
		{"status out of range", lines("HTTP/1.1 999 What"), Status, "999"},
		{"escape in reason", lines("HTTP/1.1 404 \x1b]0;pwned\x07", "Content-Length: 0"), Status, "404 Not Found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRawServer(t, func(p *peer) {
				if p.request() != nil {
					p.say(c.answer)
				}
				// Wait for the client to close, lest a reset overtake the answer.
				if tcp, ok := p.Conn.(*net.TCPConn); ok {
					_ = tcp.CloseWrite()
				}
				_, _ = io.Copy(io.Discard, p.br)
			})
			cl := client(t, Config{})
			if c.class == 0 {
				got := string(must(t, cl, s.url(t), 10, 20))
				if got != ten && c.name != "good, object shorter" && (got != ten[:9] || !strings.HasPrefix(c.name, "ends early")) {
					t.Errorf("got %q", got)
				}
				return
			}
			e := mustFail(t, cl, s.url(t), 10, 20)
			if e.Class != c.class || !strings.Contains(e.Error(), c.text) || strings.ContainsAny(e.Error(), "\x1b\r\n\x07") {
				t.Errorf("class %v, %q", e.Class, e)
			}
		})
	}
}

// TestHostileWhole answers a request for the whole object.
func TestHostileWhole(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		class        Class
	}{
		{"no length", lines("HTTP/1.0 200 OK") + "0123456789", 0},
		{"chunked", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n\r\n", 0},
		{"a part", lines("HTTP/1.1 206 OK", "Content-Range: bytes 0-9/20", "Content-Length: 10") + "0123456789", Protocol},
		{"truncated", lines("HTTP/1.1 200 OK", "Content-Length: 11") + "0123456789", Network},
		{"trailers", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n" + lines("A: b"), 0},
		{"long trailers", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n" + lines("A: "+strings.Repeat("b", 10_000), strings.Repeat("C: d\r\n", 10_000)+"E: f"), 0},
		{"endless trailers", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n" + strings.Repeat("A: b\r\n", maxHeaderBytes/4), Protocol},
		{"endless trailer", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\nA: " + strings.Repeat("b", 2*maxHeaderBytes), Protocol},
		{"truncated trailers", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\nA: b\r\n", Network},
		{"no trailers, truncated", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n", Network},
		{"truncated chunked", lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n", Network},
		{"chunked, http/1.0", lines("HTTP/1.0 200 OK", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n\r\n", 0}, // RFC 9112, 6.1: it is processed, and its connection closed
		{"chunked, http/1.0, long header", lines("HTTP/1.0 200 OK", "X-A: "+strings.Repeat("b", 10_000), "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n\r\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRawServer(t, func(p *peer) {
				if r := p.request(); r != nil && r.Header.Get("Range") == "" {
					p.say(c.answer)
				}
			})
			if c.class != 0 {
				if e := mustFail(t, client(t, Config{}), s.url(t), 0, -1); e.Class != c.class {
					t.Errorf("class %v, %v", e.Class, e)
				}
				return
			}
			if got := string(must(t, client(t, Config{}), s.url(t), 0, -1)); got != "0123456789" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestUnaskedBytes: what a server says without being asked must not become the
// next response.
func TestUnaskedBytes(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 9}
	s := newRawServer(t, func(p *peer) {
		for p.request() != nil {
			p.say(head206(0, 10, 100, "") + string(part(t, b, 0, 10)) + head206(0, 10, 100, "") + "0123456789")
		}
	})
	c := client(t, Config{})
	for range 3 {
		if got := must(t, c, s.url(t), 0, 10); sum(got) != sum(part(t, b, 0, 10)) {
			t.Errorf("got %q", got)
		}
	}
}

func TestDialErrors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	if e := mustFail(t, client(t, Config{}), parse(t, "http://"+addr+"/"), 0, 1); e.Class != Refused || !e.Temporary() {
		t.Errorf("%v: %v", e.Class, e)
	}
	c := clientOver(t, Config{}, failing{&net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}})
	if e := mustFail(t, c, parse(t, "http://nowhere.invalid/"), 0, 1); e.Class != DNS || e.Temporary() {
		t.Errorf("%v: %v", e.Class, e)
	}
	c = clientOver(t, Config{}, failing{&net.DNSError{Err: "timeout", Name: "nowhere.invalid", IsTimeout: true}})
	if e := mustFail(t, c, parse(t, "http://nowhere.invalid/"), 0, 1); e.Class != Network {
		t.Errorf("%v: %v", e.Class, e)
	}
}

// failing is a Dialer that cannot.
type failing struct{ err error }

func (f failing) DialContext(context.Context, string, string) (net.Conn, error) { return nil, f.err }

func TestTLSErrors(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	defer s.Close()
	trust := s.Client().Transport.(*http.Transport).TLSClientConfig
	u := parse(t, s.URL)
	other := *u
	other.Host = "wrong.test:" + u.Port()
	table := hosts{other.Host: u.Host}
	for name, c := range map[string]struct {
		cfg  *tls.Config
		u    string
		want Class
	}{
		"unknown authority": {nil, s.URL, TLS},
		"other name":        {trust, other.String(), TLS},
		"too old":           {&tls.Config{RootCAs: trust.RootCAs, MaxVersion: tls.VersionTLS11}, s.URL, TLS},
		"trusted":           {trust, s.URL, Status},
		"insecure":          {&tls.Config{InsecureSkipVerify: true}, other.String(), Status},
	} {
		e := mustFail(t, clientOver(t, Config{TLS: c.cfg}, table), parse(t, c.u), 0, 1)
		if e.Class != c.want {
			t.Errorf("%s: class %v: %v", name, e.Class, e)
		}
	}
	open := newRawServer(t, func(p *peer) { p.request(); p.say("HTTP/1.1 400 Bad Request\r\n\r\n") })
	u = open.url(t)
	u.Scheme = "https"
	if e := mustFail(t, client(t, Config{}), u, 0, 1); e.Class != TLS {
		t.Errorf("tls to a clear server: %v: %v", e.Class, e)
	}
	gone := newRawServer(t, func(*peer) {})
	u = gone.url(t)
	u.Scheme = "https"
	if e := mustFail(t, client(t, Config{}), u, 0, 1); e.Class != Network {
		t.Errorf("closed within the handshake: %v: %v", e.Class, e)
	}
	if e := mustFail(t, client(t, Config{Protocol: HTTP2PriorKnowledge, TLS: trust}), parse(t, s.URL), 0, 1); e.Class != TLS && e.Class != Protocol {
		t.Errorf("h2 to a server without: %v: %v", e.Class, e)
	}
	if e := mustFail(t, client(t, Config{Protocol: HTTP2PriorKnowledge}), open.url(t), 0, 1); e.Class != Protocol {
		t.Errorf("h2c to a server without: %v: %v", e.Class, e)
	}
}

// TestTimeouts uses a clock that jumps, and connections in memory.
func TestTimeouts(t *testing.T) {
	for name, answer := range map[string]string{"silent": "", "dripping": "HTTP/1.1 206 Part"} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() {
				p := &peer{t: t, Conn: theirs}
				buf := make([]byte, 4096)
				_, _ = theirs.Read(buf)
				p.say(answer)
				_, _ = io.Copy(io.Discard, theirs)
			}()
			c := NewClient(&Config{ResponseTimeout: 5 * time.Second}, given{ours}, nil)
			start := time.Now()
			e := mustFail(t, c, parse(t, "http://host.test/"), 0, 1)
			if e.Class != Network || !errors.Is(e, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v: %v", name, e.Class, e)
			}
			if d := time.Since(start); d != 5*time.Second {
				t.Errorf("%s: after %v", name, d)
			}
			c.Close()
			_ = theirs.Close()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(&Config{ConnectTimeout: 3 * time.Second}, hanging{}, nil)
		if e := mustFail(t, c, parse(t, "http://host.test/"), 0, 1); e.Class != Network || !strings.Contains(e.Error(), "within 3s") {
			t.Errorf("connect: %v: %v", e.Class, e)
		}
		c.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		c := NewClient(&Config{ConnectTimeout: 3 * time.Second}, given{ours}, nil)
		if e := mustFail(t, c, parse(t, "https://host.test/"), 0, 1); e.Class != Network || !strings.Contains(e.Error(), "within 3s") {
			t.Errorf("handshake: %v: %v", e.Class, e)
		}
		c.Close()
		_ = theirs.Close()
	})
}

// given hands out one connection.
type given struct{ conn net.Conn }

func (g given) DialContext(context.Context, string, string) (net.Conn, error) { return g.conn, nil }

// hanging never connects.
type hanging struct{}

func (hanging) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("dial: %w", ctx.Err())
}

// A body that ends with the connection is complete only if TLS says so (RFC 9112, 9.8).
func TestTLSConnectionIsCut(t *testing.T) {
	for name, says := range map[string]bool{"cut": false, "ended": true} {
		t.Run(name, func(t *testing.T) {
			s := newTLSServer(t, "http/1.1", func(p *peer) {
				if p.request() == nil {
					return
				}
				p.say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
				if says {
					_ = p.Conn.(*tls.Conn).CloseWrite()
				}
			})
			c := client(t, s.trusted)
			if says {
				if got := must(t, c, s.url(t), 0, -1); string(got) != "hello" {
					t.Errorf("%q", got)
				}
				return
			}
			if e := mustFail(t, c, s.url(t), 0, -1); e.Class != Network || !strings.Contains(e.Error(), "close_notify") {
				t.Errorf("class %v, %q", e.Class, e)
			}
		})
	}
}

// A server of HTTP/1.0 keeps a connection only where it says so.
func TestHTTP10Connections(t *testing.T) {
	for _, c := range []struct {
		extra string
		conns int
	}{{"", 3}, {"Connection: close\r\n", 3}, {"Connection: Keep-Alive\r\n", 1}} {
		s := newRawServer(t, func(p *peer) {
			for p.request() != nil {
				p.say("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n" + c.extra + "\r\nhello")
			}
		})
		cl := client(t, Config{})
		for range 3 {
			if got := must(t, cl, s.url(t), 0, -1); string(got) != "hello" {
				t.Errorf("%q", got)
			}
		}
		if n := connections(cl); n != c.conns {
			t.Errorf("%q: %d connections", c.extra, n)
		}
	}
}
