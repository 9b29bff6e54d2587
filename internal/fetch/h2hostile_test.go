package fetch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/mlget/mlget/internal/testbody"
)

// TestHTTP2Hostile answers a request for bytes [0, 10) by a script; class 0 means
// that the answer is good.
func TestHTTP2Hostile(t *testing.T) {
	const ten = "0123456789"
	length := func(n string) string { return field("content-length", n) }
	data := func(s uint32, text string) string { return frame(frameData, flagEnd, s, text) }
	ok := func(s uint32, more string) string { return head(s, 0, 10, "") + more }
	long := field("x", strings.Repeat("y", 100))
	for _, c := range []struct {
		name   string
		answer func(s uint32) string
		class  Class
		text   string // within the error
	}{
		{"good", func(s uint32) string { return ok(s, data(s, ten)) }, 0, ""},
		{"good, length", func(s uint32) string { return head(s, 0, 10, length("10")) + data(s, ten) }, 0, ""},
		{"good, length twice", func(s uint32) string { return head(s, 0, 10, length("10")+length("10")) + data(s, ten) }, 0, ""},
		{"good, in pieces", func(s uint32) string {
			return ok(s, frame(frameData, 0, s, "01")+frame(frameData, 0, s, "")+frame(frameData, 0, s, "234567")+data(s, "89"))
		}, 0, ""},
		{"good, padded", func(s uint32) string {
			return ok(s, frame(frameData, flagPadded, s, "\x0301234\x00\x00\x00")+frame(frameData, flagPadded|flagEnd, s, "\x0056789"))
		}, 0, ""},
		{"good, nothing but padding", func(s uint32) string {
			return ok(s, frame(frameData, flagPadded, s, "\x03\x00\x00\x00")+data(s, ten))
		}, 0, ""},
		{"good, padded header", func(s uint32) string {
			h := "\x8a" + field("content-range", "bytes 0-9/100")
			return frame(frameHeaders, flagHeaders|flagPadded, s, "\x02"+h+"\x00\x00") + data(s, ten)
		}, 0, ""},
		{"good, empty end", func(s uint32) string { return ok(s, frame(frameData, 0, s, ten)+data(s, "")) }, 0, ""},
		{"good, trailers", func(s uint32) string {
			return ok(s, frame(frameData, 0, s, ten)+frame(frameHeaders, flagHeaders|flagEnd, s, field("x-sum", "1")))
		}, 0, ""},
		{"good, interim", func(s uint32) string {
			return frame(frameHeaders, flagHeaders, s, "\x08\x03103") + ok(s, data(s, ten))
		}, 0, ""},
		{"good, continuation", func(s uint32) string {
			h := "\x8a" + field("content-range", "bytes 0-9/100")
			return frame(frameHeaders, 0, s, h[:7]) + frame(frameContinuation, 0, s, "") +
				frame(frameContinuation, flagHeaders, s, h[7:]) + data(s, ten)
		}, 0, ""},
		{"good, unknown frames, settings, pings, windows", func(s uint32) string {
			return frame(0xbe, 0xff, s, "what") + frame(frameSettings, 0, 0, "\x00\x03\x00\x00\x00\x64\x00\x01\x00\x00\x00\x00\xff\xff\x00\x00\x00\x01") +
				ok(s, frame(0xbe, 0, 0, "")+frame(framePing, 0, 0, "12345678")+frame(frameWindow, 0, 0, u32(1))+
					frame(frameWindow, 0, s, u32(5))+frame(frameSettings, flagEnd, 0, "")+data(s, ten))
		}, 0, ""},
		{"good, reset after its end", func(s uint32) string { return ok(s, data(s, ten)+frame(frameReset, 0, s, u32(0))) }, 0, ""},

		{"reset", func(s uint32) string { return ok(s, frame(frameReset, 0, s, u32(2))) }, Network, "INTERNAL_ERROR"},
		{"reset with a reproach", func(s uint32) string { return frame(frameReset, 0, s, u32(1)) }, Protocol, "PROTOCOL_ERROR"},
		{"reset for http/1.1", func(s uint32) string { return frame(frameReset, 0, s, u32(0xd)) }, Protocol, "HTTP/1.1"},
		{"ends early", func(s uint32) string { return ok(s, data(s, ten[:9])) }, Network, "1 bytes missing"},
		{"ends early with length", func(s uint32) string { return head(s, 0, 10, length("10")) + data(s, ten[:9]) }, Network, "1 bytes missing"},
		{"ends with its header", func(s uint32) string {
			return frame(frameHeaders, flagHeaders|flagEnd, s, "\x8a"+field("content-range", "bytes 0-9/100"))
		}, Network, "10 bytes missing"},
		{"too long", func(s uint32) string { return ok(s, data(s, ten+"a")) }, Protocol, "longer"},
		{"too long in the next frame", func(s uint32) string { return ok(s, frame(frameData, 0, s, ten)+data(s, "a")) }, Protocol, "longer"},
		{"longer than its length", func(s uint32) string { return head(s, 0, 10, length("10")) + data(s, ten+"a") }, Protocol, "longer"},
		{"wrong range", func(s uint32) string { return head(s, 1, 11, "") }, Protocol, "[0, 10)"},
		{"length disagrees", func(s uint32) string { return head(s, 0, 10, length("11")) + data(s, ten+"a") }, Protocol, "content-length 11"},
		{"two lengths", func(s uint32) string { return head(s, 0, 10, length("10")+length("11")) }, Protocol, "content-length"},
		{"negative length", func(s uint32) string { return head(s, 0, 10, length("-1")) }, Protocol, "content-length"},
		{"signed length", func(s uint32) string { return head(s, 0, 10, length("+10")) }, Protocol, "content-length"},

		{"data on stream 0", func(uint32) string { return frame(frameData, 0, 0, "x") }, Protocol, "not open"},
		{"data on an idle stream", func(s uint32) string { return frame(frameData, 0, s+2, "x") }, Protocol, "not open"},
		{"data on a server's stream", func(uint32) string { return frame(frameData, 0, 2, "x") }, Protocol, "not open"},
		{"data before the header", func(s uint32) string { return frame(frameData, 0, s, "x") }, Protocol, "before the header"},
		{"data after the end", func(s uint32) string { return ok(s, data(s, ten[:9])+data(s, "x")) }, Network, "missing"},
		{"padding too long", func(s uint32) string { return ok(s, frame(frameData, flagPadded, s, "\x0a012345678")) }, Protocol, "padding"},
		{"padding without length", func(s uint32) string { return ok(s, frame(frameData, flagPadded, s, "")) }, Protocol, "padd"},
		{"frame too large", func(s uint32) string { return ok(s, frame(frameData, 0, s, strings.Repeat("x", maxFrame+1))) }, Protocol, "16385"},
		{"control frame too large", func(uint32) string { return frame(0xbe, 0, 0, strings.Repeat("x", maxFrame+1)) }, Protocol, "16385"},

		{"header on stream 0", func(uint32) string { return head(0, 0, 10, "") }, Protocol, "stream ID 0"},
		{"header on an idle stream", func(s uint32) string { return head(s+2, 0, 10, "") }, Protocol, "not open"},
		{"header after the end", func(s uint32) string {
			return head(s, 0, 10, "") + data(s, "") + head(s, 0, 10, "")
		}, Network, "missing"},
		{"bad header block", func(s uint32) string {
			return frame(frameHeaders, flagHeaders, s, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
		}, Protocol, ""},
		{"unfinished header block", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, "\x8a\x00\x7f") }, Protocol, ""},
		{"no status", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, field("x", "y")) }, Protocol, "status"},
		{"odd status", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, "\x08\x04+206") }, Protocol, "status"},
		{"status 99", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, "\x08\x03099") }, Protocol, "status"},
		{"two statuses", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, "\x8a\x8a") }, Protocol, "malformed"},
		{"pseudo-header of a request", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, "\x84") }, Protocol, "malformed"},
		{"unknown pseudo-header", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, "\x8a"+field(":x", "y")) }, Protocol, "malformed"},
		{"pseudo-header too late", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, field("x", "y")+"\x8a") }, Protocol, "malformed"},
		{"upper-case header", func(s uint32) string { return head(s, 0, 10, field("X-A", "y")) }, Protocol, "malformed"},
		{"control character in a header", func(s uint32) string { return head(s, 0, 10, field("x", "\x1b[2J")) }, Protocol, "malformed"},
		{"line break in a header", func(s uint32) string { return head(s, 0, 10, field("x", "a\r\nb")) }, Protocol, "malformed"},
		{"header of http/1.1", func(s uint32) string { return head(s, 0, 10, field("transfer-encoding", "chunked")) }, Protocol, "transfer-encoding"},
		{"trailers without end", func(s uint32) string { return ok(s, frame(frameHeaders, flagHeaders, s, field("x", "y"))) }, Protocol, "trailers"},
		{"status in trailers", func(s uint32) string { return ok(s, frame(frameHeaders, flagHeaders|flagEnd, s, "\x8a")) }, Protocol, "trailers"},
		{"continuation of nothing", func(s uint32) string { return frame(frameContinuation, flagHeaders, s, "") }, Protocol, "CONTINUATION"},
		{"header cut by data", func(s uint32) string { return frame(frameHeaders, 0, s, "\x8a") + data(s, ten) }, Protocol, "CONTINUATION"},
		{"switching protocols", func(s uint32) string { return frame(frameHeaders, flagHeaders, s, "\x08\x03101") }, Protocol, "switches"},
		{"interim only", func(s uint32) string { return frame(frameHeaders, flagHeaders|flagEnd, s, "\x08\x03103") }, Protocol, "interim"},

		{"interim flood", func(s uint32) string { return strings.Repeat(frame(frameHeaders, flagHeaders, s, "\x08\x03103"), 100) }, Protocol, "interim"},
		{"large header", func(s uint32) string {
			return frame(frameHeaders, 0, s, "\x8a") + strings.Repeat(frame(frameContinuation, 0, s, strings.Repeat(long, 100)), 100)
		}, Protocol, ""},
		{"header that unpacks large", func(s uint32) string {
			big := "\x40\x01x\x7f\x89\x19" + strings.Repeat("y", 127+25*128+9)
			return frame(frameHeaders, flagHeaders, s, "\x8a"+big+strings.Repeat("\xbe", 200))
		}, Protocol, "too large"},
		{"continuation flood", func(s uint32) string {
			return frame(frameHeaders, 0, s, "\x8a") + strings.Repeat(frame(frameContinuation, 0, s, ""), 100_000)
		}, Protocol, "too large"},
		{"settings flood", func(uint32) string { return strings.Repeat(frame(frameSettings, 0, 0, ""), 2000) }, Protocol, "flood"},
		{"ping flood", func(uint32) string { return strings.Repeat(frame(framePing, 0, 0, "12345678"), 2000) }, Protocol, "flood"},
		{"window flood", func(uint32) string { return strings.Repeat(frame(frameWindow, 0, 0, u32(1)), 2000) }, Protocol, "flood"},
		{"flood of unknown frames", func(uint32) string { return strings.Repeat(frame(0xbe, 0, 0, "x"), 2000) }, Protocol, "flood"},
		{"reset flood", func(s uint32) string { return ok(s, strings.Repeat(frame(frameReset, 0, s, u32(2)), 2000)) }, Network, "reset"},
		{"flood of empty data", func(s uint32) string { return ok(s, strings.Repeat(frame(frameData, 0, s, ""), 2000)) }, Protocol, "flood"},
		{"flood of padding", func(s uint32) string { return ok(s, strings.Repeat(frame(frameData, flagPadded, s, "\x01\x00"), 2000)) }, Protocol, "flood"},

		{"settings flood between bytes", func(s uint32) string {
			return byteByByte(s, 9, strings.Repeat(frame(frameSettings, 0, 0, ""), 250))
		}, Protocol, "flood"},
		{"ping flood between bytes", func(s uint32) string {
			return byteByByte(s, 5, strings.Repeat(frame(framePing, 0, 0, "12345678"), 900))
		}, Protocol, "flood"},
		{"flood of empty data between bytes", func(s uint32) string {
			return byteByByte(s, 5, strings.Repeat(frame(frameData, 0, s, ""), 900))
		}, Protocol, "flood"},
		{"flood of unknown frames between bytes", func(s uint32) string {
			return byteByByte(s, 9, strings.Repeat(frame(0xbe, 0, 0, "x"), 300))
		}, Protocol, "flood"},

		{"window of nothing", func(uint32) string { return frame(frameWindow, 0, 0, u32(0)) }, Protocol, ""},
		{"window of a stream of nothing", func(s uint32) string { return frame(frameWindow, 0, s, u32(0)) }, Protocol, ""},
		{"window overflow", func(uint32) string { return frame(frameWindow, 0, 0, u32(1<<31-1)) }, Protocol, "2^31"},
		{"window overflow of a stream", func(s uint32) string { return strings.Repeat(frame(frameWindow, 0, s, u32(1<<31-1)), 2) }, Protocol, "2^31"},
		{"window of an idle stream", func(s uint32) string { return frame(frameWindow, 0, s+2, u32(1)) }, Protocol, "not open"},
		{"reset of an idle stream", func(s uint32) string { return frame(frameReset, 0, s+2, u32(1)) }, Protocol, "not open"},
		{"reset of stream 0", func(uint32) string { return frame(frameReset, 0, 0, u32(1)) }, Protocol, ""},
		{"short ping", func(uint32) string { return frame(framePing, 0, 0, "1234567") }, Protocol, ""},
		{"ping on a stream", func(s uint32) string { return frame(framePing, 0, s, "12345678") }, Protocol, ""},
		{"short goaway", func(uint32) string { return frame(frameGoAway, 0, 0, "123") }, Protocol, ""},
		{"short settings", func(uint32) string { return frame(frameSettings, 0, 0, "12345") }, Protocol, ""},
		{"settings on a stream", func(s uint32) string { return frame(frameSettings, 0, s, "") }, Protocol, ""},
		{"push allowed", func(uint32) string { return frame(frameSettings, 0, 0, "\x00\x02\x00\x00\x00\x01") }, Protocol, "push"},
		{"window setting too large", func(uint32) string { return frame(frameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00") }, Protocol, ""},
		{"frame size setting too small", func(uint32) string { return frame(frameSettings, 0, 0, "\x00\x05\x00\x00\x00\x01") }, Protocol, "setting"},
		{"push", func(s uint32) string { return frame(framePush, flagHeaders, s, u32(2)+"\x82\x84\x87") }, Protocol, "push"},
		{"http/1.1 afterwards", func(uint32) string { return "HTTP/1.1 400 Bad Request\r\n\r\n" }, Protocol, ""},
		{"closed", func(uint32) string { return "" }, Network, "closed"},
		{"closed within a header", func(s uint32) string { return head(s, 0, 10, "")[:20] }, Network, "closed"},
		{"closed within a continuation", func(s uint32) string { return frame(frameHeaders, 0, s, "\x8a") + "\x00\x01" }, Network, "closed"},
		{"closed within data", func(s uint32) string { return ok(s, data(s, ten)[:15]) }, Network, "closed"},
		{"closed within padding", func(s uint32) string {
			return ok(s, frame(frameData, flagPadded, s, "\x0501234\x00\x00\x00\x00\x00")[:17])
		}, Network, "closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRawServer(t, func(p *peer) {
				p.preface()
				if stream := p.nextStream(); stream != 0 {
					p.say(c.answer(stream))
				}
				// Wait for the client to close, lest a reset overtake the answer.
				if tcp, ok := p.Conn.(*net.TCPConn); ok {
					_ = tcp.CloseWrite()
				}
				_, _ = io.Copy(io.Discard, p.br)
			})
			cl := client(t, Config{Protocol: HTTP2PriorKnowledge})
			if c.class == 0 {
				if got := string(must(t, cl, s.url(t), 0, 10)); got != ten {
					t.Errorf("got %q", got)
				}
				return
			}
			e := mustFail(t, cl, s.url(t), 0, 10)
			if e.Class != c.class || !strings.Contains(e.Error(), c.text) || strings.ContainsAny(e.Error(), "\x1b\r\n") {
				t.Errorf("class %v, %q", e.Class, e)
			}
		})
	}
}

