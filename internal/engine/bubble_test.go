package engine

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/errno"
)

// bubble is a test in virtual time, over a net in memory: what a machine needs to
// compute takes no time there, so that nothing depends on how busy it is, or on
// whether it is imitated. Links and servers that are made with it are within.
type bubble struct {
	*testing.T
	net *memNet
}

// timeless makes a test of f that runs beside others, each in its own bubble.
func timeless(f func(t *bubble)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { f(&bubble{T: t, net: &memNet{at: map[netip.AddrPort]*memListener{}}}) })
	}
}

// netOf is the net of a test; nil: that of the kernel.
func netOf(t testing.TB) *memNet {
	if b, ok := t.(*bubble); ok {
		return b.net
	}
	return nil
}

// A round trip and a rate for links that have none of their own: in virtual time
// they would carry everything at once.
const (
	memTrip = 500 * time.Microsecond
	memRate = 256 * mib // bytes per second
)

// inside puts a link into a test's net.
func (l *testLink) inside(n *memNet) {
	if n == nil || l.net != nil {
		return
	}
	l.net = n
	if l.latency == 0 {
		l.latency = memTrip
	}
	if l.rate == 0 {
		l.rate = memRate
	}
}

// memNet is loopback without a kernel.
type memNet struct {
	mu   sync.Mutex
	at   map[netip.AddrPort]*memListener
	last uint16 // the port that was given out last
}

// listen is net.Listen with a literal address; port 0 is a free one.
func (n *memNet) listen(addr string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.Port() == 0 {
		n.last++
		at = netip.AddrPortFrom(at.Addr(), 10_000+n.last)
	}
	if n.at[at] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &memListener{net: n, addr: at, conns: make(chan net.Conn, 128), closed: make(chan struct{})}
	n.at[at] = l
	return l, nil
}

func (n *memNet) dial(addr string) (net.Conn, error) {
	time.Sleep(memTrip)
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno.ConnRefused)}
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.last++
	from := netip.AddrPortFrom(at.Addr(), 10_000+n.last)
	l := n.at[at]
	n.mu.Unlock()
	if l == nil {
		return nil, refused
	}
	up, down := newMemPipe(), newMemPipe()
	select {
	case l.conns <- &memConn{in: up, out: down, local: at, remote: from}:
		return &memConn{in: down, out: up, local: from, remote: at}, nil
	case <-l.closed:
		return nil, refused
	}
}

type memListener struct {
	net    *memNet
	addr   netip.AddrPort
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memListener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() {
		l.net.mu.Lock()
		delete(l.net.at, l.addr)
		l.net.mu.Unlock()
		close(l.closed)
		for len(l.conns) > 0 { // nobody will
			_ = (<-l.conns).Close()
		}
	})
	return nil
}

// memConn is one end of a connection.
type memConn struct {
	in, out       *memPipe
	local, remote netip.AddrPort
}

func (c *memConn) LocalAddr() net.Addr               { return net.TCPAddrFromAddrPort(c.local) }
func (c *memConn) RemoteAddr() net.Addr              { return net.TCPAddrFromAddrPort(c.remote) }
func (c *memConn) Read(p []byte) (int, error)        { return c.in.read(p) }
func (c *memConn) Write(p []byte) (int, error)       { return c.out.write(p) }
func (c *memConn) SetReadDeadline(t time.Time) error { c.in.reading.set(c.in, t); return nil }

func (c *memConn) SetWriteDeadline(t time.Time) error { c.out.writing.set(c.out, t); return nil }

func (c *memConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// Close lets the other end read what was written, and write no more.
func (c *memConn) Close() error {
	c.out.end(func(p *memPipe) { p.written = true })
	c.in.end(func(p *memPipe) { p.gone = true })
	return nil
}

// memPipe is one direction of a connection, with room for as much as a socket has.
type memPipe struct {
	mu      sync.Mutex
	changed *sync.Cond
	buf     bytes.Buffer
	written bool // the writer has closed
	gone    bool // the reader has

	reading, writing memDeadline
}

const memRoom = 256 << 10

func newMemPipe() *memPipe {
	p := new(memPipe)
	p.changed = sync.NewCond(&p.mu)
	return p
}

func (p *memPipe) end(f func(p *memPipe)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
	p.reading.stop()
	p.writing.stop()
	p.changed.Broadcast()
}

func (p *memPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.gone:
			return 0, net.ErrClosed
		case p.reading.passed:
			return 0, os.ErrDeadlineExceeded
		case p.buf.Len() > 0:
			n, _ := p.buf.Read(b)
			p.changed.Broadcast()
			return n, nil
		case p.written:
			return 0, io.EOF
		}
		p.changed.Wait()
	}
}

func (p *memPipe) write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch room := memRoom - p.buf.Len(); {
		case p.written:
			return n, net.ErrClosed
		case p.gone:
			return n, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
		case p.writing.passed:
			return n, os.ErrDeadlineExceeded
		case n == len(b):
			return n, nil
		case room > 0:
			some := b[n:min(len(b), n+room)]
			p.buf.Write(some)
			n += len(some)
			p.changed.Broadcast()
			continue
		}
		p.changed.Wait()
	}
}

// memDeadline is of its pipe's mutex.
type memDeadline struct {
	timer  *time.Timer
	passed bool
}

func (d *memDeadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer = nil
}

func (d *memDeadline) set(p *memPipe, t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.stop()
	d.passed = !t.IsZero() && !t.After(time.Now())
	if !t.IsZero() && !d.passed && !p.gone && !p.written {
		var timer *time.Timer
		timer = time.AfterFunc(time.Until(t), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if d.timer == timer {
				d.passed = true
				p.changed.Broadcast()
			}
		})
		d.timer = timer
	}
	p.changed.Broadcast()
}
