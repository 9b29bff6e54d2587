package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

// TestFailingServerIsAskedThreeTimes: an answer that says that the server has failed mostly
// comes again, and before a file's first byte there are three of them in all.
func TestFailingServerIsAskedThreeTimes(t *testing.T) {
	t.Parallel()
	for _, code := range []int{408, 500, 502, 503, 504} {
		for links := 1; links <= 2; links++ {
			t.Run(fmt.Sprint(code, " over ", links), timeless(func(t *bubble) {
				o := newObject(mib)
				o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
					w.WriteHeader(code)
					return true
				}
				r := newRig(t, []*testLink{{name: "a"}, {name: "b", latency: 3 * time.Millisecond}}[:links]...)
				r.cfg.Tries, r.cfg.ErrorTries = 20, 3
				got := r.get(at(t, serve(t, o), "", "/f"))
				got.class(fetch.Busy)
				if n := o.requests.Load(); n < 3 || n > int64(2+links) { // that of the other link may be on its way
					t.Errorf("it was asked %d times", n)
				}
			}))
		}
	}
	for _, c := range []struct {
		name   string
		code   int
		header string
	}{{"too many requests", 429, ""}, {"busy for a while", 503, "1"}} {
		t.Run(c.name, timeless(func(t *bubble) {
			o := newObject(mib)
			o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				if n <= 7 {
					w.WriteHeader(c.code)
				}
				return n <= 7
			}
			r := newRig(t, &testLink{name: "a"})
			r.cfg.Tries, r.cfg.ErrorTries = 20, 3
			r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		}))
	}
	t.Run("after the first byte", timeless(func(t *bubble) {
		o := newObject(8 * mib)
		failing := 0
		o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if off, _ := asked(r); off == 0 || failing == 6 {
				return false
			}
			failing++
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		r := newRig(t, &testLink{name: "a", rate: mib})
		r.cfg.Tries, r.cfg.ErrorTries = 20, 3
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
	}))
	t.Run("over one link, the other is slow", timeless(func(t *bubble) {
		o := newObject(mib / 2) // each piece that its server writes takes 6 s
		bad := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
		r := newRig(t, &testLink{name: "a", to: bad.Listener.Addr().String()}, &testLink{name: "b", latency: 6 * time.Second})
		r.cfg.Tries, r.cfg.ErrorTries = 20, 3
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
	}))
	t.Run("links that fail do not count", timeless(func(t *bubble) {
		o := newObject(mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n <= 7 {
				hijack(w)
			}
			return n <= 7
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries, r.cfg.ErrorTries = 20, 3
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
	}))
	t.Run("once", timeless(func(t *bubble) {
		o := newObject(mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries, r.cfg.ErrorTries = 1, 1
		got := r.get(at(t, serve(t, o), "", "/f"))
		if n := o.requests.Load(); n != 1 || strings.Contains(got.err.Error(), "tries") {
			t.Errorf("it was asked %d times, %v", n, got.err)
		}
	}))
}

// TestBatchFailingServerIsAskedThreeTimes: the same of one file of many, of all of them, and
// over links of which one has a server that works.
func TestBatchFailingServerIsAskedThreeTimes(t *testing.T) {
	t.Parallel()
	failing := func(code int, which func(o *object) bool) *shop {
		return &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			if which(o) {
				w.WriteHeader(code)
			}
			return which(o)
		}}
	}
	for _, tries := range []int{1, 3} {
		for _, code := range []int{500, 502, 504} {
			for name, which := range map[string]func(o *object) bool{
				"one":  func(o *object) bool { return o.body.Seed == 3 },
				"some": func(o *object) bool { return o.body.Seed%3 == 0 },
				"all":  func(*object) bool { return true },
			} {
				t.Run(fmt.Sprint(name, " of many, ", code, ", ", tries), timeless(func(t *bubble) {
					sh := failing(code, which)
					r := newRig(t, &testLink{name: "a", rate: 4 * mib})
					r.cfg.Tries, r.cfg.ErrorTries = 20, tries
					if tries == 1 {
						r.cfg.Tries = 1
					}
					wares := mixed(serve(t, sh), 12, false)
					h := r.haul(t.Context(), Batch{}, wares...)
					for i := range wares {
						if !which(objectAt(wares[i].path)) {
							h.has(i)
							continue
						}
						if err := h.errs[event.FileID(i)]; classOf(err) != fetch.Busy {
							t.Errorf("file %d: %v", i, err)
						}
						if n := sh.times(wares[i].path); n != tries {
							t.Errorf("file %d was asked for %d times", i, n)
						}
					}
				}))
			}
		}
	}
	t.Run("over one link", timeless(func(t *bubble) {
		bad := failing(500, func(*object) bool { return true })
		r := newRig(t, &testLink{name: "a", to: serve(t, bad).Listener.Addr().String()}, &testLink{name: "b", latency: 100 * time.Millisecond})
		r.cfg.Tries, r.cfg.ErrorTries = 20, 3
		wares := mixed(serve(t, &shop{}), 20, false)
		r.haul(t.Context(), Batch{}, wares...).right()
		for i := range wares {
			if n := bad.times(wares[i].path); n > 3 {
				t.Errorf("file %d was asked for %d times", i, n)
			}
		}
	}))
	t.Run("over both links", timeless(func(t *bubble) {
		sh := failing(500, func(*object) bool { return true })
		r := newRig(t)
		r.cfg.Tries, r.cfg.ErrorTries = 20, 3
		wares := mixed(serve(t, sh), 20, false)
		r.haul(t.Context(), Batch{}, wares...)
		for i := range wares {
			if n := sh.times(wares[i].path); n < 1 || n > 4 {
				t.Errorf("file %d was asked for %d times", i, n)
			}
		}
	}))
}

// TestTLSThatIsNotSpokenIsNotTriedAgain: who ends the connection when a handshake begins does
// not speak TLS, and will not the next time.
func TestTLSThatIsNotSpokenIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says string
		most int64
	}{
		"hangs up":        {"", 3},
		"a short word":    {"no\n", 3},
		"speaks HTTP":     {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", 1},
		"speaks HTML":     {"<html><body>Bad request</body></html>\n", 1},
		"greets with SSH": {"SSH-2.0-OpenSSH_9.6\r\n", 1},
	} {
		for _, files := range []int{1, 5} {
			t.Run(fmt.Sprint(name, ", files: ", files), timeless(func(t *bubble) {
				ln, err := listen(t, "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer ln.Close() //nolint:errcheck // the test ends
				go func() {
					for {
						conn, err := ln.Accept()
						if err != nil {
							return
						}
						go func() {
							_, _ = conn.Read(make([]byte, 4096))
							_, _ = conn.Write([]byte(c.says))
							_ = conn.Close()
						}()
					}
				}()
				r := newRig(t, &testLink{name: "a"})
				r.cfg.Tries, r.cfg.ErrorTries = 20, 3
				server := &httptest.Server{URL: "https://" + ln.Addr().String()}
				var errs []error
				if files == 1 {
					errs = append(errs, r.get(at(t, server, "", "/f")).err)
				} else {
					h := r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: server, size: 1000}}, files)...)
					for i := range files {
						errs = append(errs, h.errs[event.FileID(i)])
					}
				}
				for _, err := range errs {
					if err == nil || !strings.Contains(err.Error(), "does not speak TLS") && !strings.Contains(err.Error(), "ended the connection") {
						t.Errorf("the error is %v", err)
					}
				}
				if n := r.nets[0].dials.Load(); n > c.most*int64(files) {
					t.Errorf("%d connections for %d files", n, files)
				}
			}))
		}
	}
}
