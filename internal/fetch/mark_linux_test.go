package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// markSet is the mark that the kernel has for r's connection.
func markSet(t testing.TB, r *Response) int {
	t.Helper()
	raw, err := r.Conn().(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if cerr := raw.Control(func(fd uintptr) {
		n, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT)
	}); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
	return n
}

// hurry is a context that ends a wait in vain.
func hurry(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("waited in vain"))
	t.Cleanup(cancel)
	return ctx
}

// step is a part of a body, that is sent when it is its turn.
type step struct {
	bytes int64
	close bool // then the connection
}

// stepping answers one request for all of b in steps.
func stepping(t testing.TB, b testbody.Body, steps []step, turn <-chan struct{}) *rawServer {
	return newRawServer(t, func(p *peer) {
		if p.request() == nil {
			return
		}
		p.say(head206(0, b.Size, b.Size, ""))
		at := int64(0)
		for _, s := range steps {
			if _, ok := <-turn; !ok {
				return
			}
			p.say(string(part(t, b, at, at+s.bytes)))
			at += s.bytes
			if s.close {
				return
			}
		}
		p.request() // until the client goes
	})
}

// gatherMark is what is waited for, in bytes.
const gatherMark = 64 << 10

// gatherCase is what a server does while a mark is set.
type gatherCase struct {
	name  string
	size  int64
	steps []step
	nudge bool // between the steps the caller takes its wish back
	early bool // the body is not complete
}

// TestGather: no byte is waited for in vain, whatever the server does below the mark.
func TestGather(t *testing.T) {
	const mark = gatherMark
	for _, c := range []gatherCase{
		{"stops one byte below and goes on", 3 * mark, []step{{mark - 1, false}, {2*mark + 1, false}}, false, false},
		{"stops one byte below and is looked at", 3 * mark, []step{{mark - 1, false}, {2*mark + 1, false}}, true, false},
		{"one byte at a time, looked at", 3 * mark, []step{{1, false}, {1, false}, {3*mark - 2, false}}, true, false},
		{"stops one byte below and closes", 3 * mark, []step{{mark - 1, true}}, false, true},
		{"ends below the mark", mark - 1, []step{{mark - 2, false}, {1, false}}, true, false},
		{"ends below the mark at once", mark - 1, []step{{mark - 1, false}}, false, false},
		{"ends a little beyond it", mark + 10, []step{{mark, false}, {10, false}}, false, false},
		{"is a few bytes", 10, []step{{3, false}, {7, false}}, false, false},
	} {
		for _, wait := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, waits first: %v", c.name, wait), func(t *testing.T) { gathers(t, c, wait) })
		}
	}
}

