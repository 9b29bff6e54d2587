package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// each runs f against every way to speak HTTP.
func each(t *testing.T, h http.Handler, f func(*testing.T, *Client, *url.URL, flavour)) {
	t.Helper()
	for _, fl := range flavours() {
		t.Run(fl.name, func(t *testing.T) {
			s := fl.server(t, h)
			f(t, client(t, fl.config(s)), parse(t, s.URL+"/f"), fl)
		})
	}
}

func TestGetRanges(t *testing.T) {
	b := testbody.Body{Size: 300_001, Seed: 1}
	each(t, serveBody(b), func(t *testing.T, c *Client, u *url.URL, fl flavour) {
		r, err := c.Get(t.Context(), u, 100_000, 400_000)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if sum(got) != sum(part(t, b, 100_000, b.Size)) {
			t.Error("other bytes")
		}
		want := Object{Size: b.Size, ETag: `"v1"`, LastModified: "Sun, 09 Sep 2001 01:46:40 GMT", AcceptsRanges: true}
		if r.Off != 100_000 || r.End != b.Size || r.Whole || r.Object != want || r.Proto != fl.proto {
			t.Errorf("response %+v", r)
		}
		if r.Remote.Port() == 0 || r.Conn() == nil || r.EffectiveURL.String() != u.String() {
			t.Errorf("response %+v", r)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %d, %v", n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got := must(t, c, u, 0, -1); sum(got) != b.SHA256() {
			t.Error("whole: other bytes")
		}
		for i := range int64(20) {
			if got := must(t, c, u, i*1000, i*1000+1+i); sum(got) != sum(part(t, b, i*1000, i*1000+1+i)) {
				t.Error("small: other bytes")
			}
		}
		if l := c.trace.(*connLog); connections(c) != 1 || l.proto != fl.proto || addrPort(l.remote).Port() == 0 || addrPort(l.local).Port() == 0 {
			t.Errorf("%d connections, the last one speaks %q from %v to %v", connections(c), l.proto, l.local, l.remote)
		}
	})
}

