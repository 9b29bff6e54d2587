package fetch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

// memServer is a server in memory that serves a few connections at a time, each until its
// client closes it, and says how many there have been.
type memServer struct {
	t     testing.TB
	h2    bool
	conns chan net.Conn
	takes time.Duration // for an answer
	made  int
}

func newMemServer(t testing.TB, atOnce int, h2 bool) *memServer {
	s := &memServer{t: t, h2: h2, conns: make(chan net.Conn, 100)}
	for range atOnce {
		go s.serve()
	}
	t.Cleanup(func() { close(s.conns) })
	return s
}

func (s *memServer) serve() {
	for c := range s.conns {
		if c == nil {
			return
		}
		p := &peer{t: s.t, Conn: c, br: bufio.NewReader(c)}
		if s.h2 {
			s.serveH2(p)
		}
		for !s.h2 && p.request() != nil {
			time.Sleep(s.takes)
			p.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		}
		_ = c.Close()
	}
}

func (s *memServer) serveH2(p *peer) {
	p.preface()
	streams := make(chan uint32, 100)
	go func() { // a write to the pipe waits for the client, which may be writing, too
		defer close(streams)
		for stream := p.nextStream(); stream != 0; stream = p.nextStream() {
			streams <- stream
		}
	}()
	for stream := range streams {
		time.Sleep(s.takes)
		p.say(frame(frameHeaders, flagHeaders, stream, "\x88") + frame(frameData, flagEnd, stream, "hello"))
	}
}

func (s *memServer) DialContext(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	s.made++
	s.conns <- buffered(theirs)
	return ours, nil
}

// bufferedConn is a connection of which a kernel has read what the client has sent, accepted or not.
type bufferedConn struct {
	net.Conn
	sent chan []byte
	rest []byte
}

func buffered(c net.Conn) *bufferedConn {
	b := &bufferedConn{Conn: c, sent: make(chan []byte, 1000)}
	go func() {
		defer close(b.sent)
		for {
			p := make([]byte, 4096)
			n, err := c.Read(p)
			if err != nil {
				return
			}
			b.sent <- p[:n]
		}
	}()
	return b
}

func (b *bufferedConn) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		next, ok := <-b.sent
		if !ok {
			return 0, io.EOF
		}
		b.rest = next
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// In virtual time: behind a server that serves one connection at a time one request waits once,
// and then none does; a server that serves all loses no connection.
func TestServersThatServeOneConnectionAtATime(t *testing.T) {
	for _, c := range []struct {
		name        string
		atOnce      int
		h2          bool
		first, then time.Duration // what a request over the second client takes, the first and later
		made        int           // connections
	}{
		{"one at a time", 1, false, patienceLeast, 0, 12},
		{"two at a time", 2, false, 0, 0, 2},
		{"one at a time, HTTP/2", 1, true, patienceLeast, 0, 12},
		{"two at a time, HTTP/2", 2, true, 0, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemServer(t, c.atOnce, c.h2)
				cfg := Config{Peers: NewPeers(), Protocol: protocolOf(c.h2)}
				one, two := clientOver(t, cfg, s), clientOver(t, cfg, s)
				u := &url.URL{Scheme: "http", Host: "host.test", Path: "/"}
				for i := range 6 {
					must(t, one, u, 0, -1)
					began := time.Now()
					must(t, two, u, 0, -1)
					want := c.then
					if i == 0 {
						want = c.first
					}
					if took := time.Since(began); took != want {
						t.Errorf("request %d took %v, want %v", i, took, want)
					}
				}
				if s.made != c.made {
					t.Errorf("%d connections, want %d", s.made, c.made)
				}
			})
		})
	}
}

func protocolOf(h2 bool) HTTPVersion {
	if h2 {
		return HTTP2PriorKnowledge
	}
	return HTTP1
}

