package fetch

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// socksServer is a SOCKS proxy, by RFC 1928, RFC 1929 and the descriptions of SOCKS4 and
// SOCKS4a, that lets in p:w. It resolves all names to the address that it is given, and notes
// what it was asked for.
type socksServer struct {
	*rawServer
	to    string
	mu    sync.Mutex
	asked []string
}

func newSOCKS(t *testing.T, to string) *socksServer {
	s := &socksServer{to: to}
	s.rawServer = newRawServer(t, func(p *peer) {
		addr, granted := s.greet(p)
		if addr == "" {
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, addr)
		s.mu.Unlock()
		if host, _, _ := net.SplitHostPort(addr); net.ParseIP(host) == nil {
			addr = s.to
		}
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		p.say(granted)
		go func() { _, _ = io.Copy(conn, p.br); _ = conn.Close() }()
		_, _ = io.Copy(p.Conn, conn)
	})
	return s
}

func read(p *peer, n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(p.br, b); err != nil {
		return make([]byte, n)
	}
	return b
}

func (s *socksServer) greet(p *peer) (addr, granted string) {
	switch version := read(p, 1)[0]; version {
	case 4:
		head := read(p, 7)
		user, _ := p.br.ReadString(0)
		host := net.IP(head[3:7]).String()
		if head[3] == 0 && head[4] == 0 && head[5] == 0 {
			host, _ = p.br.ReadString(0)
			host = strings.TrimSuffix(host, "\x00")
		}
		if user != "p\x00" {
			p.say("\x00\x5d\x00\x00\x00\x00\x00\x00")
			return "", ""
		}
		return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(head[1:])))), "\x00\x5a\x00\x00\x00\x00\x00\x00"
	case 5:
		methods := string(read(p, int(read(p, 1)[0])))
		if !strings.Contains(methods, "\x02") {
			p.say("\x05\xff")
			return "", ""
		}
		p.say("\x05\x02")
		read(p, 1)
		user := string(read(p, int(read(p, 1)[0])))
		if password := string(read(p, int(read(p, 1)[0]))); user != "p" || password != "w" {
			p.say("\x01\x01")
			return "", ""
		}
		p.say("\x01\x00")
		host := ""
		switch read(p, 4)[3] {
		case 1:
			host = net.IP(read(p, 4)).String()
		case 3:
			host = string(read(p, int(read(p, 1)[0])))
		case 4:
			host = net.IP(read(p, 16)).String()
		}
		return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(read(p, 2))))), "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"
	}
	return "", ""
}

func (s *socksServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *socksServer) at(scheme string, user *url.Userinfo) *url.URL {
	return &url.URL{Scheme: scheme, Host: s.ln.Addr().String(), User: user}
}

func TestSOCKS(t *testing.T) {
	b := testbody.Body{Size: 100_000, Seed: 31}
	for _, fl := range flavours() {
		for _, scheme := range []string{"socks5", "socks5h", "socks4", "socks4a"} {
			server := fl.server(t, serveBody(b))
			proxy := newSOCKS(t, server.Listener.Addr().String())
			cfg := fl.config(server)
			cfg.Proxies = by{proxy.at(scheme, url.UserPassword("p", "w"))}
			u := parse(t, server.URL+"/f")
			by4 := must(t, client(t, cfg), u, 10, 50_000)
			u.Host = "example.com:" + u.Port() // which the test server's certificate names
			byName := must(t, client(t, cfg), u, 10, 50_000)
			if want := sum(part(t, b, 10, 50_000)); sum(by4) != want || sum(byName) != want {
				t.Errorf("%s, %s: other bytes", fl.name, scheme)
			}
			if got := proxy.seen(); len(got) != 2 || got[0] != server.Listener.Addr().String() || got[1] != u.Host {
				t.Errorf("%s, %s: asked for %q", fl.name, scheme, got)
			}
		}
	}
}

