package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

// exchange is one request in the queue of an HTTP/1.1 connection, and then its
// response's body.
type exchange struct {
	hc      *h1Conn
	maySend <-chan struct{} // closed when the request before has been written
	turn    <-chan struct{} // closed when the response before has been read
	sent    chan struct{}   // closed when this request has been written, or never will be
	done    chan struct{}   // closed when this response has been read

	first bool // first on its connection: nothing can be blamed on its age
	early bool // first on its connection, which was opened before
	piped bool // queued behind another

	written bool // send has been called

	stop   func() bool // takes back the closing of the connection at the context's end
	left   int64       // bytes of a body with a length
	src    io.Reader   // a body without; nil otherwise
	close  bool        // the connection ends with this response
	single bool        // and began with it
	waited bool        // the mark was waited for, and holds for the read that follows
}

// roundTrip sends the request, waits for its turn and reads the header.
func (x *exchange) roundTrip(ctx context.Context, req *http.Request, a asked) (*http.Response, body, error) {
	wire, err := x.format(req)
	if err != nil {
		x.withdraw()
		return nil, nil, err
	}
	select {
	case <-x.maySend:
	case <-x.hc.dead:
		return nil, nil, errQueued
	case <-ctx.Done():
		x.withdraw()
		return nil, nil, ended(ctx)
	}
	if err := x.send(ctx, wire); err != nil {
		return nil, nil, err
	}
	select {
	case <-x.turn:
	case <-x.hc.dead:
		return nil, nil, errQueued
	case <-ctx.Done():
		x.skip(a)
		return nil, nil, ended(ctx)
	}
	if x.hc.isDead() {
		return nil, nil, errQueued
	}
	x.stop = context.AfterFunc(ctx, x.hc.kill)
	h, err := x.header(req)
	if err != nil {
		x.abort()
		return nil, nil, err
	}
	if x.early && h.StatusCode == http.StatusRequestTimeout {
		x.abort() // it was about to come when this request was made
		return nil, nil, errResend
	}
	return h, x, nil
}

// format is the request as it goes onto the wire.
func (x *exchange) format(req *http.Request) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if req.GetBody != nil { // it may have been sent before
		again := *req
		again.Body, _ = req.GetBody() // it has it in memory
		req = &again
	}
	if proxy := x.hc.proxy; proxy != nil {
		if a := proxyAuth(proxy); a != "" {
			req = req.Clone(req.Context())
			req.Header.Set("Proxy-Authorization", a)
		}
		err = writeForProxy(req, &b)
	} else {
		err = req.Write(&b)
	}
	if err != nil {
		return nil, protocolError("cannot make the request: %w", urlError(err))
	}
	return b.Bytes(), nil
}

// writeForProxy writes the request in absolute form, which names the URL's host: net/http would
// name that of the Host header.
func writeForProxy(req *http.Request, b *bytes.Buffer) error {
	if req.Host == hostHeader(req.URL) {
		return req.WriteProxy(b)
	}
	origin := "http://" + strings.TrimSuffix(withoutZone(originOf(req.URL).addr), ":80")
	var direct bytes.Buffer
	if err := req.Write(&direct); err != nil {
		return err
	}
	b.WriteString(req.Method + " " + origin)
	b.Write(direct.Bytes()[len(req.Method)+1:])
	return nil
}

// send writes the request. When that fails the responses before it may still be
// complete, so the connection ends after them.
func (x *exchange) send(ctx context.Context, wire []byte) error {
	hc := x.hc
	if !x.first && !x.piped && hc.hasSpoken(x.early) {
		x.written = true
		close(x.sent)
		hc.kill()
		return errResend
	}
	err := hc.nc.SetWriteDeadline(time.Now().Add(hc.c.cfg.ResponseTimeout))
	if err == nil {
		// Half a request is of no use: if the server does not read it, the connection is lost.
		stop := context.AfterFunc(ctx, func() { _ = hc.raw.SetWriteDeadline(time.Now().Add(sendGrace)) })
		_, err = hc.nc.Write(wire)
		stop()
	}
	x.written = true
	close(x.sent)
	if err == nil {
		return nil
	}
	hc.c.mu.Lock()
	defer hc.c.mu.Unlock()
	hc.closing, hc.doomed = true, true
	select {
	case <-x.turn:
		hc.killLocked()
	default:
		return errQueued
	}
	if x.first {
		return fmt.Errorf("sending the request: %w", err)
	}
	return errResend
}

