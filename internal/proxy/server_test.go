package proxy

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/errno"
	"github.com/mlget/mlget/internal/testbody"
)

// wire is a link over loopback that counts what is dialled over it.
type wire struct {
	name  string
	dials atomic.Int64
	dead  atomic.Bool // connecting fails
	mute  atomic.Bool // connecting does not end
}

func (l *wire) Name() string { return l.name }

func (l *wire) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	l.dials.Add(1)
	switch {
	case l.dead.Load():
		return nil, &net.OpError{Op: "dial", Net: network, Err: errno.NetUnreachable}
	case l.mute.Load():
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// start starts a proxy over links, whose end the test waits for.
func start(t *testing.T, cfg Config, links ...*wire) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Self = addrPort(l.Addr())
	s := New(cfg)
	for _, n := range links {
		s.Use(n, Terms{}, false)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := s.count(); n != 0 {
			t.Errorf("%d clients are left", n)
		}
	})
	return s, l.Addr().String()
}

const bodySize = 3_000_000

// site serves a body, and says what it was asked.
func site(t *testing.T) (plain, secure *httptest.Server) {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body":
			http.ServeContent(w, r, "", time.Unix(1e9, 0), testbody.Body{Size: bodySize}.Reader())
		case "/echo":
			_, _ = io.Copy(w, r.Body)
		case "/head":
			_ = r.Write(w)
		case "/trailer":
			w.Header().Set("Trailer", "X-End")
			_, _ = io.WriteString(w, "body")
			w.(http.Flusher).Flush() //nolint:forcetypeassert // it is one
			w.Header().Set("X-End", "reached")
		case "/early":
			w.Header().Set("Link", "</a>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			_, _ = io.WriteString(w, "done")
		default:
			http.NotFound(w, r)
		}
	})
	plain, secure = httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	return plain, secure
}

func wantBody(t *testing.T, what string, got []byte) {
	t.Helper()
	want, err := io.ReadAll(testbody.Body{Size: bodySize}.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(got) != sha256.Sum256(want) {
		t.Errorf("%s: %d bytes, not the body", what, len(got))
	}
}

// TestCurl: curl speaks all of the protocols, over one port, to servers in clear and with TLS.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	plain, secure := site(t)
	link := &wire{name: "a"}
	_, addr := start(t, Config{Placement: Measured}, link)
	_, port, _ := net.SplitHostPort(plain.Listener.Addr().String())
	_, tlsPort, _ := net.SplitHostPort(secure.Listener.Addr().String())
	for _, scheme := range []string{"http", "socks4", "socks4a", "socks5", "socks5h"} {
		for _, u := range []string{
			"http://127.0.0.1:" + port, "https://127.0.0.1:" + tlsPort, "http://localhost:" + port, "https://localhost:" + tlsPort,
		} {
			before := link.dials.Load()
			out, err := exec.Command(curl, "-sSfk", "-4", "--noproxy", "", "-x", scheme+"://"+addr, u+"/body").Output()
			if err != nil {
				var failed *exec.ExitError
				errors.As(err, &failed)
				t.Errorf("%s, %s: %v: %s", scheme, u, err, failed.Stderr)
				continue
			}
			wantBody(t, scheme+", "+u, out)
			if link.dials.Load() == before && scheme != "http" {
				t.Errorf("%s, %s: nothing was dialled", scheme, u)
			}
		}
	}
}

// client is net/http's, through the proxy.
func clientThrough(t *testing.T, addr, user string) *http.Client {
	t.Helper()
	proxy, err := url.Parse("http://" + user + addr)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return proxy, nil }, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// TestRequestsPassUnchanged: what a server sees of a request through the proxy is what it
// sees without it.
func TestRequestsPassUnchanged(t *testing.T) {
	plain, _ := site(t)
	_, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	ask := func(c *http.Client) string {
		req, err := http.NewRequest(http.MethodPost, plain.URL+"/head?a=1;b=2&c=%zz&d", strings.NewReader("what is sent"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=a"}, "Range": {"bytes=1-2"}, "Accept": {"a", "b"}}
		req.Header["User-Agent"] = nil
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // the test ends
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	direct, through := ask(&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: false}}), ask(clientThrough(t, addr, ""))
	if direct != through {
		t.Errorf("through the proxy:\n%s\ndirectly:\n%s", through, direct)
	}
}

func TestTrailersAndEarlyHints(t *testing.T) {
	plain, _ := site(t)
	_, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	resp, err := clientThrough(t, addr, "").Get(plain.URL + "/trailer")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(text) != "body" || resp.Trailer.Get("X-End") != "reached" {
		t.Errorf("body %q, trailer %v", text, resp.Trailer)
	}
	raw := talk(t, addr, "GET "+plain.URL+"/early HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(raw, "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 200 ") || !strings.Contains(raw, "done") {
		t.Errorf("answer %q, want 103 and 200", raw)
	}
}

// talk sends bytes and reads until the end.
func talk(t *testing.T, addr, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test ends
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return string(answer) + " " + err.Error()
	}
	return string(answer)
}

