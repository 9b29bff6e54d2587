package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is a connection whose server says one thing, in small pieces, whatever
// it hears, and then closes.
type script struct {
	endless
	mu    sync.Mutex
	rest  []byte
	piece int
}

func (c *script) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.piece)], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// scriptDialer hands out a new one each time.
type scriptDialer struct {
	says  []byte
	piece int
}

func (d scriptDialer) DialContext(context.Context, string, string) (net.Conn, error) {
	return &script{rest: d.says, piece: d.piece}, nil
}

// FuzzHTTP2 lets arbitrary bytes be a server's side of a connection with two
// requests: whatever they are, both end, within the bytes asked for, and with an
// *Error if not well.
func FuzzHTTP2(f *testing.F) {
	const ten = "0123456789"
	greet := frame(frameSettings, 0, 0, "\x00\x03\x00\x00\x00\x64") + frame(frameSettings, flagEnd, 0, "")
	one := greet + head(1, 0, 10, field("content-length", "10")) + frame(frameData, flagEnd, 1, ten)
	for _, s := range []string{
		"", "HTTP/1.1 400 Bad Request\r\n\r\n", greet, one,
		one + head(3, 0, 10, "") + frame(frameData, flagPadded, 3, "\x020123\x00\x00") + frame(frameData, 0, 3, "") +
			frame(frameData, 0, 3, "456789") + frame(frameHeaders, flagHeaders|flagEnd, 3, field("x", "y")),
		greet + head(3, 0, 10, "") + head(1, 0, 10, "") + frame(frameData, 0, 3, ten[:5]) + frame(frameData, 0, 1, ten[:5]) +
			frame(frameData, flagEnd, 3, ten[5:]) + frame(frameData, flagEnd, 1, ten[5:]),
		greet + frame(frameHeaders, flagHeaders, 1, "\x08\x03103") + head(1, 0, 10, "") + frame(framePing, 0, 0, "12345678") +
			frame(frameWindow, 0, 1, u32(9)) + frame(frameReset, 0, 1, u32(2)) + frame(frameGoAway, 0, 0, u32(1, 0)),
		greet + frame(frameHeaders, 0, 1, "\x8a") + frame(frameContinuation, 0, 1, field("content-range", "bytes 0-9/100")) +
			frame(frameContinuation, flagHeaders, 1, "") + frame(frameData, flagEnd, 1, ten),
		greet + frame(framePush, flagHeaders, 1, u32(2)+"\x82") + frame(0xbe, 0, 7, "x"),
		greet + strings.Repeat(frame(frameData, 0, 1, ""), 50),
		greet + frame(frameReset, 0, 1, u32(7)) + frame(frameReset, 0, 3, u32(7)),
	} {
		f.Add([]byte(s), uint16(7))
		f.Add([]byte(s), uint16(40_000))
	}
	f.Fuzz(func(t *testing.T, says []byte, piece uint16) {
		c := NewClient(&Config{Protocol: HTTP2PriorKnowledge, ResponseTimeout: 5 * time.Second},
			scriptDialer{says, 1 + int(piece)}, nil)
		defer c.Close()
		u := parse(t, "http://host.test/f")
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				r, err := c.Get(t.Context(), u, 0, 10)
				if err == nil {
					var n int64
					if n, err = io.Copy(io.Discard, readerOf(r, i > 0)); err == nil && !r.Whole && n != 10 {
						t.Errorf("%d bytes", n)
					}
					_ = r.Close()
				}
				var e *Error
				if err != nil && !errors.As(err, &e) {
					t.Errorf("%T: %v", err, err)
				}
				if errors.As(err, &e) && (e.Class == Canceled || strings.Contains(e.Error(), "no response within")) {
					t.Errorf("hung: %v", e)
				}
			})
		}
		wg.Wait()
	})
}
