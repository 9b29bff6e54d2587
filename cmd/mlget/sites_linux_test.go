package main_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/testbody"
)

// siteAt serves a handler at a port of the laboratory's server, until the test's end.
func siteAt(t *testing.T, l *lab, port uint16, h http.HandlerFunc) (base string) {
	t.Helper()
	ln, err := l.Listen(port)
	check(t, err)
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	var serving sync.WaitGroup
	serving.Go(func() { servedWell(t, s.Serve(ln)) })
	t.Cleanup(func() {
		_ = s.Close()
		serving.Wait()
	})
	return fmt.Sprintf("http://192.0.2.1:%d", port)
}

// habit is what a site of the real world asks of who downloads from it.
type habit struct {
	name string
	args []string // without them it is refused
	path string   // of the first site
	code int      // without args
	says string   // without args
}

// TestSitesOverTwoLinks: a login whose cookie a redirect sets, a mirror that wants to know the
// page, a store whose signed URLs end while the file is on its way, a proxy with a password, a
// key in a header that stays at home: over both links.
func TestSitesOverTwoLinks(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1000}, fastWiFi, fastLTE)
	b := testbody.Body{Size: 6_000_000, Seed: 51}
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"it"`)
		http.ServeContent(w, r, "", modified(), b.Reader())
	}
	const cdnPort, proxyPort = 8091, 8092
	cdn := "http://192.0.2.1:" + strconv.Itoa(cdnPort)
	var renewed, expired, leaked atomic.Int64
	sign := func(until string) string {
		mac := hmac.New(sha256.New, []byte("the store's"))
		_, _ = io.WriteString(mac, until)
		return fmt.Sprintf("%x", mac.Sum(nil))
	}
	site := siteAt(t, l, 8090, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/members":
			if c, err := r.Cookie("session"); err != nil || c.Value != "of alice" {
				http.Redirect(w, r, "/login", http.StatusFound)
				return
			}
			serve(w, r)
		case "/login":
			if user, pass, _ := r.BasicAuth(); user != "alice" || pass != password {
				w.Header().Set("Www-Authenticate", `Basic realm="members"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "of alice", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, "/members", http.StatusSeeOther)
		case "/mirrored":
			http.Redirect(w, r, cdn+"/mirror", http.StatusFound)
		case "/signed": // for a third of a second, less than the file takes
			if r.Header.Get("Private-Token") != password {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			renewed.Add(1)
			until := strconv.FormatInt(time.Now().Add(time.Second/3).UnixMilli(), 10)
			http.Redirect(w, r, cdn+"/object?until="+until+"&sig="+sign(until), http.StatusFound)
		default:
			serve(w, r)
		}
	})
	siteAt(t, l, cdnPort, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Private-Token") != "" || r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			leaked.Add(1)
		}
		switch q := r.URL.Query(); r.URL.Path {
		case "/mirror":
			if r.Header.Get("Referer") != "http://192.0.2.1/downloads.html" {
				http.Error(w, "no deep links", http.StatusForbidden)
				return
			}
		case "/object":
			until, _ := strconv.ParseInt(q.Get("until"), 10, 64)
			if q.Get("sig") != sign(q.Get("until")) || time.Now().UnixMilli() > until {
				expired.Add(1)
				http.Error(w, "expired", http.StatusForbidden)
				return
			}
			// No request takes longer than the URL is good for.
			w = &slowly{ResponseWriter: w, pause: 20 * time.Millisecond, most: 300_000}
		}
		serve(w, r)
	})
	siteAt(t, l, proxyPort, func(w http.ResponseWriter, r *http.Request) {
		if user, pass, _ := parseBasic(r.Header.Get("Proxy-Authorization")); user != "bob" || pass != password {
			w.Header().Set("Proxy-Authenticate", `Basic realm="way out"`)
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		serve(w, r) // what is asked for is here as well
	})
	proxy := "http://192.0.2.1:" + strconv.Itoa(proxyPort)
	for _, h := range []habit{
		{"login", []string{"-u", "alice:" + password}, "/members", 6, "401 Unauthorized; it wants Basic"},
		{"referer", []string{"-e", "http://192.0.2.1/downloads.html"}, "/mirrored", 8, "403 Forbidden"},
		{"signed", []string{"-H", "Private-Token: " + password}, "/signed", 8, "403 Forbidden"},
		{"proxy", []string{"-x", proxy, "--proxy-user", "bob:" + password}, "/plain", 6, "407 Proxy Authentication Required"},
	} {
		t.Run(h.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := []string{"-o", out, "--report", out + ".json", "--record", out + ".jsonl", site + h.path}
			without := args
			if h.name == "proxy" {
				without = append([]string{"-x", proxy}, args...)
			}
			l.mlget(t, without...).want(t, h.code, h.says)
			l.mlget(t, append(h.args, args...)...).want(t, 0)
			sum, err := os.ReadFile(out)
			check(t, err)
			if have := fmt.Sprintf("%x", sha256.Sum256(sum)); have != b.SHA256() {
				t.Error("it is not the file")
			}
			if r := readReport(t, out+".json"); carriers(r) != 2 {
				t.Errorf("over %d links", carriers(r))
			}
			check(t, noPassword(filepath.Dir(out)))
		})
	}
	t.Run("conditions", func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "plain")
		l.mlget(t, "-N", "-P", dir, site+"/plain").want(t, 0)
		l.mlget(t, "-N", "-P", dir, site+"/plain").want(t, 0, "not newer than .*plain, which is left")
		l.mlget(t, "-z", file, "-o", file, site+"/plain").want(t, 0, "not changed since")
		check(t, os.Truncate(file, 1000))
		l.mlget(t, "-N", "-P", dir, "--report", file+".json", site+"/plain").want(t, 0)
		fi, err := os.Stat(file)
		check(t, err)
		if r := readReport(t, file+".json"); fi.Size() != b.Size || !fi.ModTime().Equal(modified()) || carriers(r) != 2 {
			t.Errorf("%d bytes of %v over %d links", fi.Size(), fi.ModTime(), carriers(r))
		}
	})
	if renewed.Load() < 3 || leaked.Load() > 0 {
		t.Errorf("the URL was signed %d times, for %d that were over; the store saw %d secrets", renewed.Load(), expired.Load(), leaked.Load())
	}
}

// parseBasic reads the credentials of a header.
func parseBasic(header string) (user, pass string, ok bool) {
	return (&http.Request{Header: http.Header{"Authorization": {header}}}).BasicAuth()
}

// slowly is an answer whose body pauses, and is cut off at the most.
type slowly struct {
	http.ResponseWriter
	pause time.Duration
	most  int
}

func (s *slowly) Write(p []byte) (int, error) {
	if s.most -= len(p); s.most < 0 {
		return 0, net.ErrClosed
	}
	time.Sleep(s.pause)
	return s.ResponseWriter.Write(p)
}

// Unwrap lets the server's own writer be reached.
func (s *slowly) Unwrap() http.ResponseWriter { return s.ResponseWriter }
