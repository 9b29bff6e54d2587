package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// gate starts a proxy whose gateway trusts a server.
func gate(t *testing.T, server *httptest.Server, links ...*wire) (*partFetcher, string) {
	t.Helper()
	f := &partFetcher{transport: server.Client().Transport}
	trust := server.Client().Transport.(*http.Transport).TLSClientConfig //nolint:forcetypeassert // httptest's is one
	_, addr := start(t, Config{Placement: Measured, AffinityHost: true, Spreader: f, SpreadFrom: 4 << 20, TLS: trust}, links...)
	return f, addr
}

// TestGateway: what a path of the gateway stands for comes with the server's own status,
// bytes and validators.
func TestGateway(t *testing.T) {
	for _, secure := range []bool{true, false} {
		server := large(t, secure)
		f, addr := gate(t, server, &wire{name: "a"}, &wire{name: "b"})
		direct, through := server.Client(), &http.Client{Transport: new(http.Transport)}
		for _, test := range []struct {
			method, path string
			header       []string
			spread       bool
		}{
			{"GET", "/large", nil, true},
			{"HEAD", "/large", nil, false},
			{"GET", "/large", []string{"Range", "bytes=4000000-"}, true},
			{"GET", "/large", []string{"Range", "bytes=1-5000000"}, true},
			{"GET", "/large", []string{"Range", fmt.Sprintf("bytes=%d-", largeSize-1)}, false},
			{"GET", "/large", []string{"Range", fmt.Sprintf("bytes=%d-", largeSize-leadBytes)}, false},
			{"GET", "/large", []string{"Range", fmt.Sprintf("bytes=%d-", largeSize-leadBytes-1)}, true},
			{"GET", "/large", []string{"Range", fmt.Sprintf("bytes=%d-", largeSize)}, false},
			{"GET", "/large", []string{"Range", "bytes=0-99999999"}, true},
			{"GET", "/large", []string{"Range", "bytes=5-2000000"}, false},
			{"GET", "/large", []string{"Range", "bytes=-5000000"}, true},
			{"GET", "/large", []string{"Range", "bytes=9-", "If-Range", `"v0"`}, true},
			{"GET", "/unproven", []string{"Range", "bytes=9-"}, false},
			{"GET", "/norange", []string{"Range", "bytes=9-"}, false},
			{"GET", "/large", []string{"If-None-Match", `"v1"`}, false},
			{"GET", "/small?a=1;b&c=%zz", nil, false},
		} {
			name := fmt.Sprint(secure, test)
			before := f.count()
			want := answerTo(t, direct, test.method, server.URL+test.path, test.header...)
			got := answerTo(t, through, test.method, "http://"+addr+"/"+server.URL+test.path, test.header...)
			if got.err != nil || got.status != want.status || got.body != want.body {
				t.Errorf("%s: %d, %d bytes, %v; want %d, %d bytes", name, got.status, len(got.body), got.err, want.status, len(want.body))
			}
			for _, h := range []string{"Content-Type", "Content-Length", "Content-Range", "Etag", "Last-Modified", "Accept-Ranges"} {
				if got.header.Get(h) != want.header.Get(h) {
					t.Errorf("%s: %s is %q, want %q", name, h, got.header.Get(h), want.header.Get(h))
				}
			}
			if n := f.count() - before; (n > 0) != test.spread {
				t.Errorf("%s: spread %d times", name, n)
			}
			if got.header["Set-Cookie"] != nil || !strings.Contains(strings.Join(got.header["Content-Security-Policy"], ","), "sandbox") {
				t.Errorf("%s: %v", name, got.header)
			}
		}
	}
}

