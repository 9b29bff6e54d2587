package engine

import (
	"net"
	"sync"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
)

// segmentCount adds up what the kernel counted on a link's connections over the
// run: those that are open, and those that were. Its zero value is ready.
type segmentCount struct {
	mu     sync.Mutex
	open   map[*countedConn]struct{}
	closed event.TCPSegments
}

// countedConn is a connection that is asked for its counters before it closes:
// the kernel forgets them with it.
type countedConn struct {
	net.Conn
	in *segmentCount
}

// NetConn gives the connection to those who look for the kernel's.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

func (c *countedConn) Close() error {
	c.in.retire(c)
	return c.Conn.Close()
}

// watch counts a new connection.
func (s *segmentCount) watch(conn net.Conn) net.Conn {
	c := &countedConn{Conn: conn, in: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*countedConn]struct{}{}
	}
	s.open[c] = struct{}{}
	return c
}

// retire keeps what was counted on a connection that is about to close; only
// the first time.
func (s *segmentCount) retire(c *countedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.open[c]; open {
		delete(s.open, c)
		addSegments(&s.closed, c.Conn)
	}
}

// total is what was counted so far, and on how many connections that are open.
func (s *segmentCount) total() (t event.TCPSegments, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t = s.closed
	for c := range s.open {
		addSegments(&t, c.Conn)
	}
	return t, len(s.open)
}

// addSegments adds what the kernel has counted on conn, if it tells.
func addSegments(t *event.TCPSegments, conn net.Conn) {
	info, ok := link.ReadTCPInfo(conn)
	if !ok {
		return
	}
	t.In += int64(info.SegsIn)
	t.Out += int64(info.SegsOut)
	t.DataIn += int64(info.DataSegsIn)
	t.DataOut += int64(info.DataSegsOut)
	t.Retrans += int64(info.Retrans)
	t.OutOfOrder += int64(info.OutOfOrder)
}