// byteByByte is a response that brings so many bytes one by one, with something before each.
func byteByByte(stream uint32, bytes int, before string) string {
	return head(stream, 0, 10, "") + strings.Repeat(before+frame(frameData, 0, stream, "x"), bytes)
}

// TestHTTP2ManyUsefulFrames: what servers send beside bodies, a PING for each of many DATA
// frames and a few frames for each response, is no flood.
func TestHTTP2ManyUsefulFrames(t *testing.T) {
	b := testbody.Body{Size: 64 << 20, Seed: 53}
	const chunk = 8 << 10
	s := newRawServer(t, func(p *peer) {
		p.preface()
		d := hpackRanges()
		for {
			kind, _, stream, payload, ok := p.next()
			if !ok {
				return
			}
			if kind != frameHeaders {
				continue
			}
			off, end := d(payload)
			var f strings.Builder
			f.WriteString(frame(frameHeaders, flagHeaders, stream, "\x8a"+field("content-range", fmt.Sprintf("bytes %d-%d/%d", off, end-1, b.Size))))
			for ; off < end; off += chunk {
				f.WriteString(frame(framePing, 0, 0, "12345678") + frame(frameData, 0, stream, string(part(t, b, off, min(end, off+chunk)))))
			}
			f.WriteString(frame(frameWindow, 0, 0, u32(1)) + frame(frameData, flagEnd, stream, ""))
			p.say(f.String())
		}
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge})
	const most = 200 << 10 // within the stream's first window
	for off := int64(0); off < 12<<20; off += most {
		if got := must(t, c, s.url(t), off, off+most); sum(got) != sum(part(t, b, off, off+most)) {
			t.Error("other bytes")
		}
	}
	for i := range int64(1500) {
		must(t, c, s.url(t), i, i+10)
	}
	if n := connections(c); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestHTTP2Greeting: what does not begin as HTTP/2 does is not HTTP/2.
func TestHTTP2Greeting(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		class Class
	}{
		"http/1.1":           {"HTTP/1.1 400 Bad Request\r\n\r\n", Protocol},
		"ssh":                {"SSH-2.0-OpenSSH_9.9\r\n", Protocol},
		"another frame":      {frame(framePing, 0, 0, "12345678"), Protocol},
		"an acknowledgement": {frame(frameSettings, flagEnd, 0, ""), Protocol},
		"nothing":            {"", Network},
	} {
		s := newRawServer(t, func(p *peer) {
			p.say(c.says)
			if tcp, ok := p.Conn.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
			_, _ = io.Copy(io.Discard, p.br)
		})
		e := mustFail(t, client(t, Config{Protocol: HTTP2PriorKnowledge}), s.url(t), 0, 10)
		if e.Class != c.class || (c.class == Protocol && e.Error() != "server does not speak HTTP/2") {
			t.Errorf("%s: class %v, %q", name, e.Class, e)
		}
	}
}

