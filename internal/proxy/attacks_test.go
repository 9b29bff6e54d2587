package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// witness is a server that tells what requests have reached it.
type witness struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // method, host, path and body
}

func startWitness(t *testing.T) *witness {
	t.Helper()
	w := new(witness)
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked = append(w.asked, fmt.Sprintf("%s %s%s %q", r.Method, r.Host, r.URL.Path, body))
		_, _ = io.WriteString(rw, "told")
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *witness) take() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, w.asked = w.asked, nil
	return all
}

// TestSmuggling: of a request whose length can be read in two ways, no part reaches a server as a
// request of its own.
func TestSmuggling(t *testing.T) {
	w := startWitness(t)
	_, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	host := w.Listener.Addr().String()
	inner := "GET http://" + host + "/smuggled HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(inner), inner)
	for _, headers := range []string{
		"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"Transfer-Encoding: identity, chunked\r\n",
		"Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n",
		"Transfer-Encoding : chunked\r\nContent-Length: 4\r\n",
		" Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
		"Transfer-Encoding:\x0bchunked\r\nContent-Length: 4\r\n",
		"X: y\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n",
		"X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
		"Content-Length: 4\r\nContent-Length: 400\r\n",
		"Content-Length: 4, 400\r\n",
		"Content-Length: +4\r\n",
		"Content-Length: -1\r\n",
		"Content-Length: 0x4\r\n",
		"Connection: Content-Length\r\nContent-Length: 0\r\n",
	} {
		talk(t, addr, "POST http://"+host+"/outer HTTP/1.1\r\nHost: "+host+"\r\n"+headers+"Connection: close\r\n\r\n"+chunk)
		for _, asked := range w.take() {
			if !strings.HasPrefix(asked, "POST "+host+"/outer ") {
				t.Errorf("%q: the server was asked %s", headers, asked)
			}
		}
	}
}

// TestTargetsThatContradict: it is the request's target that says where it goes (RFC 9112, 3.2.2),
// and what is no target is refused.
func TestTargetsThatContradict(t *testing.T) {
	w := startWitness(t)
	_, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	host := w.Listener.Addr().String()
	got := talk(t, addr, "GET http://"+host+"/a HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n")
	if asked := w.take(); len(asked) != 1 || asked[0] != "GET "+host+`/a ""` {
		t.Errorf("%q; the server was asked %q", got, asked)
	}
	for _, c := range []struct{ line, want string }{
		{"GET http:///a", "400"},
		{"GET http://[::1/a", "400"},
		{"GET https://" + host + "/a", "400"},
		{"GET ftp://" + host + "/a", "400"},
		{"GET http://user@" + host + "/a", "200"},
		{"GET http://" + host + "/a b", "400"},
		{"GET http://" + host + "/\x00", "400"},
		{"GET http://127.0.0.1:99999/", "502"},
		{"GET http://127.0.0.1:0/", "502"},
		{"CONNECT 127.0.0.1", "400"},
		{"CONNECT http://" + host + "/", "400"},
		{"CONNECT /a", "400"},
		{"CONNECT :80", "400"},
		{"CONNECT 127.0.0.1:0", "400"},
		{"CONNECT 127.0.0.1:http", "400"},
		{"CONNECT 127.0.0.1:99999", "400"},
		{"PRI *", "421"},
		{"OPTIONS *", "421"},
	} {
		got := talk(t, addr, c.line+" HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n")
		if status := strings.TrimPrefix(got, "HTTP/1.1 "); !strings.HasPrefix(status, c.want) {
			t.Errorf("%q: %.40q, want %s", c.line, got, c.want)
		}
		for _, asked := range w.take() {
			if !strings.HasPrefix(asked, "GET "+host) {
				t.Errorf("%q: the server was asked %s", c.line, asked)
			}
		}
	}
}

// TestProxyDoesNotLeadToItself, by none of the ways to write its address.
func TestProxyDoesNotLeadToItself(t *testing.T) {
	s, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	_, port, _ := net.SplitHostPort(addr)
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "[::1]", "127.0.0.2"} {
		for _, text := range []string{
			"GET http://" + host + ":" + port + "/metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
			"GET /http://" + host + ":" + port + "/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			"CONNECT " + host + ":" + port + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		} {
			got := talk(t, addr, text)
			if !strings.HasPrefix(got, "HTTP/1.1 403") && !strings.HasPrefix(got, "HTTP/1.1 502") {
				t.Errorf("%q: %.60q", text, got)
			}
		}
	}
	wait(t, "nothing is left", func() bool { return s.count() == 0 })
}

// TestOtherMachinesTargets: another machine is not led to this one nor to link-local addresses,
// however they are written.
func TestOtherMachinesTargets(t *testing.T) {
	s := New(Config{Placement: Measured})
	s.Use(&wire{name: "a"}, Terms{}, false)
	l := listen(t)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	other := netip.MustParseAddr("192.0.2.9")
	for _, host := range []string{
		"127.0.0.1", "localhost", "0.0.0.0", "127.8.8.8", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0",
		"169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%lo", "ff02::1", "224.0.0.1",
	} {
		if _, conn, err := s.dial(t.Context(), other, connectProtocol, net.JoinHostPort(host, port)); err == nil {
			t.Errorf("%s: it is led to %v", host, conn.RemoteAddr())
			reset(conn)
		} else if !isForbidden(err) {
			t.Errorf("%s: it fails by %v only", host, err)
		}
	}
}

