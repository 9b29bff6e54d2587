package engine

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/pkg/scheduler"
)

// segmentCount adds up what the kernel counted on a link's connections over the
// run: those that are open, and those that were. Its zero value is ready.
type segmentCount struct {
	mu     sync.Mutex
	open   map[*countedConn]struct{}
	closed event.TCPSegments
	bytes  int64 // that crossed the link for those that are closed

	recent event.TCPSegments // what total gave at asked
	asked  scheduler.Time
}

// countedConn is a connection that is asked for its counters before it closes:
// the kernel forgets them with it.
type countedConn struct {
	net.Conn
	in *segmentCount
}

// NetConn is the connection below, for users of its descriptor.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

func (c *countedConn) Close() error {
	c.in.retire(c)
	return c.Conn.Close()
}

// tallied counts the bytes of a connection of which the kernel tells nothing.
type tallied struct {
	net.Conn
	bytes atomic.Int64
}

func (c *tallied) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c *tallied) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// headerShare is what part of TCP's payload the headers of its packets are, about: 52 bytes
// of 1,448, and as much again for acknowledgements of every second packet.
const headerShare = 18

// crossedOver is how many bytes have crossed the link for a connection, with all headers. Bytes that were
// received and not read are counted when they are read, or when the connection ends.
func crossedOver(conn net.Conn, ends bool) int64 {
	if c, ok := conn.(*tallied); ok {
		n := c.bytes.Load()
		return n + n/headerShare
	}
	n, unread, _ := link.ReadTraffic(conn)
	if ends {
		return n
	}
	return n - unread
}

// crossed is how many bytes have crossed the link, with all headers.
func (s *segmentCount) crossed() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.bytes
	for c := range s.open {
		n += crossedOver(c.Conn, false)
	}
	return n
}

// carried counts bytes of payload that crossed the link on connections that are not watched.
func (s *segmentCount) carried(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += bytes + bytes/headerShare
}

// watch counts a new connection, and its bytes, too, where that matters.
func (s *segmentCount) watch(conn net.Conn, bytes bool) net.Conn {
	if bytes && !tells(conn) {
		conn = &tallied{Conn: conn}
	}
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
		s.bytes += crossedOver(c.Conn, true)
	}
}

// lately is total, cached for a short time: the samples of many files ask for it more often than the kernel
// need be asked.
func (s *segmentCount) lately(now scheduler.Time) (t event.TCPSegments, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == 0 || now-s.asked >= sampleEvery/10 {
		s.recent, s.asked = s.sum(), now
	}
	return s.recent, len(s.open)
}

// total is what was counted so far.
func (s *segmentCount) total() event.TCPSegments {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum()
}

// sum adds it up; mu is held.
func (s *segmentCount) sum() event.TCPSegments {
	t := s.closed
	for c := range s.open {
		addSegments(&t, c.Conn)
	}
	return t
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

// tells says whether the kernel counts a connection's bytes.
func tells(conn net.Conn) bool {
	_, _, ok := link.ReadTraffic(conn)
	return ok
}
