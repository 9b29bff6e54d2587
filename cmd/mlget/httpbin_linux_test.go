package main_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand" //nolint:depguard // httpbin makes its bytes with it
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"

	"github.com/mlget/mlget/internal/linklab"
)

// startHTTPBin serves httpbin in the lab, in clear and over TLS.
func startHTTPBin(t *testing.T, l *lab) (plain, secure string) {
	t.Helper()
	speaks := &http.Protocols{}
	speaks.SetHTTP1(true)
	speaks.SetHTTP2(true)
	speaks.SetUnencryptedHTTP2(true)
	s := &http.Server{
		Protocols:         speaks,
		Handler:           httpbin.New(httpbin.WithMaxBodySize(1<<30), httpbin.WithMaxDuration(time.Minute)),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{l.Certificate()}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // clients that hang up
	}
	var serving sync.WaitGroup
	for port, serve := range map[uint16]func() error{
		clearPort: func() error {
			ln, err := l.Listen(clearPort)
			if err != nil {
				return err
			}
			serving.Go(func() { servedWell(t, s.Serve(ln)) })
			return nil
		},
		securePort: func() error {
			ln, err := l.Listen(securePort)
			if err != nil {
				return err
			}
			serving.Go(func() { servedWell(t, s.ServeTLS(ln, "", "")) })
			return nil
		},
	} {
		if err := serve(); err != nil {
			t.Fatalf("port %d: %v", port, err)
		}
	}
	t.Cleanup(func() {
		_ = s.Close() // what is in progress is given up
		serving.Wait()
	})
	return fmt.Sprintf("http://192.0.2.1:%d", clearPort), fmt.Sprintf("https://192.0.2.1:%d", securePort)
}

func servedWell(t *testing.T, err error) {
	if !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// alphabet is the object of /range/N, a to z again and again. Its period has a
// factor that no block's size has, so blocks in wrong places are seen.
func alphabet(n int) []byte {
	return bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)[:n]
}

// dice is the object of /bytes/N and /stream-bytes/N for a seed, as httpbin throws it.
func dice(seed int64, n int) []byte {
	rng := rand.New(rand.NewSource(seed)) //nolint:gosec // it is to be the same
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Intn(256))
	}
	return b
}

// TestHTTPBin downloads what go-httpbin has to offer over two links: ranges with an
// ETag that lacks its quotes, objects without ranges, without a length, that drip, that
// come late, behind redirects, behind a password; and what it refuses.
func TestHTTPBin(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1000, TLS: true}, fastWiFi, fastLTE)
	plain, secure := startHTTPBin(t, l)
	const large, small = 8_000_001, 50_001
	for _, p := range []protocol{
		{"HTTP 1.1 in clear", plain, "1.1", nil},
		{"HTTP 1.1 over TLS", secure, "1.1", []string{"--http1.1", "--cacert", l.CA()}},
		{"HTTP 2 over TLS", secure, "2", []string{"--cacert", l.CA()}},
		{"HTTP 2 in clear", plain, "2", []string{"--http2-prior-knowledge"}},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				path  string
				args  []string
				links int // that carried bytes; 0: any number
				want  []byte
			}{
				{path: fmt.Sprint("/range/", large), links: 2, want: alphabet(large)},
				{path: fmt.Sprint("/range/", large, "?duration=1s"), want: alphabet(large)},
				{path: fmt.Sprint("/redirect-to?url=/range/", large), links: 2, want: alphabet(large)},
				{path: fmt.Sprint("/range/", small), want: alphabet(small)},
				{path: "/range/1", want: alphabet(1)},
				{path: fmt.Sprint("/bytes/", small, "?seed=7"), links: 1, want: dice(7, small)},
				{path: fmt.Sprint("/stream-bytes/", small, "?seed=8&chunk_size=333"), links: 1, want: dice(8, small)},
				{path: "/bytes/0", want: nil},
				{path: "/drip?numbytes=200&duration=1&delay=0.2", links: 1, want: bytes.Repeat([]byte("*"), 200)},
			} {
				t.Run(c.path, func(t *testing.T) {
					out := filepath.Join(t.TempDir(), "out")
					report := out + ".json"
					l.mlget(t, append(p.args, "-o", out, "--report", report, p.url+c.path)...).want(t, 0)
					have, err := os.ReadFile(out)
					check(t, err)
					if !bytes.Equal(have, c.want) {
						t.Errorf("%d bytes, not the %d that were wanted", len(have), len(c.want))
					}
					if r := readReport(t, report); r.HTTP != p.http || c.links > 0 && carriers(r) != c.links {
						t.Errorf("HTTP %q over %d links, want %q over %d", r.HTTP, carriers(r), p.http, c.links)
					}
				})
			}
			for _, c := range []struct {
				path string
				args []string
				code int
				says string
			}{
				{"/get", nil, 0, ""},
				{"/etag/abc", nil, 0, ""},
				{"/delay/1", nil, 0, ""},
				{"/redirect/5", nil, 0, ""},
				{"/absolute-redirect/5", nil, 0, ""},
				{"/redirect/25", nil, 7, "redirects"},
				{"/trailers?x-one=two", nil, 0, ""},
				{"/stream/20", nil, 0, ""},
				{"/status/404", nil, 8, "404"},
				{"/status/403", nil, 8, "403"},
				{"/status/418", nil, 8, "418"},
				{"/status/503", []string{"-t", "2"}, 8, "503"},
				{"/status/204", nil, 7, "204"},
				{"/basic-auth/alice/sesame", nil, 6, "401"},
				{"/basic-auth/alice/sesame", []string{"-u", "alice:sesame"}, 0, ""},
				{"/gzip", nil, 0, ""},
				{"/deflate", nil, 0, ""},
			} {
				t.Run(c.path, func(t *testing.T) {
					out := filepath.Join(t.TempDir(), "out")
					args := append(append(p.args, c.args...), "-o", out, p.url+c.path)
					r := l.mlget(t, args...)
					if c.code == 0 {
						r.want(t, 0)
					} else {
						r.want(t, c.code, "^mlget: .*"+c.says)
					}
					if _, err := os.Stat(out); (err == nil) != (c.code == 0) {
						t.Errorf("exit %d, and the file: %v", r.code, err)
					}
				})
			}
		})
	}
}