// TestPasswords: who may use the proxy shows it in every protocol; SOCKS4 has no way to.
func TestPasswords(t *testing.T) {
	plain, _ := site(t)
	_, addr := start(t, Config{Placement: Measured, Users: someUsers(t)}, &wire{name: "a"})
	for user, want := range map[string]int{"": 407, "ann:wrong@": 407, "ann:secret@": 200, "bob:a%3Ab@": 200} {
		resp, err := clientThrough(t, addr, user).Get(plain.URL + "/body")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %s, want %d", user, resp.Status, want)
		}
		if want == 407 && !strings.HasPrefix(resp.Header.Get("Proxy-Authenticate"), "Basic ") {
			t.Errorf("Proxy-Authenticate: %q", resp.Header.Get("Proxy-Authenticate"))
		}
	}
	if got := talk(t, addr, "CONNECT "+plain.Listener.Addr().String()+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 407 ") {
		t.Errorf("CONNECT without a password: %q", got)
	}
	port := plain.Listener.Addr().(*net.TCPAddr).Port
	if got := talk(t, addr, fmt.Sprintf("\x04\x01%c%c\x7f\x00\x00\x01ann\x00", port>>8, port&255)); got[:min(2, len(got))] != "\x00\x5b" {
		t.Errorf("SOCKS4 without a password: %q", got)
	}
}

// TestHalfClosed: a client that has said all still gets the answer.
func TestHalfClosed(t *testing.T) {
	l := listen(t)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()          //nolint:errcheck // the test ends
		said, _ := io.ReadAll(c) // until the client's end
		_, _ = io.WriteString(c, "heard "+string(said))
	}()
	s, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test ends
	_, _ = io.WriteString(conn, "CONNECT "+l.Addr().String()+" HTTP/1.1\r\nHost: x\r\n\r\nsent ahead, ")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil) //nolint:bodyclose // there is none
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	_, _ = io.WriteString(conn, "sent later")
	_ = conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(r); string(got) != "heard sent ahead, sent later" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	wait(t, "the tunnel has ended", func() bool { return s.Links()[0].Tunnels == 0 })
	if st := s.Links()[0]; st.Up != int64(len("sent ahead, sent later")) || st.Down != int64(len("heard sent ahead, sent later")) {
		t.Errorf("%d bytes up, %d down", st.Up, st.Down)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// wait waits until something holds; a test that waits in vain hangs until its deadline.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never held that %s", what)
		}
	}
}

// holding opens a tunnel to a server that says nothing.
func holding(t *testing.T, addr string, l net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	to := l.Addr().(*net.TCPAddr)
	_, _ = fmt.Fprintf(conn, "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01%s", string([]byte{byte(to.Port >> 8), byte(to.Port)}))
	var answer [12]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil || answer[3] != succeeded {
		t.Fatalf("answer %q, %v", answer, err)
	}
	return conn
}

// TestTunnelsOfALostLinkAreReset: a client whose link has gone hears of it at once, by RST;
// one whose link stays hears nothing.
func TestTunnelsOfALostLinkAreReset(t *testing.T) {
	l := listen(t)
	a, b := &wire{name: "a"}, &wire{name: "b"}
	s, addr := start(t, Config{Placement: RoundRobin}, a, b)
	first, second := holding(t, addr, l), holding(t, addr, l)
	s.Leave("a")
	if n, err := first.Read(make([]byte, 1)); !errors.Is(err, errno.ConnReset) {
		t.Errorf("a tunnel of the lost link: %d, %v, want a reset", n, err)
	}
	_ = second.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	var timeout net.Error
	if n, err := second.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a tunnel of the other link: %d, %v", n, err)
	}
	s.Use(&wire{name: "b"}, Terms{}, false)
	_ = second.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := second.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a tunnel of a link that was renewed: %d, %v", n, err)
	}
	s.Use(&wire{name: "b"}, Terms{}, true)
	_ = second.SetReadDeadline(time.Time{})
	if n, err := second.Read(make([]byte, 1)); !errors.Is(err, errno.ConnReset) {
		t.Errorf("a tunnel of a link that has moved: %d, %v, want a reset", n, err)
	}
	wait(t, "no tunnel is left", func() bool { return s.Links()[0].Tunnels == 0 })
}

