package adversary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/errno"
)

// Network plays a World's servers and links. Its connections are in memory and its clock
// is that of the bubble it is made in.
type Network struct {
	world *World
	wires []*Wire
	began time.Time // of the run
	run   int

	mu    sync.Mutex
	log   []*Told
	asked map[place]int
	busy  map[place]int         // requests in progress by link and edge
	turns map[int]chan struct{} // of edges that serve one connection at a time
	quiet map[int]time.Time     // since when such an edge has waited for its connection's next request
	conns map[*end]bool         // the servers' ends of those that are open

	handlers sync.WaitGroup
	work     int64         // connections and requests that were asked for
	storm    chan struct{} // closed when they are too many
}

// stormAt is how many connections and requests of a history are too many: its objects
// could come a few bytes at a time.
const stormAt = 5_000

// Storm is closed when so much has been asked for that there is no sense in it.
func (n *Network) Storm() <-chan struct{} { return n.storm }

// count counts what is asked for; with n.mu.
func (n *Network) count() {
	if n.work++; n.work == stormAt {
		close(n.storm)
	}
}

// place is where answers are counted.
type place struct{ run, link, edge, file int }

// NewNetwork makes a World's network. Close it.
func NewNetwork(w *World) *Network {
	n := &Network{world: w, began: time.Now(), asked: map[place]int{}, busy: map[place]int{}, turns: map[int]chan struct{}{}, quiet: map[int]time.Time{}, conns: map[*end]bool{}, storm: make(chan struct{})}
	for i := range w.Links {
		n.wires = append(n.wires, &Wire{net: n, id: i, spec: &w.Links[i]})
	}
	return n
}

// Begin begins the next run.
func (n *Network) Begin(run int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.run, n.began = run, time.Now()
	for _, w := range n.wires {
		w.mu.Lock()
		w.dials, w.names = 0, 0
		w.mu.Unlock()
	}
}

// Links are the ways over which to download.
func (n *Network) Links() []*Wire { return n.wires }

// Log is what the servers told, in the order of their answers.
func (n *Network) Log() []*Told {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log
}

// Close ends all connections and waits until nobody serves any more.
func (n *Network) Close() {
	n.mu.Lock()
	for c := range n.conns {
		c.reset()
	}
	n.mu.Unlock()
	n.handlers.Wait()
}

// edgeAddr is the address of an edge; edge -1 is the portal.
func edgeAddr(edge int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(edge + 1), 1}) }

// Wire is a link of a Network. It is a fetch.Dialer with a name.
type Wire struct {
	net  *Network
	id   int
	spec *Link

	mu    sync.Mutex
	free  [2]time.Time // when its directions, up and down, have carried what they were given
	dials int          // in this run
	names int          // names looked up in this run
	made  int          // connections, in this run or before
}

// Name is the link's name.
func (w *Wire) Name() string { return fmt.Sprint("link", w.id) }

// DialContext connects to an edge: the one of an address, or for a name the next one.
func (w *Wire) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	w.net.mu.Lock()
	w.net.count()
	w.net.mu.Unlock()
	w.mu.Lock()
	if _, err := netip.ParseAddr(host); err != nil {
		w.names++
		if w.spec.NoName < 0 || w.names <= w.spec.NoName {
			w.mu.Unlock()
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
	}
	w.dials++
	refused := w.spec.Refused < 0 || w.dials <= w.spec.Refused
	w.mu.Unlock()
	if err := w.handshake(ctx); err != nil {
		return nil, err
	}
	if refused {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", errno.ConnRefused)}
	}
	return w.connect(host), nil
}

// handshake waits for a round trip, or until the link is back and then for one.
func (w *Wire) handshake(ctx context.Context) error {
	timer := time.NewTimer(time.Until(w.arrival(1, time.Now().Add(w.spec.Latency))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connect makes a connection and has it served.
func (w *Wire) connect(host string) *end {
	n := w.net
	n.mu.Lock()
	defer n.mu.Unlock()
	w.mu.Lock()
	edge := -1
	switch ip, err := netip.ParseAddr(host); {
	case w.spec.Portal != 0 || host == portalHost:
	case err == nil:
		edge = int(ip.As4()[2]) - 1
	default:
		edge = w.spec.Edges[w.made%len(w.spec.Edges)]
	}
	w.made++
	port := uint16(10000 + w.made) //nolint:gosec // few
	w.mu.Unlock()
	up, down := newPipe(w, 0), newPipe(w, 1)
	down.most = w.spec.Cut
	client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(w.id), 1}), port)
	server := netip.AddrPortFrom(edgeAddr(edge), 80)
	c := &end{in: down, out: up, local: client, remote: server}
	s := &end{in: up, out: down, local: server, remote: client}
	n.conns[s] = true
	n.handlers.Go(func() {
		leave, ok := n.admit(s, edge)
		n.behind(s, w, edge)
		if ok {
			n.serve(s, w, edge)
			leave()
		}
		s.reset()
		n.mu.Lock()
		delete(n.conns, s)
		n.mu.Unlock()
	})
	return c
}