// TestHTTP2Request: what a request looks like on the wire, and what is not sent.
func TestHTTP2Request(t *testing.T) {
	decode := func(block []byte) (fields []string) {
		d := hpack.NewDecoder(4096, func(f hpack.HeaderField) { fields = append(fields, f.Name+": "+f.Value) })
		if _, err := d.Write(block); err != nil {
			t.Error(err)
		}
		return fields
	}
	got := make(chan []string, 1)
	s := newRawServer(t, func(p *peer) {
		p.preface()
		p.say(frame(frameSettings, 0, 0, "\x00\x01\x00\x00\x00\x00")) // no header table
		var block []byte
		for {
			kind, flags, stream, payload, ok := p.next()
			if !ok {
				return
			}
			if kind != frameHeaders && kind != frameContinuation {
				continue
			}
			if kind == frameHeaders && flags&flagEnd == 0 {
				t.Error("a request with a body")
			}
			if block = append(block, payload...); flags&flagHeaders != 0 {
				got <- decode(block)
				p.answer(stream)
			}
		}
	})
	long := strings.Repeat("z", 40_000)
	c := client(t, Config{Protocol: HTTP2PriorKnowledge, UserAgent: "ua/1", Header: http.Header{
		"X-Long": {long}, "Host": {"other.test:8"}, "Cookie": {"a=1; b=2"}, "Connection": {"x"}, "X-Two": {"1", "2"}, "Upgrade": {"y"},
	}})
	u := s.url(t)
	u.Path, u.RawQuery = "/a b", "q=1"
	must(t, c, u, 0, 10)
	want := []string{
		":authority: other.test:8", ":method: GET", ":path: /a%20b?q=1", ":scheme: http", "accept: */*", "accept-encoding: identity",
		"cookie: a=1", "cookie: b=2", "range: bytes=0-9", "user-agent: ua/1", "x-long: " + long, "x-two: 1", "x-two: 2",
	}
	if fields := <-got; !slices.Equal(fields, want) {
		t.Errorf("got %.300q", fields)
	}
	for name, h := range map[string]http.Header{"name": {"A b": {"c"}}, "value": {"A": {"b\nc"}}, "host": {"Host": {"a b"}}} {
		c := client(t, Config{Protocol: HTTP2PriorKnowledge, Header: h})
		if e := mustFail(t, c, u, 0, 10); e.Class != Protocol {
			t.Errorf("%s: %v", name, e)
		}
	}
}
