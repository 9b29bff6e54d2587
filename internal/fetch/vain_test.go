package fetch

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// unwanted serves an object, and responses with unwanted bodies: of an error, of a redirect to
// the object, and the whole object where a range was requested.
func unwanted(b testbody.Body, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/error":
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.WriteHeader(http.StatusNotFound)
		case "/redirect":
			w.Header().Set("Location", "/object")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.WriteHeader(http.StatusFound)
		case "/lengthless":
			w.WriteHeader(http.StatusNotFound)
			_ = http.NewResponseController(w).Flush()
		default:
			serveBody(b).ServeHTTP(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	})
}

// TestUnwantedBodiesAreCounted: a body costs the link what it costs, whatever the status that
// comes with it.
func TestUnwantedBodiesAreCounted(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 31}
	body := strings.Repeat("x", 10_000)
	each(t, unwanted(b, body), func(t *testing.T, c *Client, u *url.URL, fl flavour) {
		want := int64(0)
		for _, path := range []string{"/error", "/redirect", "/lengthless", "/redirect"} {
			at := *u
			at.Path = path
			if r, err := c.Get(t.Context(), &at, 0, 1000); err == nil {
				if got, err := io.ReadAll(r); err != nil || sum(got) != b.SHA256() {
					t.Errorf("%s: %d bytes, %v", path, len(got), err)
				}
				_ = r.Close()
			}
			want += int64(len(body))
			if path == "/redirect" && want > 25_000 {
				want -= int64(len(body)) // it is remembered where that leads
			}
		}
		at := *u
		at.Path = "/object"
		must(t, c, &at, 0, 1000) // over HTTP/2 it comes behind what was not wanted
		got := c.Vain()
		if log := c.trace.(*connLog); log.vain.Load() != got {
			t.Errorf("%s: %d bytes came in vain, the trace was told of %d", fl.name, got, log.vain.Load())
		}
		reset := fl.proto == "2" // which keeps the server from sending what it has not sent yet
		if got != want && !reset || got <= 0 || got > want {
			t.Errorf("%s: %d bytes came in vain, want %d", fl.name, got, want)
		}
	})
}

// TestUnwantedBodiesBeyondTheCapAreNotRead: what a link has no bytes to spare for is not read to save
// a connection; what came by itself meanwhile counts.
func TestUnwantedBodiesBeyondTheCapAreNotRead(t *testing.T) {
	const spare = 5000
	b := testbody.Body{Size: 1000, Seed: 32}
	for _, path := range []string{"/error", "/lengthless"} {
		each(t, unwanted(b, strings.Repeat("x", 60_000)), func(t *testing.T, c *Client, u *url.URL, fl flavour) {
			if fl.proto != "1.1" {
				return
			}
			log := c.trace.(*connLog)
			log.spare.Store(spare)
			at := *u
			at.Path = path
			for range 2 {
				if r, err := c.Get(t.Context(), &at, 0, 1000); err == nil {
					t.Fatal(r)
				}
			}
			if n := connections(c); n != 2 {
				t.Errorf("%s, %s: %d connections", fl.name, path, n)
			}
			if got := log.vain.Load(); got == 0 {
				t.Errorf("%s, %s: nothing came", fl.name, path)
			}
		})
	}
}
