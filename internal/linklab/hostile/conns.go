package hostile

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// sendBuffer is small, so that what has been sent is about what has arrived.
const sendBuffer = 64 << 10

// connSet is all connections of a server.
type connSet struct {
	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

// trackedConn is a connection that its set knows of until it is closed.
type trackedConn struct {
	*net.TCPConn
	set *connSet
}

// Close closes the connection.
func (c *trackedConn) Close() error {
	c.set.mu.Lock()
	delete(c.set.open, c)
	c.set.mu.Unlock()
	return c.TCPConn.Close()
}

// reset closes it with an RST instead of a FIN.
func (c *trackedConn) reset() {
	_ = c.SetLinger(0) // then the end is a FIN
	_ = c.Close()      // it may be closed
}

// trackingListener accepts connections into a set.
type trackingListener struct {
	net.Listener
	server *Server
}

// Accept waits for a connection that is taken.
func (l trackingListener) Accept() (net.Conn, error) {
	for {
		if l.server.cfg.Fault.Kind == OneConnection {
			l.server.conns.waitEmpty(l.server)
		}
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		set := &l.server.conns
		tc := &trackedConn{c.(*net.TCPConn), set}
		_ = tc.SetWriteBuffer(sendBuffer) // the kernel's choice does too
		edge := edgeOf(c.RemoteAddr())
		if l.server.cfg.Fault.Kind == ResetMore && set.has(edge) && l.server.strike(edge) {
			tc.reset()
			continue
		}
		if l.server.traits.Conn && l.server.strike(edge) {
			if l.server.cfg.Fault.Kind == HangUp {
				_ = tc.Close() // nothing has been said
				continue
			}
			set.add(tc) // it is not served
			continue
		}
		set.add(tc)
		return tc, nil
	}
}

func (s *connSet) add(c *trackedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = struct{}{}
}

func (s *connSet) has(edge netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		if edgeOf(c.RemoteAddr()) == edge {
			return true
		}
	}
	return false
}

// waitEmpty waits until no connection is open, or the server has no fault any more.
func (s *connSet) waitEmpty(server *Server) {
	for {
		s.mu.Lock()
		n := len(s.open)
		s.mu.Unlock()
		if n == 0 || server.healed.Load() || !server.pause(context.Background(), 5*time.Millisecond) {
			return
		}
	}
}

// matching are the connections of some clients.
func (s *connSet) matching(edge netip.Prefix) []*trackedConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*trackedConn
	for c := range s.open {
		if !edge.IsValid() || edge.Contains(edgeOf(c.RemoteAddr())) {
			all = append(all, c)
		}
	}
	return all
}

func (s *connSet) reset(edge netip.Prefix) {
	for _, c := range s.matching(edge) {
		c.reset()
	}
}

func (s *connSet) closeAll() {
	for _, c := range s.matching(netip.Prefix{}) {
		_ = c.Close() // it may be closed
	}
}
