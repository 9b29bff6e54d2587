package metrics

import (
	"net"
	"slices"
	"sync"
	"time"
)

// patience is how long a connection may take when another one needs its place: a scraper that
// works sends its request at once and takes a page of some kilobytes as it comes.
const patience = 200 * time.Millisecond

// crowd is a listener with a bounded number of connections. A new connection replaces the
// oldest when that has had its time, so that slow clients keep no others out.
type crowd struct {
	net.Listener
	most int

	mu      sync.Mutex
	guests  []*guest // oldest first
	changed chan struct{}
	closed  bool
}

// guest is a connection of a crowd.
type guest struct {
	net.Conn
	in   *crowd
	came time.Time
}

func newCrowd(l net.Listener, most int) *crowd {
	return &crowd{Listener: l, most: most, changed: make(chan struct{}, 1)}
}

// Accept waits until there is a connection, and room for it.
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guest{Conn: conn, in: c, came: time.Now()}
	for {
		wait, err := c.admit(g)
		switch {
		case err != nil:
			_ = conn.Close()
			return nil, err
		case wait == 0:
			return g, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.changed:
			timer.Stop()
		}
	}
}

// admit takes a connection in, or says after what time to try again.
func (c *crowd) admit(g *guest) (wait time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if len(c.guests) == c.most {
		oldest := c.guests[0]
		if wait = patience - time.Since(oldest.came); wait > 0 {
			return wait, nil
		}
		_ = oldest.Conn.Close()
		c.guests = slices.Delete(c.guests, 0, 1)
	}
	c.guests = append(c.guests, g)
	return 0, nil
}

// Close ends the listener, and Accept.
func (c *crowd) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wake()
	return c.Listener.Close()
}

// wake has Accept look again.
func (c *crowd) wake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Close gives the place free.
func (g *guest) Close() error {
	g.in.mu.Lock()
	if i := slices.Index(g.in.guests, g); i >= 0 {
		g.in.guests = slices.Delete(g.in.guests, i, i+1)
	}
	g.in.mu.Unlock()
	g.in.wake()
	return g.Conn.Close()
}
