package fetch

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// loginServer redirects to a page that gives a session's cookie and sends back, as many
// download sites do; without the cookie there is no file.
func loginServer(b testbody.Body) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("sid")
		switch {
		case r.URL.Path == "/login":
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "s3cret", Path: "/", HttpOnly: true})
			http.Redirect(w, r, "/f", http.StatusFound)
		case err != nil || c.Value != "s3cret":
			http.Redirect(w, r, "/login", http.StatusFound)
		default:
			serveBody(b).ServeHTTP(w, r)
		}
	})
}

func TestCookieSetByRedirectIsSentOverAllLinks(t *testing.T) {
	b := testbody.Body{Size: 100_000, Seed: 21}
	for _, fl := range flavours() {
		t.Run(fl.name, func(t *testing.T) {
			var mu sync.Mutex
			logins := 0
			s := fl.server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/login" {
					mu.Lock()
					logins++
					mu.Unlock()
				}
				loginServer(b).ServeHTTP(w, r)
			}))
			cfg := fl.config(s)
			cfg.Cookies, _ = cookiejar.New(nil)
			for range 2 { // links
				c := client(t, cfg)
				for range 3 {
					if got := must(t, c, parse(t, s.URL+"/f"), 10, 20_000); sum(got) != sum(part(t, b, 10, 20_000)) {
						t.Fatal("other bytes")
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if logins != 1 {
				t.Errorf("%d logins", logins)
			}
		})
	}
}

// fullJar gives more cookies than a header should have.
type fullJar struct{ cookies []*http.Cookie }

func (j fullJar) Cookies(*url.URL) []*http.Cookie   { return j.cookies }
func (fullJar) SetCookies(*url.URL, []*http.Cookie) {}

func TestCookieHeader(t *testing.T) {
	var got atomic.Value // of string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(strings.Join(r.Header["Cookie"], "|"))
		_, _ = w.Write([]byte("x"))
	}))
	t.Cleanup(s.Close)
	jar := fullJar{[]*http.Cookie{{Name: "a", Value: "1 2"}, {Name: "b", Value: "3", Quoted: true}}}
	c := client(t, Config{Cookies: jar, Header: http.Header{"Cookie": {"c=4; d=5"}}})
	must(t, c, parse(t, s.URL+"/f"), 0, -1)
	if want := `a=1 2; b="3"; c=4; d=5`; got.Load() != want { // the order is curl's
		t.Errorf("Cookie: %s, want %s", got.Load(), want)
	}
	jar.cookies = nil
	for range 30 {
		jar.cookies = append(jar.cookies, &http.Cookie{Name: "a", Value: strings.Repeat("x", 1000)})
	}
	must(t, client(t, Config{Cookies: jar}), parse(t, s.URL+"/f"), 0, -1)
	if n := len(got.Load().(string)); n < 7000 || n > 8190 { // curl's limit, below those of most servers
		t.Errorf("a header of %d bytes", n)
	}
}