// A connection that has a next request each time ends all the same when another one has waited
// for longer than a server needs.
func TestABusyConnectionGivesWay(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprint("h2 ", h2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemServer(t, 1, h2)
				s.takes = 7 * time.Millisecond
				cfg := Config{Peers: NewPeers(), Protocol: protocolOf(h2)}
				busy, other := clientOver(t, cfg, s), clientOver(t, cfg, s)
				u := &url.URL{Scheme: "http", Host: "host.test", Path: "/"}
				must(t, busy, u, 0, -1)
				began, waited := time.Now(), make(chan time.Duration, 1)
				go func() {
					must(t, other, u, 0, -1)
					waited <- time.Since(began)
				}()
				for range 100 {
					must(t, busy, u, 0, -1)
				}
				if took := <-waited; took < patienceLeast || took > patienceLeast+3*s.takes {
					t.Errorf("it waited %v", took)
				}
			})
		})
	}
}

// A server that is merely slow with its first answers is not taken for one that serves few
// connections for long: as soon as it has answered on two at a time, none is closed.
func TestASlowServerServesManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemServer(t, 3, false)
		cfg := Config{Peers: NewPeers()}
		u := &url.URL{Scheme: "http", Host: "host.test", Path: "/"}
		one, two, three := clientOver(t, cfg, s), clientOver(t, cfg, s), clientOver(t, cfg, s)
		must(t, one, u, 0, -1)
		s.takes = 4 * patienceLeast
		must(t, two, u, 0, -1)                   // for which that of the first is given up
		r, err := one.Get(t.Context(), u, 0, -1) // which is not read yet
		if err != nil {
			t.Fatal(err)
		}
		must(t, two, u, 0, -1)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		made := s.made
		for range 5 {
			must(t, one, u, 0, -1)
			must(t, two, u, 0, -1)
		}
		must(t, three, u, 0, -1)
		if s.made != made+1 {
			t.Errorf("%d connections more", s.made-made)
		}
	})
}

// A connection on which nothing was answered is in the way, too: one whose only request was
// withdrawn, and one that was made before there was a request.
func TestUnansweredConnectionsAreClosedForOthers(t *testing.T) {
	for _, c := range []struct {
		name    string
		h2      bool
		between func(*testing.T, *Client, *url.URL)
	}{
		{"withdrawn, HTTP/2", true, withdraw},
		{"withdrawn", false, withdraw},
		{"made before, HTTP/2", true, openFor},
		{"made before", false, openFor},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemServer(t, 1, c.h2)
				cfg := Config{Peers: NewPeers(), Protocol: protocolOf(c.h2), ResponseTimeout: time.Minute}
				one, two, three := clientOver(t, cfg, s), clientOver(t, cfg, s), clientOver(t, cfg, s)
				u := &url.URL{Scheme: "http", Host: "host.test", Path: "/"}
				must(t, one, u, 0, -1)
				c.between(t, two, u)
				one.Close()
				began := time.Now()
				must(t, three, u, 0, -1)
				if took := time.Since(began); took > patienceLeast {
					t.Errorf("it waited %v", took)
				}
			})
		})
	}
}

// withdraw makes a request that is withdrawn before it is answered.
func withdraw(t *testing.T, client *Client, u *url.URL) {
	ctx, cancel := context.WithTimeout(t.Context(), patienceLeast/10)
	defer cancel()
	if _, err := client.Get(ctx, u, 0, -1); err == nil {
		t.Error("it was answered")
	}
}

func openFor(t *testing.T, client *Client, u *url.URL) {
	if err := client.Open(t.Context(), u); err != nil {
		t.Error(err)
	}
}

// A server that serves fewer connections at a time than it did is waited for longer once, and then
// known.
func TestAServerServesFewerConnectionsThanBefore(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprint("h2 ", h2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemServer(t, 2, h2)
				cfg := Config{Peers: NewPeers(), Protocol: protocolOf(h2), ResponseTimeout: time.Minute}
				one, two, three := clientOver(t, cfg, s), clientOver(t, cfg, s), clientOver(t, cfg, s)
				u := &url.URL{Scheme: "http", Host: "host.test", Path: "/"}
				must(t, one, u, 0, -1)
				must(t, two, u, 0, -1)
				one.Close()
				s.conns <- nil // it serves one connection at a time from now on
				for i, client := range []*Client{three, two, three, two} {
					want := time.Duration(0)
					if i == 0 {
						want = (respected + 1) * patienceLeast
					}
					began := time.Now()
					must(t, client, u, 0, -1)
					if took := time.Since(began); took != want {
						t.Errorf("request %d took %v, want %v", i, took, want)
					}
				}
			})
		})
	}
}
