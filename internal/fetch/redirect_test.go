package fetch

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// seen records, per path, what a server was sent.
type seen struct {
	mu    sync.Mutex
	heads map[string][]http.Header
}

func (s *seen) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heads == nil {
		s.heads = make(map[string][]http.Header)
	}
	at := r.Host + r.URL.Path
	at = at[strings.LastIndex(at, "//")+1:]
	h := r.Header.Clone()
	h.Set("Host", r.Host)
	s.heads[at] = append(s.heads[at], h)
}

func (s *seen) at(hostPath string) []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads[hostPath]
}

// table serves "host/path" -> Location; what is not in it is the object.
func (s *seen) serve(b testbody.Body, table map[string]string, code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		host, _, _ := net.SplitHostPort(r.Host)
		if host == "" {
			host = r.Host
		}
		if loc, ok := table[host+r.URL.Path]; ok {
			w.Header().Set("Location", loc)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "<html>over there</html>")
			return
		}
		serveBody(b).ServeHTTP(w, r)
	})
}

// netrc is Credentials by a table.
type netrc map[string]string

func (n netrc) For(host, login string) (user, password string, ok bool) {
	user, password, ok = strings.Cut(n[host], ":")
	return user, password, ok && (login == "" || login == user)
}

func TestRedirects(t *testing.T) {
	b := testbody.Body{Size: 100_000, Seed: 20}
	for _, code := range []int{301, 302, 303, 307, 308} {
		var s seen
		srv := httptest.NewServer(s.serve(b, map[string]string{"a.test/f": "/g?x=1#frag", "a.test/g": "http://b.test/h"}, code))
		addr := srv.Listener.Addr().String()
		c := clientOver(t, Config{}, hosts{"a.test:80": addr, "b.test:80": addr})
		for range 3 {
			r, err := c.Get(t.Context(), parse(t, "http://a.test/f"), 10, 20)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.EffectiveURL.String(); got != "http://b.test/h" {
				t.Errorf("effective %s", got)
			}
			if got, err := io.ReadAll(r); err != nil || sum(got) != sum(part(t, b, 10, 20)) {
				t.Errorf("%v or other bytes", err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if a, h := len(s.at("a.test/f")), len(s.at("b.test/h")); a != 1 || h != 3 {
			t.Errorf("%d: original asked %d times, target %d", code, a, h)
		}
		if n := connections(c); n != 2 {
			t.Errorf("%d connections", n)
		}
		c.Close()
		srv.Close()
	}
}

func TestRedirectsRefused(t *testing.T) {
	var asked int
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		loc := r.URL.Query().Get("to")
		if loc == "" {
			loc = r.URL.Path // for ever
		}
		if loc != "none" {
			w.Header().Set("Location", loc)
		}
		w.WriteHeader(http.StatusFound)
	})
	srv := httptest.NewServer(h)
	defer srv.Close()
	for _, to := range []string{"file:///etc/passwd", "ftp://x/y", "javascript:alert(1)", "gopher://x", "data:,x", "http://", "https:////x", "http://u:pw@[::1/", "http://a b/", "none"} {
		e := mustFail(t, client(t, Config{}), parse(t, srv.URL+"/?to="+url.QueryEscape(to)), 0, 1)
		if e.Class != Protocol || e.Status != 302 || strings.Contains(e.Error(), "pw") {
			t.Errorf("%s: %v: %v", to, e.Class, e)
		}
	}
	for limit, want := range map[int]int{0: 21, 3: 4, -1: 1} {
		asked = 0
		e := mustFail(t, client(t, Config{MaxRedirects: limit}), parse(t, srv.URL+"/loop"), 0, 1)
		if e.Class != Protocol || asked != want || !strings.Contains(e.Error(), "redirects") {
			t.Errorf("limit %d: %d requests, %v", limit, asked, e)
		}
	}
}

func named(t testing.TB, all ...string) *Origins {
	var o Origins
	for _, u := range all {
		o.Add(parse(t, u))
	}
	return &o
}

// TestCredentialsStay follows redirects with every kind of secret and checks which servers
// receive it (curl CVE-2022-27774, -27776, Go CVE-2024-45336).
func TestCredentialsStay(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 21}
	const basicAB, basicXY = "Basic YTpi", "Basic eDp5"
	secret := http.Header{"authorization": {"Bearer t"}, "Cookie": {"c=1"}, "X-Api-Key": {"k"}, "Accept-Language": {"de"}, "Host": {"a.test"}}
	for _, c := range []struct {
		name, from string
		table      map[string]string
		cfg        Config
		want       map[string]string // "host/path" -> Authorization
	}{
		{
			"-u", "http://a.test/f",
			map[string]string{"a.test/f": "/g", "a.test/g": "http://b.test/h"},
			Config{User: url.UserPassword("a", "b")},
			map[string]string{"a.test/f": basicAB, "a.test/g": basicAB, "b.test/h": ""},
		},
		{
			"url", "http://a:b@a.test/f",
			map[string]string{"a.test/f": "http://a.test/g", "a.test/g": "http://b.test/h"},
			Config{},
			map[string]string{"a.test/f": basicAB, "a.test/g": basicAB, "b.test/h": ""},
		},
		{"-u wins over the url", "http://c:d@a.test/f", nil, Config{User: url.UserPassword("a", "b")}, map[string]string{"a.test/f": basicAB}},
		{"url wins over netrc", "http://a:b@a.test/f", nil, Config{Credentials: netrc{"a.test": "x:y"}}, map[string]string{"a.test/f": basicAB}},
		{"user of -u, password of netrc", "http://a.test/f", nil, Config{User: url.User("a"), Credentials: netrc{"a.test": "a:b"}}, map[string]string{"a.test/f": basicAB}},
		{"password of -u, user of netrc", "http://a.test/f", nil, Config{User: url.UserPassword("", "b"), Credentials: netrc{"a.test": "a:x"}}, map[string]string{"a.test/f": basicAB}},
		{
			"netrc", "http://a.test/f",
			map[string]string{"a.test/f": "http://b.test/g"},
			Config{Credentials: netrc{"a.test": "a:b", "b.test": "x:y"}},
			map[string]string{"a.test/f": basicAB, "b.test/g": ""},
		},
		{
			"header", "http://a.test/f",
			map[string]string{"a.test/f": "http://b.test/g"},
			Config{Header: secret},
			map[string]string{"a.test/f": "Bearer t", "b.test/g": ""},
		},
		{"header wins", "http://a:b@a.test/f", nil, Config{Header: secret}, map[string]string{"a.test/f": "Bearer t"}},
		{
			"not named", "http://a.test/f", nil,
			Config{User: url.UserPassword("a", "b"), Named: named(t, "http://b.test", "http://a.test:81", "https://a.test")},
			map[string]string{"a.test/f": ""},
		},
		{
			"named", "http://a.test/f", nil,
			Config{User: url.UserPassword("a", "b"), Named: named(t, "http://b.test", "http://A.test:80/x")},
			map[string]string{"a.test/f": basicAB},
		},
		{
			"other port", "http://a.test/f",
			map[string]string{"a.test/f": "http://a.test:81/g"},
			Config{User: url.UserPassword("a", "b")},
			map[string]string{"a.test/f": basicAB, "a.test:81/g": ""},
		},
		{
			"there and back", "http://a.test/f",
			map[string]string{"a.test/f": "http://b.test/g", "b.test/g": "http://a.test/h"},
			Config{User: url.UserPassword("a", "b")},
			map[string]string{"a.test/f": basicAB, "b.test/g": "", "a.test/h": ""},
		},
		{
			"stays away", "http://a.test/f",
			map[string]string{"a.test/f": "http://b.test/g", "b.test/g": "/h"},
			Config{Header: secret},
			map[string]string{"a.test/f": "Bearer t", "b.test/g": "", "b.test/h": ""},
		},
		{
			"default port is the same origin", "http://a.test/f",
			map[string]string{"a.test/f": "http://A.TEST:80/g"},
			Config{User: url.UserPassword("a", "b")},
			map[string]string{"a.test/f": basicAB, "A.TEST:80/g": basicAB},
		},
		{
			"the redirect's own", "http://a:b@a.test/f",
			map[string]string{"a.test/f": "http://x:y@b.test/g", "b.test/g": "http://c.test/h"},
			Config{},
			map[string]string{"a.test/f": basicAB, "b.test/g": basicXY, "c.test/h": ""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s seen
			srv := httptest.NewServer(s.serve(b, c.table, 302))
			defer srv.Close()
			addr := srv.Listener.Addr().String()
			cl := clientOver(t, c.cfg, hosts{"a.test:80": addr, "a.test:81": addr, "b.test:80": addr, "c.test:80": addr})
			defer cl.Close()
			for range 2 { // the second time straight to the target
				r, err := cl.Get(t.Context(), parse(t, c.from), 0, 10)
				if err != nil {
					t.Fatal(err)
				}
				if r.EffectiveURL.User != nil {
					t.Error("credentials in the effective url")
				}
				if _, err := io.Copy(io.Discard, r); err != nil {
					t.Error(err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			for at, want := range c.want {
				got := s.at(at)
				if len(got) == 0 {
					t.Errorf("%s was not asked", at)
				}
				for _, h := range got {
					if h.Get("Authorization") != want {
						t.Errorf("%s saw %q, want %q", at, h.Get("Authorization"), want)
					}
					if c.cfg.Header != nil && (h.Get("Cookie") != "") != (want != "") {
						t.Errorf("%s saw cookie %q", at, h.Get("Cookie"))
					}
					if c.cfg.Header != nil && (h.Get("X-Api-Key") != "") != (want != "") {
						t.Errorf("%s saw a key %q", at, h.Get("X-Api-Key"))
					}
					if c.cfg.Header != nil && h.Get("Accept-Language") != "de" {
						t.Errorf("%s does not know what is wanted", at)
					}
					if h.Get("Referer") != "" {
						t.Errorf("%s saw a referer", at)
					}
				}
			}
		})
	}
}

// TestDowngrade: https to http is followed, without credentials.
func TestDowngrade(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 22}
	var s seen
	open := httptest.NewServer(s.serve(b, nil, 302))
	defer open.Close()
	u := parse(t, open.URL)
	secure := httptest.NewTLSServer(http.RedirectHandler("http://127.0.0.1:"+u.Port()+"/g", http.StatusFound))
	defer secure.Close()
	c := client(t, Config{TLS: secure.Client().Transport.(*http.Transport).TLSClientConfig, User: url.UserPassword("a", "b")})
	defer c.Close()
	if got := must(t, c, parse(t, secure.URL+"/f"), 0, 10); sum(got) != sum(part(t, b, 0, 10)) {
		t.Error("other bytes")
	}
	for _, h := range s.at(u.Host + "/g") {
		if h.Get("Authorization") != "" {
			t.Error("credentials in clear")
		}
	}
}

// TestRequestHeaders: what is ours to say cannot be said by the user's headers.
func TestRequestHeaders(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 24}
	var s seen
	each(t, s.serve(b, nil, 302), func(t *testing.T, c *Client, u *url.URL, _ flavour) {
		c.cfg.Header = http.Header{
			"Range": {"bytes=5-6"}, "Accept-Encoding": {"gzip"}, "Connection": {"close"}, "X-A": {"1", "2"}, "If-Range": {`"x"`},
			"Accept": {"text/plain"},
		}
		u = u.JoinPath("../" + strings.ReplaceAll(t.Name(), "/", "-"))
		if got := must(t, c, u, 10, 20); sum(got) != sum(part(t, b, 10, 20)) {
			t.Error("other bytes")
		}
		for _, h := range s.at(u.Host + u.Path) {
			if h.Get("Range") != "bytes=10-19" || h.Get("Accept-Encoding") != "identity" || h.Get("If-Range") != "" ||
				len(h.Values("X-A")) != 2 || h.Get("User-Agent") != "" || h.Get("Accept") != "text/plain" {
				t.Errorf("%v", h)
			}
		}
	})
}

func TestHostname(t *testing.T) {
	for in, want := range map[string]originKey{
		"http://EXAMPLE.test/":       {"http", "example.test:80"},
		"https://bücher.test:444/":   {"https", "xn--bcher-kva.test:444"},
		"https://[::1]/":             {"https", "[::1]:443"},
		"http://[fe80::1%25eth0]:8/": {"http", "[fe80::1%eth0]:8"},
	} {
		if got := originOf(parse(t, in)); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

// An empty port is none (RFC 3986, 6.2.3), and Apache refuses a Host header with one.
func TestEmptyPort(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 26}
	var s seen
	srv := httptest.NewServer(s.serve(b, nil, 302))
	defer srv.Close()
	c := clientOver(t, Config{}, hosts{"a.test:80": srv.Listener.Addr().String()})
	must(t, c, parse(t, "http://a.test:/f"), 0, 10)
	if len(s.at("a.test/f")) != 1 {
		t.Errorf("seen: %v", s.heads)
	}
}

// A user without a password has the one that netrc has for it, as with curl and wget, and
// an empty one where netrc has another user.
func TestPasswordFromNetrc(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 28}
	for user, want := range map[string]string{
		"a":  "Basic YTpi", // a:b
		"x":  "Basic eDo=", // x:
		"a:": "Basic YTo=", // a:, for it is said to be empty
	} {
		var s seen
		srv := httptest.NewServer(s.serve(b, nil, 302))
		c := clientOver(t, Config{Credentials: netrc{"a.test": "a:b"}}, hosts{"a.test:80": srv.Listener.Addr().String()})
		must(t, c, parse(t, "http://"+user+"@a.test/f"), 0, 10)
		if h := s.at("a.test/f"); len(h) != 1 || h[0].Get("Authorization") != want {
			t.Errorf("%s: %v, want %s", user, h, want)
		}
		c.Close()
		srv.Close()
	}
}

// A path's escapes stay what they are where other bytes of it have to be escaped: %2F is
// no slash (RFC 3986, 2.2).
func TestEscapesOfPathStay(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 27}
	for given, want := range map[string]string{
		"/api/group%2Fproject/a%20b.bin": "/api/group%2Fproject/a%20b.bin",
		"/api/group%2Fproject/a b.bin":   "/api/group%2Fproject/a%20b.bin",
		"/api/group%2Fproject/ü.bin":     "/api/group%2Fproject/%C3%BC.bin",
		"/bucket/a%2Bb ü.bin":            "/bucket/a%2Bb%20%C3%BC.bin",
		"/a%26b{1}.bin":                  "/a%26b%7B1%7D.bin",
	} {
		var asked atomic.Value
		s := newRawServer(t, func(p *peer) {
			for r := p.request(); r != nil; r = p.request() {
				if r.RequestURI == "/start" {
					p.say("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + given + "\r\n\r\n")
					continue
				}
				asked.Store(r.RequestURI)
				p.part(b, 0, 10, "")
			}
		})
		base := "http://" + s.ln.Addr().String()
		for _, u := range []*url.URL{parse(t, base+given), parse(t, base+"/start")} {
			if err := Tidy(u); err != nil { // as the command line does
				t.Fatal(err)
			}
			must(t, client(t, Config{}), u, 0, 10)
			if got := asked.Swap(""); got != want {
				t.Errorf("%q, by way of %s: asked for %q, want %q", given, u.Path, got, want)
			}
		}
	}
}

// A % that begins no escape stands for itself, as browsers, curl and wget have it.
func TestRedirectToAPercentSign(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 20}
	for loc, want := range map[string]string{
		"/100%.zip":        "/100%25.zip",
		"/%20%2x%%41?a=5%": "/%20%252x%25%41?a=5%25",
		"/50%#%":           "/50%25",
		"/%61?a=5%":        "/%61?a=5%", // nothing is wrong with it
	} {
		s := newRawServer(t, func(p *peer) {
			for r := p.request(); r != nil; r = p.request() {
				switch r.RequestURI {
				case "/f":
					p.say("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + loc + "\r\n\r\n")
				case want:
					p.part(b, 0, 10, "")
				default:
					t.Errorf("%s leads to %s", loc, r.RequestURI)
					p.say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
				}
			}
		})
		must(t, client(t, Config{}), s.url(t), 0, 10)
	}
}

// TestSecureAllTheWay: TLS vouches for an answer only where each hop that led to it came over
// TLS, the first time and when it is remembered where they lead.
func TestSecureAllTheWay(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 41}
	next := map[string]string{
		"https://example.com/s":    "https://example.com/s/2",
		"https://example.com/down": "http://clear.test/down",
		"http://clear.test/up":     "https://example.com/up/2",
		"https://example.com/dip":  "http://clear.test/dip",
		"http://clear.test/dip":    "https://example.com/dip/2",
	}
	handler := func(scheme string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if to := next[scheme+"://"+r.Host+r.URL.Path]; to != "" {
				http.Redirect(w, r, to, http.StatusFound)
				return
			}
			serveBody(b).ServeHTTP(w, r)
		})
	}
	inClear := httptest.NewServer(handler("http"))
	defer inClear.Close()
	secure := httptest.NewTLSServer(handler("https"))
	defer secure.Close()
	table := hosts{"example.com:443": secure.Listener.Addr().String(), "clear.test:80": inClear.Listener.Addr().String()}
	roots := secure.Client().Transport.(*http.Transport).TLSClientConfig
	for _, c := range []struct {
		url     string
		blindly bool
		want    bool
	}{
		{"https://example.com/f", false, true},
		{"https://example.com/s", false, true},
		{"http://clear.test/f", false, false},
		{"https://example.com/down", false, false},
		{"http://clear.test/up", false, false},
		{"https://example.com/dip", false, false},
		{"https://example.com/f", true, false},
		{"https://example.com/s", true, false},
	} {
		cfg := Config{TLS: roots.Clone()}
		cfg.TLS.InsecureSkipVerify = c.blindly
		client := clientOver(t, cfg, table)
		for i := range 2 {
			r, err := client.Get(t.Context(), parse(t, c.url), 0, 10)
			if err != nil {
				t.Fatal(c.url, err)
			}
			if r.Secure != c.want {
				t.Errorf("%s, time %d: secure %v", c.url, i+1, r.Secure)
			}
			_ = r.Close()
		}
	}
}
