package metrics

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event/eventtest"
)

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"9090": "127.0.0.1:9090", ":9090": "127.0.0.1:9090", "0.0.0.0:9090": "0.0.0.0:9090", "[::1]:0": "[::1]:0",
		"localhost:80": "localhost:80", "": "", ":": "", "host": "", "1.2.3.4": "", "::1": "", ":99999": "", ":-1": "", "a:b:c": "", "h:http": "",
	} {
		got, err := Address(in)
		if got != want || (want == "") != errors.Is(err, ErrAddress) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// served starts a server of a run, and gives its address.
func served(t *testing.T) (address string) {
	t.Helper()
	s, err := Listen("127.0.0.1:0", after(eventtest.TwoLinks()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/metrics")
}

// ask sends a request as it stands and gives the answer, and of what type it is.
func ask(t *testing.T, address, method, request string) (code int, kind, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it is a test's
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer res.Body.Close() //nolint:errcheck // it is a test's
	text, err := io.ReadAll(res.Body)
	if err != nil && res.StatusCode < 400 { // whom the server does not want to hear out it may cut off
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Content-Type"), string(text)
}

const textPlain = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

func TestServer(t *testing.T) {
	address := served(t)
	for _, c := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/metrics", 200, string(page(t, after(eventtest.TwoLinks()), ""))},
		{"GET", "/metrics?collect[]=x", 200, string(page(t, after(eventtest.TwoLinks()), ""))},
		{"HEAD", "/metrics", 200, ""},
		{"GET", "/healthz", 200, "ok\n"},
		{"HEAD", "/healthz", 200, ""},
		{"POST", "/metrics", 405, "GET or HEAD\n"},
		{"DELETE", "/healthz", 405, "GET or HEAD\n"},
		{"GET", "/", 404, "there is /metrics, and /healthz\n"},
		{"GET", "/metrics/", 404, "there is /metrics, and /healthz\n"},
		{"GET", "//metrics", 404, "there is /metrics, and /healthz\n"},
		{"GET", "/debug/pprof/", 404, "there is /metrics, and /healthz\n"},
		{"OPTIONS", "*", 404, "there is /metrics, and /healthz\n"},
	} {
		code, kind, body := ask(t, address, c.method, c.method+" "+c.path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if c.method == "OPTIONS" { // net/http's own, and empty
			if body != "" && code != c.code {
				t.Errorf("OPTIONS *: %d %q", code, body)
			}
			continue
		}
		if code != c.code || body != c.body {
			t.Errorf("%s %s: %d %q", c.method, c.path, code, body)
		}
		if c.path == "/metrics" && code == 200 && kind != textPlain {
			t.Errorf("%s is a %s", c.path, kind)
		}
	}
}

func TestServerLimits(t *testing.T) {
	address := served(t)
	code, _, _ := ask(t, address, "GET", "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("a", 2*maxHeader)+"\r\n\r\n")
	if code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of %d bytes: %d", 2*maxHeader, code)
	}
	if code, _, _ = ask(t, address, "GET", "nonsense\r\n\r\n"); code != http.StatusBadRequest {
		t.Errorf("nonsense: %d", code)
	}
}

func TestListenFails(t *testing.T) {
	address := served(t)
	if s, err := Listen(address, New("1", "go1")); err == nil {
		s.Close()
		t.Fatal("two servers at one address")
	}
}
