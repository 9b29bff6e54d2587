package daemon

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections in memory.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestSlowClientsAreGivenUp: a client that sends a part of its request, or reads nothing of the
// answer, loses its connection, which others may need.
func TestSlowClientsAreGivenUp(t *testing.T) {
	for name, request := range map[string]string{
		"nothing":          "",
		"half of a header": "POST /jsonrpc HTTP/1.1\r\nHost: x\r\nContent-",
		"half of a body":   "POST /jsonrpc HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
		"reads no answer":  "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := newWebServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
				}))
				l := pipes{make(chan net.Conn)}
				ended := make(chan error)
				go func() { ended <- web.Serve(l) }()
				client, server := net.Pipe()
				gone := make(chan struct{})
				l.conns <- watched{server, gone}
				if _, err := io.WriteString(client, request); err != nil {
					t.Fatal(err)
				}
				select {
				case <-gone:
				case <-time.After(time.Hour):
					t.Error("the connection is kept")
				}
				_ = client.Close()
				close(l.conns)
				if err := <-ended; !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
			})
		})
	}
}

// watched is a connection that tells when it is closed.
type watched struct {
	net.Conn
	closed chan struct{}
}

func (w watched) Close() error {
	select {
	case <-w.closed:
	default:
		close(w.closed)
	}
	return w.Conn.Close()
}