// header reads the response's header, the interim ones before it included.
func (x *exchange) header(req *http.Request) (*http.Response, error) {
	hc := x.hc
	hc.in.left, hc.in.err = maxHeaderBytes, nil
	if err := x.await(); err != nil {
		return nil, x.lost(err)
	}
	if x.first || x.early {
		hc.c.cfg.Peers.answered(hc)
	}
	h, err := finalHeader(hc.br, req)
	if err != nil {
		return nil, x.garbled(err)
	}
	return h, x.begin(h)
}

// finalHeader reads the header of a response, and the interim ones before it.
func finalHeader(br *bufio.Reader, req *http.Request) (*http.Response, error) {
	for range maxInterim + 1 {
		h, err := readHeader(br, req)
		switch {
		case err != nil:
			return nil, err
		case h.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("server switches protocols unasked")
		case h.StatusCode >= http.StatusOK:
			return h, nil
		}
	}
	return nil, fmt.Errorf("more than %d interim responses", maxInterim)
}

// oversleeping is how late the end of a wait has to be noticed to tell that this
// process was not running: it was stopped, or the machine was suspended.
const oversleeping = time.Second

// await waits for the response's first byte, up to the response time-out. Time in which the
// process was suspended does not count, once: the answer may have come meanwhile.
func (x *exchange) await() error {
	for again := false; ; again = true {
		until := time.Now().Add(x.hc.c.cfg.ResponseTimeout)
		if err := x.hc.raw.SetReadDeadline(until); err != nil {
			return err
		}
		_, err := x.hc.br.Peek(1)
		if again || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(until) < oversleeping {
			return err
		}
	}
}

// lost says what it means that the connection ended before a byte of the response.
func (x *exchange) lost(err error) error {
	late := errors.Is(err, os.ErrDeadlineExceeded)
	x.hc.c.mu.Lock()
	x.hc.strikeLocked(x.piped && (late || !x.hc.killed))
	x.hc.c.mu.Unlock()
	switch {
	case late:
		return fmt.Errorf("no response within %v: %w", x.hc.c.cfg.ResponseTimeout, os.ErrDeadlineExceeded)
	case x.first:
		return err
	}
	return errResend
}

// garbled tells a connection that broke within a header from a bad header.
func (x *exchange) garbled(err error) error {
	switch {
	case errors.Is(err, errHeaderTooLarge):
		return protocolError("%w (over %d KiB)", errHeaderTooLarge, maxHeaderBytes>>10)
	case x.hc.in.err != nil:
		return x.hc.in.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return protocolError("malformed response: %w", err)
}

// begin prepares for the body: how it is framed and whether others may queue
// behind it.
func (x *exchange) begin(h *http.Response) error {
	hc := x.hc
	hc.in.left = unmetered
	hc.mark.want(1)
	if err := hc.raw.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	x.close = h.Close
	switch {
	case len(h.TransferEncoding) > 0:
		x.src = newChunked(hc.br, &hc.in)
	case h.ContentLength >= 0:
		x.left = h.ContentLength
	default:
		x.src = hc.br
	}
	hc.c.mu.Lock()
	defer hc.c.mu.Unlock()
	x.single = x.close && hc.served == 0
	hc.served++
	hc.takes = h.ProtoAtLeast(1, 1) && !h.Close && x.src == nil
	hc.blocked = !hc.takes
	hc.o.wake()
	return nil
}

// Read reads the body; it returns io.EOF together with the last bytes of a body
// with a length. Large reads bypass the buffer.
func (x *exchange) Read(p []byte) (int, error) {
	if x.src != nil {
		n, err := x.src.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			x.broke()
		}
		if _, chunks := x.src.(*chunked); !chunks && errors.Is(err, errCut) {
			err = ErrUnannounced
		}
		return n, err
	}
	if x.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > x.left {
		p = p[:x.left]
	}
	if !x.waited {
		x.reading(len(p))
	}
	x.waited = false
	n, err := x.hc.br.Read(p)
	return n, x.passed(int64(n), err)
}

// reading prepares for a read of at most n bytes, and says whether it may have to wait.
func (x *exchange) reading(n int) bool {
	if x.hc.br.Buffered() > 0 || x.hc.tls.ready() {
		return false
	}
	x.hc.mark.reading(int64(n), x.left)
	return true
}

func (x *exchange) tells() bool {
	return x.src == nil && x.left > 0 && (x.hc.tls != nil || x.bare())
}

// wait returns when a Read finds something, or has to look itself.
func (x *exchange) wait(n int) (there int64) {
	switch {
	case !x.reading(n):
	case x.hc.tls != nil:
		x.waited = true
		_ = x.hc.tls.wait() // the Read has the same error
	case x.bare():
		x.waited = true
		there = x.hc.mark.wait()
	}
	return there
}