// admit waits until an edge serves a connection; false: the client has gone.
func (n *Network) admit(c *end, edge int) (leave func(), ok bool) {
	if edge < 0 || !n.world.Edges[edge].OneByOne {
		return func() {}, true
	}
	n.mu.Lock()
	turn := n.turns[edge]
	if turn == nil {
		turn = make(chan struct{}, 1)
		n.turns[edge] = turn
	}
	n.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, true
	case <-c.gone():
		return nil, false
	}
}

// behind logs for how long a request has been kept waiting by a connection of its client's on which
// nothing was asked for, at an edge that serves one at a time.
func (n *Network) behind(c *end, w *Wire, edge int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	since, ok := n.quiet[edge]
	asked := c.in.began()
	if !ok || asked.IsZero() {
		return
	}
	if since.Before(asked) {
		since = asked
	}
	if d := time.Since(since); d > 0 {
		n.log = append(n.log, &Told{
			At: time.Since(n.began), Run: n.run, Link: w.id, Edge: edge, File: -1, Version: noVersion, Size: -1,
			Kind: fmt.Sprintf("was kept waiting by an idle connection for %v", d), Behind: d,
		})
	}
}

// idle has a connection's next read fail when nothing has come for so long as the edge
// allows.
func (n *Network) idle(c *end, edge int) {
	if edge >= 0 && n.world.Edges[edge].Idle > 0 {
		_ = c.SetReadDeadline(time.Now().Add(n.world.Edges[edge].Idle))
	}
}

// arrival is when something that is sent in a direction so that it would arrive at a time
// does arrive.
func (w *Wire) arrival(hops int, at time.Time) time.Time {
	at = at.Add(time.Duration(hops) * w.spec.Latency)
	for _, o := range w.spec.Outages {
		if since := at.Sub(w.net.began); since >= o.From && since < o.To {
			at = w.net.began.Add(o.To + 200*time.Millisecond) // sent again
		}
	}
	return at
}

// carry is when n bytes that are sent now arrive.
func (w *Wire) carry(direction, n int) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Now()
	if w.free[direction].After(at) {
		at = w.free[direction]
	}
	at = at.Add(time.Duration(float64(n) / w.spec.Rate * 1e9))
	w.free[direction] = at
	return w.arrival(1, at)
}

// end is one end of a connection.
type end struct {
	in, out       *pipe
	local, remote netip.AddrPort
}

func (e *end) LocalAddr() net.Addr                { return net.TCPAddrFromAddrPort(e.local) }
func (e *end) RemoteAddr() net.Addr               { return net.TCPAddrFromAddrPort(e.remote) }
func (e *end) Read(p []byte) (int, error)         { return e.in.read(p) }
func (e *end) Write(p []byte) (int, error)        { return e.out.write(p) }
func (e *end) SetReadDeadline(t time.Time) error  { e.in.setDeadline(&e.in.readBy, t); return nil }
func (e *end) SetWriteDeadline(t time.Time) error { e.out.setDeadline(&e.out.writeBy, t); return nil }

func (e *end) SetDeadline(t time.Time) error {
	_ = e.SetReadDeadline(t)
	return e.SetWriteDeadline(t)
}

// Close lets the other end read what was written, and write no more.
func (e *end) Close() error {
	e.out.finish(false)
	e.in.abandon()
	return nil
}

// reset ends the connection; what is on its way is lost.
func (e *end) reset() {
	e.out.finish(true)
	e.in.abandon()
}

// gone is closed when the other end has closed.
func (e *end) gone() <-chan struct{} { return e.out.abandoned }

// window is how much of a connection may be on its way.
const window = 64 << 10

// segmentSize is what a connection gets of its link at a time.
const segmentSize = 8 << 10

// pipe is one direction of a connection. It has one reader and one writer at a time.
type pipe struct {
	wire      *Wire
	direction int
	most      int64 // bytes until it is reset; 0: no end

	mu        sync.Mutex
	queue     []segment
	size      int // bytes in queue
	sent      int64
	finished  bool // by the writer
	broken    bool // by a reset
	lastAt    time.Time
	abandoned chan struct{} // closed by the reader
	readBy    time.Time
	writeBy   time.Time
	readable  chan struct{} // something has changed for the reader
	writable  chan struct{}
}

