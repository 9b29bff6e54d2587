package fetch

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Some servers serve one connection at a time, or a few, and wait on each for the next
// request: another one is not even accepted until one of these ends. Whoever keeps a
// connection that has nothing to do waits for himself then. So Clients tell each other of
// theirs, and one without a request is closed when another one has waited for its first
// byte for longer than a server needs. If the byte comes then, the server is known, and
// from then on no connection is kept idle while another one waits.

const (
	// patienceLeast and patienceTrips, in round trips, are how long a connection that is
	// made, and its first answer, are waited for before idle connections are closed: a
	// TLS handshake and an answer take four trips (RFC 8446, 2). Chosen by hand.
	patienceLeast = 250 * time.Millisecond
	patienceTrips = 8
)

// Peers is what Clients know of each other's HTTP/1.1 connections, and of what servers do.
// Clients of several links may share it, and those of one run should.
type Peers struct {
	mu      sync.Mutex
	servers map[originKey]*server
}

// NewPeers makes one without connections.
func NewPeers() *Peers { return &Peers{servers: make(map[originKey]*server)} }

// server is one origin's connections, over all links. Peers.mu guards it.
type server struct {
	conns   map[*h1Conn]bool // that are open; true: the server has answered
	waiting int              // connections that are being made, or have had no answer
	most    int              // how many were open at a time on which it had answered
	bound   int              // how many it serves at a time, as it seems; 0: no bound is known
	rtt     time.Duration    // of the latest handshake; 0: there was none
	crowded atomic.Bool      // it has a bound, and somebody waits
	habits  habits
}

// wait is one connection's wait for its server. A nil one waits for nothing.
type wait struct {
	p        *Peers
	s        *server
	patience time.Duration
	timer    *time.Timer
	freed    int // so many connections were served when idle ones were closed for this one; 0: none were
	over     bool
}

func (p *Peers) server(key originKey) *server {
	s := p.servers[key]
	if s == nil {
		if len(p.servers) >= maxOrigins {
			maps.DeleteFunc(p.servers, func(_ originKey, s *server) bool { return len(s.conns) == 0 && s.waiting == 0 })
		}
		s = &server{conns: make(map[*h1Conn]bool)}
		p.servers[key] = s
	}
	return s
}

// bounded says whether a server serves a few connections at a time.
func (p *Peers) bounded(key originKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server(key).bound > 0
}

// await notes that a connection is about to be made for a request, or to have its first one.
func (p *Peers) await(key originKey) *wait {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.server(key)
	s.waiting++
	s.look()
	w := &wait{p: p, s: s, patience: max(patienceLeast, patienceTrips*s.rtt)}
	first := w.patience
	if s.bound > 0 && s.served() >= s.bound {
		first = 0
	}
	w.timer = time.AfterFunc(first, w.lapse)
	return w
}

// served is on how many open connections the server has answered.
func (s *server) served() (n int) {
	for _, answered := range s.conns {
		if answered {
			n++
		}
	}
	return n
}

func (s *server) look() { s.crowded.Store(s.bound > 0 && s.waiting > 0) }

// lapse closes connections that have no request, now that a wait takes long, unless the
// server has served more than there are. It is the wait's timer.
func (w *wait) lapse() {
	w.p.mu.Lock()
	served := w.s.served()
	var conns []*h1Conn
	if !w.over && served >= w.s.most {
		conns = slices.Collect(maps.Keys(w.s.conns))
	}
	w.p.mu.Unlock()
	closed := false
	for _, hc := range conns {
		hc.c.mu.Lock()
		if hc.pending == 0 {
			closed = true
			hc.killLocked()
		}
		hc.c.mu.Unlock()
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if w.over {
		return
	}
	if closed {
		w.freed = max(1, served)
	}
	w.timer.Reset(w.patience)
}

// end ends a wait: nothing more is expected.
func (w *wait) end() {
	if w == nil {
		return
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.endLocked()
}

func (w *wait) endLocked() {
	if w == nil || w.over {
		return
	}
	w.over = true
	w.timer.Stop()
	w.s.waiting--
	w.s.look()
}

// join notes that a connection is open.
func (p *Peers) join(key originKey, hc *h1Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hc.server = p.server(key)
	hc.server.conns[hc] = false
}

// answered notes that the server has answered on a connection.
func (p *Peers) answered(hc *h1Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, w := hc.server, hc.wait
	if answered, open := s.conns[hc]; answered || !open {
		w.endLocked()
		return
	}
	s.conns[hc] = true
	if w != nil && w.freed > 0 {
		s.bound = w.freed
	}
	s.most = max(s.most, s.served())
	if s.most > s.bound {
		s.bound = 0
	}
	w.endLocked()
	s.look()
}

// leave notes that a connection is closed.
func (p *Peers) leave(hc *h1Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(hc.server.conns, hc)
	hc.wait.endLocked()
}

// shook notes what a handshake with a server took.
func (p *Peers) shook(key originKey, rtt time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server(key).rtt = rtt
}
