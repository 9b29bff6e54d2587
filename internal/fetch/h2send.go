package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mlget/mlget/internal/errno"
)

const (
	// goAwayTime bounds how long saying goodbye may take.
	goAwayTime = time.Second
	// sendGrace is how long sending may go on after its request was cancelled. Our frames
	// always fit the socket's buffer, so sending takes time only if a server has read nothing
	// for long.
	sendGrace = 500 * time.Millisecond
)

var errNotTaken = errors.New("server does not take what is sent")

// h2Writer is the sending side of a connection. Its methods, except request, may be called from
// any goroutine. An error means that the connection has ended.
type h2Writer struct {
	mu      sync.Mutex // the frames of a header block, and of a write, stay together
	nc      net.Conn
	timeout time.Duration
	buf     bytes.Buffer
	frames  *http2.Framer // writes to buf
	block   bytes.Buffer
	encoder *hpack.Encoder // writes to block
}

// init leaves the preface in the buffer, to go out with the first request.
func (w *h2Writer) init(nc net.Conn, timeout time.Duration) {
	w.nc, w.timeout = nc, timeout
	w.frames = http2.NewFramer(&w.buf, nil)
	w.encoder = hpack.NewEncoder(&w.block)
	w.buf.WriteString(http2.ClientPreface)
	// Into a buffer nothing can fail, here and below.
	_ = w.frames.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: leastWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeaderBytes},
	)
	_ = w.frames.WriteWindowUpdate(0, connWindow-65535)
}

// flush sends what is in the buffer; mu is held.
func (w *h2Writer) flush() error {
	defer w.buf.Reset()
	if err := w.nc.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return err
	}
	_, err := w.nc.Write(w.buf.Bytes())
	return err
}

// request sends a request without a body on a stream with that window. The caller holds mu,
// under which it chose the stream's number.
func (w *h2Writer) request(id uint32, fields []hpack.HeaderField, window int64) error {
	w.block.Reset()
	for _, f := range fields {
		_ = w.encoder.WriteField(f)
	}
	for first := true; first || w.block.Len() > 0; first = false {
		part := w.block.Next(maxFrame)
		last := w.block.Len() == 0
		if first {
			_ = w.frames.WriteHeaders(http2.HeadersFrameParam{
				StreamID: id, BlockFragment: part, EndStream: true, EndHeaders: last,
			})
		} else {
			_ = w.frames.WriteContinuation(id, last, part)
		}
	}
	if window > leastWindow {
		_ = w.frames.WriteWindowUpdate(id, uint32(window-leastWindow))
	}
	return w.flush()
}

// acknowledge obeys and acknowledges settings, among them perhaps the size of the
// server's header table in bytes.
func (w *h2Writer) acknowledge(table uint32, haveTable bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if haveTable {
		w.encoder.SetMaxDynamicTableSizeLimit(table)
		w.encoder.SetMaxDynamicTableSize(min(table, 4096))
	}
	_ = w.frames.WriteSettingsAck()
	return w.flush()
}

// pong answers a PING.
func (w *h2Writer) pong(data [8]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.frames.WritePing(true, data)
	return w.flush()
}

// update lets the server send n bytes more, if any, on a stream or, with 0, on all; and it may ask
// for an answer to a PING.
func (w *h2Writer) update(stream uint32, n int64, ping bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 {
		_ = w.frames.WriteWindowUpdate(stream, uint32(n))
	}
	if ping {
		_ = w.frames.WritePing(false, [8]byte{})
	}
	return w.flush()
}

// reset ends a stream.
func (w *h2Writer) reset(stream uint32, code http2.ErrCode) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.frames.WriteRSTStream(stream, code)
	return w.flush()
}

// goAway tells the server why the connection is about to be closed, if that can
// be done without waiting for long.
func (w *h2Writer) goAway(code http2.ErrCode) {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	w.timeout = goAwayTime
	_ = w.frames.WriteGoAway(0, code, nil)
	_ = w.flush()
}

// sending handles the result of sending on the connection. A server that has closed it may have
// sent all awaited responses before, so it is read to its end, and takes no more requests; any
// other failure ends it at once.
func (hc *h2Conn) sending(err error) {
	switch {
	case err == nil:
	case errno.IsReset(err), errors.Is(err, syscall.EPIPE):
		hc.mu.Lock()
		hc.goneAway = true
		hc.mu.Unlock()
	default:
		hc.fail(fmt.Errorf("sending: %w", err))
	}
}

// unblock ends the connection if a sender is held up by a server that does not read.
func (hc *h2Conn) unblock() {
	timer := time.AfterFunc(sendGrace, func() { hc.fail(errNotTaken) })
	hc.out.mu.Lock()
	timer.Stop()
	hc.out.mu.Unlock()
}
