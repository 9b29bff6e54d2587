package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/mlget/mlget/internal/testbody"
)

// frame is an HTTP/2 frame (RFC 9113, 4.1), by hand.
func frame(kind, flags byte, stream uint32, payload string) string {
	h := make([]byte, 9)
	binary.BigEndian.PutUint32(h, uint32(len(payload))<<8)
	h[3], h[4] = kind, flags
	binary.BigEndian.PutUint32(h[5:], stream)
	return string(h) + payload
}

const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameGoAway       = 7
	frameWindow       = 8
	frameContinuation = 9
	flagEnd           = 1 // END_STREAM, and ACK
	flagHeaders       = 4 // END_HEADERS
	flagPadded        = 8
)

// u32 is a number in network order.
func u32(n ...uint32) (s string) {
	for _, x := range n {
		s += string(binary.BigEndian.AppendUint32(nil, x))
	}
	return s
}

// field is a header without indexing (RFC 7541, 6.2.2), up to 126 bytes long.
func field(name, value string) string {
	return "\x00" + string(rune(len(name))) + name + string(rune(len(value))) + value
}

// head is a HEADERS frame with all that a part [off, end) of 100 bytes has.
func head(stream uint32, off, end int, extra string) string {
	return frame(frameHeaders, flagHeaders, stream,
		"\x8a"+field("content-range", fmt.Sprintf("bytes %d-%d/100", off, end-1))+extra) // 0x8a is :status 206
}

// next reads a frame; ok is false at the end.
func (p *peer) next() (kind, flags byte, stream uint32, payload []byte, ok bool) {
	h := make([]byte, 9)
	if _, err := io.ReadFull(p.br, h); err != nil {
		return 0, 0, 0, nil, false
	}
	payload = make([]byte, binary.BigEndian.Uint32(h)>>8)
	if _, err := io.ReadFull(p.br, payload); err != nil {
		return 0, 0, 0, nil, false
	}
	return h[3], h[4], binary.BigEndian.Uint32(h[5:]), payload, true
}

// nextStream reads frames up to the next request and returns its stream; 0 at the end.
func (p *peer) nextStream() uint32 {
	for {
		kind, _, stream, _, ok := p.next()
		if !ok || kind == frameHeaders {
			return stream
		}
	}
}

// preface reads the client's preface and sends ours.
func (p *peer) preface() {
	_, _ = p.br.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	p.say(frame(frameSettings, 0, 0, ""))
}

// answer sends a 206 of ten bytes.
func (p *peer) answer(stream uint32) {
	p.say(head(stream, 0, 10, "") + frame(frameData, flagEnd, stream, "0123456789"))
}

