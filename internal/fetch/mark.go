package fetch

import (
	"crypto/tls"
	"net"
	"sync"
	"syscall"
)

const (
	// leastMark is the smallest mark worth setting: fewer bytes arrive in a few packets.
	leastMark = 8 << 10
	// leastPacket is about what any packet carries (RFC 9293, 3.7.1, says 1220 for IPv6).
	leastPacket = 1220
	// tlsAhead is the most that TLS may have read of a body when it waits for more:
	// some of a record (RFC 5246, 6.2.3, allows larger ones than RFC 8446).
	tlsAhead = recordHead + 16<<10 + 2<<10
)

// readMark is how many bytes a connection's socket gathers before it wakes a read that found
// none. Over a link slower than the machine every packet or two would wake it otherwise, and
// wake-ups, not bytes, are the cost of a download.
//
// A waiting reader does not see bytes below the mark. So the mark never exceeds the rest of the
// present body, and is lowered while a header is read. The caller's wish, which may be taken
// back at any time, bounds how long a link that slows down is misjudged.
type readMark struct {
	raw   syscall.RawConn // nil: nothing to set
	ahead int64           // bytes of a body that may have been read from the socket beyond what was handed on
	tail  int64           // bytes that a body ends with, and that are not waited for together with those before

	mu   sync.Mutex
	wish int64 // bytes, the caller's; 1 when a body begins
	set  int64 // what the socket was told; at first 1
	rest int64 // bytes of a record that the socket gathers, whatever the wish; 0: none

	look  func(fd uintptr) bool // reached, kept: making it allocates
	asked bool                  // reached has looked
	found int64                 // bytes that the socket had when reached looked last
	left  int64                 // bytes still to come of the body

	lookQueued func(fd uintptr) // sets found, kept

	lookWhole func(fd uintptr) bool // there, kept
	poll      pollSet               // of both, kept
}

// newReadMark is the mark of raw, on which TLS is spoken or not.
func newReadMark(raw net.Conn, overTLS bool) *readMark {
	m := &readMark{wish: 1, set: 1}
	m.look, m.lookWhole = m.reached, m.there
	m.lookQueued = func(fd uintptr) { m.found = queued(fd) }
	if overTLS {
		m.ahead = tlsAhead
	}
	if c, ok := kernels(raw).(syscall.Conn); ok && canMark {
		if rc, err := c.SyscallConn(); err == nil {
			m.raw = rc
		}
	}
	return m
}

// mindEnd makes it look after the end of a body, too, which a server may keep back: over
// HTTP/1.1 in clear, as far as is known.
func (m *readMark) mindEnd() {
	if m.raw != nil {
		m.tail = keptBack(m.raw)
	}
}

// kernels is the connection within c whose bytes c hands on as they are.
func kernels(c net.Conn) net.Conn {
	for {
		wrapper, ok := c.(interface{ NetConn() net.Conn })
		if _, changes := c.(*tls.Conn); !ok || changes {
			return c
		}
		c = wrapper.NetConn()
	}
}

// want sets the caller's wish. A mark above it is lowered at once, which wakes a read that
// waits for more; a higher mark is set by the next read, which knows how much is still to come.
func (m *readMark) want(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wish = n
	if m.rest == 0 {
		m.apply(nextMark(m.set, n, m.set))
	}
}

// reading prepares for a read of at most n bytes of a body of which left are
// still to come.
func (m *readMark) reading(n, left int64) {
	m.left = left
	m.mu.Lock()
	defer m.mu.Unlock()
	m.apply(nextMark(m.set, m.wish, min(n, left-m.ahead-m.tail)))
}

// wait returns how many bytes the socket has when the mark is reached, the connection ends, or
// the mark is withdrawn. A read then returns the same error. Only the connection's reader may
// call it, and it needs a socket to ask.
func (m *readMark) wait() (there int64) {
	m.asked, m.found = false, 0
	_ = m.raw.Read(m.look)
	return m.found
}

// reached looks once. It need not say why the reader is woken.
//
// A server that gathers small packets (nginx with tcp_nopush) keeps back the last packet of a
// body until the others are acknowledged (RFC 9293, 3.7.4). The kernel acknowledges an odd
// number of packets only after 40 ms, unless it is told to do so at once.
func (m *readMark) reached(fd uintptr) bool {
	if m.asked || m.poll.marked(fd) {
		m.found = queued(fd)
		return true
	}
	m.asked = true
	if m.left <= m.tail {
		acknowledge(fd)
	}
	return false
}

// queued is how many bytes the socket has, as far as it can tell.
func (m *readMark) queued() int64 {
	if m.found = 0; m.raw != nil {
		_ = m.raw.Control(m.lookQueued)
	}
	return m.found
}

// waitFor returns when the socket has the n bytes that a record lacks, or has ended, and says
// whether it can tell. Part of a record is of no use, so the caller's wish does not matter
// here. Bytes that fit into one packet arrive at once. Only the connection's reader may call
// it.
func (m *readMark) waitFor(n int) (bool, error) {
	if m.raw == nil || n < leastPacket {
		return false, nil
	}
	m.setRest(int64(n))
	err := m.raw.Read(m.lookWhole)
	m.setRest(0)
	return err == nil, err
}

// setRest has the socket gather the rest of a record, or no longer.
func (m *readMark) setRest(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rest = n; n == 0 {
		m.apply(1)
	}
}

// there sets the mark on its first call, and says whether a read would reach it, or the end. It
// sets the mark only here because the reader must already be waiting when it is woken by that.
func (m *readMark) there(fd uintptr) bool {
	m.mu.Lock()
	if m.set != m.rest {
		m.set = m.rest
		_ = setReadMark(fd, int(m.rest)) // a system that refuses it does without
	}
	m.mu.Unlock()
	return m.poll.marked(fd)
}

func (m *readMark) apply(n int64) {
	if n == m.set || m.raw == nil {
		return
	}
	m.set = n
	// A system that refuses it, and a closed connection, do without.
	_ = m.raw.Control(func(fd uintptr) { _ = setReadMark(fd, int(n)) })
}

// nextMark is the mark to set where there is one of set bytes, wish are wanted
// and bound can be waited for. It changes seldom, as that is a system call:
// when it must, or by a factor of two.
func nextMark(set, wish, bound int64) int64 {
	n := min(wish, bound)
	if n < leastMark {
		n = 1
	}
	if set <= bound && n < 2*set && set < 2*n {
		return set
	}
	return n
}
