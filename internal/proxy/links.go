package proxy

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/mlget/mlget/internal/link"
)

const (
	// busyHost is how many busy tunnels to a host make further ones be placed each by
	// itself: so many carry something large.
	busyHost = 4
	// maxHosts bounds how many hosts' links are remembered.
	maxHosts = 4096
)

// Network connects over one link; *link.Link is one.
type Network interface {
	Name() string
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// Terms are on what terms a link is used.
type Terms struct {
	Backup    bool          // used where no other link can be
	Costly    bool          // spared by policies of energy
	Bandwidth float64       // known capacity, bytes per second; 0: unknown
	Limiter   *rate.Limiter // of what clients receive, bytes; nil: no limit
	Account   Account       // nil: any number of bytes may cross the link
}

// Account is where a link's bytes are counted.
type Account interface {
	// Carried says that so many more bytes have crossed the link, in either direction.
	Carried(bytes int64)
	// Spare is how many more may.
	Spare() int64
}

// Status is what is known of a link.
type Status struct {
	Name     string
	Tunnels  int           // now
	Placed   int           // that it had in all
	Up, Down int64         // bytes
	Rate     float64       // to clients now, bytes per second
	Capacity float64       // bytes per second; 0: unknown
	RTT      time.Duration // 0: unknown
	Spent    bool          // it has carried all that it may

	Protocols map[string]int // tunnels now
	Failures  map[string]int // to connect, by reason
	Connects  Histogram
}

// member is a link of the proxy.
type member struct {
	network  Network
	terms    Terms
	capacity capacity
	failures failures
	stalls   stalls
	silence  silence
	rtt      time.Duration
	up, down int64 // bytes until the latest sample
	spread   int64 // bytes of parts of objects since then
	rate     float64
	connects Histogram
	failed   map[string]int
	tunnels  map[*tunnel]struct{}
	placed   int             // tunnels that were connected over it
	here     *http.Transport // for requests of clients of this machine
	beyond   *http.Transport // for others', who may not share connections with them
	rates    []float64       // of those that carry something, at the latest sample
	gone     bool
}

func (m *member) spent() bool { return m.terms.Account != nil && m.terms.Account.Spare() <= 0 }

// carried counts the bytes of tunnels.
func (m *member) carried(up, down int64) {
	m.up += up
	m.down += down
	if m.terms.Account != nil && up+down > 0 {
		m.terms.Account.Carried(up + down)
	}
}

func (m *member) state(now time.Time) state {
	fresh := 0
	for t := range m.tunnels {
		if t.fresh() {
			fresh++
		}
	}
	return state{
		Capacity: m.capacity.value(), Rates: m.rates, Fresh: fresh, RTT: m.rtt, Failures: m.failures.value(now),
		Standby: m.terms.Backup, Costly: m.terms.Costly, Spent: m.spent(), Bytes: m.up + m.down,
	}
}

// host is a server that a client has tunnels to, or had.
type host struct {
	link    *member
	tunnels map[*tunnel]struct{}
	used    time.Time
}

func (h *host) busy() int {
	n := 0
	for t := range h.tunnels {
		if t.busy() {
			n++
		}
	}
	return n
}

// Use makes a link one of the proxy's. One that has its name is dialled by n, on these terms, from
// then on; where it has moved, tunnels that it has lead nowhere any more, and end.
func (s *Server) Use(n Network, terms Terms, moved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.network.Name() != n.Name() {
			continue
		}
		m.network, m.terms, m.capacity.known = n, terms, terms.Bandwidth
		if moved {
			m.resetTunnels()
		}
		return
	}
	m := &member{
		network: n, terms: terms, capacity: capacity{known: terms.Bandwidth}, tunnels: make(map[*tunnel]struct{}),
		here: s.transport(), beyond: s.transport(), failed: make(map[string]int),
	}
	if old := s.past[n.Name()]; old != nil { // counters do not begin anew
		m.up, m.down, m.placed, m.connects, m.failed = old.up, old.down, old.placed, old.connects, old.failed
	}
	s.members = append(s.members, m)
}

// Leave takes a link from the proxy; its tunnels end.
func (s *Server) Leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = slices.DeleteFunc(s.members, func(m *member) bool {
		if m.network.Name() != name {
			return false
		}
		m.gone = true
		m.resetTunnels()
		s.past[name] = m
		return true
	})
}

func (m *member) resetTunnels() {
	for t := range m.tunnels {
		reset(t.ends...)
	}
}

// Links tells of the links, in the order in which they joined.
func (s *Server) Links() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Status
	for _, m := range s.members {
		st := Status{
			Name: m.network.Name(), Tunnels: len(m.tunnels), Placed: m.placed, Up: m.up, Down: m.down, Rate: m.rate, Capacity: m.capacity.value(), RTT: m.rtt, Spent: m.spent(),
			Protocols: make(map[string]int), Failures: maps.Clone(m.failed), Connects: m.connects,
		}
		for t := range m.tunnels {
			st.Protocols[t.protocol]++
			st.Up += t.up.Load() - t.lastUp
			st.Down += t.down.Load() - t.lastDown
		}
		all = append(all, st)
	}
	return all
}

// attempt is a link on which a tunnel may be placed.
type attempt struct {
	link    *member
	network Network
	wait    time.Duration // until the next link tries as well
}

