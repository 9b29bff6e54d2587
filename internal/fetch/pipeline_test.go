package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// ranged is what a request asks for.
func ranged(r *http.Request) (off, end int64) {
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &off, &end)
	return off, end + 1
}

// fetching is a Get in the background, read to its end.
type fetching struct {
	t   testing.TB
	ctx context.Context
	c   *Client
	u   *url.URL
	b   testbody.Body
	wg  sync.WaitGroup
}

func (f *fetching) start(off, end int64) {
	f.wg.Go(func() { f.fetch(off, end) })
}

func (f *fetching) fetch(off, end int64) {
	r, err := f.c.Get(f.ctx, f.u, off, end)
	if err != nil {
		f.t.Errorf("get [%d, %d): %v", off, end, err)
		return
	}
	finish(f.t, r, part(f.t, f.b, off, end))
}

// finish reads a response to its end, which must bring want, and closes it.
func finish(t testing.TB, r *Response, want []byte) {
	t.Helper()
	got, err := io.ReadAll(r)
	if err != nil || sum(got) != sum(want) {
		t.Errorf("%d bytes of %d, or others: %v", len(got), len(want), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// waitPending waits until n requests are queued at the client's only connection.
func waitPending(t testing.TB, c *Client, n int) {
	t.Helper()
	for range 5000 {
		c.mu.Lock()
		have := 0
		for _, o := range c.origins {
			for _, hc := range o.h1 {
				have += hc.pending
			}
		}
		c.mu.Unlock()
		if have == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("never %d requests in the queue", n)
}

// TestPipelined: the second and third request are there before the first body ends.
func TestPipelined(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 10}
	s := newRawServer(t, func(p *peer) {
		first := p.request()
		if first == nil {
			return
		}
		off, end := ranged(first)
		half := (off + end) / 2
		p.say(head206(off, end, b.Size, "") + string(part(t, b, off, half)))
		var queued []*http.Request
		for range 2 {
			r := p.request()
			if r == nil {
				t.Error("no further request before the end of the first body")
				return
			}
			queued = append(queued, r)
		}
		p.say(string(part(t, b, half, end)))
		for _, r := range queued {
			off, end := ranged(r)
			p.part(b, off, end, "")
		}
		p.request()
	})
	c := client(t, Config{})
	r, err := c.Get(t.Context(), s.url(t), 0, 200_000)
	if err != nil {
		t.Fatal(err)
	}
	f := &fetching{t: t, ctx: t.Context(), c: c, u: s.url(t), b: b}
	f.start(200_000, 300_000)
	f.start(300_000, 400_000)
	finish(t, r, part(t, b, 0, 200_000))
	f.wg.Wait()
	if n := s.accepted(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestDepth: no more than maxDepth requests queue up on one connection.
func TestDepth(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 10}
	s := newRawServer(t, func(p *peer) {
		for r := p.request(); r != nil; r = p.request() {
			off, end := ranged(r)
			p.part(b, off, end, "")
		}
	})
	c := client(t, Config{})
	r, err := c.Get(t.Context(), s.url(t), 0, 500_000)
	if err != nil {
		t.Fatal(err)
	}
	f := &fetching{t: t, ctx: t.Context(), c: c, u: s.url(t), b: b}
	for i := range int64(3 * maxDepth) {
		f.start(i*1000, i*1000+1000)
	}
	waitPending(t, c, maxDepth)
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	f.wg.Wait()
	if n := s.accepted(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestPipeliningRefused: servers that drop what is queued get it again, and from
// then on one request at a time, on two connections at most.
func TestPipeliningRefused(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 11}
	for _, extra := range []string{"", "Connection: close\r\n"} {
		var mu sync.Mutex
		piped := 0
		s := newRawServer(t, func(p *peer) {
			for n := 0; ; n++ {
				r := p.request()
				if r == nil {
					return
				}
				off, end := ranged(r)
				if n == 0 {
					half := (off + end) / 2
					p.say(head206(off, end, b.Size, "") + string(part(t, b, off, half)))
					patience := 300 * time.Millisecond
					if p.n == 0 {
						patience = 20 * time.Second // something is sure to be queued here
					}
					_ = p.SetReadDeadline(time.Now().Add(patience))
					_, err := p.br.Peek(1)
					_ = p.SetReadDeadline(time.Time{})
					p.say(string(part(t, b, half, end)))
					if err != nil {
						continue // nothing was queued
					}
					mu.Lock()
					piped++
					mu.Unlock()
					if extra == "" {
						// Read them, lest closing resets the connection and takes
						// the first response along.
						p.request()
						p.request()
						return
					}
					continue
				}
				p.part(b, off, end, extra)
				if extra != "" {
					p.request() // likewise
					return
				}
			}
		})
		c := client(t, Config{})
		r, err := c.Get(t.Context(), s.url(t), 0, 200_000)
		if err != nil {
			t.Fatal(err)
		}
		f := &fetching{t: t, ctx: t.Context(), c: c, u: s.url(t), b: b}
		f.start(200_000, 300_000)
		f.start(300_000, 400_000)
		waitPending(t, c, 3)
		finish(t, r, part(t, b, 0, 200_000))
		f.wg.Wait()
		for i := range int64(4) {
			f.start(400_000+i*50_000, 450_000+i*50_000)
		}
		f.wg.Wait()
		mu.Lock()
		if piped != 1 {
			t.Errorf("%q: %d connections saw pipelining", extra, piped)
		}
		mu.Unlock()
	}
}

// TestPipelineIgnored: a server that never answers what was queued is found out
// by the timeout.
func TestPipelineIgnored(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 12}
	s := newRawServer(t, func(p *peer) {
		r := p.request()
		if r == nil {
			return
		}
		off, end := ranged(r)
		half := (off + end) / 2
		p.say(head206(off, end, b.Size, "") + string(part(t, b, off, half)))
		p.request()
		p.say(string(part(t, b, half, end)))
		_, _ = io.Copy(io.Discard, p.br)
	})
	c := client(t, Config{ResponseTimeout: 2 * time.Second}) // in which also a busy machine has answered once
	r, err := c.Get(t.Context(), s.url(t), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if e := mustFail(t, c, s.url(t), 1000, 2000); e.Class != Network || !errors.Is(e, os.ErrDeadlineExceeded) {
			t.Errorf("%v: %v", e.Class, e)
		}
	})
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.origins {
		if !o.noPipeline {
			t.Error("pipelining goes on")
		}
	}
}

// TestOnePerConnection: servers that keep no connection alive, saying so or not.
func TestOnePerConnection(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 13}
	for name, extra := range map[string]string{"silently": "", "saying so": "Connection: close\r\n"} {
		s := newRawServer(t, func(p *peer) {
			if r := p.request(); r != nil {
				off, end := ranged(r)
				p.part(b, off, end, extra)
			}
		})
		c := client(t, Config{})
		for i := range int64(6) {
			if got := must(t, c, s.url(t), i*1000, i*1000+1000); sum(got) != sum(part(t, b, i*1000, i*1000+1000)) {
				t.Errorf("%s: other bytes", name)
			}
		}
	}
	s := newRawServer(t, func(p *peer) {
		if r := p.request(); r != nil {
			off, end := ranged(r)
			p.part(b, off, end, "Connection: close\r\n")
		}
	})
	c := client(t, Config{})
	f := &fetching{t: t, ctx: t.Context(), c: c, u: s.url(t), b: b}
	for i := range int64(10) {
		f.start(i*1000, i*1000+1000)
	}
	f.wg.Wait()
}

// TestCancelQueued cancels a request that waits behind another one, with a third
// behind it: the others get their bytes.
func TestCancelQueued(t *testing.T) {
	b := testbody.Body{Size: 8 << 20, Seed: 14}
	for name, c := range map[string]struct {
		size  int64 // of the request that is cancelled
		conns int
	}{"small": {10_000, 1}, "large": {4 << 20, 2}} {
		t.Run(name, func(t *testing.T) {
			s := newRawServer(t, func(p *peer) {
				for r := p.request(); r != nil; r = p.request() {
					off, end := ranged(r)
					p.part(b, off, end, "")
				}
			})
			cl := client(t, Config{})
			r, err := cl.Get(t.Context(), s.url(t), 0, 2<<20)
			if err != nil {
				t.Fatal(err)
			}
			why := errors.New("not needed any more")
			ctx, cancel := context.WithCancelCause(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := cl.Get(ctx, s.url(t), 0, c.size) //nolint:bodyclose // it fails
				var e *Error
				if !errors.As(err, &e) || e.Class != Canceled || !errors.Is(err, why) {
					t.Errorf("cancelled: %v", err)
				}
			})
			waitPending(t, cl, 2)
			f := &fetching{t: t, ctx: t.Context(), c: cl, u: s.url(t), b: b}
			f.start(50_000, 60_000)
			waitPending(t, cl, 3)
			cancel(why)
			wg.Wait()
			finish(t, r, part(t, b, 0, 2<<20))
			f.wg.Wait()
			if n := s.accepted(); n != c.conns {
				t.Errorf("%d connections, want %d", n, c.conns)
			}
		})
	}
}

// TestCancelReading cancels a response that drips, over every protocol, with
// another request in flight on the same connection.
func TestCancelReading(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 15}
	release := make(chan struct{}, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			w.Header().Set("Content-Range", "bytes 0-999999/1000000")
			w.Header().Set("Content-Length", "1000000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(make([]byte, 100))
			w.(http.Flusher).Flush()
			select {
			case <-release: // net/http does not see a client go that has pipelined a request
			case <-r.Context().Done():
			}
			return
		}
		serveBody(b).ServeHTTP(w, r)
	})
	for _, cause := range []error{errors.New("enough"), ErrStalled, ErrSpent} {
		each(t, h, func(t *testing.T, c *Client, u *url.URL, fl flavour) {
			select {
			case <-release: // left over
			default:
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			r, err := c.Get(ctx, u.JoinPath("../drip"), 0, 1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			f := &fetching{t: t, ctx: t.Context(), c: c, u: u, b: b}
			if fl.proto == "1.1" {
				f.start(0, 100_000)
				waitPending(t, c, 2)
			}
			time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
			_, err = r.Read(make([]byte, 1<<20))
			var e *Error
			if !errors.As(err, &e) || e.Class != Canceled || !errors.Is(err, cause) {
				t.Errorf("read: %v", err)
			}
			if fl.proto == "1.1" {
				release <- struct{}{}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			f.wg.Wait()
			f.start(0, 1000)
			f.wg.Wait()
			want := 1
			if fl.proto == "1.1" || errors.Is(cause, ErrStalled) || errors.Is(cause, ErrSpent) {
				want = 2
			}
			if n := connections(c); n != want {
				t.Errorf("%v: %d connections, want %d", cause, n, want)
			}
		})
	}
}

// TestCancelWaiting cancels at every stage before the header.
func TestCancelWaiting(t *testing.T) {
	s := newRawServer(t, func(p *peer) { _, _ = io.Copy(io.Discard, p.br) })
	for name, d := range map[string]Dialer{"dialling": hanging{}, "header": hosts{}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(ErrStalled) })
		_, err := clientOver(t, Config{}, d).Get(ctx, s.url(t), 0, 1) //nolint:bodyclose // it fails
		var e *Error
		if !errors.As(err, &e) || e.Class != Canceled || !errors.Is(err, ErrStalled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSingle: a response says whether its connection serves no other one, which only the
// first on a connection can tell: the last of many is the last for another reason.
func TestSingle(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 4}
	for _, serves := range []int{1, 2} {
		srv := newRawServer(t, func(p *peer) {
			for i := 1; i <= serves; i++ {
				r := p.request()
				if r == nil {
					return
				}
				off, end := ranged(r)
				extra := ""
				if i == serves {
					extra = "Connection: close\r\n"
				}
				p.part(b, off, end, extra)
			}
		})
		c := client(t, Config{})
		for i := range int64(4) {
			resp, err := c.Get(t.Context(), srv.url(t), 100*i, 100*i+100)
			if err != nil {
				t.Fatal(err)
			}
			if want := serves == 1; resp.Single != want {
				t.Errorf("%d a connection, response %d: single %v", serves, i, resp.Single)
			}
			finish(t, resp, part(t, b, 100*i, 100*i+100))
		}
	}
}