// gathers reads what c's server sends, after a wait without memory or not.
func gathers(t *testing.T, c gatherCase, wait bool) {
	b := testbody.Body{Size: c.size, Seed: 50}
	turn := make(chan struct{}, len(c.steps))
	defer close(turn)
	s := stepping(t, b, c.steps, turn)
	cl := client(t, Config{})
	r, err := cl.Get(hurry(t), s.url(t), 0, c.size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // read to its end
	got := make(chan int64)
	done := make(chan error, 1)
	body := make([]byte, 0, c.size)
	go func() {
		p := make([]byte, 512<<10)
		defer close(got)
		for {
			n, err := readerOf(r, wait).Read(p)
			body = append(body, p[:n]...)
			if n > 0 {
				got <- int64(n)
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	sent, seen := int64(0), int64(0)
	for _, step := range c.steps {
		r.Gather(gatherMark)
		time.Sleep(5 * time.Millisecond) // likelier that it waits; nothing depends on it
		turn <- struct{}{}
		sent += step.bytes
		for c.nudge && seen < sent { // every byte comes out though no more is sent
			r.Gather(1)
			n, ok := <-got
			if !ok {
				t.Fatalf("%d of %d bytes, then %v", seen, sent, <-done)
			}
			seen += n
		}
	}
	for n := range got {
		seen += n
	}
	err = <-done
	if c.early != errors.Is(err, io.ErrUnexpectedEOF) || !c.early && err != io.EOF { //nolint:errorlint // as documented
		t.Errorf("ended with %v", err)
	}
	if sum(body) != sum(part(t, b, 0, sent)) {
		t.Errorf("%d of %d bytes, or others", seen, sent)
	}
}

// TestGatherSets: the kernel is told, the mark keeps below what is to come and
// to be read, and is down before the next header.
func TestGatherSets(t *testing.T) {
	const mark, size = 64 << 10, 256 << 10
	b := testbody.Body{Size: size, Seed: 51}
	turn := make(chan struct{}, 8)
	defer close(turn)
	s := stepping(t, b, []step{{100 << 10, false}, {size - 100<<10, false}}, turn)
	r, err := client(t, Config{}).Get(hurry(t), s.url(t), 0, size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // read to its end
	if n := markSet(t, r); n != 1 {
		t.Errorf("%d at first", n)
	}
	r.Gather(mark)
	if n := markSet(t, r); n != 1 {
		t.Errorf("%d before a read, which alone knows what is to come", n)
	}
	turn <- struct{}{}
	p := make([]byte, 512<<10)
	read := func(most int) {
		t.Helper()
		if _, err := io.ReadFull(r, p[:most]); err != nil {
			t.Fatal(err)
		}
	}
	read(50 << 10) // as much as is wanted, although the mark is higher
	if n := markSet(t, r); n > 50<<10 {
		t.Errorf("%d while 50 KiB were wanted", n)
	}
	turn <- struct{}{}
	gathered := false // before one of the reads; the last may want too little for that
	for left := 100 << 10; left > 0; {
		n, err := r.Read(p[:left])
		if err != nil {
			t.Fatal(err)
		}
		set := markSet(t, r)
		if set > left {
			t.Errorf("%d in the middle, where %d were wanted", set, left)
		}
		gathered = gathered || set > 1
		left -= n
	}
	if !gathered {
		t.Error("nothing was gathered in the middle")
	}
	r.Gather(1)
	if n := markSet(t, r); n != 1 {
		t.Errorf("%d after it was taken back", n)
	}
	r.Gather(mark)
	read(106 << 10)
	if n := markSet(t, r); n != 1 {
		t.Errorf("%d after the last byte", n)
	}
}

// wrapped is a connection like those of packages that count bytes.
type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

// TestKernelConnectionBehindWrappers: wrappers are looked through, but for one that changes the bytes.
func TestKernelConnectionBehindWrappers(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close() //nolint:errcheck // a pipe
	defer b.Close() //nolint:errcheck // a pipe
	if kernels(wrapped{wrapped{a}}) != a {
		t.Error("a wrapper hides the connection")
	}
	if over := tls.Client(a, &tls.Config{}); kernels(wrapped{over}) != over { //nolint:gosec // no handshake is made
		t.Error("what is read over TLS is not what the connection brings")
	}
}

// TestGatherPipelined: the headers of responses behind a body with a mark are few bytes, and
// must not wait for the mark.
func TestGatherPipelined(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 52}
	s := newRawServer(t, func(p *peer) {
		for r := p.request(); r != nil; r = p.request() {
			off, end := ranged(r)
			p.part(b, off, end, "")
		}
	})
	c := client(t, Config{})
	ctx := hurry(t)
	r, err := c.Get(ctx, s.url(t), 0, 300_000)
	if err != nil {
		t.Fatal(err)
	}
	r.Gather(256 << 10)
	f := &fetching{t: t, ctx: ctx, c: c, u: s.url(t), b: b}
	f.start(300_000, 300_010)
	f.start(300_010, 400_000)
	f.start(400_000, 400_001)
	waitPending(t, c, 4)
	finish(t, r, part(t, b, 0, 300_000))
	f.wg.Wait()
	if n := s.accepted(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// dripping is a listener whose connections write a few packets at a time, so that
// a record comes in pieces.
type dripping struct{ net.Listener }

func (d dripping) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	return drops{c}, err
}

type drops struct{ net.Conn }

func (d drops) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var k int
		k, err = d.Conn.Write(p[:min(len(p), 7001)])
		n, p = n+k, p[k:]
		time.Sleep(time.Millisecond)
	}
	return n, err
}

// TestGatherOverTLS: TLS reads ahead, so that what the socket still has to bring
// is less than what is left of the body.
func TestGatherOverTLS(t *testing.T) {
	for _, size := range []int64{1, 16 << 10, tlsAhead + 10, 300_001} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			b := testbody.Body{Size: 2 << 20, Seed: 53}
			srv := httptest.NewUnstartedServer(serveBody(b))
			srv.Listener = dripping{srv.Listener}
			srv.StartTLS()
			defer srv.Close()
			c := client(t, Config{Protocol: HTTP1, TLS: &tls.Config{InsecureSkipVerify: true}}) //nolint:gosec // a test's
			ctx, u := hurry(t), parse(t, srv.URL)
			for off := int64(0); off+size <= min(b.Size, 3*size); off += size {
				r, err := c.Get(ctx, u, off, off+size)
				if err != nil {
					t.Fatal(err)
				}
				r.Gather(256 << 10)
				got := make([]byte, size)
				for n := 0; n < len(got) && err == nil; {
					var k int
					k, err = r.Read(got[n:])
					n += k
				}
				if err != nil || sum(got) != sum(part(t, b, off, off+size)) {
					t.Errorf("%v or other bytes", err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestGatherCancelled: a cancelled wait for a mark ends at once.
func TestGatherCancelled(t *testing.T) {
	for _, wait := range []bool{false, true} {
		t.Run(fmt.Sprintf("waits first: %v", wait), func(t *testing.T) { gatherCancelled(t, wait) })
	}
}

func gatherCancelled(t *testing.T, wait bool) {
	b := testbody.Body{Size: 1 << 20, Seed: 54}
	turn := make(chan struct{}, 1)
	defer close(turn)
	s := stepping(t, b, []step{{1000, false}, {b.Size - 1000, false}}, turn)
	ctx, cancel := context.WithCancelCause(hurry(t))
	defer cancel(nil)
	r, err := client(t, Config{}).Get(ctx, s.url(t), 0, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // it was cancelled
	r.Gather(64 << 10)
	turn <- struct{}{}
	why := errors.New("enough")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := io.Copy(io.Discard, readerOf(r, wait)); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestGatherHTTP2: a connection of many streams gathers too, no byte is waited for in vain, and
// a stream that ends leaves no other waiting for its bytes.
func TestGatherHTTP2(t *testing.T) {
	const mark, size = 64 << 10, 256 << 10
	b := testbody.Body{Size: size, Seed: 57}
	for _, fl := range flavours() {
		if fl.proto != "2" {
			continue
		}
		t.Run(fl.name, func(t *testing.T) {
			turn, answer := make(chan int64, 4), make(chan struct{})
			defer close(turn)
			srv := fl.server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/small" {
					<-answer
					http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(part(t, b, 0, 1000)))
					return
				}
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", size-1, size))
				w.Header().Set("Content-Length", strconv.Itoa(size))
				w.WriteHeader(http.StatusPartialContent)
				_ = http.NewResponseController(w).Flush() //nolint:errcheck // the client may have gone
				at := int64(0)
				for n := range turn {
					_, _ = w.Write(part(t, b, at, at+n))
					_ = http.NewResponseController(w).Flush()
					if at += n; at == size {
						return
					}
				}
			}))
			cl := client(t, fl.config(srv))
			ctx := hurry(t)
			begin := func() *Response {
				r, err := cl.Get(ctx, parse(t, srv.URL), 0, size)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			waits := func(r *Response) {
				for markSet(t, r) == 1 && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				if n := int64(markSet(t, r)); n <= 1 || n > mark {
					t.Errorf("waits for %d bytes", n)
				}
			}

			r := begin()
			r.Gather(mark)
			got := make([]byte, size)
			read := make(chan error, 1)
			go func() {
				_, err := io.ReadFull(r, got[:mark-1])
				read <- err
			}()
			waits(r)
			turn <- mark - 1 // one byte less than it waits for
			time.Sleep(5 * time.Millisecond)
			r.Gather(1)
			if err := <-read; err != nil {
				t.Fatal(err)
			}
			turn <- size - mark + 1
			r.Gather(mark)
			_, err := io.ReadFull(r, got[mark-1:])
			if end, eof := r.Read(got); err != nil || end != 0 || eof != io.EOF || sum(got) != sum(part(t, b, 0, size)) { //nolint:errorlint // as documented
				t.Errorf("%v, %v, or other bytes", err, eof)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}

			// A stream that waits for a small answer reads for all, and waits for more than
			// that.
			r = begin()
			r.Gather(mark) // before: a waiting reader is not made to wait for more
			small := make(chan []byte, 1)
			go func() {
				defer close(small)
				s, err := cl.Get(ctx, parse(t, srv.URL+"/small"), 0, 1000)
				if err != nil {
					t.Error(err)
					return
				}
				p, err := io.ReadAll(s)
				if err != nil {
					t.Error(err)
				}
				small <- p
			}()
			waits(r)
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			close(answer)
			if p := <-small; sum(p) != sum(part(t, b, 0, 1000)) {
				t.Error("other bytes of the small answer")
			}
			if n := connections(cl); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}
