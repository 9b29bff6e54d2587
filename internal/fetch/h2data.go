package fetch

import (
	"time"

	"golang.org/x/net/http2"
)

const (
	// maxIdle bounds how many frames may come that get us no further: settings,
	// pings, empty DATA and the like.
	maxIdle = 1000
	// frameWorth is how many bytes of payload allow for one of these. Servers send a few
	// with each response, and a PING for each round trip; chosen by hand, far from both.
	frameWorth = 4 << 10
	// responseWorth is the cost of a response's header: that of 16 frames.
	responseWorth = 16 * frameWorth
)

// idleness is a server's debt for useless frames, in bytes of payload.
type idleness int64

// frame counts one.
func (i *idleness) frame() { *i += frameWorth }

// pay takes n bytes' worth off.
func (i *idleness) pay(n int64) { *i = max(0, *i-idleness(n)) }

// isFlood says whether there are too many: each costs us time that few bytes do not pay for.
func (i idleness) isFlood() bool { return i > maxIdle*frameWorth }

// frameTail is how many bytes of a frame are worth waiting for: less than a packet,
// so they are about to come. TLS servers that write a full frame at once put the
// last nine bytes into a record of their own.
const frameTail = 1 << 10

// dataFrame is the DATA frame in which the connection's reading stands.
type dataFrame struct {
	open   bool
	stream *h2Stream // nil: one that we have done with
	rest   int       // payload bytes still to be read
	pad    int       // bytes of padding behind them
	end    bool      // ends the stream
}

// step reads one frame, or some of a DATA frame's payload. If that is for s it
// goes to p, and step returns how much that was. It is s's turn to read.
func (hc *h2Conn) step(s *h2Stream, p []byte) (int, error) {
	if !hc.in.ready() {
		certain := hc.certain()
		hc.mark.reading(certain, certain)
	}
	if hc.data.open {
		return hc.payload(s, p)
	}
	if err := hc.in.fill(frameHead); err != nil {
		return 0, err
	}
	h := parseFrameHeader(hc.in.ahead())
	if !hc.greeted && (h.kind != http2.FrameSettings || h.flags.Has(http2.FlagSettingsAck)) {
		return 0, protocolError("server does not speak HTTP/2")
	}
	if h.length > maxFrame {
		return 0, broken(http2.ErrCodeFrameSize, "frame of %d bytes", h.length)
	}
	if h.kind != http2.FrameData {
		if err := hc.in.fill(frameHead + h.length); err != nil {
			return 0, err
		}
		return 0, hc.control()
	}
	head, pad := frameHead, 0
	if h.flags.Has(http2.FlagDataPadded) {
		head++
		if h.length == 0 {
			return 0, broken(http2.ErrCodeProtocol, "padded frame without a length of its padding")
		}
		if err := hc.in.fill(head); err != nil {
			return 0, err
		}
		if pad = int(hc.in.ahead()[frameHead]); pad >= h.length {
			return 0, broken(http2.ErrCodeProtocol, "padding longer than its frame")
		}
	}
	hc.in.r += head
	return 0, hc.begin(h, pad)
}

// begin books a DATA frame whose header has been read.
func (hc *h2Conn) begin(h frameHeader, pad int) error {
	size, payload := int64(h.length), int64(h.length-pad)
	if h.flags.Has(http2.FlagDataPadded) {
		payload--
	}
	var reset *h2Stream
	hc.mu.Lock()
	if hc.idle.pay(payload); payload == 0 {
		hc.idle.frame()
	}
	s := hc.streamLocked(h.stream)
	hc.credit -= size
	err := hc.countLocked(s, h.stream, size)
	switch {
	case err != nil || s == nil:
	case s.header == nil:
		reset = s
		s.failLocked(protocolError("http/2: body before the header"))
	case s.left >= 0 && payload > s.left:
		reset = s
		s.failLocked(protocolError("body is longer than its content-length"))
	case s.left >= 0:
		s.left -= payload
	}
	hc.pace.received(time.Now(), size)
	widen := int64(0)
	if hc.credit < connWindow/2 {
		widen = connWindow - hc.credit
		hc.credit += widen
	}
	hc.mu.Unlock()
	if err != nil {
		return err
	}
	if reset != nil {
		s = nil
		hc.sending(hc.out.reset(h.stream, http2.ErrCodeProtocol))
	}
	if widen > 0 {
		hc.sending(hc.out.update(0, widen, false))
	}
	hc.data = dataFrame{open: true, stream: s, rest: int(payload), pad: pad, end: h.flags.Has(http2.FlagDataEndStream)}
	hc.completed()
	return nil
}

