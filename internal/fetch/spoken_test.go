package fetch

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// evil is an answer that could be that to any request for the beginning of an object.
const evil = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4\r\n\r\nevil"

// TestUnaskedAnswers: what a server sends while nothing is asked of it, and what
// stands behind an answer to something else, is not taken for the next answer.
func TestUnaskedAnswers(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 5}
	right := func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-999/1000\r\nContent-Length: 1000\r\nEtag: \"e\"\r\n\r\n")
		_, _ = io.Copy(w, b.Reader())
	}
	for _, c := range []struct {
		name  string
		first func(w io.Writer) // the answer to the first request on the first connection
		fails bool              // it is to be refused
	}{
		{"an answer more", func(w io.Writer) {
			right(w)
			time.Sleep(20 * time.Millisecond) // so that it is not read with the one before
			_, _ = io.WriteString(w, evil)
		}, false},
		{"a wrong one and one more", func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-8/1000\r\nContent-Length: 4\r\n\r\nabcd"+evil)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := make(chan struct{})
			srv := newRawServer(t, func(p *peer) {
				for i := 0; p.request() != nil; i++ {
					if p.n == 0 && i == 0 {
						c.first(p)
						close(sent)
						continue
					}
					right(p)
				}
			})
			client := NewClient(new(Config), new(net.Dialer), nil)
			defer client.Close()
			u := srv.url(t)
			if resp, err := client.Get(t.Context(), u, 0, 1000); c.fails {
				if err == nil {
					t.Error("it was taken")
				}
			} else if err != nil {
				t.Fatal(err)
			} else if sum(readAll(t, resp)) != b.SHA256() {
				t.Error("other bytes")
			}
			<-sent
			shows(client)
			resp, err := client.Get(t.Context(), u, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, resp); sum(got) != b.SHA256() {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestUnaskedAnswersOverTLS: what stands behind an answer may be in the record that ends it, or
// in another that has been read with it, and not be seen in the socket.
func TestUnaskedAnswersOverTLS(t *testing.T) {
	b := testbody.Body{Size: 40_000, Seed: 5}
	srv := httptest.NewUnstartedServer(nil)
	srv.StartTLS() // for its certificate
	defer srv.Close()
	for name, c := range map[string]struct {
		fast bool // it reads ahead
		own  bool // a record of its own
		part int  // of which so many bytes come, and the rest when something else is asked for; 0: all
	}{
		"behind the answer": {}, "behind the answer, read ahead": {fast: true},
		"a record": {own: true}, "a record, read ahead": {fast: true, own: true},
		"half a record": {fast: true, own: true, part: 50}, "half a record's head": {fast: true, own: true, part: 3},
	} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan struct{})
			s := newRawServer(t, func(p *peer) {
				w := &hoarder{Conn: p.Conn}
				tc := tls.Server(w, &tls.Config{Certificates: srv.TLS.Certificates}) //nolint:gosec // a test's
				all := head206(0, b.Size, b.Size, "") + string(part(t, b, 0, b.Size))
				br := bufio.NewReader(tc)
				for i := 0; ; i++ {
					if _, err := http.ReadRequest(br); err != nil {
						return
					}
					_, _ = p.Write(w.held)
					w.held = nil
					answers := []string{all}
					switch first := p.n == 0 && i == 0; {
					case first && c.own:
						answers = []string{all, evil}
					case first:
						answers = []string{all + evil}
					}
					w.hoards = c.part > 0 && len(answers) > 1
					for _, a := range answers {
						_, _ = io.WriteString(tc, a)
					}
					if w.hoards {
						w.hoards = false
						const sealed = 5 + 1 + 16 // what a record adds
						end := len(w.held) - len(evil) - sealed + c.part
						_, _ = p.Write(w.held[:end])
						w.held = w.held[end:]
					}
					if p.n == 0 && i == 0 {
						close(sent)
					}
				}
			})
			client := client(t, Config{TLS: &tls.Config{InsecureSkipVerify: true}, Protocol: HTTP1}) //nolint:gosec // a test's
			u := parse(t, "https://"+s.ln.Addr().String()+"/f")
			r, err := client.Get(t.Context(), u, 0, b.Size)
			if err != nil {
				t.Fatal(err)
			}
			if c.fast {
				r.Gather(100 << 10)
			}
			<-sent
			if sum(readAll(t, r)) != b.SHA256() {
				t.Error("other bytes")
			}
			if c.own { // else it has come with the answer
				shows(client)
			}
			if r, err = client.Get(t.Context(), u, 0, b.Size); err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, r); sum(got) != b.SHA256() {
				t.Errorf("%q", got)
			}
		})
	}
}

// shows waits until what the server has sent unasked, or its end, has come to the client's only
// connection, where one can tell: over loopback, too, a busy kernel takes its time.
func shows(c *Client) {
	c.mu.Lock()
	var hc *h1Conn // nil: it was closed for that already
	for _, o := range c.origins {
		if len(o.h1) > 0 {
			hc = o.h1[0]
		}
	}
	c.mu.Unlock()
	if hc == nil {
		return
	}
	raw, err := kernels(hc.raw).(syscall.Conn).SyscallConn()
	if err != nil {
		return // it is closed
	}
	for range 1000 {
		there := hc.br.Buffered() > 0 || hc.tls != nil && (hc.tls.wire.r < hc.tls.wire.w || hc.tls.wire.rest > 0)
		if cerr := raw.Control(func(fd uintptr) { there = there || waiting(fd) }); there || cerr != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// hoarder keeps back what is written to a connection.
type hoarder struct {
	net.Conn
	hoards bool
	held   []byte
}

func (h *hoarder) Write(p []byte) (int, error) {
	if h.hoards {
		h.held = append(h.held, p...)
		return len(p), nil
	}
	return h.Conn.Write(p)
}

func readAll(t *testing.T, r *Response) []byte {
	t.Helper()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	_ = r.Close() // it is at its end
	return all
}