// TestDeadLinkLosesTheRace: where one link fails, and where one is silent, the next one
// connects before the client notices, and has the host from then on.
func TestDeadLinkLosesTheRace(t *testing.T) {
	plain, _ := site(t)
	for _, silent := range []bool{false, true} {
		a, b := &wire{name: "a"}, &wire{name: "b"}
		a.dead.Store(!silent)
		a.mute.Store(silent)
		s, addr := start(t, Config{Placement: Measured, AffinityHost: true}, a, b)
		for range 3 {
			holding(t, addr, plain.Listener)
		}
		if n := a.dials.Load(); n != 1 {
			t.Errorf("silent %v: the link that lost was tried %d times, want once", silent, n)
		}
		if st := s.Links(); st[0].Tunnels != 0 || st[1].Tunnels != 3 {
			t.Errorf("silent %v: %+v", silent, st)
		}
	}
}

// TestRefusalIsAnAnswer: what a server refuses over one link is not asked over the next.
func TestRefusalIsAnAnswer(t *testing.T) {
	l := listen(t)
	_ = l.Close()
	a, b := &wire{name: "a"}, &wire{name: "b"}
	_, addr := start(t, Config{Placement: Measured}, a, b)
	got := talk(t, addr, "CONNECT "+l.Addr().String()+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 502 ") || b.dials.Load() != 0 {
		t.Errorf("%q after %d dials over the second link", got, b.dials.Load())
	}
}

// TestAffinity: a client's tunnels to one host share a link until four of them are busy.
func TestAffinity(t *testing.T) {
	l := listen(t)
	a, b := &wire{name: "a"}, &wire{name: "b"}
	s, addr := start(t, Config{Placement: Measured, AffinityHost: true}, a, b)
	for range 4 {
		holding(t, addr, l)
	}
	if st := s.Links(); st[0].Tunnels != 4 {
		t.Errorf("four tunnels to one host: %+v, want all on one link", st)
	}
	for range 4 {
		holding(t, addr, l)
	}
	if st := s.Links(); st[0].Tunnels != 4 || st[1].Tunnels != 4 {
		t.Errorf("eight tunnels to one host: %+v, want four on each link", st)
	}
	_, addr = start(t, Config{Placement: Measured}, a, b)
	a.dials.Store(0)
	b.dials.Store(0)
	for range 4 {
		holding(t, addr, l)
	}
	if a.dials.Load() != 2 || b.dials.Load() != 2 {
		t.Errorf("without affinity: %d and %d, want two on each link", a.dials.Load(), b.dials.Load())
	}
}

// TestRequestsAtOnceShareLinks: of requests that come at the same moment, before any of them
// is connected, each finds the others counted.
func TestRequestsAtOnceShareLinks(t *testing.T) {
	for range 50 {
		a, b := &wire{name: "a"}, &wire{name: "b"}
		_, addr := start(t, Config{Placement: Measured}, a, b)
		var all sync.WaitGroup
		all.Add(4)
		site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			all.Done()
			all.Wait() // none is answered before all are asked
		}))
		t.Cleanup(site.Close)
		client := clientThrough(t, addr, "")
		var asked sync.WaitGroup
		for range 4 {
			asked.Go(func() {
				resp, err := client.Get(site.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
			})
		}
		asked.Wait()
		if a.dials.Load() != 2 || b.dials.Load() != 2 {
			t.Fatalf("four requests at once: %d and %d dials, want two over each link", a.dials.Load(), b.dials.Load())
		}
	}
}

// TestPlacedTunnelsCount: a tunnel takes room from when it is placed until it is removed.
func TestPlacedTunnelsCount(t *testing.T) {
	s, _ := start(t, Config{Placement: Measured}, &wire{name: "a"}, &wire{name: "b"})
	first, attempts := s.place(origin{host: "x"}, httpProtocol)
	second, others := s.place(origin{host: "x"}, httpProtocol)
	if attempts[0].link == others[0].link {
		t.Error("two tunnels that are not connected yet share a link, and the other one has none")
	}
	s.remove(first)
	s.remove(second)
	for _, l := range s.Links() {
		if l.Tunnels != 0 {
			t.Errorf("%s: %d tunnels are left", l.Name, l.Tunnels)
		}
	}
}

