package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// streamWindow is how far a server may run ahead of our reading on one stream:
	// 8 MiB in flight are 220 Mbit/s at 300 ms.
	streamWindow = 8 << 20
	// connWindow is the same for all streams of a connection together, and so the
	// most memory that unread bodies take.
	connWindow = 16 << 20
)

// refusedStream is REFUSED_STREAM (RFC 9113, 7).
const refusedStream = 7

// streamError is what net/http reports when the server has reset a stream. Its
// own type is not exported, but fills any struct with these fields by errors.As;
// x/net/http2.StreamError is made for that, and is all that we would import it for.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error is there because errors.As asks for it.
func (e streamError) Error() string { return "stream error" }

// h2Conn is an HTTP/2 connection.
type h2Conn struct {
	c    *Client
	o    *origin
	raw  net.Conn
	cc   *http.ClientConn
	used atomic.Bool // has answered a request

	clear *sniffer // between raw and cc when there is no TLS, else nil

	// Guarded by Client.mu.
	active  int  // requests made or about to be
	retired bool // takes no more requests
}

// newH2 speaks HTTP/2's preface on a new connection. The transport around it
// knows no other connection and never dials.
func (c *Client) newH2(ctx context.Context, o *origin, key originKey, d *dialed) (*h2Conn, *Error) {
	hc := &h2Conn{c: c, o: o, raw: d.raw}
	var protocols http.Protocols
	t := &http.Transport{
		Protocols: &protocols, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     streamWindow,
			MaxReceiveBufferPerConnection: connWindow,
		},
	}
	if d.tls != nil {
		protocols.SetHTTP2(true)
		t.DialTLSContext = func(context.Context, string, string) (net.Conn, error) { return d.tls, nil }
	} else {
		// Without TLS nothing has been agreed on: see what the server says first.
		hc.clear = &sniffer{Conn: d.raw}
		protocols.SetUnencryptedHTTP2(true)
		t.DialContext = func(context.Context, string, string) (net.Conn, error) { return hc.clear, nil }
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	cc, err := t.NewClientConn(ctx, key.scheme, key.addr)
	if err != nil {
		_ = d.raw.Close()
		return nil, dialError(ctx, err)
	}
	hc.cc = cc
	return hc, nil
}

// reserve takes the right to make one request; Client.mu is held.
func (hc *h2Conn) reserve() bool {
	if hc.retired || hc.cc.Reserve() != nil {
		return false
	}
	hc.active++
	return true
}

// shut closes the connection and all that is on it.
func (hc *h2Conn) shut() {
	// The raw connection first: TLS would try to say goodbye, which can block.
	_ = hc.raw.Close()
	_ = hc.cc.Close() // says that it was closed
}

// close closes the connection and forgets it.
func (hc *h2Conn) close() {
	hc.c.mu.Lock()
	hc.o.h2 = without(hc.o.h2, hc)
	hc.o.wake()
	hc.c.mu.Unlock()
	hc.shut()
}

// released says that a stream has ended; suspect, that the connection seems dead.
func (hc *h2Conn) released(suspect bool) {
	hc.c.mu.Lock()
	hc.retired = hc.retired || suspect
	hc.active--
	// Not cc.InFlight, which counts resets that a dead peer never confirms.
	idle := hc.retired && hc.active == 0
	hc.o.wake()
	hc.c.mu.Unlock()
	if idle {
		hc.close()
	}
}

// roundTrip sends the request on a stream of its own and waits for the header.
func (hc *h2Conn) roundTrip(ctx context.Context, req *http.Request, _ asked) (*http.Response, body, error) {
	late := fmt.Errorf("no response within %v: %w", hc.c.cfg.ResponseTimeout, os.ErrDeadlineExceeded)
	inner, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(hc.c.cfg.ResponseTimeout, func() { cancel(late) })
	h, err := hc.cc.RoundTrip(req.WithContext(inner)) //nolint:bodyclose // h2Stream closes it
	inTime := timer.Stop()
	if err == nil && inTime {
		hc.used.Store(true)
		return h, &h2Stream{hc: hc, h: h, ctx: ctx, cancel: cancel}, nil
	}
	if err == nil {
		cancel(late)
		_ = h.Body.Close()
	}
	cause := context.Cause(inner)
	cancel(nil)
	tooLate := errors.Is(cause, late)
	hc.released(tooLate || errors.Is(cause, ErrStalled))
	switch {
	case tooLate:
		return nil, nil, late
	case ctx.Err() != nil:
		return nil, nil, ended(ctx)
	case hc.clear != nil && hc.clear.http1.Load():
		return nil, nil, protocolError("server does not speak HTTP/2")
	case hc.unprocessed(err):
		return nil, nil, errResend
	}
	return nil, nil, h2Error(err)
}

// unprocessed reports whether a request that failed before its header may be
// sent again unnoticed: the server says that it did not look at it, or the
// connection had worked before and has ended.
func (hc *h2Conn) unprocessed(err error) bool {
	var stream streamError
	if errors.As(err, &stream) {
		return stream.Code == refusedStream
	}
	// net/http has no type for a GOAWAY that leaves a request unprocessed.
	return hc.used.Load() || strings.Contains(err.Error(), "graceful shutdown GOAWAY")
}

// sniffer finds out whether a server answers HTTP/2 in HTTP/1.1. net/http may
// lose that it did, when the answer is there before the request.
type sniffer struct {
	net.Conn
	http1 atomic.Bool
	begun bool // by the reading goroutine
}

// Read reads, and looks at the first bytes.
func (s *sniffer) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if !s.begun && n > 0 {
		s.begun = true
		s.http1.Store(bytes.HasPrefix(p[:n], []byte("HTTP/1.")))
	}
	return n, err
}

// h2Error tells broken HTTP/2 from broken connections: net/http exports only the
// texts of its connection errors.
func h2Error(err error) error {
	text := err.Error()
	for _, sign := range []string{"PROTOCOL_ERROR", "FRAME_SIZE_ERROR", "COMPRESSION_ERROR", "FLOW_CONTROL_ERROR"} {
		if strings.Contains(text, sign) {
			return protocolError("http/2: %w", err)
		}
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return &Error{Class: TLS, Err: err}
	}
	return err
}

// h2Stream is the body of a response over HTTP/2.
type h2Stream struct {
	hc     *h2Conn
	h      *http.Response
	ctx    context.Context // tells why the stream ended
	cancel context.CancelCauseFunc
}

// Read reads what has arrived.
func (s *h2Stream) Read(p []byte) (int, error) {
	n, err := s.h.Body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = h2Error(err)
	}
	return n, err
}

func (s *h2Stream) finish() { s.abort() }

// abort ends the stream, which resets it unless it is at its end. The context
// goes first: closing the body alone waits until the reset has been written.
func (s *h2Stream) abort() {
	s.cancel(nil)
	_ = s.h.Body.Close()
	s.hc.released(errors.Is(context.Cause(s.ctx), ErrStalled))
}

func (s *h2Stream) drainable(time.Duration) bool { return false }

func (s *h2Stream) conn() net.Conn { return s.hc.raw }
