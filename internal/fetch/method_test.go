package fetch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// TestMethodAndBodyAsCurl: after each kind of redirect the server sees the same requests as
// from curl -L.
func TestMethodAndBodyAsCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	var mu sync.Mutex
	var seen []string
	taken := func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := seen
		seen = nil
		return all
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", string(body)))
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err == nil {
			w.Header().Set("Location", "/there")
			w.WriteHeader(status)
			return
		}
		_, _ = io.WriteString(w, "file")
	}))
	t.Cleanup(s.Close)
	for _, path := range []string{"/there", "/301", "/302", "/303", "/307", "/308"} {
		if out, err := exec.Command(curl, "-sSL", "-d", "a=1&b=2", s.URL+path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		theirs := taken()
		c := client(t, Config{Body: []byte("a=1&b=2"), ContentType: "application/x-www-form-urlencoded", NoRange: true})
		if got := must(t, c, parse(t, s.URL+path), 0, -1); string(got) != "file" {
			t.Errorf("%s: %q", path, got)
		}
		if ours := taken(); !slices.Equal(ours, theirs) {
			t.Errorf("%s: the server sees %q, from curl %q", path, ours, theirs)
		}
	}
	for _, fl := range flavours() {
		var method atomic.Value
		s := fl.server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			method.Store(r.Method)
			_, _ = io.WriteString(w, "file")
		}))
		cfg := fl.config(s)
		cfg.Method = "REPORT"
		must(t, client(t, cfg), parse(t, s.URL+"/f"), 0, -1)
		if method.Load() != "REPORT" {
			t.Errorf("%s: %s", fl.name, method.Load())
		}
	}
}

// A body that may have done its work is not sent again by itself.
func TestBodyIsSentOnce(t *testing.T) {
	var bodies atomic.Int32
	s := newRawServer(t, func(p *peer) {
		for r := p.request(); r != nil; r = p.request() {
			if r.Method == http.MethodPost {
				bodies.Add(1)
				return // the connection, without an answer
			}
			p.say(lines("HTTP/1.1 200 OK", "Content-Length: 1") + "x")
		}
	})
	c := client(t, Config{Body: []byte("x"), NoRange: true})
	if e := mustFail(t, c, s.url(t), 0, -1); e.Class != Network || bodies.Load() != 1 {
		t.Errorf("%v: %v; %d bodies", e.Class, e, bodies.Load())
	}
}

func TestSchemesAllowed(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 40}
	plain := httptest.NewServer(serveBody(b))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/f", http.StatusFound))
	t.Cleanup(secure.Close)
	cfg := Config{Schemes: []string{"https"}, TLS: secure.Client().Transport.(*http.Transport).TLSClientConfig}
	for _, at := range []string{plain.URL, secure.URL} {
		if e := mustFail(t, client(t, cfg), parse(t, at+"/f"), 0, 10); e.Class != Protocol || !strings.Contains(e.Error(), "http is not allowed, only https") {
			t.Errorf("%s: %v: %v", at, e.Class, e)
		}
	}
}

func TestMaxSize(t *testing.T) {
	b := testbody.Body{Size: 100_000, Seed: 41}
	for _, chunked := range []bool{false, true} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !chunked {
				serveBody(b).ServeHTTP(w, r)
				return
			}
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(w, b.Reader())
		}))
		for limit, ok := range map[int64]bool{99_999: false, 100_000: true} {
			c := client(t, Config{MaxSize: limit})
			if ok {
				must(t, c, parse(t, s.URL+"/f"), 0, -1)
			} else if e := mustFail(t, c, parse(t, s.URL+"/f"), 0, -1); e.Class != Status || !strings.Contains(e.Error(), "99999 bytes") {
				t.Errorf("chunked %v: %v: %v", chunked, e.Class, e)
			}
		}
		s.Close()
	}
}

func TestAddresses(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 42}
	s := httptest.NewServer(serveBody(b))
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	var a Addresses
	for _, text := range []string{"one.test:80:127.0.0.1", "+two.test:" + port + ":[::2],127.0.0.1", "*:81:192.0.2.1"} {
		if err := a.Resolve(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"three.test:80:127.0.0.1:" + port, "[2001:db8::1]:80:two.test:" + port, "four.test::two.test:", ":82:127.0.0.1:" + port} {
		if err := a.ConnectTo(text); err != nil {
			t.Fatal(err)
		}
	}
	for place, want := range map[string]string{
		"one.test:80": "127.0.0.1:80", "one.test:81": "192.0.2.1:81", "x.test:81": "192.0.2.1:81", "x.test:80": "x.test:80",
		"three.test:80": "127.0.0.1:" + port, "three.test:443": "three.test:443", "four.test:7": "two.test:7", "y.test:82": "127.0.0.1:" + port,
		"[2001:db8::1]:80": "[::2]:" + port + " 127.0.0.1:" + port,
	} {
		if got := strings.Join(a.of(a.place(place)), " "); got != want {
			t.Errorf("%s: %s, want %s", place, got, want)
		}
	}
	for _, u := range []string{"http://two.test:" + port, "http://three.test", "http://[2001:db8::1]", "http://four.test:" + port} {
		if got := must(t, client(t, Config{Addresses: &a}), parse(t, u+"/f"), 0, 10); sum(got) != sum(part(t, b, 0, 10)) {
			t.Errorf("%s: other bytes", u)
		}
	}
	for _, bad := range []string{"", "x", "x:80", "x:0:1.2.3.4", "x:80:y", ":80:1.2.3.4", "x:80:1.2.3.4,", "x:99999:::1"} {
		if a.Resolve(bad) == nil {
			t.Errorf("--resolve %s", bad)
		}
	}
	for _, bad := range []string{"", "a:b", "a:80:b", "a:x:b:80", "a:80:b:x", "a:80:b:80:c"} {
		if a.ConnectTo(bad) == nil {
			t.Errorf("--connect-to %s", bad)
		}
	}
}