// place gives a tunnel that is to be made to the link that will serve it soonest, and lists that
// link and those for where it fails. The tunnel counts from now on, so that the next one finds
// less room there; whoever does not make it removes it. There is none where no link is left.
func (s *Server) place(o origin, protocol string) (*tunnel, []attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	states := make([]state, len(s.members))
	for i, m := range s.members {
		states[i] = m.state(now)
	}
	places := order(states, s.config.Load().Placement, s.config.Load().Energy, s.placed)
	s.placed++
	if h := s.hostOf(o, now); h != nil && h.link != nil && h.busy() < busyHost {
		if at := slices.IndexFunc(places, func(i int) bool { return s.members[i] == h.link }); at > 0 {
			places = slices.Insert(slices.Delete(places, at, at+1), 0, slices.Index(s.members, h.link))
		}
	}
	if len(places) == 0 {
		return nil, nil
	}
	attempts := make([]attempt, 0, len(places))
	for _, i := range places {
		m := s.members[i]
		attempts = append(attempts, attempt{m, m.network, m.stalls.limit()})
	}
	return s.register(o, protocol, attempts[0].link), attempts
}

// placeAgain is a further tunnel to where one was placed.
func (s *Server) placeAgain(o origin, protocol string, m *member) *tunnel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.register(o, protocol, m)
}

func (s *Server) register(o origin, protocol string, m *member) *tunnel {
	t := &tunnel{origin: o, protocol: protocol, link: m}
	m.tunnels[t] = struct{}{}
	if h := s.hosts[o]; h != nil {
		h.tunnels[t] = struct{}{}
	}
	return t
}

// reused says that a tunnel is used for something new, of which nobody knows how much it is.
func (s *Server) reused(t *tunnel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.samples = 0
}

// hostOf is what is remembered of a host; nil: nothing is.
func (s *Server) hostOf(o origin, now time.Time) *host {
	if !s.config.Load().AffinityHost || s.config.Load().Placement == RoundRobin {
		return nil
	}
	h := s.hosts[o]
	if h == nil {
		if len(s.hosts) >= maxHosts {
			s.forget()
		}
		h = &host{tunnels: make(map[*tunnel]struct{})}
		s.hosts[o] = h
	}
	h.used = now
	if h.link != nil && h.link.gone {
		h.link = nil
	}
	return h
}

// forget forgets the host that was used least recently, of those without tunnels.
func (s *Server) forget() {
	var oldest origin
	var used time.Time
	for o, h := range s.hosts {
		if len(h.tunnels) == 0 && (used.IsZero() || h.used.Before(used)) {
			oldest, used = o, h.used
		}
	}
	delete(s.hosts, oldest)
}

// note takes in what came of an attempt to connect.
func (s *Server) note(r dialled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := r.link
	switch {
	case r.err == nil:
		m.stalls.add(r.took)
		m.connects.add(r.took)
		m.rtt = link.Handshake(r.conn, r.took)
	case blames(r.err):
		m.failures.add(1, time.Now())
	}
	if r.err != nil && !errors.Is(r.err, context.Canceled) {
		m.failed[reasonOf(r.err)]++
	}
}

// won gives a tunnel to the link that is connected. Those that had more time for it are
// slower than they were thought to be.
func (s *Server) won(t *tunnel, winner *member, tried []attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range tried {
		if a.link == winner {
			break
		}
		a.link.failures.add(1, time.Now())
	}
	if t.link != winner {
		delete(t.link.tunnels, t)
		t.link = winner
		winner.tunnels[t] = struct{}{}
	}
	if h := s.hosts[t.origin]; h != nil && (h.link == nil || h.link == tried[0].link) {
		h.link = winner
	}
}

// connected gives a tunnel its connections, to be reset with its link. It is false where the
// link has gone meanwhile.
func (s *Server) connected(t *tunnel, ends ...*net.TCPConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.link.gone {
		return false
	}
	if len(t.ends) == 0 {
		t.link.placed++
		t.limiter = t.link.terms.Limiter
	}
	t.ends = append(t.ends, ends...)
	return true
}

// remove takes a tunnel that has ended from its link.
func (s *Server) remove(t *tunnel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	up, down := t.up.Load(), t.down.Load()
	t.link.carried(up-t.lastUp, down-t.lastDown)
	t.lastUp, t.lastDown = up, down
	delete(t.link.tunnels, t)
	if h := s.hosts[t.origin]; h != nil {
		delete(h.tunnels, t)
	}
}

// Received says that so many bytes of a part of an object have come over a link.
func (s *Server) Received(name string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.network.Name() == name {
			m.down += bytes
			m.spread += bytes
		}
	}
}

// another says whether there is a link beside m that works as far as is known.
func (s *Server) another(m *member) bool {
	now := time.Now()
	return slices.ContainsFunc(s.members, func(o *member) bool { return o != m && !o.spent() && o.failures.value(now) < 1 })
}

// sample looks at all tunnels. What ended meanwhile counts when it ends, but for rates.
func (s *Server) sample(since time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		var heard []*tunnel
		m.rates = m.rates[:0]
		rate := float64(m.spread) / since.Seconds()
		if m.spread > 0 {
			m.rates, m.spread = append(m.rates, rate), 0
		}
		for t := range m.tunnels {
			up, down := t.sample(since)
			m.carried(up, down)
			if t.rate > 0 {
				m.rates = append(m.rates, t.rate)
				rate += t.rate
				heard = append(heard, t)
			}
			if t.overdue() {
				reset(t.ends...)
			}
		}
		m.rate = rate
		m.capacity.add(rate)
		switch {
		case m.spent():
			m.resetTunnels()
		case len(heard) > 0:
			m.silence.heard(heard)
		case m.silence.quiet(since, m.rtt, m.tunnels) && s.another(m):
			m.failures.add(deadFailures, time.Now())
			m.silence = silence{}
			m.resetTunnels()
		}
	}
}