// TestHTTP2Unprocessed: requests that the server says it has not looked at are
// sent again.
func TestHTTP2Unprocessed(t *testing.T) {
	for name, no := range map[string]func(p *peer, stream uint32){
		"refused stream":      func(p *peer, stream uint32) { p.say(frame(frameReset, 0, stream, u32(7))) },
		"goaway":              func(p *peer, _ uint32) { p.say(frame(frameGoAway, 0, 0, u32(0, 0))) },
		"goaway, then closed": func(p *peer, _ uint32) { p.say(frame(frameGoAway, 0, 0, u32(0, 0))); _ = p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := newRawServer(t, func(p *peer) {
				p.preface()
				for stream := p.nextStream(); stream != 0; stream = p.nextStream() {
					if asked++; asked == 1 {
						no(p, stream)
						continue
					}
					p.answer(stream)
				}
			})
			c := client(t, Config{Protocol: HTTP2PriorKnowledge})
			for range 3 {
				if got := must(t, c, s.url(t), 0, 10); string(got) != "0123456789" {
					t.Errorf("got %q", got)
				}
			}
			if n := s.accepted(); n > 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestHTTP2Renewed: after GOAWAY, and after the connection has gone, later
// requests go over a new one.
func TestHTTP2Renewed(t *testing.T) {
	s := newRawServer(t, func(p *peer) {
		p.preface()
		stream := p.nextStream()
		p.answer(stream)
		if p.n%2 == 0 {
			p.say(frame(frameGoAway, 0, 0, u32(stream, 0)))
			p.nextStream()
		}
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge})
	for range 6 {
		if got := must(t, c, s.url(t), 0, 10); string(got) != "0123456789" {
			t.Errorf("got %q", got)
		}
	}
}

// TestHTTP2Late: a silent connection is given up, not used again.
func TestHTTP2Late(t *testing.T) {
	s := newRawServer(t, func(p *peer) {
		p.preface()
		for stream := p.nextStream(); stream != 0; stream = p.nextStream() {
			if p.n > 0 {
				p.answer(stream)
			}
		}
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge, ResponseTimeout: 2 * time.Second}) // in which also a busy machine has answered once
	if e := mustFail(t, c, s.url(t), 0, 10); e.Class != Network || !errors.Is(e, os.ErrDeadlineExceeded) {
		t.Error(fmt.Sprint(e.Class, e))
	}
	if got := must(t, c, s.url(t), 0, 10); string(got) != "0123456789" {
		t.Errorf("got %q", got)
	}
}

// TestHTTP2ConnectionEndsEarly: a body ends with its stream, not with the connection, whether
// its length is known or not.
func TestHTTP2ConnectionEndsEarly(t *testing.T) {
	serve := func(p *peer) {
		p.preface()
		s := p.nextStream()
		p.say(frame(frameHeaders, flagHeaders, s, "\x88") + frame(frameData, 0, s, "0123456789")) // 200
		_ = p.Conn.(interface{ CloseWrite() error }).CloseWrite()                                 // over TLS with a close_notify
		_, _ = io.Copy(io.Discard, p.br)                                                          // else it would be a reset
	}
	plain, secure := newRawServer(t, serve), newTLSServer(t, "h2", serve)
	for i := range 4 {
		c, u := client(t, Config{Protocol: HTTP2PriorKnowledge}), plain.url(t)
		if i%2 > 0 {
			c, u = client(t, secure.trusted), secure.url(t)
		}
		r, err := c.Get(t.Context(), u, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(readerOf(r, i > 1))
		var e *Error
		if len(got) != 10 || !errors.As(err, &e) || e.Class != Network || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q, %v", got, err)
		}
		_ = r.Close()
	}
}

// brokenPipe is a connection on which only the first write succeeds, as one that its server has
// closed; what the server sent before can be read.
type brokenPipe struct {
	net.Conn
	writes atomic.Int64
}

func (c *brokenPipe) Write(p []byte) (int, error) {
	if c.writes.Add(1) > 1 {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	return c.Conn.Write(p)
}

type brokenPipes struct{ net.Dialer }

func (d *brokenPipes) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &brokenPipe{Conn: c}, nil
}

// A server may close a connection when it has sent all of an answer (RFC 9113, 9.1): that
// nothing can be sent on it any more costs no byte of the answer.
func TestHTTP2AnswerBeforeABrokenPipeIsRead(t *testing.T) {
	s := newRawServer(t, func(p *peer) {
		p.preface()
		p.answer(p.nextStream())
	})
	c := clientOver(t, Config{Protocol: HTTP2PriorKnowledge}, new(brokenPipes))
	for range 2 {
		if got := must(t, c, s.url(t), 0, 10); string(got) != "0123456789" {
			t.Errorf("got %q", got)
		}
	}
}

// A server that closes the connection on a request for a range may be noticed when something
// is sent to it: it is asked without Range as well.
func TestBrokenPipeMayBeARefusedRange(t *testing.T) {
	err := &Error{Class: Network, Err: &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}}
	p, key := NewPeers(), originOf(parse(t, "http://h.test/"))
	for range brokenFrom {
		p.failed(key, nil, false, err)
	}
	if !p.plainly(key, nil) {
		t.Error("asked for a range again")
	}
}

// A server that wants HTTP/1.1 says so (RFC 9113, 7), as IIS does where a connection has to
// be authenticated, and gets it, unless the user knows that it speaks HTTP/2.
func TestServerWantsHTTP1(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 25}
	known := httptest.NewUnstartedServer(nil) // for its certificate
	known.StartTLS()
	known.Close()
	conf := &tls.Config{Certificates: known.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}
	var streams atomic.Int64
	s := newRawServer(t, func(p *peer) {
		tc := tls.Server(p.Conn, conf)
		if tc.Handshake() != nil {
			return
		}
		p.Conn, p.br = tc, bufio.NewReader(tc)
		if tc.ConnectionState().NegotiatedProtocol != "h2" {
			for r := p.request(); r != nil; r = p.request() {
				off, end := ranged(r)
				p.part(b, off, end, "")
			}
			return
		}
		if _, err := io.ReadFull(p.br, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		p.say(frame(frameSettings, 0, 0, ""))
		for kind, _, stream, _, ok := p.next(); ok; kind, _, stream, _, ok = p.next() {
			if kind == frameHeaders {
				streams.Add(1)
				p.say(frame(frameReset, 0, stream, u32(uint32(http2.ErrCodeHTTP11Required))))
			}
		}
	})
	u := parse(t, "https://"+s.ln.Addr().String()+"/f")
	ca := known.Client().Transport.(*http.Transport).TLSClientConfig
	c := client(t, Config{TLS: ca})
	for range 3 {
		if got := must(t, c, u, 0, 1000); sum(got) != b.SHA256() {
			t.Error("other bytes")
		}
	}
	if n := streams.Load(); n != 1 {
		t.Errorf("asked %d times over HTTP/2", n)
	}
	if r, err := client(t, Config{TLS: ca, Protocol: HTTP2PriorKnowledge}).Get(t.Context(), u, 0, 10); err == nil {
		t.Errorf("answered over %s", r.Proto)
	}
}