// TestGatewaySeeks: each seek brings the right bytes, over connections that are there.
func TestGatewaySeeks(t *testing.T) {
	server := large(t, true)
	a, b := &wire{name: "a"}, &wire{name: "b"}
	_, addr := gate(t, server, a, b)
	body := testbody.Body{Size: largeSize, Seed: 5}
	client := &http.Client{Transport: new(http.Transport)}
	r := rand.New(rand.NewPCG(1, 2))
	const seeks = 60
	for range seeks {
		off := r.Int64N(largeSize - 1000)
		req, err := http.NewRequest(http.MethodGet, "http://"+addr+"/"+server.URL+"/slow", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", off))
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, want := make([]byte, 1000), make([]byte, 1000)
		_, err = io.ReadFull(resp.Body, got)
		_, _ = body.ReadAt(want, off)
		if err != nil || string(got) != string(want) || resp.StatusCode != http.StatusPartialContent {
			t.Errorf("at %d: %s, %v", off, resp.Status, err)
		}
		_ = resp.Body.Close()
	}
	// How many are withdrawn with their request depends on the machine's load. Without any that
	// is used again there are as many as seeks at least.
	if n := a.dials.Load() + b.dials.Load(); n > seeks*2/3 {
		t.Errorf("%d connections for %d seeks", n, seeks)
	}
}

func TestGatewayRedirectsLeadBack(t *testing.T) {
	server := large(t, true)
	_, addr := gate(t, server, &wire{name: "a"})
	c := &http.Client{Transport: new(http.Transport)}
	for path, want := range map[string]string{
		"/moved": "/" + server.URL + "/large?x=1",
		"/away":  "/https://example.org:444/there?a=b#c",
	} {
		if got := answerTo(t, c, "GET", "http://"+addr+"/"+server.URL+path).header.Get("Location"); got != want {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
	}
}

// TestGatewayKeepsSitesApart: a page can neither use the gateway for another site nor learn of
// what the browser keeps for the proxy's address.
func TestGatewayKeepsSitesApart(t *testing.T) {
	server := large(t, false)
	s, addr := start(t, Config{Placement: Measured, Users: nil}, &wire{name: "a"})
	path := "/" + server.URL + "/large"
	for request, want := range map[string]string{
		"GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nSec-Fetch-Site: cross-site":  "403",
		"GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nSec-Fetch-Site: same-site":   "403",
		"GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nOrigin: http://evil.example": "403",
		"GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nOrigin: null":                "403",
		"GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nService-Worker: script":      "403",
		"GET " + path + " HTTP/1.1\r\nHost: evil.example":                                "421",
		"POST " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nContent-Length: 0":          "405",
		"HEAD " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nSec-Fetch-Site: none":       "200",
		"HEAD " + strings.Replace(path, "//", "/", 1) + " HTTP/1.1\r\nHost: " + addr:     "200",
		"GET /http://" + addr + "/healthz HTTP/1.1\r\nHost: " + addr:                     "403",
		"GET /https://user:pass@example.org/ HTTP/1.1\r\nHost: " + addr:                  "404",
		"GET /ftp://example.org/ HTTP/1.1\r\nHost: " + addr:                              "404",
		"GET /https:// HTTP/1.1\r\nHost: " + addr:                                        "404",
		"GET / HTTP/1.1\r\nHost: " + addr + "\r\nSec-Fetch-Site: cross-site":             "403",
		"GET /metrics HTTP/1.1\r\nHost: " + addr + "\r\nSec-Fetch-Site: cross-site":      "403",
		"GET / HTTP/1.1\r\nHost: rebound.example":                                        "421",
		"HEAD / HTTP/1.1\r\nHost: localhost":                                             "200",
		"GET /proxy.pac HTTP/1.1\r\nHost: " + addr:                                       "200",
	} {
		if got := talk(t, addr, request+"\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%q: %.60q, want %s", request, got, want)
		}
	}
	c := &http.Client{Transport: new(http.Transport)}
	got := answerTo(t, c, "GET", "http://"+addr+path, "Cookie", "secret=1", "X-Want", "x")
	if had := got.header.Get("X-Had"); had != "|x" {
		t.Errorf("the server was sent %q, want no cookie", had)
	}
	if s.Spreads() != 0 {
		t.Error("it was spread without a spreader")
	}
}

// TestGatewayPassword: the password of the gateway is the proxy's own, which no site sees.
func TestGatewayPassword(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "had "+r.Header.Get("Authorization"))
	}))
	defer server.Close()
	_, addr := start(t, Config{Placement: Measured, Users: someUsers(t)}, &wire{name: "a"})
	c := &http.Client{Transport: new(http.Transport)}
	for user, want := range map[string]int{"": 401, "ann:wrong@": 401, "ann:secret@": 200} {
		r, err := http.NewRequest(http.MethodGet, "http://"+user+addr+"/"+server.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if p := r.URL.User; p != nil {
			word, _ := p.Password()
			r.SetBasicAuth(p.Username(), word)
		}
		resp, err := c.Transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want || want == 200 && string(text) != "had " {
			t.Errorf("%q: %s, %q", user, resp.Status, text)
		}
	}
}

// TestGatewayVerifiesServers: a certificate that nobody trusts is an error.
func TestGatewayVerifiesServers(t *testing.T) {
	server := large(t, true)
	_, addr := start(t, Config{Placement: Measured, TLS: new(tls.Config)}, &wire{name: "a"})
	got := talk(t, addr, "GET /"+server.URL+"/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil) //nolint:bodyclose // it is a text
	if err != nil || resp.StatusCode != http.StatusBadGateway {
		t.Errorf("%.80q, %v, want 502", got, err)
	}
}

func TestDestination(t *testing.T) {
	for text, want := range map[string]string{
		"/https://example.org/a%2Fb?c=%zz&d": "https://example.org/a%2Fb?c=%zz&d",
		"/http:/example.org:81/a":            "http://example.org:81/a",
		"/http%3A/127.0.0.1%3A9080/a%3Ab":    "http://127.0.0.1:9080/a%3Ab", // pip
		"/HTTPS%3a//example.org":             "https://example.org",
		"/https://[2001:db8::1]:8/":          "https://[2001:db8::1]:8/",
		"/https://%5B2001:db8::1%5D/":        "https://[2001:db8::1]/",
		"/https://example.org?q":             "https://example.org?q",
		"/https://a@b/":                      "",
		"/https://a%40b/":                    "",
		"/https://a%2Fb/":                    "",
		"/https://a%3Fb/":                    "",
		"/https:///a":                        "",
		"/ftp://a/":                          "",
		"/healthz":                           "",
		"/":                                  "",
		"https":                              "",
	} {
		u, ok := destination(text)
		if ok != (want != "") || ok && u.String() != want {
			t.Errorf("%s: %v, %v, want %q", text, u, ok, want)
		}
	}
}

func FuzzDestination(f *testing.F) {
	f.Add("/https://example.org/a?b")
	f.Fuzz(func(t *testing.T, text string) {
		u, ok := destination(text)
		if ok && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil) {
			t.Errorf("%q: %v", text, u)
		}
	})
}
