package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

const (
	// smallRest is how much of an unread body Close reads and drops to save the
	// connection: about what a handshake costs on a mobile link.
	smallRest = 64 << 10
	// drainTime bounds how long that may take.
	drainTime = time.Second
)

// body is a response's body on its connection.
type body interface {
	// Read reads body bytes; io.EOF is the end by the framing of the protocol.
	io.Reader
	// finish gives the connection back, after Read said io.EOF.
	finish()
	// abort ends the response in the middle: HTTP/1.1 closes the connection,
	// HTTP/2 resets the stream.
	abort()
	// drainable reports whether abort costs a connection, so that reading the
	// rest within the time set is worth a try, and sets that time.
	drainable(within time.Duration) bool
	conn() net.Conn
	// lying is how many bytes have come behind what was read, as far as the connection and
	// the system can tell.
	lying() int64
}

// Mover takes bytes from a connection by a way of its own. Take is like a Read of
// at most n bytes, but returns 0 and no error at the end of the stream.
type Mover interface {
	Take(conn syscall.RawConn, n int64) (int64, error)
}

// movable is a body whose bytes are the connection's own.
type movable interface {
	// bare says that the next bytes of the connection are the body, and none of it has been
	// read ahead.
	bare() bool
	move(m Mover, n int64) (int64, error)
}

// waiter is a body that may be able to wait for what comes without memory to put it into.
type waiter interface {
	tells() bool              // that something has come
	wait(n int) (there int64) // bytes that have; 0: not known
}

// gatherer is a body whose connection can wait for more than one byte.
type gatherer interface{ gather(n int64) }

// pacer is a body whose server may run ahead by some round trips' worth of bytes.
type pacer interface{ setTrip(d time.Duration) }

// shortener is a body whose connection does better when it knows that its end is not wanted.
type shortener interface{ shorten(surplus int64) }

// Response is a checked answer whose body has not been read yet. Read it to
// io.EOF or not, and Close it; it belongs to one goroutine.
type Response struct {
	// Off and End say which bytes of the object the body holds, [Off, End). End is
	// below what was asked for when the object is shorter, or the server gives no more at
	// once, and -1 when the length is not known (Whole only).
	Off, End int64
	// Whole says that this is the whole object from byte 0 on, either because no range was
	// requested or because the server ignored the range (then Object's AcceptsRanges is false
	// and none of the body has been read).
	Whole bool
	// Single says that the server ends the connection with this response, the first on
	// it: so it does with all, as far as one can tell.
	Single bool
	// Secure says that the response, and each redirect that led to it, came over TLS from a
	// verified server: it cannot have been forged on the path.
	Secure bool
	// Page says that the body is HTML, by what the server says of it.
	Page bool

	Object       Object
	EffectiveURL *url.URL // after redirects, without user information
	Proto        string   // "1.1" (which includes HTTP/1.0 servers) or "2"
	Remote       netip.AddrPort

	ctx    context.Context // it governs the body, as in net/http
	client *Client
	body   body
	pos    int64 // offset in the object of the next byte
	err    error // what Read says from now on
	over   bool  // the connection has been given back
}

// Read reads the body. It returns io.EOF only after exactly End-Off bytes, or,
// when End is -1, where the protocol's framing ends; every other error is an
// *Error. Reads of Config.ReadBuffer bytes or more go straight to the
// connection. It does not fill p; it returns what has arrived.
func (r *Response) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if r.End >= 0 {
		rest := r.End - r.pos
		if rest == 0 {
			return 0, r.settle()
		}
		if int64(len(p)) > rest {
			p = p[:rest]
		}
	}
	n, err := r.body.Read(p)
	return n, r.passed(int64(n), err)
}

// Waits says whether the connection can report that something has arrived, so that a caller
// with many responses needs memory only for active ones: see Wait.
func (r *Response) Waits() bool { return r.waiter() != nil }

// waiter is the body, if it can report that now; nil: it cannot.
func (r *Response) waiter() waiter {
	if b, ok := r.body.(waiter); ok && r.err == nil && r.pos != r.End && b.tells() {
		return b
	}
	return nil
}

// Wait returns when a Read of at most n bytes of a Response that Waits need not wait, as
// far as the connection can tell; and how many bytes have come, or 0 where it cannot tell.
func (r *Response) Wait(n int) (there int64) {
	if b := r.waiter(); b != nil {
		return b.wait(n)
	}
	return 0
}

// passed books n bytes that came with an error of the body, and returns what the error means
// for their reader.
func (r *Response) passed(n int64, err error) error {
	r.pos += n
	if r.End < 0 && r.client.cfg.exceeds(r.pos) {
		err = r.client.cfg.tooLarge()
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) && (r.End < 0 || r.pos == r.End) {
		r.finish()
		return nil
	}
	if r.pos < r.End && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		err = &Error{Class: Network, Err: fmt.Errorf("connection closed early, %d bytes missing: %w", r.End-r.pos, io.ErrUnexpectedEOF)}
	}
	r.fail(err)
	return r.err
}

