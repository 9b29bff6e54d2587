package fetch

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// gathering serves ranges of b on its first connection as a server does that gathers small
// packets: the last byte of a response comes with the next one. It notes what it was asked.
func gathering(t *testing.T, b testbody.Body, asked *[]int64) *rawServer {
	return newRawServer(t, func(p *peer) {
		kept := ""
		for r := p.request(); r != nil; r = p.request() {
			off, end := ranged(r)
			*asked = append(*asked, off)
			all := head206(off, end, b.Size, "") + string(part(t, b, off, end))
			p.say(kept + all[:len(all)-1])
			kept = all[len(all)-1:]
		}
	})
}

func TestFlushBringsTheEndOfAResponse(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 11}
	var asked []int64
	s := gathering(t, b, &asked)
	c := client(t, Config{})
	r, err := c.Get(t.Context(), s.url(t), 5000, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	c.Flush(t.Context(), s.url(t))
	finish(t, r, part(t, b, 5000, 100_000))
	// The connection is good for more, behind what was asked for in vain.
	if r, err = c.Get(t.Context(), s.url(t), 200_000, 300_000); err != nil {
		t.Fatal(err)
	}
	c.Flush(t.Context(), s.url(t))
	finish(t, r, part(t, b, 200_000, 300_000))
	if n := s.accepted(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// What is not in flight needs no flush, nor does a client that is closed.
func TestFlushOpensNoConnection(t *testing.T) {
	s := newRawServer(t, func(p *peer) {
		if p.request() != nil {
			t.Error("it was asked for something")
		}
	})
	c := client(t, Config{})
	c.Flush(t.Context(), s.url(t))
	c.Close()
	c.Flush(t.Context(), s.url(t))
	if n := s.accepted(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// Requests get onto a connection in the order of their turns, also when their goroutines
// run in another, or one is given up.
func TestRequestsKeepTheirTurns(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 12}
	var mu sync.Mutex
	var asked []int64
	s := newRawServer(t, func(p *peer) {
		for r := p.request(); r != nil; r = p.request() {
			off, end := ranged(r)
			mu.Lock()
			asked = append(asked, off)
			mu.Unlock()
			p.part(b, off, end, "")
		}
	})
	c := client(t, Config{})
	if got := must(t, c, s.url(t), 0, 10); len(got) != 10 {
		t.Fatalf("%d bytes", len(got))
	}
	const n = 8
	turns := make([]*Turn, n)
	for i := range turns {
		turns[i] = c.Turn(s.url(t))
	}
	var wg sync.WaitGroup
	for i := n - 1; i > 0; i-- {
		wg.Go(func() {
			off := int64(1000 * i)
			r, err := turns[i].Get(t.Context(), off, off+10)
			if err != nil {
				t.Error(err)
				return
			}
			finish(t, r, part(t, b, off, off+10))
		})
	}
	if _, err := turns[0].Get(t.Context(), -1, 10); err == nil { // there is no such range
		t.Error("a range that begins before the object")
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != n {
		t.Fatalf("%d requests", len(asked))
	}
	for i, off := range asked {
		if off != int64(1000*i) {
			t.Errorf("asked for %v", asked)
			break
		}
	}
}

// TestFlushWhereARedirectIsForgotten: the object has left where it was redirected to, and where it
// was asked for answers by itself again.
func TestFlushWhereARedirectIsForgotten(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 12}
	n := 0
	flushed := make(chan struct{})
	var once sync.Once
	s := newRawServer(t, func(p *peer) {
		for r := p.request(); r != nil; r = p.request() {
			off, end := ranged(r)
			switch n++; {
			case r.URL.Path == "/f" && n == 1:
				p.say("HTTP/1.1 302 Found\r\nLocation: /g\r\nContent-Length: 0\r\n\r\n")
			case r.URL.Path == "/g" && n > 2:
				p.say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
			default:
				if end-off == flushBytes {
					once.Do(func() { close(flushed) })
				}
				p.part(b, off, end, "")
			}
		}
	})
	c := client(t, Config{})
	must(t, c, s.url(t), 0, 10)  // by way of /g
	must(t, c, s.url(t), 10, 20) // which has gone
	r, err := c.Get(t.Context(), s.url(t), 20, 100)
	if err != nil {
		t.Fatal(err)
	}
	c.Flush(t.Context(), s.url(t))
	<-flushed
	finish(t, r, part(t, b, 20, 100))
}

// hangs dials for as long as it may.
type hangs struct{ entered chan struct{} }

func (h hangs) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	close(h.entered)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestCloseDoesNotWaitForAFlush that waits for its turn behind a request which is still dialling.
func TestCloseDoesNotWaitForAFlush(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := hangs{make(chan struct{})}
	c := NewClient(&Config{ConnectTimeout: time.Hour}, d, nil)
	u := parse(t, "http://host.test/")
	done := make(chan struct{})
	go func() {
		_, _ = c.Get(ctx, u, 0, 1)
		close(done)
	}()
	<-d.entered
	c.Flush(ctx, u)
	c.Close() // hangs until the test is given up, if it waits
	c.Close()
	cancel()
	<-done
}
