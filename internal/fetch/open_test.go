package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// TestOpen: a request finds the connection that was opened for it, whatever is spoken on
// it, and another Open makes no second one.
func TestOpen(t *testing.T) {
	b := testbody.Body{Size: 200_000, Seed: 3}
	for _, c := range []struct {
		name  string
		tls   bool
		proto HTTPVersion
		want  string
	}{{"clear", false, Auto, "1.1"}, {"tls", true, HTTP1, "1.1"}, {"http2", true, Auto, "2"}} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(serveBody(b))
			srv.EnableHTTP2 = true
			if c.tls {
				srv.StartTLS()
			} else {
				srv.Start()
			}
			defer srv.Close()
			cl := client(t, Config{Protocol: c.proto, TLS: &tls.Config{InsecureSkipVerify: true}})
			u := parse(t, srv.URL+"/f")
			for range 2 {
				if err := cl.Open(t.Context(), u); err != nil {
					t.Fatal(err)
				}
			}
			for _, off := range []int64{0, 100_000} {
				if got := must(t, cl, u, off, off+100_000); sum(got) != sum(part(t, b, off, off+100_000)) {
					t.Error("other bytes")
				}
			}
			if n := connections(cl); n != 1 || cl.trace.(*connLog).proto != c.want {
				t.Errorf("%d connections of HTTP/%s", n, cl.trace.(*connLog).proto)
			}
			if err := cl.Open(t.Context(), u); err != nil || connections(cl) != 1 {
				t.Errorf("%d connections, one was in use; %v", connections(cl), err)
			}
		})
	}
}

// gatekeeper lets dials go on one by one, or fail.
type gatekeeper struct {
	asked chan struct{} // a dial has begun
	let   chan error    // how it goes on; nil: well
}

func (g *gatekeeper) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	g.asked <- struct{}{}
	select {
	case err := <-g.let:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// TestRequestWhileOpening: a request that comes while its connection is being opened
// waits for it, and makes its own when that fails.
func TestRequestWhileOpening(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 3}
	srv := httptest.NewServer(serveBody(b))
	defer srv.Close()
	u := parse(t, srv.URL+"/f")
	for name, failure := range map[string]error{"opened": nil, "failed": errors.New("no way there")} {
		t.Run(name, func(t *testing.T) {
			g := &gatekeeper{asked: make(chan struct{}), let: make(chan error)}
			cl := clientOver(t, Config{}, g)
			opening := make(chan error, 1)
			go func() { opening <- cl.Open(t.Context(), u) }()
			<-g.asked
			f := &fetching{t: t, ctx: t.Context(), c: cl, u: u, b: b}
			f.start(0, 1000)
			g.let <- failure
			err := <-opening
			if failure != nil {
				<-g.asked // the request's own
				g.let <- nil
			}
			f.wg.Wait()
			if (err != nil) != (failure != nil) || connections(cl) != 1 {
				t.Errorf("%d connections, and %v of opening", connections(cl), err)
			}
		})
	}
}

// TestOpenedConnectionsThatEnd: servers close connections on which nothing comes, or
// say so first. The request makes another one, and nothing is blamed on it.
func TestOpenedConnectionsThatEnd(t *testing.T) {
	const bored = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	b := testbody.Body{Size: 1000, Seed: 5}
	for name, early := range map[string]func(c net.Conn, r *bufio.Reader){
		"closed before":   func(net.Conn, *bufio.Reader) {},
		"bored before":    func(c net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(c, bored) },
		"unasked bytes":   func(c net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(c, evil) },
		"closed meantime": func(_ net.Conn, r *bufio.Reader) { _, _ = http.ReadRequest(r) },
		"bored meantime": func(c net.Conn, r *bufio.Reader) {
			_, _ = http.ReadRequest(r)
			_, _ = io.WriteString(c, bored)
		},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			s := newRawServer(t, func(p *peer) {
				if p.n == 0 {
					early(p, p.br)
					_ = p.Conn.(*net.TCPConn).CloseWrite()
					close(done)
					_, _ = io.Copy(io.Discard, p.br)
					return
				}
				for p.request() != nil {
					p.part(b, 0, 1000, "")
				}
			})
			cl := NewClient(new(Config), new(net.Dialer), new(connLog))
			defer cl.Close()
			u := s.url(t)
			if err := cl.Open(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			if name == "closed before" || name == "bored before" || name == "unasked bytes" {
				<-done
				shows(cl)
			}
			if got := must(t, cl, u, 0, 1000); sum(got) != b.SHA256() {
				t.Errorf("%.40q", got)
			}
			if n := connections(cl); n != 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestCloseWhileOpening: a connection that comes about after the client has been closed
// is closed, too.
func TestCloseWhileOpening(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close() // which waits until its connections are gone
	g := &gatekeeper{asked: make(chan struct{}), let: make(chan error)}
	cl := clientOver(t, Config{}, g)
	opening := make(chan error, 1)
	go func() { opening <- cl.Open(t.Context(), parse(t, srv.URL)) }()
	<-g.asked
	cl.Close()
	g.let <- nil
	if err := <-opening; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := cl.Open(t.Context(), parse(t, srv.URL)); err != nil {
		t.Error(err) // no request is left to open it for
	}
}
