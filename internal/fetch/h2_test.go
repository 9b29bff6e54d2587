package fetch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
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
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	frameGoAway   = 7
	flagEnd       = 1 // END_STREAM
	flagHeaders   = 4 // END_HEADERS
)

// u32 is a number in network order.
func u32(n ...uint32) (s string) {
	for _, x := range n {
		s += string(binary.BigEndian.AppendUint32(nil, x))
	}
	return s
}

// contentRangeField is that header without indexing (RFC 7541, 6.2.2).
func contentRangeField(value string) string {
	const name = "content-range"
	return "\x00" + string(rune(len(name))) + name + string(rune(len(value))) + value
}

// nextStream reads frames up to the next request and returns its stream; 0 at the end.
func (p *peer) nextStream() uint32 {
	h := make([]byte, 9)
	for {
		if _, err := io.ReadFull(p.br, h); err != nil {
			return 0
		}
		n := int(binary.BigEndian.Uint32(h) >> 8)
		if _, err := p.br.Discard(n); err != nil {
			return 0
		}
		if h[3] == frameHeaders {
			return binary.BigEndian.Uint32(h[5:])
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
	p.say(frame(frameHeaders, flagHeaders, stream, "\x8a"+contentRangeField("bytes 0-9/100")) + // 0x8a is :status 206
		frame(frameData, flagEnd, stream, "0123456789"))
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

func TestHTTP2Hostile(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(p *peer, stream uint32)
		class Class
	}{
		"reset by the server": {func(p *peer, s uint32) {
			p.say(frame(frameHeaders, flagHeaders, s, "\x8a"+contentRangeField("bytes 0-9/100")) + frame(frameReset, 0, s, u32(2)))
		}, Network},
		"ends early": {func(p *peer, s uint32) {
			p.say(frame(frameHeaders, flagHeaders, s, "\x8a"+contentRangeField("bytes 0-9/100")) + frame(frameData, flagEnd, s, "012345678"))
		}, Network},
		"too long": {func(p *peer, s uint32) {
			p.say(frame(frameHeaders, flagHeaders, s, "\x8a"+contentRangeField("bytes 0-9/100")) + frame(frameData, flagEnd, s, "0123456789a"))
		}, Protocol},
		"wrong range": {func(p *peer, s uint32) {
			p.say(frame(frameHeaders, flagHeaders, s, "\x8a"+contentRangeField("bytes 1-10/100")))
		}, Protocol},
		"garbage": {func(p *peer, _ uint32) { p.say(frame(frameData, 0, 0, "x")) }, Protocol},
		"bad header block": {func(p *peer, s uint32) {
			p.say(frame(frameHeaders, flagHeaders, s, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
		}, Protocol},
		"closed": {func(p *peer, _ uint32) { _ = p.Close() }, Network},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRawServer(t, func(p *peer) {
				p.preface()
				for stream := p.nextStream(); stream != 0; stream = p.nextStream() {
					c.serve(p, stream)
				}
			})
			e := mustFail(t, client(t, Config{Protocol: HTTP2PriorKnowledge}), s.url(t), 0, 10)
			if e.Class != c.class {
				t.Errorf("class %v: %v", e.Class, e)
			}
		})
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
	c := client(t, Config{Protocol: HTTP2PriorKnowledge, ResponseTimeout: 100 * time.Millisecond})
	if e := mustFail(t, c, s.url(t), 0, 10); e.Class != Network || !errors.Is(e, os.ErrDeadlineExceeded) {
		t.Error(fmt.Sprint(e.Class, e))
	}
	if got := must(t, c, s.url(t), 0, 10); string(got) != "0123456789" {
		t.Errorf("got %q", got)
	}
}