// TestManyAtOnce tiles an object with requests that are all in flight together.
func TestManyAtOnce(t *testing.T) {
	b := testbody.Body{Size: 3 << 20, Seed: 2}
	each(t, serveBody(b), func(t *testing.T, c *Client, u *url.URL, _ flavour) {
		const step = 100_000
		whole := make([]byte, b.Size)
		var wg sync.WaitGroup
		for off := int64(0); off < b.Size; off += step {
			wg.Go(func() {
				r, err := c.Get(t.Context(), u, off, off+step)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := io.ReadFull(r, whole[r.Off:r.End]); err != nil {
					t.Error(err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if sum(whole) != b.SHA256() {
			t.Error("other bytes")
		}
		if n := connections(c); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestCloseEarly closes responses in the middle: the bytes of later ones must
// not be touched by that, and a small rest must not cost a connection.
func TestCloseEarly(t *testing.T) {
	b := testbody.Body{Size: 8 << 20, Seed: 3}
	each(t, serveBody(b), func(t *testing.T, c *Client, u *url.URL, fl flavour) {
		for i, rest := range []int64{30_000, 7 << 20, 1} {
			r, err := c.Get(t.Context(), u, 0, 1000+rest)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			if i == 2 {
				if n := r.Discard(10); fl.proto == "1.1" && n != 1 {
					t.Errorf("discarded %d", n)
				}
			} else if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, ErrClosed) {
				t.Errorf("read after close: %v", err)
			}
			if want := []int64{30_000, 0, 1}[i]; fl.proto == "1.1" {
				if n := c.Vain(); n != want {
					t.Errorf("%d bytes in vain, want %d", n, want)
				}
			}
			if got := must(t, c, u, 5000, 50_000); sum(got) != sum(part(t, b, 5000, 50_000)) {
				t.Error("other bytes")
			}
		}
		want := 1
		if fl.proto == "1.1" {
			want = 2
		}
		if n := connections(c); n != want {
			t.Errorf("%d connections, want %d", n, want)
		}
	})
}

func TestStatus(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
		w.Header().Set("Retry-After", "7")
		if code == 416 {
			w.Header().Set("Content-Range", "bytes */1234")
			w.Header().Set("Etag", `"x"`)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "no")
	})
	each(t, h, func(t *testing.T, c *Client, u *url.URL, _ flavour) {
		for code, class := range map[int]Class{
			400: Status, 401: Auth, 403: Status, 404: Status, 407: Auth, 408: Busy, 410: Status, 416: Unsatisfied, 429: Busy,
			500: Busy, 501: Status, 502: Busy, 503: Busy, 504: Busy, 505: Status, 204: Protocol, 304: Status, 300: Status,
		} {
			e := mustFail(t, c, u.JoinPath(fmt.Sprintf("../%d", code)), 0, 10)
			if e.Class != class || e.Status != code || e.Temporary() != (class == Busy) {
				t.Errorf("%d: class %v, status %d, %v", code, e.Class, e.Status, e)
			}
			if class == Busy && e.RetryAfter != 7*time.Second {
				t.Errorf("%d: retry after %v", code, e.RetryAfter)
			}
			if code == 416 && (e.Object == nil || *e.Object != Object{Size: 1234, ETag: `"x"`}) {
				t.Errorf("416: %+v", e.Object)
			}
		}
		if n := connections(c); n > 3 {
			t.Errorf("%d connections for short errors", n)
		}
	})
}

// TestRangeIgnored: a 200 is handed over unread, whole, for the caller to decide.
func TestRangeIgnored(t *testing.T) {
	b := testbody.Body{Size: 200_000, Seed: 4}
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Accept-Ranges", "bytes") // a lie
		_, _ = io.Copy(w, b.Reader())
	})
	each(t, h, func(t *testing.T, c *Client, u *url.URL, _ flavour) {
		r, err := c.Get(t.Context(), u, 1000, 2000)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Whole || r.Off != 0 || r.End != -1 || r.Object.Size != -1 || r.Object.AcceptsRanges {
			t.Errorf("%+v", r)
		}
		got, err := io.ReadAll(r)
		if err != nil || sum(got) != b.SHA256() {
			t.Errorf("other bytes, or %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestBadRanges(t *testing.T) {
	c := client(t, Config{})
	for _, a := range []asked{{off: -1, end: 5}, {off: 5, end: 5}, {off: 6, end: 5}, {off: 5, end: -1}, {}} {
		if e := mustFail(t, c, parse(t, "http://127.0.0.1:1/"), a.off, a.end); e.Class != Protocol {
			t.Errorf("%v: %v", a, e)
		}
	}
	for _, u := range []string{"ftp://127.0.0.1/", "file:///etc/passwd", "http:///x", "x"} {
		if e := mustFail(t, c, parse(t, u), 0, 1); e.Class != Protocol {
			t.Errorf("%s: %v", u, e)
		}
	}
}

// TestClosedClient: nothing works, and nothing hangs, after Close.
func TestClosedClient(t *testing.T) {
	b := testbody.Body{Size: 50 << 20, Seed: 5}
	each(t, serveBody(b), func(t *testing.T, c *Client, u *url.URL, _ flavour) {
		r, err := c.Get(t.Context(), u, 0, b.Size)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if _, err := io.Copy(io.Discard, r); err == nil {
			t.Error("the body goes on")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if e := mustFail(t, c, u, 0, 1); !errors.Is(e, ErrClosed) {
			t.Error(e)
		}
	})
}

// traced collects what a Trace is told.
type traced struct {
	mu     sync.Mutex
	trips  int
	protos []string
}

func (tr *traced) RoundTrip(net.Conn, time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.trips++
}

func (tr *traced) ConnOpened(local, remote net.Addr, proto string, rtt time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if local != nil && remote != nil && rtt > 0 && tr.trips > len(tr.protos) {
		tr.protos = append(tr.protos, proto)
	}
}

func (*traced) InVain(int64) {}
func (*traced) Spare() int64 { return math.MaxInt64 }
func (*traced) Read()        {}

// TestManyOrigins: idle connections to hosts that are done with do not pile up,
// and each is told of once.
func TestManyOrigins(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 6}
	for _, fl := range flavours() {
		if fl.name != "h1" && fl.name != "h2c" {
			continue
		}
		srv := fl.server(t, serveBody(b))
		table := make(hosts)
		cfg, tr := fl.config(srv), &traced{}
		c := NewClient(&cfg, table, tr)
		for i := range 2*maxConns + 5 {
			host := fmt.Sprintf("h%d.test", i)
			table[host+":80"] = srv.Listener.Addr().String()
			if got := must(t, c, parse(t, "http://"+host+"/f"), 0, 1000); sum(got) != b.SHA256() {
				t.Error("other bytes")
			}
			c.mu.Lock()
			n := 0
			for _, o := range c.origins {
				n += len(o.h1) + len(o.h2)
			}
			c.mu.Unlock()
			if n > maxConns {
				t.Fatalf("%s: %d connections", fl.name, n)
			}
		}
		c.Close()
		if n := len(tr.protos); n != 2*maxConns+5 || tr.protos[0] != fl.proto {
			t.Errorf("%s: told of %d connections", fl.name, n)
		}
	}
}

// TestRequestsDoNotWaitForAShortenedResponse: over HTTP/1.1 the next request is answered before the
// response has been read up to where it is wanted; and if that is read to its end after all,
// its connection is good for more.
func TestRequestsDoNotWaitForAShortenedResponse(t *testing.T) {
	const size, first = 1 << 20, 64 << 10
	b := testbody.Body{Size: size, Seed: 4}
	for _, fl := range flavours() {
		if fl.proto == "2" {
			continue
		}
		t.Run(fl.name, func(t *testing.T) {
			goOn, clients := make(chan struct{}), make(chan string, 3)
			s := fl.server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				clients <- r.RemoteAddr
				if r.Header.Get("Range") == fmt.Sprintf("bytes=0-%d", size-1) {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", size-1, size))
					w.Header().Set("Content-Length", strconv.Itoa(size))
					w.WriteHeader(http.StatusPartialContent)
					_, _ = w.Write(part(t, b, 0, first))
					_ = http.NewResponseController(w).Flush()
					<-goOn
					_, _ = w.Write(part(t, b, first, size))
					return
				}
				serveBody(b).ServeHTTP(w, r)
			}))
			resume := sync.OnceFunc(func() { close(goOn) })
			defer resume()
			c, u := client(t, fl.config(s)), parse(t, s.URL+"/f")
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			r, err := c.Get(ctx, u, 0, size)
			if err != nil {
				t.Fatal(err)
			}
			r.Shorten(size / 2)
			other, err := c.Get(ctx, u, size/2, size)
			if err != nil {
				t.Fatalf("behind a response that was shortened: %v", err)
			}
			if got, err := io.ReadAll(other); err != nil || sum(got) != sum(part(t, b, size/2, size)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			resume()
			if got, err := io.ReadAll(r); err != nil || sum(got) != b.SHA256() {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if err := errors.Join(other.Close(), r.Close()); err != nil {
				t.Error(err)
			}
			must(t, c, u, 0, 10)
			if one, _, last := <-clients, <-clients, <-clients; one != last {
				t.Errorf("the first request came from %s, the last one from %s", one, last)
			}
		})
	}
}

// TestShorten: over HTTP/2 a server never sends what it was not yet allowed when it was
// said not to be wanted.
func TestShorten(t *testing.T) {
	const size, wanted, chunk = 16 << 20, 4 << 20, 64 << 10
	sent := make(chan int, 1)
	each(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", size-1, size))
		w.Header().Set("Content-Length", strconv.Itoa(size))
		w.WriteHeader(http.StatusPartialContent)
		n := 0
		for ; n < size; n += chunk {
			if _, err := w.Write(make([]byte, chunk)); err != nil {
				break
			}
		}
		sent <- n
	}), func(t *testing.T, c *Client, u *url.URL, fl flavour) {
		r, err := c.Get(t.Context(), u, 0, size)
		if err != nil {
			t.Fatal(err)
		}
		r.Shorten(wanted)
		if n, err := io.CopyN(io.Discard, r, wanted); err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		r.Discard(0)
		if n := <-sent; fl.proto == "2" && n > wanted+chunk {
			t.Errorf("%d bytes sent of which %d were wanted", n, wanted)
		}
	})
}

// A response may be shortened after all of it was read: its connection has been given back
// then, and stays as it is.
func TestShortenAfterTheEnd(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 4}
	for _, fl := range flavours() {
		t.Run(fl.name, func(t *testing.T) {
			s := fl.server(t, serveBody(b))
			c, u := client(t, fl.config(s)), parse(t, s.URL+"/f")
			for range 2 {
				r, err := c.Get(t.Context(), u, 0, 1000)
				if err != nil {
					t.Fatal(err)
				}
				finish(t, r, part(t, b, 0, 1000))
				r.Shorten(500)
			}
			if n := connections(c); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}
