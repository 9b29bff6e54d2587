package proxy

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// idleTunnel is how long a tunnel may carry nothing: RFC 5382, REQ-5, which is what
	// the network address translators on its way allow at least.
	idleTunnel = 2*time.Hour + 4*time.Minute
	// idleHalf is how long one may that one side has ended: what the other still has to
	// say comes soon, if at all; chosen by hand.
	idleHalf = 5 * time.Minute
)

// origin is what a tunnel leads from and to: a client's address and a server's name.
type origin struct {
	client netip.Addr
	host   string
}

// tunnel is a connection that the proxy makes for a client. Its link and what is below
// the counters are the Server's to change, under its lock.
type tunnel struct {
	origin   origin
	protocol string
	up, down atomic.Int64  // bytes to the server and to the client
	half     atomic.Bool   // one side has ended
	limiter  *rate.Limiter // of down, once it is connected; nil: no limit

	link     *member
	ends     []*net.TCPConn
	lastUp   int64 // counters at the latest sample
	lastDown int64
	samples  int // since it was placed
	idle     time.Duration
	rate     float64 // to the client, bytes per second
}

// busy says whether the tunnel carries something, or is so young that nobody knows.
func (t *tunnel) busy() bool { return t.rate > 0 || t.fresh() }

// fresh says whether the tunnel has not been there for a whole sample.
func (t *tunnel) fresh() bool { return t.samples < 2 }

// sample takes in what the tunnel carried since the last one.
func (t *tunnel) sample(since time.Duration) (up, down int64) {
	nowUp, nowDown := t.up.Load(), t.down.Load()
	up, down = nowUp-t.lastUp, nowDown-t.lastDown
	t.lastUp, t.lastDown = nowUp, nowDown
	t.rate = float64(down) / since.Seconds()
	t.samples++
	t.idle += since
	if up > 0 || down > 0 {
		t.idle = 0
	}
	return up, down
}

// overdue says whether the tunnel has carried nothing for too long.
func (t *tunnel) overdue() bool {
	return t.idle > idleTunnel || t.idle > idleHalf && t.half.Load()
}

// reset ends connections so that their peers notice at once, and connect again.
func reset(conns ...*net.TCPConn) {
	for _, c := range conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

// join carries bytes between a client and the server that the tunnel leads to, until both
// have ended or one has failed.
func (c *carrier) join(t *tunnel, client, server *net.TCPConn) {
	other := make(chan struct{})
	go func() {
		defer close(other)
		c.oneWay(t, server, client, flow{count: &t.up})
	}()
	c.oneWay(t, client, server, flow{&t.down, t.limiter})
	<-other
	_ = client.Close()
	_ = server.Close()
}

// flow is the bytes of one direction.
type flow struct {
	count   *atomic.Int64
	limiter *rate.Limiter // nil: no limit
}

// most is how many bytes are carried at a time, of n.
func (f flow) most(n int) int {
	if f.limiter == nil {
		return n
	}
	return min(n, f.limiter.Burst())
}

// passed counts n bytes, at most most, and waits until they may pass.
func (f flow) passed(n int) {
	f.count.Add(int64(n))
	if f.limiter != nil {
		time.Sleep(f.limiter.ReserveN(time.Now(), n).Delay())
	}
}

// oneWay carries the bytes of one direction, and passes its end on.
func (c *carrier) oneWay(t *tunnel, dst, src *net.TCPConn, f flow) {
	if err := c.carry(dst, src, f); err != nil {
		reset(src, dst)
		return
	}
	t.half.Store(true)
	_ = dst.CloseWrite()
}