// countLocked counts size bytes against what the server may send on stream id,
// which is s, or has ended if s is nil. mu is held.
func (hc *h2Conn) countLocked(s *h2Stream, id uint32, size int64) error {
	switch {
	case hc.idle.isFlood():
		return broken(http2.ErrCodeEnhanceYourCalm, "flood of frames without use")
	case hc.credit < 0:
		return broken(http2.ErrCodeFlowControl, "more data than allowed on the connection")
	case s == nil && hc.unopenedLocked(id):
		return broken(http2.ErrCodeProtocol, "data on stream %d, which is not open", id)
	case s == nil:
		// Data that was on its way when we reset the stream.
		if hc.strays -= size; hc.strays < 0 {
			return broken(http2.ErrCodeStreamClosed, "data on stream %d, which has ended", id)
		}
	case s.ended:
		return broken(http2.ErrCodeStreamClosed, "data after the end of stream %d", id)
	default:
		if s.credit -= size; s.credit < 0 {
			return broken(http2.ErrCodeFlowControl, "more data than allowed on stream %d", id)
		}
	}
	return nil
}

// payload reads on in the DATA frame.
func (hc *h2Conn) payload(s *h2Stream, p []byte) (int, error) {
	f := &hc.data
	if f.rest > 0 && f.stream == s && p != nil {
		return hc.direct(s, p)
	}
	if f.rest > 0 {
		return 0, hc.store()
	}
	if err := hc.in.fill(f.pad); err != nil {
		return 0, err
	}
	hc.in.r += f.pad
	f.pad = 0
	hc.completed()
	return 0, nil
}

// store keeps payload for the stream that it is for, unless that waits for it:
// then it is that one's turn.
func (hc *h2Conn) store() error {
	f := &hc.data
	hc.mu.Lock()
	if t := f.stream; t != nil && t.waits && t.reads {
		hc.turnLocked(t)
		hc.mu.Unlock()
		return nil
	}
	hc.mu.Unlock()
	p, err := hc.in.take(f.rest)
	if err != nil {
		return err
	}
	f.rest -= p.n
	hc.mu.Lock()
	if t := f.stream; t != nil && !t.gone {
		t.unread.add(p, &hc.c.pieces)
		t.wakeLocked()
	} else {
		hc.c.inVain(int64(p.n))
		hc.c.pieces.Put(p)
	}
	hc.mu.Unlock()
	hc.completed()
	return nil
}

// direct reads payload of s into p. Where nothing has been read ahead, it comes
// from the connection without a copy between. To save calls, p is then filled
// beyond the frame: where DATA frames of s follow, their payload is moved up
// over their headers; what else follows is put ahead.
func (hc *h2Conn) direct(s *h2Stream, p []byte) (int, error) {
	f := &hc.data
	if ahead := hc.in.ahead(); len(ahead) > 0 {
		n := copy(p, ahead[:min(len(ahead), f.rest)])
		hc.in.r += n
		f.rest -= n
		hc.completed()
		return n, nil
	}
	got, err := hc.in.src.Read(p[:min(len(p), f.rest+aheadSize)])
	for got > 0 && err == nil && f.rest-got > 0 && f.rest-got <= frameTail && f.rest <= len(p) {
		var k int
		k, err = hc.in.src.Read(p[got:f.rest])
		got += k
	}
	if got == 0 {
		return 0, err // one that comes after bytes will come again
	}
	n := min(got, f.rest)
	f.rest -= n
	for at := n; at < got; {
		h, ok := hc.follows(s, p[at:got])
		if !ok {
			hc.in.keep(p[at:got])
			break
		}
		f.open = false
		at += frameHead
		if err := hc.begin(h, 0); err != nil || f.stream != s {
			hc.in.keep(p[at:got])
			return n, err
		}
		k := copy(p[n:], p[at:min(got, at+f.rest)])
		n += k
		at += k
		f.rest -= k
	}
	hc.completed()
	return n, nil
}

// follows reports whether b begins with the header of a DATA frame that continues s.
func (hc *h2Conn) follows(s *h2Stream, b []byte) (frameHeader, bool) {
	if f := &hc.data; f.pad > 0 || f.end || len(b) < frameHead {
		return frameHeader{}, false
	}
	h := parseFrameHeader(b)
	return h, h.kind == http2.FrameData && h.stream == s.id && !h.flags.Has(http2.FlagDataPadded) && h.length <= maxFrame
}

// completed closes the DATA frame if all of it has been read.
func (hc *h2Conn) completed() {
	f := &hc.data
	if !f.open || f.rest > 0 || f.pad > 0 {
		return
	}
	s, end := f.stream, f.end
	*f = dataFrame{}
	if s == nil || !end {
		return
	}
	hc.mu.Lock()
	defer hc.mu.Unlock()
	s.ended = true
	s.wakeLocked()
}
