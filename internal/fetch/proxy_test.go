package fetch

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// by uses one proxy for everything.
type by struct{ proxy *url.URL }

func (b by) For(*url.URL) (*url.URL, error) { return b.proxy, nil }

// proxyServer is an HTTP proxy that lets in p:w.
func proxyServer(t *testing.T, b testbody.Body) *rawServer {
	return newRawServer(t, func(p *peer) {
		for r := p.request(); r != nil; r = p.request() {
			switch {
			case r.Header.Get("Proxy-Authorization") != "Basic cDp3":
				p.say(lines("HTTP/1.1 407 No", "Content-Length: 0"))
			case r.Method == http.MethodConnect:
				to, err := net.Dial("tcp", r.Host)
				if err != nil {
					p.say(lines("HTTP/1.1 502 No", "Content-Length: 0"))
					return
				}
				p.say(lines("HTTP/1.1 200 OK"))
				go func() { _, _ = io.Copy(to, p.br); _ = to.Close() }()
				_, _ = io.Copy(p.Conn, to)
				return
			case r.URL.Host == "object.test" && r.Header.Get("Authorization") == "":
				off, end := ranged(r)
				p.part(b, off, end, "")
			default:
				p.say(lines("HTTP/1.1 404 No", "Content-Length: 0"))
			}
		}
	})
}

func TestProxy(t *testing.T) {
	b := testbody.Body{Size: 100_000, Seed: 30}
	p := proxyServer(t, b)
	with := p.url(t)
	with.User = url.UserPassword("p", "w")
	for _, fl := range flavours() {
		if fl.name == "h1" || fl.name == "h2c" {
			continue
		}
		s := fl.server(t, serveBody(b))
		cfg := fl.config(s)
		cfg.Proxies = by{with}
		if got := must(t, client(t, cfg), parse(t, s.URL+"/f"), 10, 50_000); sum(got) != sum(part(t, b, 10, 50_000)) {
			t.Errorf("%s: other bytes", fl.name)
		}
		cfg.Proxies = by{p.url(t)}
		if e := mustFail(t, client(t, cfg), parse(t, s.URL+"/f"), 0, 1); e.Class != Auth || e.Status != 407 {
			t.Errorf("%s: %v: %v", fl.name, e.Class, e)
		}
	}
	c := client(t, Config{Proxies: by{with}})
	for range 3 {
		if got := must(t, c, parse(t, "http://object.test/f"), 10, 50_000); sum(got) != sum(part(t, b, 10, 50_000)) {
			t.Error("other bytes")
		}
	}
	if n := connections(c); n != 1 {
		t.Errorf("%d connections", n)
	}
	if e := mustFail(t, client(t, Config{Proxies: by{p.url(t)}}), parse(t, "http://object.test/f"), 0, 1); e.Class != Auth {
		t.Errorf("%v: %v", e.Class, e)
	}
	if e := mustFail(t, client(t, Config{Proxies: by{parse(t, "quic://127.0.0.1:1")}}), parse(t, "http://object.test/f"), 0, 1); e.Class != Protocol {
		t.Errorf("%v: %v", e.Class, e)
	}
	closed := httptest.NewServer(nil)
	addr := closed.URL
	closed.Close()
	if e := mustFail(t, client(t, Config{Proxies: by{parse(t, addr)}}), parse(t, "http://object.test/f"), 0, 1); e.Class != Refused {
		t.Errorf("%v: %v", e.Class, e)
	}
}

// Interim responses before the one that counts are passed over, some of them.
func TestProxyAnswersInterim(t *testing.T) {
	hints, tunnel := lines("HTTP/1.1 103 Early Hints", "Link: </x>"), lines("HTTP/1.1 200 OK")
	for answer, want := range map[string]string{
		hints + tunnel: "",
		strings.Repeat(hints, maxInterim) + tunnel:   "",
		strings.Repeat(hints, maxInterim+1) + tunnel: "proxy: more than 8 interim responses",
		hints + lines("HTTP/1.1 403 No"):             "proxy answered 403 to a tunnel to host.test:443",
		lines("HTTP/1.1 101 Other") + tunnel:         "proxy: server switches protocols unasked",
	} {
		got := ""
		if err := connectThrough(&canned{r: strings.NewReader(answer)}, &url.URL{Host: "proxy.test"}, "host.test:443"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// FuzzProxyAnswer feeds arbitrary answers to a request for a tunnel: there is one,
// or an error that prints, and the credentials are not in it.
func FuzzProxyAnswer(f *testing.F) {
	f.Add([]byte(lines("HTTP/1.1 200 OK")))
	f.Add([]byte(lines("HTTP/1.1 103 Wait") + lines("HTTP/1.0 200 OK", "Content-Length: 5")))
	f.Add([]byte(lines("HTTP/1.1 407 No", "Proxy-Authenticate: Basic realm=\"p:secret\"", "Content-Length: 0")))
	f.Add([]byte("HTTP/0.0 200 \n\n"))
	f.Add([]byte("HTTP/1.1 200\r\n" + strings.Repeat("X: y\r\n", 100)))
	proxy := &url.URL{Scheme: "http", Host: "proxy.test", User: url.UserPassword("p", "secret")}
	f.Fuzz(func(t *testing.T, answer []byte) {
		err := connectThrough(&canned{r: bytes.NewReader(answer)}, proxy, "host.test:443")
		if err == nil {
			if !bytes.HasPrefix(answer, []byte("HTTP/1.")) || !bytes.Contains(answer, []byte(" 2")) {
				t.Fatalf("a tunnel after %q", answer)
			}
			return
		}
		e := dialError(t.Context(), err)
		if e.Class.String() == "unknown" || e.Error() != printable(e.Error()) {
			t.Fatalf("%#v", e)
		}
		if !bytes.Contains(answer, []byte("secret")) && strings.Contains(e.Error(), "secret") {
			t.Fatal(e)
		}
	})
}

// A proxy is asked for the URL's host, whatever the user's Host header says: the URL's
// credentials go where they were meant to.
func TestProxyAndHostHeader(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 1}
	for given, want := range map[string]string{
		"http://u:secret@10.0.0.1:8080/f?q": "http://10.0.0.1:8080/f?q",
		"http://10.0.0.1":                   "http://10.0.0.1/",
		"http://[fe80::1%25eth0]:8080/f":    "http://[fe80::1]:8080/f",
	} {
		var asked atomic.Value
		p := newRawServer(t, func(p *peer) {
			for r := p.request(); r != nil; r = p.request() {
				asked.Store(r.RequestURI)
				p.part(b, 0, 10, "")
			}
		})
		c := client(t, Config{Proxies: by{p.url(t)}, Header: http.Header{"Host": {"virtual.test"}}})
		must(t, c, parse(t, given), 0, 10)
		if got := asked.Load(); got != want {
			t.Errorf("%s: the proxy was asked for %v, want %s", given, got, want)
		}
	}
}
