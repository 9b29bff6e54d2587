package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// TestTargetExpires: a remembered target that says no leads back to the original.
func TestTargetExpires(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 23}
	for _, code := range []int{400, 401, 403, 404, 410, 422} {
		var mu sync.Mutex
		version, asked := 1, 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.URL.Path == "/f" {
				asked++
				http.Redirect(w, r, fmt.Sprintf("/signed/%d", version), http.StatusFound)
				return
			}
			if r.URL.Path != fmt.Sprintf("/signed/%d", version) {
				w.WriteHeader(code)
				return
			}
			serveBody(b).ServeHTTP(w, r)
		}))
		c := client(t, Config{})
		u := parse(t, srv.URL+"/f")
		for i := range 3 {
			if got := must(t, c, u, 0, 1000); sum(got) != b.SHA256() {
				t.Error("other bytes")
			}
			if i == 1 {
				mu.Lock()
				version++
				mu.Unlock()
			}
		}
		mu.Lock()
		if asked != 2 {
			t.Errorf("%d: original asked %d times", code, asked)
		}
		version = -1
		mu.Unlock()
		c.Close()
		srv.Close()
	}
}

// TestFreshTargetIsUsedUp: a signed URL is good for a few requests, and those that
// found the one before expired use up the next one together.
func TestFreshTargetIsUsedUp(t *testing.T) {
	const good, clients = 3, 8
	b := testbody.Body{Size: 1000, Seed: 24}
	var mu sync.Mutex
	version, used := 1, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/f" {
			http.Redirect(w, r, fmt.Sprintf("/signed/%d", version), http.StatusFound)
			return
		}
		if r.URL.Path != fmt.Sprintf("/signed/%d", version) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if used++; used > good {
			version, used = version+1, 0
			w.WriteHeader(http.StatusForbidden)
			return
		}
		serveBody(b).ServeHTTP(w, r)
	}))
	defer srv.Close()
	c := client(t, Config{})
	u := parse(t, srv.URL+"/f")
	must(t, c, u, 0, 10)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			r, err := c.Get(t.Context(), u, 0, 1000)
			if err != nil {
				t.Error(err)
				return
			}
			_ = r.Close() // its header is what counts
		})
	}
	wg.Wait()
}

// A mirror that stops answering is left when that has happened twice, one after the other:
// the URL may lead to another one. One failure is none.
func TestMirrorStopsAnswering(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 24}
	for how, answer := range map[string]func(*peer){
		"hangs up": func(*peer) {},
		"busy":     func(p *peer) { p.say(lines("HTTP/1.1 503 Down", "Content-Length: 0")) },
	} {
		t.Run(how, func(t *testing.T) {
			var sick atomic.Int64 // how many requests of the first mirror fail
			var well, asked atomic.Int64
			first := newRawServer(t, func(p *peer) {
				for r := p.request(); r != nil; r = p.request() {
					if sick.Add(-1) >= 0 {
						answer(p)
						return
					}
					off, end := ranged(r)
					p.part(b, off, end, "")
				}
			})
			second := newRawServer(t, func(p *peer) {
				for r := p.request(); r != nil; r = p.request() {
					well.Add(1)
					off, end := ranged(r)
					p.part(b, off, end, "")
				}
			})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				to := first
				if asked.Add(1) > 1 {
					to = second
				}
				http.Redirect(w, r, to.url(t).String(), http.StatusFound)
			}))
			defer srv.Close()
			c := client(t, Config{})
			u := parse(t, srv.URL+"/f")
			must(t, c, u, 0, 500)
			get := func() bool {
				r, err := c.Get(t.Context(), u, 500, 1000)
				if err == nil {
					_ = r.Close()
				}
				return err == nil
			}
			failures := 0
			tryOn := func() {
				for n := 0; !get() && n < 100; n++ {
					failures++
				}
			}
			for range failuresMost { // each by itself
				sick.Store(1)
				tryOn()
			}
			if asked.Load() != 1 {
				t.Errorf("after single failures, %d of them seen, the URL was asked %d times", failures, asked.Load())
			}
			sick.Store(1 << 40)
			tryOn()
			if asked.Load() != 2 || well.Load() != 1 {
				t.Errorf("the URL was asked %d times, the mirror that answers %d times, after %d failures", asked.Load(), well.Load(), failures)
			}
		})
	}
}

// TestRoutesTakeLittleMemory: what is remembered of redirects is bounded in bytes, whatever
// the length of the URLs that a server sends to.
func TestRoutesTakeLittleMemory(t *testing.T) {
	const files, longest, most = 100, 200 << 10, 8 << 20
	b := testbody.Body{Size: 10, Seed: 29}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "" {
			w.Header().Set("Location", r.URL.Path+"?"+strings.Repeat("q", longest))
			w.WriteHeader(http.StatusFound)
			return
		}
		serveBody(b).ServeHTTP(w, r)
	}))
	defer srv.Close()
	c := client(t, Config{})
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	for i := range files {
		must(t, c, parse(t, fmt.Sprintf("%s/%d", srv.URL, i)), 0, 10)
	}
	if after := held(); after > before+most {
		t.Errorf("%d redirects of %d bytes: %d bytes are held", files, longest, after-before)
	}
	runtime.KeepAlive(c)
}

// TestManyHostsTakeLittleMemory: a server may redirect each file to a host of its own, and choose
// the hosts' names.
func TestManyHostsTakeLittleMemory(t *testing.T) {
	b := testbody.Body{Size: 10, Seed: 30}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := strings.TrimPrefix(r.URL.Path, "/to/"); to != r.URL.Path {
			http.Redirect(w, r, "http://"+to+"/f", http.StatusFound)
			return
		}
		serveBody(b).ServeHTTP(w, r)
	}))
	defer srv.Close()
	c := clientOver(t, Config{}, everywhere(srv.Listener.Addr().String()))
	for i := range 2*maxOrigins + 10 {
		must(t, c, parse(t, fmt.Sprintf("http://start.test/to/h%d.test", i)), 0, 10)
	}
	if n := len(c.origins); n > maxOrigins {
		t.Errorf("%d origins are kept", n)
	}
	if n := connections(c); n < 2*maxOrigins {
		t.Errorf("%d connections", n)
	}
	e := mustFail(t, c, parse(t, "http://start.test/to/"+strings.Repeat("h", 100_000)), 0, 10)
	if e.Class != Protocol || !strings.Contains(e.Error(), "host") || len(c.origins) > maxOrigins {
		t.Errorf("%v, %d origins", e, len(c.origins))
	}
}

// everywhere is a dialer of a net in which every host is one.
type everywhere string

func (e everywhere) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, string(e))
}
