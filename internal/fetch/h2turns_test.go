package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
	"golang.org/x/net/http2/hpack"
)

// twoStreams makes a server that waits for two requests and then does as serve
// says, and two responses of 100 bytes over it.
func twoStreams(t *testing.T, ctxA context.Context, serve func(p *peer, a, b uint32)) (ra, rb *Response, s *rawServer) {
	t.Helper()
	s = newRawServer(t, func(p *peer) {
		p.preface()
		a := p.nextStream()
		p.say(head(a, 0, 100, ""))
		b := p.nextStream()
		p.say(head(b, 0, 100, ""))
		serve(p, a, b)
		_, _ = io.Copy(io.Discard, p.br)
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge})
	ra, err := c.Get(ctxA, s.url(t), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if rb, err = c.Get(t.Context(), s.url(t), 0, 100); err != nil {
		t.Fatal(err)
	}
	return ra, rb, s
}

// TestTurns: two streams in turns, frame by frame; both are read, or first one
// and then the other.
func TestTurns(t *testing.T) {
	as, bs := strings.Repeat("a", 100), strings.Repeat("b", 100)
	serve := func(p *peer, a, b uint32) {
		for i := range 10 {
			end := byte(i / 9)
			p.say(frame(frameData, end, a, as[:10]) + frame(frameData, end, b, bs[:10]))
		}
	}
	read := func(r *Response, want string) {
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
		_ = r.Close()
	}
	for range 20 {
		ra, rb, s := twoStreams(t, t.Context(), serve)
		var wg sync.WaitGroup
		wg.Go(func() { read(ra, as) })
		wg.Go(func() { read(rb, bs) })
		wg.Wait()
		ra, rb, _ = twoStreams(t, t.Context(), serve)
		read(rb, bs)
		read(ra, as)
		if n := s.accepted(); n != 1 {
			t.Errorf("%d connections", n)
		}
	}
}

// TestCancelOneOfTwo: whoever reads is cancelled; the other goes on, over the
// same connection, in the middle of the frame in which the first was.
func TestCancelOneOfTwo(t *testing.T) {
	for range 20 {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := make(chan struct{})
		ra, rb, s := twoStreams(t, ctx, func(p *peer, a, b uint32) {
			f := frame(frameData, 0, a, strings.Repeat("a", 50))
			p.say(f[:20])
			<-gone
			f = f[20:] + frame(frameData, flagEnd, b, strings.Repeat("b", 100))
			for len(f) > 0 { // in pieces, so that deadlines fall within frames
				p.say(f[:1])
				f = f[1:]
			}
		})
		both := make(chan error, 2)
		go func() {
			_, err := io.ReadFull(ra, make([]byte, 100))
			_ = ra.Close()
			close(gone)
			both <- err
		}()
		go func() {
			got, err := io.ReadAll(rb)
			if string(got) != strings.Repeat("b", 100) {
				t.Errorf("got %q", got)
			}
			_ = rb.Close()
			both <- err
		}()
		cancel(why)
		for range 2 {
			if err := <-both; err != nil && !errors.Is(err, why) {
				t.Error(err)
			}
		}
		if n := s.accepted(); n != 1 {
			t.Errorf("%d connections", n)
		}
	}
}

// TestUnreadIsBounded: a server may send what the window allows on a stream that
// nobody reads while another is read, and not a byte more.
func TestUnreadIsBounded(t *testing.T) {
	block := strings.Repeat("x", maxFrame)
	for _, more := range []int{0, 1} {
		ra, rb, _ := twoStreams(t, t.Context(), func(p *peer, a, b uint32) {
			for range firstWindow / maxFrame {
				p.say(frame(frameData, 0, a, block))
			}
			p.say(frame(frameData, 0, a, block[:more]) + frame(frameData, flagEnd, b, block[:100]))
		})
		_, err := io.ReadAll(rb)
		if more == 0 && err != nil {
			t.Error(err)
		}
		var e *Error
		if more == 1 && (!errors.As(err, &e) || e.Class != Protocol || !strings.Contains(e.Error(), "more data than allowed")) {
			t.Errorf("got %v", err)
		}
		_ = rb.Close()
		_ = ra.Close()
	}
}

// TestStrays: what was on its way when we reset a stream is dropped, as far as
// its window allows; then the server is lying.
func TestStrays(t *testing.T) {
	block := strings.Repeat("x", maxFrame)
	for _, more := range []int{0, 1} {
		closed := make(chan struct{})
		ra, rb, _ := twoStreams(t, t.Context(), func(p *peer, a, b uint32) {
			<-closed
			for range firstWindow / maxFrame {
				p.say(frame(frameData, 0, a, block))
			}
			p.say(frame(frameData, 0, a, block[:more]) + frame(frameData, flagEnd, b, block[:100]))
		})
		_ = ra.Close()
		close(closed)
		_, err := io.ReadAll(rb)
		if more == 0 && err != nil {
			t.Error(err)
		}
		var e *Error
		if more == 1 && (!errors.As(err, &e) || e.Class != Protocol || !strings.Contains(e.Error(), "which has ended")) {
			t.Errorf("got %v", err)
		}
		_ = rb.Close()
	}
}

// TestResets: a stream that is left early is reset; one all of whose bytes are on
// their way is not, since that would count as abuse.
func TestResets(t *testing.T) {
	for _, c := range []struct{ sent, read, resets int }{{9, 5, 1}, {10, 5, 0}, {10, 10, 0}} {
		resets := make(chan int, 1)
		s := newRawServer(t, func(p *peer) {
			p.preface()
			a := p.nextStream()
			p.say(head(a, 0, 10, field("content-length", "10")) + frame(frameData, 0, a, "0123456789"[:c.sent]))
			n := 0
			for {
				kind, _, stream, _, ok := p.next()
				switch {
				case !ok:
					return
				case kind == frameReset:
					n++
				case kind == frameHeaders:
					resets <- n
					// The end of the first stream may come as late as this.
					p.say(frame(frameData, flagEnd, a, ""))
					p.answer(stream)
				}
			}
		})
		cl := client(t, Config{Protocol: HTTP2PriorKnowledge})
		r, err := cl.Get(t.Context(), s.url(t), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, c.read)); err != nil {
			t.Error(err)
		}
		_ = r.Close()
		must(t, cl, s.url(t), 0, 10)
		if n := <-resets; n != c.resets {
			t.Errorf("%d bytes sent, %d read: %d resets", c.sent, c.read, n)
		}
	}
}

