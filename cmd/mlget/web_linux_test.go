package main_test

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/testbody"
)

// webBody is what startWeb's server has.
func webBody() testbody.Body { return testbody.Body{Size: 8_000_001, Seed: 51} }

// startWeb serves the lab's links by a handler that may refuse; what it lets pass is webBody.
func startWeb(t *testing.T, l *lab, lets func(http.ResponseWriter, *http.Request) bool) (url string) {
	t.Helper()
	s := &http.Server{
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if lets(w, r) {
				w.Header().Set("Etag", `"v1"`)
				http.ServeContent(w, r, "f.bin", modified(), webBody().Reader())
			}
		}),
	}
	ln, err := l.Listen(clearPort)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { servedWell(t, s.Serve(ln)) })
	t.Cleanup(func() {
		_ = s.Close()
		serving.Wait()
	})
	return fmt.Sprintf("http://192.0.2.1:%d", clearPort)
}

// fetchWeb downloads webBody over both links.
func (l *lab) fetchWeb(t *testing.T, args ...string) {
	t.Helper()
	l.mlget(t, append([]string{"-o", "web.bin", "--report", "report.json"}, args...)...).want(t, 0)
	got, err := os.ReadFile(filepath.Join(l.dir, "web.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(got)); sum != webBody().SHA256() {
		t.Fatal("other bytes")
	}
	if n := carriers(readReport(t, filepath.Join(l.dir, "report.json"))); n != 2 {
		t.Errorf("%d links carried bytes", n)
	}
	_ = os.Remove(filepath.Join(l.dir, "web.bin"))
}

// TestLoginCookieOverTwoLinks: the cookie that one link's redirect has set serves the other.
func TestLoginCookieOverTwoLinks(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1000}, fastWiFi, fastLTE)
	var mu sync.Mutex
	logins := 0
	url := startWeb(t, l, func(w http.ResponseWriter, r *http.Request) bool {
		c, err := r.Cookie("sid")
		switch {
		case r.URL.Path == "/login":
			mu.Lock()
			logins++
			mu.Unlock()
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "s", Path: "/"})
			http.Redirect(w, r, "/f.bin", http.StatusFound)
		case err != nil || c.Value != "s":
			http.Redirect(w, r, "/login", http.StatusFound)
		default:
			return true
		}
		return false
	})
	l.fetchWeb(t, "--save-cookies", "jar", url+"/f.bin")
	mu.Lock()
	first := logins
	mu.Unlock()
	if first < 1 || first > 2 { // the links begin at the same time
		t.Errorf("%d logins", first)
	}
	l.fetchWeb(t, "-b", "jar", url+"/f.bin")
	mu.Lock()
	defer mu.Unlock()
	if logins != first {
		t.Errorf("%d logins with the cookies of the run before", logins-first)
	}
}

// TestDigestOverTwoLinks: go-httpbin, which shares no code with mlget, judges the answers to
// its challenges.
func TestDigestOverTwoLinks(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1000}, fastWiFi, fastLTE)
	judge := httpbin.New()
	url := startWeb(t, l, func(w http.ResponseWriter, r *http.Request) bool {
		judged := httptest.NewRecorder()
		judge.ServeHTTP(judged, r)
		if judged.Code != http.StatusOK {
			w.Header()["WWW-Authenticate"] = judged.Header()["Www-Authenticate"]
			w.WriteHeader(judged.Code)
			return false
		}
		return true
	})
	for _, algorithm := range []string{"MD5", "SHA-256"} {
		l.fetchWeb(t, "-u", "alice:s3cret", "--digest", url+"/digest-auth/auth/alice/s3cret/"+algorithm)
	}
	got := l.mlget(t, "-u", "alice:other", url+"/digest-auth/auth/alice/s3cret/MD5")
	got.want(t, 6)
	if !strings.Contains(got.stderr, "it wants Digest authentication") {
		t.Error(got.stderr)
	}
}

// TestGlobsOverTwoLinks: what a pattern stands for is one job, for which all links work.
func TestGlobsOverTwoLinks(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1000}, fastWiFi, fastLTE)
	url := startWeb(t, l, func(http.ResponseWriter, *http.Request) bool { return true })
	l.mlget(t, "-o", "web#1.bin", "--report", "report.json", url+"/[1-3]").want(t, 0)
	for _, name := range []string{"web1.bin", "web2.bin", "web3.bin"} {
		got, err := os.ReadFile(filepath.Join(l.dir, name))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(got)) != webBody().SHA256() {
			t.Errorf("%s: %v, %d bytes", name, err, len(got))
		}
	}
	if n := carriers(readReport(t, filepath.Join(l.dir, "report.json"))); n != 2 {
		t.Errorf("%d links carried bytes", n)
	}
}

// TestDataIsSentOnceOverTwoLinks: what a form does must not be done twice.
func TestDataIsSentOnceOverTwoLinks(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1000}, fastWiFi, fastLTE)
	var mu sync.Mutex
	posts := 0
	url := startWeb(t, l, func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			posts++
		}
		r.Header.Del("Range")
		return true
	})
	l.mlget(t, "-d", "a=1", "-o", "web.bin", url+"/f.bin").want(t, 0)
	got, err := os.ReadFile(filepath.Join(l.dir, "web.bin"))
	if err != nil || fmt.Sprintf("%x", sha256.Sum256(got)) != webBody().SHA256() {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	mu.Lock()
	defer mu.Unlock()
	if posts != 1 {
		t.Errorf("%d requests", posts)
	}
}

// TestChosenFilesOverTwoLinks: of a tree what is wanted comes, over both links.
func TestChosenFilesOverTwoLinks(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1000}, fastWiFi, fastLTE)
	url := startWeb(t, l, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = w.Write([]byte("User-agent: mlget\nDisallow: /set/no.bin\n"))
			return false
		case "/set/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<a href="one.bin">1</a> <a href="two.bin">2</a> <a href="no.bin">3</a> <a href="x.txt">4</a>`))
			return false
		}
		return true
	})
	l.mlget(t, "-r", "-A", "bin", "--report", "report.json", "-P", "tree", url+"/set/").want(t, 0)
	got := filesBelow(t, filepath.Join(l.dir, "tree"))
	if len(got) != 2 || got["one.bin"] != webBody().SHA256() || got["two.bin"] != webBody().SHA256() {
		t.Errorf("%q", got)
	}
	if n := carriers(readReport(t, filepath.Join(l.dir, "report.json"))); n != 2 {
		t.Errorf("%d links carried bytes", n)
	}
}
