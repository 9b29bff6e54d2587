package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/mlget/mlget/internal/testbody"
)

// TestHTTP2Storm is a storm against a server that sends frames in any order and
// size, refuses and resets streams and says goodbye as it likes.
func TestHTTP2Storm(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 51}
	for seed := range uint64(4) {
		s := newRawServer(t, moody2(b, seed))
		c := client(t, Config{Protocol: HTTP2PriorKnowledge, ResponseTimeout: 5 * time.Second})
		done, failed := storm(t, c, s.url(t), b, b.Size, seed, context.Canceled)
		if done < 100 {
			t.Errorf("seed %d: %d done, %d failed", seed, done, failed)
		}
		t.Logf("seed %d: %d done, %d failed, %d connections", seed, done, failed, s.accepted())
	}
}

// TestCancelAffectsNoOtherStream: over TLS, where a deadline that makes a reader look up
// falls within records, many responses are cancelled while others are read; those
// get all their bytes, and all over one connection.
func TestCancelAffectsNoOtherStream(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 52}
	slowly := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		off, end := ranged(r)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, end-1, b.Size))
		w.WriteHeader(http.StatusPartialContent)
		for p := part(t, b, off, end); len(p) > 0; {
			n := min(len(p), 1+len(p)/3)
			if _, err := w.Write(p[:n]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			p = p[n:]
		}
	})
	fl := flavours()[3]
	srv := fl.server(t, slowly)
	c := client(t, fl.config(srv))
	u := parse(t, srv.URL)
	must(t, c, u, 0, 10)
	var cancelled atomic.Int64
	var wg sync.WaitGroup
	for w := range uint64(6) {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(52, w))
			for range 60 {
				off := dice.Int64N(b.Size - 1)
				end := min(b.Size, off+1+dice.Int64N(100_000))
				ctx, cancel := context.WithCancelCause(t.Context())
				if w%2 == 0 {
					time.AfterFunc(time.Duration(dice.IntN(3000))*time.Microsecond, func() { cancel(context.Canceled) })
				}
				r, err := c.Get(ctx, u, off, end)
				if err == nil {
					var got []byte
					if got, err = io.ReadAll(readerOf(r, w > 2)); err == nil && !bytes.Equal(got, part(t, b, off, end)) {
						t.Error("other bytes")
					}
					_ = r.Close()
				}
				if err != nil && errors.Is(err, context.Canceled) && w%2 == 0 {
					cancelled.Add(1)
				} else if err != nil {
					t.Error(err)
				}
				cancel(nil)
			}
		})
	}
	wg.Wait()
	if n := connections(c); n != 1 {
		t.Errorf("%d connections", n)
	}
	t.Logf("%d cancelled", cancelled.Load())
}

// moody2 is moody for HTTP/2.
func moody2(b testbody.Body, seed uint64) func(*peer) {
	return func(p *peer) {
		dice := rand.New(rand.NewPCG(seed, uint64(p.n)))
		p.preface()
		asked := make(chan string, 1000) // scripts of frames to come, one per stream
		var wg sync.WaitGroup
		defer wg.Wait()
		defer close(asked)
		wg.Go(func() { mix(p, asked, rand.New(rand.NewPCG(seed, 7))) })
		d := hpackRanges()
		for n := 0; ; n++ {
			kind, _, stream, payload, ok := p.next()
			if !ok {
				return
			}
			if kind != frameHeaders {
				continue
			}
			off, end := d(payload)
			f := head(stream, int(off), int(end), "")
			switch dice.IntN(12) {
			case 0:
				f = frame(frameReset, 0, stream, u32(7))
			case 1:
				f += frame(frameReset, 0, stream, u32(2))
			case 2:
				f = frame(frameGoAway, 0, 0, u32(stream, 0)) + f + frame(frameData, flagEnd, stream, string(part(p.t, b, off, end)))
			case 3:
				if n > 20 {
					_ = p.Close()
					return
				}
				fallthrough
			default:
				body := part(p.t, b, off, end)
				for len(body) > 0 {
					k := 1 + dice.IntN(len(body))
					f += frame(frameData, 0, stream, string(body[:k]))
					body = body[k:]
				}
				f += frame(frameData, flagEnd, stream, "")
			}
			asked <- f
		}
	}
}

// mix sends frames of several scripts in any order, each script's in its own.
func mix(p *peer, scripts <-chan string, dice *rand.Rand) {
	var open []string
	for {
		if len(open) == 0 {
			f, ok := <-scripts
			if !ok {
				return
			}
			open = append(open, f)
		}
		select {
		case f, ok := <-scripts:
			if !ok {
				return
			}
			open = append(open, f)
		default:
		}
		i := dice.IntN(len(open))
		n := 9 + int(open[i][0])<<16 + int(open[i][1])<<8 + int(open[i][2])
		p.say(open[i][:n])
		if open[i] = open[i][n:]; open[i] == "" {
			open = append(open[:i], open[i+1:]...)
		}
	}
}

// hpackRanges decodes the header blocks of one connection and returns the range
// that each asks for.
func hpackRanges() func(block []byte) (off, end int64) {
	var value string
	d := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == "range" {
			value = f.Value
		}
	})
	return func(block []byte) (off, end int64) {
		_, _ = d.Write(block)
		_, _ = fmt.Sscanf(value, "bytes=%d-%d", &off, &end)
		return off, end + 1
	}
}

// endless is a connection whose server answers with one endless body, in frames
// of half the largest size, as nginx does.
type endless struct {
	net.Conn
	said  string // still to be read
	frame string // and then this, again and again
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if e.said == "" {
			e.said = e.frame
		}
		k := copy(p[n:], e.said)
		e.said = e.said[k:]
		n += k
	}
	return n, nil
}

func (*endless) Write(p []byte) (int, error)      { return len(p), nil }
func (*endless) SetReadDeadline(time.Time) error  { return nil }
func (*endless) SetWriteDeadline(time.Time) error { return nil }
func (*endless) Close() error                     { return nil }
func (*endless) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*endless) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

// TestHTTP2ReadAllocatesNothing: the data path of HTTP/2.
func TestHTTP2ReadAllocatesNothing(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 512)
	conn := &endless{
		said: frame(frameSettings, 0, 0, "") + frame(frameSettings, flagEnd, 0, "") +
			frame(frameHeaders, flagHeaders, 1, "\x8a"+field("content-range", "bytes 0-1073741823/*")),
		frame: frame(frameData, 0, 1, text),
	}
	c := clientOver(t, Config{Protocol: HTTP2PriorKnowledge}, given{conn})
	r, err := c.Get(t.Context(), parse(t, "http://host.test/"), 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	block, n := make([]byte, 128<<10), 0
	if got := testing.AllocsPerRun(1000, func() {
		k, err := r.Read(block)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{block[:min(k, 16)], block[max(0, k-16):k]} {
			for i := range b {
				if at := n + i; b[i] != text[at%len(text)] && &b[0] == &block[0] {
					t.Fatalf("byte %d is %q", at, b[i])
				}
			}
		}
		n += k
	}); got >= 0.1 {
		t.Errorf("%v allocations per block", got)
	}
	if n < 20<<20 {
		t.Errorf("%d bytes in 1000 reads", n)
	}
	_ = r.Close()
}
