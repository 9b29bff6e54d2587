package fetch

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Some servers serve one connection at a time, or a few, and wait on each for the next request:
// they do not even accept another one until one of these ends. A client that keeps an idle
// connection then blocks its own other connections. So Clients tell each other of theirs. When
// a connection has waited for its first byte for longer than a server needs, an idle one is
// closed, or else the first that becomes idle. If the byte comes then, the server is known to
// be of this kind, and no connection to it is kept idle while another one waits.

const (
	// patienceLeast and patienceTrips, in round trips, are how long a connection that is
	// made, and its first answer, are waited for before idle connections are closed: a
	// TLS handshake and an answer take four trips (RFC 8446, 2). Chosen by hand.
	patienceLeast = 250 * time.Millisecond
	patienceTrips = 8
	// respected is after how many times of patience it no longer counts how many connections
	// a server has served at a time before: some of these it may have closed without
	// anybody noticing, and now it may serve fewer.
	respected = 3
)

// Peers is shared knowledge of Clients about each other's connections, and about servers.
// Clients of several links may share it, and those of one run should.
type Peers struct {
	mu      sync.Mutex
	servers map[originKey]*server
}

// NewPeers makes one without connections.
func NewPeers() *Peers { return &Peers{servers: make(map[originKey]*server)} }

// server is one origin's connections, over all links. Peers.mu guards it.
type server struct {
	conns   map[pooled]bool // that are open; true: the server has answered
	waiting int             // connections that are being made, or have had no answer
	most    int             // how many were open at a time on which it had answered
	bound   int             // how many it serves at a time, as it seems; 0: no bound is known
	ended   int             // connections that have ended, of those on which it had answered
	suspect bool            // a wait took so long that one of them is to end, and none has
	crowded atomic.Bool     // the server has a bound, or is suspected to, and a connection waits
	habits  habits
	over    map[Trace]*habits // of the server over each link
}

// pooled is a connection of a Client's.
type pooled interface {
	// closeIdle closes it if it has no request, and says so.
	closeIdle() bool
	at() *seat
	link() Trace
}

// seat is Peers's entry for a connection. Peers.mu guards it, once the connection has joined.
type seat struct {
	server *server // whom it leads to
	wait   *wait   // for its first answer; nil: there has been no request
}

func (s *seat) at() *seat { return s }

// quiet says whether no wait for a first answer is open.
func (s *seat) quiet() bool { return s.wait == nil || s.wait.over }

// wait is one connection's wait for its server. A nil one waits for nothing.
type wait struct {
	p        *Peers
	s        *server
	link     Trace
	began    time.Time
	patience time.Duration
	timer    *time.Timer
	lapses   int // how often it has taken too long
	served   int // on how many connections it answered when the wait took long; 0: it has not
	ended    int // how many had ended then
	over     bool
}