// TestRefusedConnectEndsTheConnection: what a client sends ahead for a tunnel that is refused is
// not taken for its next request.
func TestRefusedConnectEndsTheConnection(t *testing.T) {
	w := startWitness(t)
	closed := listen(t)
	_ = closed.Close()
	_, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	_, locked := start(t, Config{Placement: Measured, Users: someUsers(t)}, &wire{name: "a"})
	ahead := "GET " + w.URL + "/smuggled HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic YW5uOnNlY3JldA==\r\nConnection: close\r\n\r\n"
	for _, c := range []struct{ at, target, want string }{
		{addr, closed.Addr().String(), "HTTP/1.1 502 "},
		{addr, addr, "HTTP/1.1 403 "},
		{locked, w.Listener.Addr().String(), "HTTP/1.1 407 "},
	} {
		got := talk(t, c.at, "CONNECT "+c.target+" HTTP/1.1\r\nHost: x\r\n\r\n"+ahead)
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, "told") {
			t.Errorf("CONNECT %s: %q", c.target, got)
		}
		if asked := w.take(); len(asked) > 0 {
			t.Errorf("CONNECT %s: the server was asked %q", c.target, asked)
		}
	}
}

// TestPipeliningBeforeConnect: requests before a CONNECT on the same connection are answered in
// order, and what follows it is the tunnel's.
func TestPipeliningBeforeConnect(t *testing.T) {
	w := startWitness(t)
	_, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	host := w.Listener.Addr().String()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test ends
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = fmt.Fprintf(conn, "GET http://%s/1 HTTP/1.1\r\nHost: x\r\n\r\nPOST http://%s/2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"+
		"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: y\r\nConnection: close\r\n\r\n", host, host, host)
	r := bufio.NewReader(conn)
	for i, method := range []string{"GET", "POST", "CONNECT", "GET"} {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("answer %d: %v", i+1, err)
		}
		if method != http.MethodConnect { // whose answer has none
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		_ = resp.Body.Close()
	}
	if got := strings.Join(w.take(), ", "); got != fmt.Sprintf(`GET %s/1 "", POST %s/2 "abc", GET y/3 ""`, host, host) {
		t.Errorf("the server was asked %s", got)
	}
}

// TestHopByHop: what is between the client and the proxy stays there: its password, what
// Connection names, and requests that have no forwards left (RFC 9110, 7.6).
func TestHopByHop(t *testing.T) {
	var mu sync.Mutex
	var heads []http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		heads = append(heads, r.Header)
	}))
	t.Cleanup(server.Close)
	_, addr := start(t, Config{Placement: Measured, Users: someUsers(t)}, &wire{name: "a"})
	ask := func(line, header string) string {
		return talk(t, addr, line+" HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic YW5uOnNlY3JldA==\r\n"+header+"\r\n")
	}
	ask("GET "+server.URL, "Connection: close, X-Mine\r\nX-Mine: 1\r\nX-Other: 2\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 1\r\n")
	if len(heads) != 1 || heads[0].Get("X-Other") != "2" {
		t.Fatalf("the server has %v", heads)
	}
	for _, name := range []string{"Proxy-Authorization", "X-Mine", "Proxy-Connection", "Keep-Alive"} {
		if got := heads[0].Get(name); got != "" {
			t.Errorf("the server has %s: %s", name, got)
		}
	}
	heads = nil
	for method, want := range map[string]string{"TRACE": "405", "OPTIONS": "200"} {
		if got := ask(method+" "+server.URL, "Max-Forwards: 0\r\nConnection: close\r\n"); !strings.HasPrefix(got, "HTTP/1.1 "+want) || len(heads) > 0 {
			t.Errorf("%s without forwards: %q, the server has %v", method, got, heads)
		}
		ask(method+" "+server.URL, "Max-Forwards: 3\r\nConnection: close\r\n")
		if len(heads) != 1 || heads[0].Get("Max-Forwards") != "2" {
			t.Errorf("%s with three forwards: the server has %v", method, heads)
		}
		heads = nil
	}
}

// TestAnswersThatAreNone: what a server sends instead of an answer comes to a 502, and does not end
// the client's connection.
func TestAnswersThatAreNone(t *testing.T) {
	s, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	for _, answer := range []string{
		"HTTP/1.1 000 None\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 099 None\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 1000 None\r\n\r\n",
		"HTTP/1.1 -01 None\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "hello\r\n", "",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: /a\rSet-Cookie: b\r\n\r\n",
	} {
		l := listen(t)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range 2 {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, answer)
				if answer == "" || answer == "hello\r\n" {
					_ = c.Close()
				}
				t.Cleanup(func() { _ = c.Close() })
			}
		}()
		line := "GET http://" + l.Addr().String() + "/ HTTP/1.1\r\nHost: x\r\n"
		if got := talk(t, addr, line+"\r\n"+line+"Connection: close\r\n\r\n"); strings.Count(got, "HTTP/1.1 502 ") != 2 {
			t.Errorf("%q: %q", answer, got)
		}
		_ = l.Close()
		<-ended
	}
	wait(t, "no tunnel is left", func() bool { return s.Links()[0].Tunnels == 0 })
}

// TestGatewayDoesNotSwitchProtocols: it only fetches.
func TestGatewayDoesNotSwitchProtocols(t *testing.T) {
	var asked http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.Header }))
	t.Cleanup(server.Close)
	_, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
	got := talk(t, addr, "GET /"+server.URL+"/ HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200 ") || asked.Get("Upgrade") != "" || asked.Get("Connection") != "" {
		t.Errorf("%q; the server has %v", got, asked)
	}
}