// Movable says whether Move may be called: over HTTP/1.1 in clear, when no byte
// of the body is in a buffer and at least one is still to come.
func (r *Response) Movable() bool {
	b, ok := r.body.(movable)
	return ok && r.err == nil && r.pos < r.End && b.bare()
}

// Move is Read for a Response that is Movable: m takes at most n bytes from the
// connection itself.
func (r *Response) Move(m Mover, n int64) (int64, error) {
	got, err := r.body.(movable).move(m, min(n, r.End-r.pos)) //nolint:errcheck,forcetypeassert // Movable has looked
	return got, r.passed(got, err)
}

// settle looks for the end of the framing once all bytes are there.
func (r *Response) settle() error {
	var one [1]byte
	n, err := r.body.Read(one[:])
	switch {
	case n > 0:
		r.fail(protocolError("body is longer than its content-range"))
	case errors.Is(err, io.EOF):
		r.finish()
	default:
		// Every byte is there; only the connection has been lost.
		r.abort()
		r.err = io.EOF
	}
	return r.err
}

func (r *Response) finish() {
	r.err = io.EOF
	if !r.over {
		r.over = true
		r.body.finish()
	}
}

func (r *Response) abort() {
	if !r.over {
		r.over = true
		r.body.abort()
	}
}

// fail records err before the connection is closed because of it.
func (r *Response) fail(err error) {
	r.err = readError(r.ctx, err)
	r.abort()
}

// Close gives the connection back. When the body has not been read to its end, a
// small rest is read and dropped; a larger one costs the HTTP/1.1 connection,
// and requests behind it are sent again elsewhere. HTTP/2 resets the stream.
func (r *Response) Close() error {
	r.Discard(smallRest)
	return nil
}

// Discard is Close with another bound, in bytes, on what is worth dropping to
// save the connection. It returns how many payload bytes were dropped, which also
// count as come in vain (Client.Vain).
func (r *Response) Discard(most int64) int64 {
	dropped := r.drop(most)
	r.client.inVain(dropped)
	r.abort()
	if r.err == nil || errors.Is(r.err, io.EOF) {
		r.err = &Error{Class: Canceled, Err: ErrClosed}
	}
	return dropped
}

// drop reads what is left of the body where that is at most so much, and can be afforded.
func (r *Response) drop(most int64) (dropped int64) {
	most = min(most, r.client.spare())
	worthIt := r.End < 0 || r.End-r.pos <= most
	if !r.over && r.err == nil && worthIt && r.ctx.Err() == nil && r.body.drainable(drainTime) {
		scratch := make([]byte, max(1, min(most+1, 16<<10)))
		for dropped <= most && r.err == nil {
			n, err := r.Read(scratch)
			dropped += int64(n)
			if err != nil {
				break
			}
		}
	}
	return dropped
}

// Gather says that a Read which finds nothing may wait until n bytes, or all that are wanted,
// are there. With 1, the initial value, the first byte wakes it. It has no effect where the
// connection cannot tell. It holds until Gather is called again, from any goroutine, or the
// response's end; a Read that waits for more than n then returns what there is. A body may
// stall below n, so a caller that asks for more than 1 must check that bytes still come.
func (r *Response) Gather(n int64) {
	if b, ok := r.body.(gatherer); ok {
		b.gather(max(1, n))
	}
}

// Shorten says that no byte of the object from end on is wanted any more: the reader will Close
// the response there. Over HTTP/2 the server's window is not extended to these bytes; over
// HTTP/1.1 the connection is lost with them, so later requests get another one at once. It may
// be called from any goroutine, and has no effect where End is -1.
func (r *Response) Shorten(end int64) {
	if b, ok := r.body.(shortener); ok && r.End >= 0 {
		b.shorten(max(0, r.End-end))
	}
}

// Trip tells what a round trip takes the data that comes over Conn, queues included, as the
// kernel's TCP has it: over HTTP/2 the server is allowed to run ahead by no more than fills
// the link then. It may be called from any goroutine.
func (r *Response) Trip(d time.Duration) {
	if b, ok := r.body.(pacer); ok {
		b.setTrip(d)
	}
}

// Conn is the link's connection that carries the response, as the Dialer made
// it, for TCP_INFO. Reading from it or writing to it breaks the response.
func (r *Response) Conn() net.Conn { return r.body.conn() }

// InTheWay says that its server serves a few connections at a time, as it seems, and that
// another one waits until one of these has ended.
func (r *Response) InTheWay() bool { return r.client.cfg.Peers.crowded(originOf(r.EffectiveURL)) }

// addrPort is a TCP address as a value; zero when it is something else.
func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		ap := t.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}
