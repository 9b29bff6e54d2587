package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/errno"
)

// handshake is what a client says to be led to a server, in one of the protocols.
type handshake struct {
	name, text string
	answer     string // how the answer begins
}

// handshakes lead to a port of 127.0.0.1.
func handshakes(to net.Addr) []handshake {
	port := to.(*net.TCPAddr).Port //nolint:forcetypeassert // it is TCP
	number := string([]byte{byte(port >> 8), byte(port)})
	return []handshake{
		{"http", fmt.Sprintf("GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", port, port), "HTTP/1.1 204 "},
		{"CONNECT", fmt.Sprintf("CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port, port), "HTTP/1.1 200 "},
		{"socks5", "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01" + number, "\x05\x00\x05\x00"},
		{"socks5 with a name", "\x05\x01\x00\x05\x01\x00\x03\x09127.0.0.1" + number, "\x05\x00\x05\x00"},
		{"socks4", "\x04\x01" + number + "\x7f\x00\x00\x01ann\x00", "\x00\x5a"},
		{"socks4a", "\x04\x01" + number + "\x00\x00\x00\x01ann\x00127.0.0.1\x00", "\x00\x5a"},
	}
}

// nothing is a server without content.
func nothing(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(s.Close)
	return s
}

// TestTruncatedHandshakes: a client that ends anywhere within its handshake, by FIN or by RST,
// is let go at once, and nothing is dialled for it.
func TestTruncatedHandshakes(t *testing.T) {
	server, link := nothing(t), &wire{name: "a"}
	s, addr := start(t, Config{Placement: Measured}, link)
	cut := 0
	for _, h := range handshakes(server.Listener.Addr()) {
		for n := range len(h.text) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, h.text[:n])
			if n%2 == 1 {
				reset(conn.(*net.TCPConn)) //nolint:forcetypeassert // it is
			} else if _ = conn.(*net.TCPConn).CloseWrite(); true { //nolint:forcetypeassert // it is
				_ = conn.SetReadDeadline(time.Now().Add(handshakeTime / 2))
				if got, err := io.ReadAll(conn); err != nil && !errors.Is(err, errno.ConnReset) {
					t.Errorf("%s, %d bytes of %d: %q, %v", h.name, n, len(h.text), got, err)
				}
				_ = conn.Close()
			}
			cut++
		}
	}
	wait(t, "no client is left", func() bool { return s.count() == 0 })
	if n := link.dials.Load(); n > 0 {
		t.Errorf("%d connections were made for handshakes that were cut", n)
	}
	t.Logf("%d handshakes were cut", cut)
}

// TestSlowLoris: a client that takes its time for its handshake, byte by byte or with nothing,
// is let go when it is over, and others are served meanwhile.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	server := nothing(t)
	s, addr := start(t, Config{Placement: Measured, Users: someUsers(t)}, &wire{name: "a"})
	began := time.Now()
	var clients sync.WaitGroup
	begins := []string{"", "G", "GET http://127.0.0.1/ HTTP/1.1\r\nX: ", "CONNECT 127.0.0.1:1 HTTP/1.1\r\nX: ", "\x05", "\x05\xff", "\x05\x01\x02\x01\xff", "\x04", "\x04\x01\x00\x50\x7f\x00\x00\x01"}
	for _, begin := range begins {
		for range 20 {
			clients.Go(func() {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close() //nolint:errcheck // the test ends
				_, _ = io.WriteString(conn, begin)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = io.Copy(io.Discard, conn)
				}()
				for drip := time.NewTicker(300 * time.Millisecond); ; {
					select {
					case <-ended:
						drip.Stop()
						return
					case <-drip.C:
						if begin != "" {
							_, _ = conn.Write([]byte("a"))
						}
					}
				}
			})
		}
	}
	wait(t, "all are there", func() bool { return s.count() == 20*len(begins) })
	if got := talk(t, addr, "GET "+server.URL+" HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic YW5uOnNlY3JldA==\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 204 ") {
		t.Errorf("another client has %q", got)
	}
	clients.Wait()
	t.Logf("%d clients were let go after %v", 20*len(begins), time.Since(began).Round(time.Second))
	wait(t, "no client is left", func() bool { return s.count() == 0 })
}