// TestRequestsCountOnce: a request takes the room of one tunnel, whether its connection is new or
// was there before; one for which no connection is made takes none.
func TestRequestsCountOnce(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-answer
	}))
	defer site.Close()
	a := &wire{name: "a"}
	s, addr := start(t, Config{Placement: Measured}, a)
	client := clientThrough(t, addr, "")
	for _, what := range []string{"a new connection", "a connection that was there"} {
		ended := make(chan error)
		go func() {
			resp, err := client.Get(site.URL)
			if err == nil {
				err = resp.Body.Close()
			}
			ended <- err
		}()
		<-asked
		if n := s.Links()[0].Tunnels; n != 1 {
			t.Errorf("%s: a request counts as %d tunnels", what, n)
		}
		answer <- struct{}{}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if n := a.dials.Load(); n != 1 {
		t.Fatalf("%d connections were made for two requests, one after the other", n)
	}
	// net/http/httputil refuses such a protocol before there is a connection.
	got := talk(t, addr, "GET "+site.URL+"/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: \xc3\xa9\r\n\r\n")
	if n := s.Links()[0].Tunnels; !strings.HasPrefix(got, "HTTP/1.1 502 ") || n != 1 {
		t.Errorf("%q, and %d tunnels for one connection", got, n)
	}
}

// allowance is an account with so many bytes in it.
type allowance struct{ left int64 }

func (a *allowance) Carried(bytes int64) { a.left -= bytes }
func (a *allowance) Spare() int64        { return max(0, a.left) }

func TestCapEndsTunnels(t *testing.T) {
	plain, _ := site(t)
	s, addr := start(t, Config{Placement: Measured})
	s.Use(&wire{name: "a"}, Terms{Account: &allowance{left: 1_000_000}}, false)
	resp, err := clientThrough(t, addr, "").Get(plain.URL + "/body")
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	wait(t, "the cap is noticed", func() bool {
		got := talk(t, addr, "CONNECT "+plain.Listener.Addr().String()+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		return strings.HasPrefix(got, "HTTP/1.1 503 ")
	})
}

// TestOwnDoors: the proxy leads nobody to itself, and answers for names of its own only.
func TestOwnDoors(t *testing.T) {
	s, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	for request, want := range map[string]string{
		"GET /healthz HTTP/1.1\r\nHost: localhost":                  "HTTP/1.1 200 ",
		"GET /healthz HTTP/1.1\r\nHost: evil.example":               "HTTP/1.1 421 ",
		"GET /nothing HTTP/1.1\r\nHost: " + addr:                    "HTTP/1.1 404 ",
		"GET http://" + addr + "/healthz HTTP/1.1\r\nHost: " + addr: "HTTP/1.1 403 ",
		"CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr:            "HTTP/1.1 403 ",
		"GET https://example.org/ HTTP/1.1\r\nHost: example.org":    "HTTP/1.1 400 ",
		"GET ftp://example.org/ HTTP/1.1\r\nHost: example.org":      "HTTP/1.1 400 ",
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 2*maxHeader):  "HTTP/1.1 431 ",
		"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00":                  "HTTP/1.1 400 ", // TLS
		"CONNECT example.org HTTP/1.1\r\nHost: example.org":         "HTTP/1.1 400 ", // RFC 9110, 9.3.6
		"CONNECT 127.0.0.1:99999 HTTP/1.1\r\nHost: x":               "HTTP/1.1 400 ",
		"OPTIONS * HTTP/1.1\r\nHost: localhost":                     "HTTP/1.1 404 ",
	} {
		got := talk(t, addr, request+"\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, want) {
			t.Errorf("%.60q: %.60q, want %s", request, got, want)
		}
	}
	s.Leave("a")
	if got := talk(t, addr, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 503 ") {
		t.Errorf("health without a link: %q", got)
	}
}

// TestGrace: at the end a tunnel has the grace to finish, and no more.
func TestGrace(t *testing.T) {
	l := listen(t)
	proxy := listen(t)
	s := New(Config{Placement: Measured, Grace: time.Hour, Self: addrPort(proxy.Addr())})
	s.Use(&wire{name: "a"}, Terms{}, false)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, proxy) }()
	conn := holding(t, proxy.Addr().String(), l)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	wait(t, "nobody is let in any more", func() bool {
		c, err := net.Dial("tcp", proxy.Addr().String())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	_, _ = io.WriteString(server, "the rest")
	_ = server.Close()
	if rest, err := io.ReadAll(conn); string(rest) != "the rest" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	_ = conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