func TestSOCKSRefusals(t *testing.T) {
	proxy := newSOCKS(t, "127.0.0.1:1")
	for _, c := range []struct {
		scheme, user, target string
		want                 Class
	}{
		{"socks5", "", "http://x.test/", Auth},
		{"socks5", "wrong", "http://x.test/", Auth},
		{"socks4a", "wrong", "http://x.test/", Auth},
		{"socks4a", "p", "http://[2001:db8::1]/", Protocol},
		{"socks4a", strings.Repeat("p", 300), "http://x.test/", Protocol},
		{"socks5", "p", "http://x.test/", Network}, // it hangs up
		{"socks4a", "p", "http://x.test/", Network},
	} {
		var user *url.Userinfo
		if c.user != "" {
			user = url.UserPassword(c.user, "w")
		}
		e := mustFail(t, client(t, Config{Proxies: by{proxy.at(c.scheme, user)}}), parse(t, c.target), 0, 1)
		if e.Class != c.want || !strings.Contains(e.Error(), "proxy") {
			t.Errorf("%s as %.10q: %v: %v", c.scheme, c.user, e.Class, e)
		}
	}
}

// The proxy of these tests is one for curl, too.
func TestSOCKSJudge(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	s := httptest.NewServer(serveBody(testbody.Body{Size: 10}))
	t.Cleanup(s.Close)
	proxy := newSOCKS(t, s.Listener.Addr().String())
	for _, scheme := range []string{"socks5h", "socks4a"} {
		out, err := exec.Command(curl, "-sSf", "-x", proxy.at(scheme, url.UserPassword("p", "w")).String(), "http://x.test/f").CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", scheme, err, out)
		}
	}
}

func TestHTTPSProxy(t *testing.T) {
	b := testbody.Body{Size: 100_000, Seed: 32}
	plain := proxyServer(t, b)
	known := httptest.NewUnstartedServer(nil)
	known.StartTLS()
	known.Close()
	secure := newRawServer(t, func(p *peer) {
		conn := tls.Server(p.Conn, &tls.Config{Certificates: known.TLS.Certificates}) //nolint:gosec // a test's
		behind, err := net.Dial("tcp", plain.ln.Addr().String())
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(behind, conn); _ = behind.Close() }()
		_, _ = io.Copy(conn, behind)
	})
	with := &url.URL{Scheme: "https", Host: secure.ln.Addr().String(), User: url.UserPassword("p", "w")}
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
	}
	trusting := Config{Proxies: by{with}, TLS: known.Client().Transport.(*http.Transport).TLSClientConfig}
	if got := must(t, client(t, trusting), parse(t, "http://object.test/f"), 10, 50_000); sum(got) != sum(part(t, b, 10, 50_000)) {
		t.Error("http: other bytes")
	}
	if e := mustFail(t, client(t, Config{Proxies: by{with}}), parse(t, "http://object.test/f"), 0, 1); e.Class != TLS {
		t.Errorf("a proxy that nobody vouches for: %v: %v", e.Class, e)
	}
}

// ownProxy is a link with a proxy of its own.
type ownProxy struct {
	net.Dialer
	proxy *url.URL
}

func (d *ownProxy) Proxy() *url.URL { return d.proxy }

func TestLinkWithProxyOfItsOwn(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 33}
	s := httptest.NewServer(serveBody(b))
	t.Cleanup(s.Close)
	run, own := newSOCKS(t, s.Listener.Addr().String()), newSOCKS(t, s.Listener.Addr().String())
	user := url.UserPassword("p", "w")
	cfg := Config{Proxies: by{run.at("socks5", user)}}
	for _, link := range []*ownProxy{{proxy: own.at("socks4a", user)}, {}} {
		must(t, clientOver(t, cfg, link), parse(t, "http://x.test/f"), 0, 10)
	}
	if len(run.seen()) != 1 || len(own.seen()) != 1 {
		t.Errorf("the run's proxy was asked %d times, the link's %d times", len(run.seen()), len(own.seen()))
	}
}

func FuzzSOCKSAnswer(f *testing.F) {
	f.Add([]byte("\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"), true)
	f.Add([]byte("\x00\x5a\x00\x00\x00\x00\x00\x00"), false)
	f.Add([]byte("\x05\x02\x01\x00\x05\x04\x00\x03\xff"), true)
	f.Fuzz(func(t *testing.T, answer []byte, five bool) {
		p := &url.URL{Scheme: "socks5", Host: "proxy.test", User: url.UserPassword("p", "secret")}
		err := socks4a(&canned{r: strings.NewReader(string(answer))}, p, "x.test:80")
		if five {
			err = socks5(context.Background(), &canned{r: strings.NewReader(string(answer))}, p, "x.test:80")
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Fatal(err)
		}
		if err == nil && len(answer) < 8 {
			t.Fatalf("a connection after %q", answer)
		}
	})
}
