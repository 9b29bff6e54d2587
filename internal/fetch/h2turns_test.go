package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// twoStreams makes a server that waits for two requests and then does as serve
// says, and two responses of 100 bytes over it.
func twoStreams(ctxA context.Context, t *testing.T, serve func(p *peer, a, b uint32)) (ra, rb *Response, s *rawServer) {
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
	read := func(r *Response, want string, wait bool) {
		got, err := io.ReadAll(readerOf(r, wait))
		if err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
		_ = r.Close()
	}
	for i := range 40 {
		ra, rb, s := twoStreams(t.Context(), t, serve)
		var wg sync.WaitGroup
		wg.Go(func() { read(ra, as, i%2 > 0) })
		wg.Go(func() { read(rb, bs, i%4 > 1) })
		wg.Wait()
		ra, rb, _ = twoStreams(t.Context(), t, serve)
		read(rb, bs, i%2 > 0)
		read(ra, as, i%4 > 1)
		if n := s.accepted(); n != 1 {
			t.Errorf("%d connections", n)
		}
	}
}

// TestCancelOneOfTwo: the reading stream is cancelled; the other goes on, over the same
// connection, in the middle of the frame that the first was reading.
func TestCancelOneOfTwo(t *testing.T) {
	for i := range 40 {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := make(chan struct{})
		ra, rb, s := twoStreams(ctx, t, func(p *peer, a, b uint32) {
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
			_, err := io.ReadFull(readerOf(ra, i%2 > 0), make([]byte, 100))
			_ = ra.Close()
			close(gone)
			both <- err
		}()
		go func() {
			got, err := io.ReadAll(readerOf(rb, i%4 > 1))
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

// TestGivenUpAfterAWait: a stream that has waited, and whose payload comes next, may be given
// up without reading it. Others go on.
func TestGivenUpAfterAWait(t *testing.T) {
	for _, wait := range []bool{false, true} {
		ra, rb, s := twoStreams(t.Context(), t, func(p *peer, a, b uint32) {
			p.say(frame(frameData, flagEnd, a, strings.Repeat("a", 100)) + frame(frameData, flagEnd, b, strings.Repeat("b", 100)))
		})
		ra.Wait(100)
		done := make(chan string)
		go func() {
			got, err := io.ReadAll(readerOf(rb, wait))
			if err != nil {
				t.Error(err)
			}
			done <- string(got)
		}()
		hc := ra.body.(*h2Stream).hc //nolint:errcheck,forcetypeassert // it is
		for waits := false; !waits; {
			hc.mu.Lock()
			waits = hc.reader == ra.body && rb.body.(*h2Stream).waits //nolint:errcheck,forcetypeassert // it is
			hc.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
		ra.Discard(0)
		if got := <-done; got != strings.Repeat("b", 100) {
			t.Errorf("the other has %q", got)
		}
		_ = rb.Close()
		if n := s.accepted(); n != 1 {
			t.Errorf("%d connections", n)
		}
	}
}

// TestWaitFindsBufferedData: Wait returns at once if another stream has read something for this
// one, or the server has ended it early.
func TestWaitFindsBufferedData(t *testing.T) {
	read := make(chan struct{})
	ra, rb, _ := twoStreams(t.Context(), t, func(p *peer, a, b uint32) {
		p.say(frame(frameData, 0, b, strings.Repeat("b", 50)) + frame(frameData, flagEnd, a, strings.Repeat("a", 100)))
		<-read
		p.say(frame(frameData, flagEnd, b, strings.Repeat("b", 20)))
	})
	if got, err := io.ReadAll(ra); err != nil || len(got) != 100 {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	rest := readerOf(rb, true)
	if n, err := rest.Read(make([]byte, 100)); err != nil || n != 50 {
		t.Fatalf("%d bytes that were there, %v", n, err)
	}
	close(read)
	if got, err := io.ReadAll(rest); len(got) != 20 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("then %d bytes, %v", len(got), err)
	}
	_ = ra.Close()
	_ = rb.Close()
}

// TestUnreadIsBounded: on a stream that is not read while another is, a server may send what
// the window allows, and not a byte more.
func TestUnreadIsBounded(t *testing.T) {
	block := strings.Repeat("x", maxFrame)
	for _, more := range []int{0, 1} {
		ra, rb, _ := twoStreams(t.Context(), t, func(p *peer, a, b uint32) {
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

// TestBytesAfterAReset: what was on its way when we reset a stream is dropped, as far as
// its window allows; then the server is lying.
func TestBytesAfterAReset(t *testing.T) {
	block := strings.Repeat("x", maxFrame)
	for _, more := range []int{0, 1} {
		closed := make(chan struct{})
		ra, rb, _ := twoStreams(t.Context(), t, func(p *peer, a, b uint32) {
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
		if n := ra.client.Vain(); more == 0 && n != firstWindow {
			t.Errorf("%d bytes in vain, want %d", n, firstWindow)
		}
		var e *Error
		if more == 1 && (!errors.As(err, &e) || e.Class != Protocol || !strings.Contains(e.Error(), "which has ended")) {
			t.Errorf("got %v", err)
		}
		_ = rb.Close()
	}
}

// TestUnreadIsInVain: what has come for a stream that is then given up was received, and
// for nothing.
func TestUnreadIsInVain(t *testing.T) {
	ra, rb, _ := twoStreams(t.Context(), t, func(p *peer, a, b uint32) {
		p.say(frame(frameData, 0, a, strings.Repeat("a", 70)) + frame(frameData, flagEnd, b, strings.Repeat("b", 100)))
	})
	if _, err := io.ReadAll(rb); err != nil { // which a's bytes are before
		t.Error(err)
	}
	if _, err := io.ReadFull(ra, make([]byte, 20)); err != nil {
		t.Error(err)
	}
	if n := ra.client.Vain(); n != 0 {
		t.Errorf("%d bytes in vain that may still be read", n)
	}
	_ = ra.Close()
	_ = rb.Close()
	if n := ra.client.Vain(); n != 50 {
		t.Errorf("%d bytes in vain, want 50", n)
	}
	if n := ra.client.Vain(); n != 0 {
		t.Errorf("%d bytes in vain told twice", n)
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

// TestIdle: pings and settings that came while no stream was read are answered when the
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

// TestServerThatReadsNothing: a cancelled request ends at once though the server reads nothing.
func TestServerThatReadsNothing(t *testing.T) {
	for _, protocol := range []HTTPVersion{HTTP1, HTTP2PriorKnowledge} {
		ours, theirs := net.Pipe()
		defer theirs.Close() //nolint:errcheck // in memory
		c := clientOver(t, Config{Protocol: protocol, ResponseTimeout: time.Hour}, given{ours})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(ErrStalled) })
		var e *Error
		if _, err := c.Get(ctx, parse(t, "http://host.test/"), 0, 1); !errors.As(err, &e) || e.Class != Canceled {
			t.Errorf("%v: %v", protocol, err)
		}
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
				switch {
				case kind == frameWindow && to == stream:
					window += int64(binary.BigEndian.Uint32(payload))
					n++
				case kind == framePing:
					p.say(frame(framePing, flagEnd, 0, string(payload)))
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
