package fetch

import (
	"bufio"
	"io"
	"math"
	"net"
	"net/url"
)

const (
	// maxHeaderBytes bounds a response's header, interim responses included
	// (curl CVE-2023-38039).
	maxHeaderBytes = 256 << 10
	// maxInterim bounds how many 1xx responses come before the real one.
	maxInterim = 8
	// maxDepth bounds the requests on one connection, the one being read included: of
	// small files it takes many to fill a long trip.
	maxDepth = 32
	// wellServed is how many responses a connection must have carried for its end
	// to be no evidence against pipelining (keepalive_requests of nginx, say).
	wellServed = 8
)

// h1Conn is an HTTP/1.1 connection with its queue of requests. Only the head of
// the queue, whose turn it is, reads.
type h1Conn struct {
	c     *Client
	o     *origin
	raw   net.Conn   // as dialled: what deadlines are set on and what is closed
	nc    net.Conn   // raw or TLS on top of it
	tls   *tlsStream // nc, if it is TLS
	proxy *url.URL   // requests in absolute form; nil: to the origin itself
	in    meter      // head's
	br    *bufio.Reader
	mark  *readMark     // down while no body is read
	dead  chan struct{} // closed when the connection is
	early bool          // opened before there was a request for it: it has an age

	// Guarded by Client.mu.
	seat     // set before there are requests
	killed   bool
	pending  int  // requests in the queue
	served   int  // response headers seen
	takes    bool // the latest response lets others queue behind it
	blocked  bool // no request may queue behind the current response
	closing  bool // takes no more requests
	doomed   bool // ends with the current response: writing has failed
	lastDone chan struct{}
	lastSent chan struct{}
}

// newH1 makes a connection without requests.
func (c *Client) newH1(o *origin, d *dialed) *h1Conn {
	open := make(chan struct{})
	close(open)
	hc := &h1Conn{
		c: c, o: o, raw: d.raw, nc: d.stream(), tls: d.tls, proxy: d.proxy,
		mark: d.mark(),
		dead: make(chan struct{}), lastDone: open, lastSent: open,
	}
	if hc.tls == nil {
		hc.mark.mindEnd()
	}
	hc.in.src = hc.nc
	hc.br = bufio.NewReaderSize(&hc.in, c.cfg.ReadBuffer)
	hc.wait = d.wait
	c.cfg.Peers.join(d.key, hc)
	if hc.tls != nil {
		c.cfg.Peers.answered(hc)
	}
	return hc
}

// enqueue adds a request to the end of the queue. Client.mu is held.
func (hc *h1Conn) enqueue() *exchange {
	first := hc.served == 0 && hc.pending == 0
	if first && hc.early {
		hc.c.cfg.Peers.expect(hc)
	}
	x := &exchange{
		hc: hc, turn: hc.lastDone, maySend: hc.lastSent,
		done: make(chan struct{}), sent: make(chan struct{}),
		first: first && !hc.early, early: first && hc.early, piped: hc.pending > 0,
	}
	hc.lastDone, hc.lastSent = x.done, x.sent
	hc.pending++
	return x
}

// kill closes the connection at once and sends those in its queue elsewhere.
func (hc *h1Conn) kill() {
	hc.c.mu.Lock()
	hc.killLocked()
	hc.c.mu.Unlock()
}

func (hc *h1Conn) killLocked() {
	if hc.killed {
		return
	}
	hc.killed = true
	hc.c.cfg.Peers.leave(hc)
	close(hc.dead)
	hc.o.h1 = without(hc.o.h1, hc)
	hc.o.wake()
	// The raw connection: TLS would try to say goodbye first, which can block.
	hangUp(hc.raw, hc.pending > 0)
}

func (hc *h1Conn) link() Trace { return hc.c.trace }

// closeIdle implements pooled.
func (hc *h1Conn) closeIdle() bool {
	hc.c.mu.Lock()
	defer hc.c.mu.Unlock()
	if hc.pending > 0 {
		return false
	}
	hc.killLocked()
	return true
}

// strikeLocked counts the end of the connection against pipelining if the server
// ended it while requests were queued. Client.mu is held.
func (hc *h1Conn) strikeLocked(queued bool) {
	if queued && hc.served < wellServed {
		hc.o.noPipeline = true
	}
}

// isDead reports whether the connection has been closed.
func (hc *h1Conn) isDead() bool {
	select {
	case <-hc.dead:
		return true
	default:
		return false
	}
}

// meter reads a connection up to a number of bytes, and remembers its error.
type meter struct {
	src  io.Reader
	left int64
	err  error // of src
}

// unmetered lets everything through.
const unmetered = math.MaxInt64

// Read reads at most what is left; one more byte is errHeaderTooLarge.
func (m *meter) Read(p []byte) (int, error) {
	if m.left == unmetered {
		return m.src.Read(p)
	}
	if m.left <= 0 {
		return 0, errHeaderTooLarge
	}
	if int64(len(p)) > m.left {
		p = p[:m.left]
	}
	n, err := m.src.Read(p)
	m.left -= int64(n)
	if err != nil {
		m.err = err
	}
	return n, err
}