// TestIdle: pings and settings that came while nobody read are answered when the
// connection is used again.
func TestIdle(t *testing.T) {
	s := newRawServer(t, func(p *peer) {
		p.preface()
		p.answer(p.nextStream())
		p.say(frame(framePing, 0, 0, "12345678") + frame(frameSettings, 0, 0, ""))
		second := p.nextStream()
		for pings, acks := 0, 0; pings < 1 || acks < 1; {
			kind, flags, _, payload, ok := p.next()
			switch {
			case !ok:
				t.Error("no answer")
				return
			case kind == framePing && flags == flagEnd && string(payload) == "12345678":
				pings++
			case kind == frameSettings && flags == flagEnd:
				acks++
			}
		}
		p.answer(second)
		_, _ = io.Copy(io.Discard, p.br)
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge})
	for range 2 {
		must(t, c, s.url(t), 0, 10)
	}
	if n := s.accepted(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestStreamLimit: no more streams are open than the server allows.
func TestStreamLimit(t *testing.T) {
	s := newRawServer(t, func(p *peer) {
		p.preface()
		p.say(frame(frameSettings, 0, 0, "\x00\x03"+u32(1)))
		for stream := p.nextStream(); stream != 0; stream = p.nextStream() {
			p.answer(stream)
		}
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge})
	must(t, c, s.url(t), 0, 10)
	r, err := c.Get(t.Context(), s.url(t), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	must(t, c, s.url(t), 0, 10) // while the first is open: over another connection
	_ = r.Close()
	if s.accepted() != 2 {
		t.Errorf("%d connections", s.accepted())
	}
}

// TestNotTaken: a server that reads nothing holds up nobody who was cancelled.
func TestNotTaken(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close() //nolint:errcheck // in memory
	c := clientOver(t, Config{Protocol: HTTP2PriorKnowledge}, given{ours})
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(ErrStalled) })
	var e *Error
	if _, err := c.Get(ctx, parse(t, "http://host.test/"), 0, 1); !errors.As(err, &e) || e.Class != Canceled {
		t.Error(err)
	}
}

// TestWindows: a server that keeps to the windows can send much more than the
// first one allows; the windows grow, and updates are few.
func TestWindows(t *testing.T) {
	const size = 32 << 20
	updates := make(chan int, 1)
	s := newRawServer(t, func(p *peer) {
		p.preface()
		stream := p.nextStream()
		p.say(frame(frameSettings, flagEnd, 0, "")) // lets the round trip be known
		p.say(frame(frameHeaders, flagHeaders, stream, "\x8a"+field("content-range", "bytes 0-33554431/33554432")+
			field("content-length", "33554432")))
		window, n := int64(firstWindow), 0
		block := bytes.Repeat([]byte("x"), maxFrame)
		for left := int64(size); left > 0; {
			for k := min(left, window, maxFrame); k > 0; k = min(left, window, maxFrame) {
				p.say(frame(frameData, 0, stream, string(block[:k])))
				left, window = left-k, window-k
			}
			for left > 0 && window == 0 {
				kind, _, to, payload, ok := p.next()
				if !ok {
					t.Error("ended")
					return
				}
				if kind == frameWindow && to == stream {
					window += int64(binary.BigEndian.Uint32(payload))
					n++
				}
			}
		}
		p.say(frame(frameData, flagEnd, stream, ""))
		updates <- n
		_, _ = io.Copy(io.Discard, p.br)
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge})
	r, err := c.Get(t.Context(), s.url(t), 0, size)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 128<<10)); err != nil || n != size {
		t.Errorf("%d, %v", n, err)
	}
	_ = r.Close()
	if n := <-updates; n < 3 || n > 4*size/firstWindow {
		t.Errorf("%d updates", n)
	}
}