// TestOversizedHeaders: requests and answers with more headers than there is room for are
// refused; a large one passes.
func TestOversizedHeaders(t *testing.T) {
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := len(r.Header.Get("X-Large"))
		if r.URL.Path == "/huge" {
			n = 1 << 20
		}
		w.Header().Set("X-Large", strings.Repeat("b", n))
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(large.Close)
	link := &wire{name: "a"}
	s, addr := start(t, Config{Placement: Measured}, link)
	say := func(text string) string {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // the test ends
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		go func() { _, _ = io.WriteString(conn, text) }() // which may be refused in the middle
		answer := make([]byte, 64)
		n, _ := io.ReadAtLeast(conn, answer, 13)
		return string(answer[:n])
	}
	ask := func(line, header string) string {
		return say(line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header + "\r\n")
	}
	for _, c := range []struct{ what, got, want string }{
		{"60 KB there and back", ask("GET "+large.URL+"/", "X-Large: "+strings.Repeat("a", 60_000)+"\r\n"), "HTTP/1.1 204 "},
		{"a header of 1 MB", ask("GET "+large.URL+"/", "X-Large: "+strings.Repeat("a", 1<<20)+"\r\n"), "HTTP/1.1 431 "},
		{"100,000 headers", ask("GET "+large.URL+"/", strings.Repeat("a: b\r\n", 100_000)), "HTTP/1.1 431 "},
		{"a URL of 1 MB", ask("GET "+large.URL+"/"+strings.Repeat("a", 1<<20), ""), "HTTP/1.1 431 "},
		{"CONNECT with 1 MB", ask("CONNECT "+large.Listener.Addr().String(), "X-Large: "+strings.Repeat("a", 1<<20)+"\r\n"), "HTTP/1.1 431 "},
		{"an answer of 1 MB", ask("GET "+large.URL+"/huge", ""), "HTTP/1.1 502 "},
		{"SOCKS4, a user of 300 bytes", say("\x04\x01\x00\x50\x7f\x00\x00\x01" + strings.Repeat("a", 300)), "\x00\x5b"},
	} {
		if !strings.HasPrefix(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	wait(t, "no client is left", func() bool { return s.count() == 0 })
}

// TestHalfOpen: where one side of a tunnel vanishes by RST, the other one hears of it, and
// nothing is left.
func TestHalfOpen(t *testing.T) {
	l := listen(t)
	for _, h := range handshakes(l.Addr())[1:] {
		s, addr := start(t, Config{Placement: Measured}, &wire{name: "a"})
		for _, clientGoes := range []bool{false, true} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, h.text)
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			wait(t, "the tunnel is there", func() bool { return s.Links()[0].Tunnels == 1 })
			answer := make([]byte, len(h.answer))
			if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != h.answer {
				t.Fatalf("%s: %q, %v", h.name, answer, err)
			}
			goes, stays := server, conn
			if clientGoes {
				goes, stays = conn, server
			}
			reset(goes.(*net.TCPConn)) //nolint:forcetypeassert // it is
			if _, err := io.Copy(io.Discard, stays); !errors.Is(err, errno.ConnReset) {
				t.Errorf("%s, the client goes %v: the other side has %v, want a reset", h.name, clientGoes, err)
			}
			_ = stays.Close()
			wait(t, "nothing is left", func() bool { return s.Links()[0].Tunnels == 0 && s.count() == 0 })
		}
	}
}

// TestAThousandConnectionsASecond: clients that come at that rate, of all protocols, are served
// each; nothing of them is left.
func TestAThousandConnectionsASecond(t *testing.T) {
	const each, count = time.Millisecond, 2000
	server := nothing(t)
	s, addr := start(t, Config{Placement: Measured}, &wire{name: "a"}, &wire{name: "b"})
	kinds := handshakes(server.Listener.Addr())
	var clients sync.WaitGroup
	took := make([]time.Duration, count)
	began := time.Now()
	for i := range count {
		time.Sleep(time.Until(began.Add(time.Duration(i) * each)))
		clients.Go(func() {
			h, from := kinds[i%len(kinds)], time.Now()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close() //nolint:errcheck // the test ends
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(conn, h.text)
			r := bufio.NewReader(conn)
			answer := make([]byte, len(h.answer))
			if _, err := io.ReadFull(r, answer); err != nil || string(answer) != h.answer {
				t.Errorf("%s: %q, %v", h.name, answer, err)
			}
			took[i] = time.Since(from)
		})
	}
	clients.Wait()
	t.Logf("%d clients in %v, the slowest served after %v", count, time.Since(began).Round(time.Millisecond), slices.Max(took).Round(time.Millisecond))
	wait(t, "nothing is left", func() bool { return s.count() == 0 })
}
