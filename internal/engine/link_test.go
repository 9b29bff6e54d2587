package engine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/internal/errno"
)

// testLink is a link over loopback whose faults a test chooses.
type testLink struct {
	name    string
	to      string        // every dial goes there; "": where it asks to go, names to 127.0.0.1
	names   string        // the address of every name, without port; "": 127.0.0.1
	home    string        // the address of names that begin with "home", with port
	rate    int           // bytes per second of one connection; 0: no limit
	latency time.Duration // before the first byte of each read after a write
	trip    time.Duration // that a connection takes
	cut     int64         // a connection breaks after so many bytes; 0: never
	turn    time.Duration // for which one connection after the other gets bytes; 0: all do at once

	// resolve says what comes of a question for a name; nil: every name is known.
	resolve func(name string) error

	net    *memNet // nil: the kernel's
	bare   bool    // its connections are the kernel's own: no faults, nothing is counted
	healed bool    // a second connection is without the first one's hole

	refuse    atomic.Bool
	refusals  atomic.Int64 // so many dials are refused
	dnsOut    atomic.Bool
	strangers atomic.Int64 // so many dials find no such host
	hole      atomic.Bool  // nothing arrives any more
	led       atomic.Pointer[string]
	dials     atomic.Int64
	bytes     atomic.Int64 // received in all, headers included

	mu     sync.Mutex
	holder *testConn // whose turn it is
	since  time.Time // since when
	read   time.Time // when it read last
	conns  map[*testConn]bool
	addrs  []string // dialled
}

func (l *testLink) Name() string { return l.name }
func (l *testLink) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if l.dials.Add(1) > 1 && l.healed {
		l.hole.Store(false)
	}
	l.mu.Lock()
	l.addrs = append(l.addrs, addr)
	l.mu.Unlock()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if l.dnsOut.Load() || l.strangers.Load() > 0 && l.strangers.Add(-1) >= 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if l.refuse.Load() || l.refusals.Load() > 0 && l.refusals.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", errno.ConnRefused)}
	}
	if l.resolve != nil {
		if err := l.resolve(host); err != nil {
			return nil, err
		}
	}
	if _, err := netip.ParseAddr(host); err != nil {
		addr = net.JoinHostPort("127.0.0.1", port)
		if l.names != "" {
			addr = net.JoinHostPort(l.names, port)
		}
		if l.home != "" && strings.HasPrefix(host, "home") {
			addr = l.home
		}
	}
	if l.to != "" {
		addr = l.to
	}
	if led := l.led.Load(); led != nil {
		addr = *led
	}
	if l.trip > 0 {
		select {
		case <-time.After(l.trip):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	var conn net.Conn
	if l.net != nil {
		conn, err = l.net.dial(addr)
	} else {
		var d net.Dialer
		conn, err = d.DialContext(ctx, network, addr)
	}
	if err != nil {
		return nil, err
	}
	if l.bare {
		return conn, nil
	}
	c := &testConn{Conn: conn, l: l, closed: make(chan struct{})}
	l.mu.Lock()
	if l.conns == nil {
		l.conns = map[*testConn]bool{}
	}
	l.conns[c] = true
	l.mu.Unlock()
	return c, nil
}

// lead sends every dial from now on to an address, and closes every connection.
func (l *testLink) lead(addr string) {
	l.led.Store(&addr)
	l.breakAll()
}

// breakAll closes every connection, as a lost radio link would.
func (l *testLink) breakAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Conn.Close()
	}
}

// open is how many connections have not been closed.
func (l *testLink) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

type testConn struct {
	net.Conn
	l        *testLink
	got      int64
	asked    atomic.Bool
	deadline atomic.Int64 // ns since 1970; 0: none
	once     sync.Once
	closed   chan struct{}
}

func (c *testConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.l.mu.Lock()
		delete(c.l.conns, c)
		c.l.mu.Unlock()
	})
	return c.Conn.Close()
}

func (c *testConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.deadline.Store(0)
	} else {
		c.deadline.Store(t.UnixNano())
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *testConn) Write(p []byte) (int, error) {
	c.asked.Store(true)
	return c.Conn.Write(p)
}

// wait passes d, or less when the connection is closed.
func (c *testConn) wait(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-c.closed:
		return net.ErrClosed
	}
}

// mayRead says whether the connection has its turn: it takes the one of another that is over, or
// that reads no more.
func (c *testConn) mayRead() bool {
	if c.l.turn == 0 {
		return true
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	now := time.Now()
	if c.l.holder != c && (now.Sub(c.l.since) >= c.l.turn || now.Sub(c.l.read) >= 50*time.Millisecond) {
		c.l.holder, c.l.since = c, now
	}
	if c.l.holder == c {
		c.l.read = now
	}
	return c.l.holder == c
}

func (c *testConn) Read(p []byte) (int, error) {
	if c.l.rate > 0 {
		p = p[:min(len(p), max(1, c.l.rate/50))]
	}
	if c.l.cut > 0 {
		if c.got >= c.l.cut {
			_ = c.Conn.Close()
			return 0, errors.New("connection reset by the test")
		}
		p = p[:min(int64(len(p)), c.l.cut-c.got)]
	}
	n, err := c.Conn.Read(p)
	if c.l.latency > 0 && c.asked.Swap(false) {
		if werr := c.wait(c.l.latency); werr != nil {
			return 0, werr
		}
	}
	for c.l.hole.Load() || !c.mayRead() {
		if werr := c.wait(2 * time.Millisecond); werr != nil {
			return 0, werr
		}
		if d := c.deadline.Load(); d != 0 && time.Now().UnixNano() > d {
			return 0, os.ErrDeadlineExceeded
		}
	}
	if c.l.rate > 0 && n > 0 {
		if werr := c.wait(time.Duration(float64(n) / float64(c.l.rate) * float64(time.Second))); werr != nil {
			return 0, werr
		}
	}
	c.got += int64(n)
	c.l.bytes.Add(int64(n))
	return n, err
}
