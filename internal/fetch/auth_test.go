package fetch

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mccutchen/go-httpbin/v2/httpbin"

	"github.com/mlget/mlget/internal/testbody"
)

// digestServer accepts correct answers to its challenge, as go-httpbin judges them: an
// implementation that shares no code with ours. It counts requests, and those with Basic.
func digestServer(t *testing.T, algorithm string, b testbody.Body) (s *httptest.Server, requests, basic func() int) {
	t.Helper()
	var mu sync.Mutex
	n, basics := 0, 0
	judge := httpbin.New()
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		if strings.HasPrefix(r.Header.Get("Authorization"), "Basic") {
			basics++
		}
		mu.Unlock()
		asked := httptest.NewRecorder()
		judge.ServeHTTP(asked, r)
		if asked.Code != http.StatusOK {
			w.Header().Add("WWW-Authenticate", `Negotiate`)
			for _, v := range asked.Header()["Www-Authenticate"] {
				w.Header().Add("WWW-Authenticate", v)
			}
			w.WriteHeader(asked.Code)
			return
		}
		serveBody(b).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	s.URL += "/digest-auth/auth/al%20ice/s3cret/" + algorithm
	count := func(p *int) func() int {
		return func() int { mu.Lock(); defer mu.Unlock(); return *p }
	}
	return s, count(&n), count(&basics)
}

func TestDigest(t *testing.T) {
	b := testbody.Body{Size: 100_000, Seed: 22}
	for _, algorithm := range []string{"MD5", "SHA-256"} {
		for _, only := range []bool{true, false} {
			s, requests, basic := digestServer(t, algorithm, b)
			c := client(t, Config{User: url.UserPassword("al ice", "s3cret"), OnlyDigest: only})
			for range 3 {
				if got := must(t, c, parse(t, s.URL), 10, 20_000); sum(got) != sum(part(t, b, 10, 20_000)) {
					t.Fatal("other bytes")
				}
			}
			if requests() != 4 {
				t.Errorf("%s: %d requests: the challenge is to be answered once, and its answer kept", algorithm, requests())
			}
			if sent := basic(); only != (sent == 0) {
				t.Errorf("%s: only digest: %v, %d requests bore the password in clear", algorithm, only, sent)
			}
		}
		s, requests, _ := digestServer(t, algorithm, b)
		e := mustFail(t, client(t, Config{User: url.UserPassword("al ice", "wrong")}), parse(t, s.URL), 0, 1)
		if e.Class != Auth || e.Status != 401 || requests() != 2 {
			t.Errorf("%s, wrong password: %v: %v after %d requests", algorithm, e.Class, e, requests())
		}
	}
}

// A nonce whose time is over is replaced, though it was answered well.
func TestDigestWithStaleNonce(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 23}
	nonces := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if nonces++; nonces != 3 && nonces != 5 {
			w.Header().Set("WWW-Authenticate", `Digest realm="r", nonce="n`+strings.Repeat("x", nonces)+`", qop="auth", stale=true`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if !strings.Contains(r.Header.Get("Authorization"), `nonce="n`+strings.Repeat("x", nonces-1)+`"`) {
			t.Errorf("request %d has %s", nonces, r.Header.Get("Authorization"))
		}
		serveBody(b).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c := client(t, Config{User: url.UserPassword("u", "p"), OnlyDigest: true})
	for range 2 {
		must(t, c, parse(t, s.URL+"/f"), 0, 10)
	}
}

// What a redirect leads to elsewhere gets no answer to its challenge.
func TestDigestStaysWithItsOrigin(t *testing.T) {
	var bore atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Authorization"]) > 0 {
			bore.Store(true)
		}
		w.Header().Set("WWW-Authenticate", `Digest realm="r", nonce="n"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.RedirectHandler(other.URL+"/f", http.StatusFound))
	t.Cleanup(s.Close)
	e := mustFail(t, client(t, Config{User: url.UserPassword("u", "p")}), parse(t, s.URL+"/f"), 0, 1)
	if e.Class != Auth || bore.Load() {
		t.Errorf("%v; Authorization sent: %v", e, bore.Load())
	}
}

func TestUnauthorizedNamesTheSchemes(t *testing.T) {
	for header, want := range map[string]string{
		`Negotiate, Digest realm="r", nonce="n"`: "server answered 401 Unauthorized; it wants Negotiate or Digest authentication",
		`Bearer realm="r"`:                       "server answered 401 Unauthorized; it wants Bearer authentication",
		"":                                       "server answered 401 Unauthorized",
		strings.Repeat("x", 50):                  "server answered 401 Unauthorized",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", header)
			w.WriteHeader(http.StatusUnauthorized)
		}))
		if e := mustFail(t, client(t, Config{}), parse(t, s.URL+"/f"), 0, 1); e.Error() != want {
			t.Errorf("%q: %v, want %s", header, e, want)
		}
		s.Close()
	}
}

// The judge of these tests lets curl in.
func TestDigestJudge(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	s, _, _ := digestServer(t, "SHA-256", testbody.Body{Size: 10})
	if out, err := exec.Command(curl, "-sSf", "--digest", "-u", "al ice:s3cret", s.URL).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