func (p *Peers) server(key originKey) *server {
	s := p.servers[key]
	if s == nil {
		if len(p.servers) >= maxOrigins {
			maps.DeleteFunc(p.servers, func(_ originKey, s *server) bool { return len(s.conns) == 0 && s.waiting == 0 })
		}
		s = &server{conns: make(map[pooled]bool), over: make(map[Trace]*habits)}
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

// crowded says whether a server serves a few connections at a time, and another one waits.
func (p *Peers) crowded(key originKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server(key).crowded.Load()
}

// await notes that a connection is about to be made for a request, or to have its first one.
func (p *Peers) await(key originKey, link Trace) *wait {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.awaitLocked(p.server(key), link)
}

// expect is await for a connection that is open: it was made before there was a request for it,
// or the one that it was made for was withdrawn.
func (p *Peers) expect(hc pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seat := hc.at(); !seat.server.conns[hc] && seat.quiet() {
		seat.wait = p.awaitLocked(seat.server, hc.link())
	}
}

func (p *Peers) awaitLocked(s *server, link Trace) *wait {
	s.waiting++
	s.look()
	w := &wait{p: p, s: s, link: link, began: time.Now(), patience: p.patience(s, link)}
	first := w.patience
	if n, _ := s.served(link); s.bound > 0 && n >= s.bound {
		first = 0
	}
	w.timer = time.AfterFunc(first, w.lapse)
	return w
}

// patience is how long a server may take over a link for a connection and its first answer.
func (p *Peers) patience(s *server, link Trace) time.Duration {
	_, habits := p.of(s, link)
	return max(patienceLeast, patienceTrips*habits.rtt)
}

// served is on how many open connections the server has answered, over all links and over one.
func (s *server) served(link Trace) (n, over int) {
	return s.count(link, func(_ pooled, answered bool) bool { return answered })
}

// held is on how many it waits for a request, as far as can be known: also those on which nothing
// is asked for and it has not answered.
func (s *server) held(link Trace) (n, over int) {
	return s.count(link, func(hc pooled, answered bool) bool { return answered || hc.at().quiet() })
}

func (s *server) count(link Trace, counts func(hc pooled, answered bool) bool) (n, over int) {
	for hc, answered := range s.conns {
		if !counts(hc, answered) {
			continue
		}
		n++
		if hc.link() == link {
			over++
		}
	}
	return n, over
}

func (s *server) look() { s.crowded.Store((s.bound > 0 || s.suspect) && s.waiting > 0) }

// lapse closes connections that have no request, now that a wait takes long, unless the
// server has served more than there are. It is the wait's timer.
func (w *wait) lapse() {
	w.p.mu.Lock()
	if p := w.p.patience(w.s, w.link); !w.over && p > w.patience { // the handshake has told meanwhile
		w.patience = p
		w.timer.Reset(max(0, p-time.Since(w.began)))
		w.p.mu.Unlock()
		return
	}
	served, over := w.s.served(w.link)
	held, heldOver := w.s.held(w.link)
	_, habits := w.p.of(w.s, w.link)
	w.lapses++
	var conns []pooled
	switch {
	case w.over:
	case held >= w.s.most, w.lapses > respected:
		conns = slices.Collect(maps.Keys(w.s.conns))
	case heldOver >= habits.most: // it may be another machine than over the other links
		served = over
		for hc := range w.s.conns {
			if hc.link() == w.link {
				conns = append(conns, hc)
			}
		}
	}
	if len(conns) > 0 && (w.served == 0 || w.ended == w.s.ended) {
		w.served, w.ended = max(1, served), w.s.ended
	}
	w.p.mu.Unlock()
	closed := false
	for _, hc := range conns {
		closed = hc.closeIdle() || closed
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if w.over {
		return
	}
	w.s.suspect = w.s.suspect || len(conns) > 0 && !closed
	w.s.look()
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
func (p *Peers) join(key originKey, hc pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.server(key)
	hc.at().server = s
	s.conns[hc] = false
}

// answered notes that the server has answered on a connection.
func (p *Peers) answered(hc pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, w := hc.at().server, hc.at().wait
	if answered, open := s.conns[hc]; answered || !open {
		w.endLocked()
		return
	}
	s.conns[hc], s.suspect = true, false
	n, over := s.served(hc.link())
	_, habits := p.of(s, hc.link())
	if w != nil && w.served > 0 && w.ended < s.ended {
		s.bound = w.served
		if w.lapses > respected {
			s.most, habits.most = n, over
		}
	}
	s.most, habits.most = max(s.most, n), max(habits.most, over)
	if s.most > s.bound {
		s.bound = 0
	}
	w.endLocked()
	s.look()
}

// leave notes that a connection is closed.
func (p *Peers) leave(hc pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := hc.at().server
	if s.conns[hc] {
		s.ended++
		s.suspect = false
		s.look()
	}
	delete(s.conns, hc)
	hc.at().wait.endLocked()
}

// shook notes what a handshake with a server took over a link.
func (p *Peers) shook(key originKey, link Trace, rtt time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, over := p.habits(key, link)
	over.rtt = rtt
}