// passed books n bytes of a body with a length.
func (x *exchange) passed(n int64, err error) error {
	if x.left -= n; x.left == 0 {
		x.hc.mark.reading(0, 0)
		return io.EOF
	}
	if err != nil {
		x.broke()
	}
	return err
}

func (x *exchange) bare() bool {
	hc := x.hc
	return x.src == nil && x.left > 0 && hc.nc == hc.raw && hc.mark.raw != nil && hc.br.Buffered() == 0
}

func (x *exchange) move(m Mover, n int64) (int64, error) {
	n = min(n, x.left)
	if !x.waited {
		x.hc.mark.reading(n, x.left)
	}
	x.waited = false
	got, err := m.Take(x.hc.mark.raw, n)
	switch {
	case got == 0 && err == nil:
		err = io.EOF
	case got > 0 && x.hc.c.trace != nil:
		x.hc.c.trace.Read()
	}
	return got, x.passed(got, err)
}

// broke notes that the connection ended within a body.
func (x *exchange) broke() {
	hc := x.hc
	hc.c.mu.Lock()
	defer hc.c.mu.Unlock()
	hc.strikeLocked(!hc.killed && hc.pending > 1)
}

// finish lets the next request in the queue have its turn.
func (x *exchange) finish() {
	hc := x.hc
	alive := x.stop == nil || x.stop()
	if alive {
		alive = hc.raw.SetReadDeadline(time.Time{}) == nil
	}
	hc.c.mu.Lock()
	defer hc.c.mu.Unlock()
	hc.pending--
	hc.blocked = false
	if x.close {
		hc.strikeLocked(hc.pending > 0)
	}
	// Unrequested bytes would be taken for the next response.
	unasked := hc.pending == 0 && hc.br.Buffered() > 0
	// Another connection seems to wait at the server for this one to end.
	inTheWay := hc.pending == 0 && hc.server.crowded.Load()
	if !alive || x.close || hc.doomed || unasked || inTheWay {
		hc.killLocked()
	}
	if hc.pending == 0 {
		hc.closing = false // what was taken to be its end was not
	}
	close(x.done)
	hc.o.wake()
}

// abort closes the connection: what is left of the response cannot be skipped.
func (x *exchange) abort() {
	if x.stop != nil {
		x.stop()
	}
	x.hc.kill()
}

func (x *exchange) drainable(within time.Duration) bool {
	return x.hc.raw.SetReadDeadline(time.Now().Add(within)) == nil
}

func (x *exchange) conn() net.Conn { return dialled(x.hc.raw) }

func (x *exchange) lying() int64 {
	n := int64(x.hc.br.Buffered())
	if c, ok := kernels(x.hc.raw).(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { n += queued(fd) })
		}
	}
	return n
}

func (x *exchange) gather(n int64) {
	x.hc.mark.want(n)
	x.hc.tls.gather(n)
}

// shorten notes that the end of the body is not wanted. Only closing the connection stops these
// bytes, so new requests use another connection meanwhile.
func (x *exchange) shorten(surplus int64) {
	if surplus <= 0 {
		return
	}
	hc := x.hc
	hc.c.mu.Lock()
	defer hc.c.mu.Unlock()
	select {
	case <-x.done:
		return // all of it had come, and the connection can be used again
	default:
	}
	hc.closing = true
	hc.o.wake()
}

// skip deals with a request that was given up. Its response is under way, before those of later
// requests: when its turn comes, a small one is read and dropped, and a large one ends the
// connection.
func (x *exchange) skip(a asked) {
	if x.first && x.hc.server.crowded.Load() {
		x.abort() // others are asked, while this one would have to be served first
		return
	}
	x.unattended(a.whole() || a.end-a.off > smallRest, func() {
		h, err := x.header(&http.Request{Method: http.MethodGet}) //nolint:bodyclose // leave closes it
		if err != nil || h.ContentLength > smallRest {
			x.abort()
			return
		}
		x.hc.c.leave(context.Background(), h, x)
	})
}

// withdraw gives up the place in the queue of a request that has not been written.
func (x *exchange) withdraw() { x.unattended(false, x.finish) }

// unattended runs then in the background when it is x's turn. last says that the
// connection may well end there, so that nothing more should queue behind x.
func (x *exchange) unattended(last bool, then func()) {
	hc := x.hc
	hc.c.mu.Lock()
	defer hc.c.mu.Unlock()
	if hc.killed || hc.c.closed {
		return
	}
	hc.closing = hc.closing || last
	hc.c.skippers.Go(func() {
		select {
		case <-x.maySend:
		case <-hc.dead:
			return
		}
		if !x.written {
			close(x.sent) // those behind may write, in their order
		}
		select {
		case <-x.turn:
			then()
		case <-hc.dead:
		}
	})
}