type segment struct {
	at   time.Time
	data []byte
}

var errReset = os.NewSyscallError("read", errno.ConnReset)

func newPipe(w *Wire, direction int) *pipe {
	return &pipe{
		wire: w, direction: direction, abandoned: make(chan struct{}),
		readable: make(chan struct{}, 1), writable: make(chan struct{}, 1),
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (p *pipe) setDeadline(which *time.Time, t time.Time) {
	p.mu.Lock()
	*which = t
	p.mu.Unlock()
	poke(p.readable)
	poke(p.writable)
}

func (p *pipe) finish(broken bool) {
	p.mu.Lock()
	if !p.finished {
		p.finished, p.broken = true, broken
		p.lastAt = p.wire.carry(p.direction, 40)
	}
	p.mu.Unlock()
	poke(p.readable)
	poke(p.writable)
}

func (p *pipe) abandon() {
	p.mu.Lock()
	select {
	case <-p.abandoned:
	default:
		close(p.abandoned)
	}
	p.mu.Unlock()
	poke(p.readable)
	poke(p.writable)
}

// wait waits for a change, or a time, the zero one being none.
func wait(changed <-chan struct{}, until, deadline time.Time) {
	if until.IsZero() || !deadline.IsZero() && deadline.Before(until) {
		until = deadline
	}
	if until.IsZero() {
		<-changed
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

// began is when the first bytes arrived, or will, that have not been read; zero: there are none.
func (p *pipe) began() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return time.Time{}
	}
	return p.queue[0].at
}

func (p *pipe) read(b []byte) (int, error) {
	for {
		n, until, err := p.tryRead(b)
		if n > 0 || err != nil {
			return n, err
		}
		p.mu.Lock()
		deadline := p.readBy
		p.mu.Unlock()
		wait(p.readable, until, deadline)
	}
}

// tryRead reads what has arrived, or says when more does.
func (p *pipe) tryRead(b []byte) (n int, until time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	select {
	case <-p.abandoned:
		return 0, until, net.ErrClosed
	default:
	}
	switch {
	case !p.readBy.IsZero() && !now.Before(p.readBy):
		return 0, until, os.ErrDeadlineExceeded
	case p.finished && p.broken && !now.Before(p.lastAt):
		return 0, until, &net.OpError{Op: "read", Net: "tcp", Err: errReset}
	case len(p.queue) > 0 && !now.Before(p.queue[0].at):
		for len(p.queue) > 0 && n < len(b) && !now.Before(p.queue[0].at) {
			s := &p.queue[0]
			some := copy(b[n:], s.data)
			n += some
			if s.data = s.data[some:]; len(s.data) == 0 {
				p.queue = p.queue[1:]
			}
		}
		p.size -= n
		poke(p.writable)
		return n, until, nil
	case len(p.queue) > 0:
		return 0, p.queue[0].at, nil
	case p.finished && !now.Before(p.lastAt):
		return 0, until, io.EOF
	case p.finished:
		return 0, p.lastAt, nil
	}
	if len(b) == 0 {
		return 0, until, errors.New("read of nothing")
	}
	return 0, until, nil
}

func (p *pipe) write(b []byte) (n int, err error) {
	for {
		p.mu.Lock()
		select {
		case <-p.abandoned:
			p.mu.Unlock()
			return n, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
		default:
		}
		switch {
		case p.finished:
			p.mu.Unlock()
			return n, net.ErrClosed
		case !p.writeBy.IsZero() && !time.Now().Before(p.writeBy):
			p.mu.Unlock()
			return n, os.ErrDeadlineExceeded
		case n == len(b):
			p.mu.Unlock()
			return n, nil
		case p.size < window || p.direction == 0: // requests are small: whoever sends them holds locks
			some := b[n:min(len(b), n+segmentSize)]
			if p.most > 0 && p.sent+int64(len(some)) > p.most {
				p.mu.Unlock()
				p.finish(true)
				continue
			}
			p.queue = append(p.queue, segment{p.wire.carry(p.direction, len(some)), append([]byte(nil), some...)})
			p.size += len(some)
			p.sent += int64(len(some))
			n += len(some)
			p.mu.Unlock()
			poke(p.readable)
			continue
		}
		deadline := p.writeBy
		p.mu.Unlock()
		wait(p.writable, time.Time{}, deadline)
	}
}