// TestHTTP2Storm runs many requests at once, some cancelled and some closed early,
// against a server that sends frames in any order and size, refuses and resets
// streams and says goodbye as it likes.
func TestHTTP2Storm(t *testing.T) {
	b := testbody.Body{Size: 100, Seed: 51}
	for seed := range uint64(4) {
		s := newRawServer(t, moody2(b, seed))
		c := client(t, Config{Protocol: HTTP2PriorKnowledge, ResponseTimeout: 5 * time.Second})
		var done atomic.Int64
		var wg sync.WaitGroup
		for w := range uint64(6) {
			wg.Go(func() {
				dice := rand.New(rand.NewPCG(seed, 1000+w))
				for range 50 {
					off := dice.Int64N(b.Size - 1)
					end := off + 1 + dice.Int64N(b.Size-off)
					ctx, cancel := context.WithCancelCause(t.Context())
					if dice.IntN(4) == 0 {
						time.AfterFunc(time.Duration(dice.IntN(2000))*time.Microsecond, func() { cancel(context.Canceled) })
					}
					want := part(t, b, off, end)
					if dice.IntN(4) == 0 {
						want = want[:1+dice.IntN(len(want))]
					}
					r, err := c.Get(ctx, s.url(t), off, end)
					if err == nil {
						got := make([]byte, len(want))
						var n int
						n, err = io.ReadFull(r, got)
						if !bytes.Equal(got[:n], want[:n]) {
							t.Error("other bytes")
						}
						_ = r.Close()
					}
					var e *Error
					switch {
					case err == nil:
						done.Add(1)
					case errors.As(err, &e) && (e.Class == Network || e.Class == Canceled), errors.Is(err, io.ErrUnexpectedEOF):
					default:
						t.Errorf("%v", err)
					}
					cancel(nil)
				}
			})
		}
		wg.Wait()
		if done.Load() < 100 {
			t.Errorf("seed %d: %d done", seed, done.Load())
		}
		t.Logf("seed %d: %d done, %d connections", seed, done.Load(), s.accepted())
	}
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
