package hostile

import (
	"net/netip"
	"sync"
)

// Place is where in a download something is to happen.
type Place string

// The places, in the order of tables.
const (
	PlaceTLS      Place = "tls"      // the client has said hello
	PlaceRedirect Place = "redirect" // the client has asked for what redirects it
	PlaceStart    Place = "start"    // the client has asked for its first range
	PlaceMiddle   Place = "middle"   // a part of the bodies has been sent
	PlaceTail     Place = "tail"     // most of them
)

// Gate stops the server when a client reaches a place, until it is opened: so
// that what happens there does so at the same point in every run. It is for one
// use.
type Gate struct {
	place  Place
	at     int64 // bytes sent; of PlaceMiddle and PlaceTail
	edge   netip.Prefix
	once   sync.Once
	fired  chan struct{}
	opened chan struct{}
}

// NewGate makes a gate at a place for the clients of an edge; in the middle and
// at the tail it is for the bodies of all clients, of which at bytes must have
// been sent.
func NewGate(p Place, at int64, edge netip.Prefix) *Gate {
	return &Gate{place: p, at: at, edge: edge, fired: make(chan struct{}), opened: make(chan struct{})}
}

// Reached is closed when the place has been reached.
func (g *Gate) Reached() <-chan struct{} { return g.fired }

// Open lets the server go on. Call it once, when the place has been reached.
func (g *Gate) Open() { close(g.opened) }

// reach is called by the server; it waits at the gate the first time.
func (g *Gate) reach(p Place, edge netip.Addr, done <-chan struct{}) {
	if g == nil || p != g.place || !g.edge.Contains(edge) {
		return
	}
	g.wait(done)
}

// reachBytes is the same for places in bodies.
func (g *Gate) reachBytes(sent int64, done <-chan struct{}) {
	if g == nil || g.place != PlaceMiddle && g.place != PlaceTail || sent < g.at {
		return
	}
	g.wait(done)
}

func (g *Gate) wait(done <-chan struct{}) {
	g.once.Do(func() { close(g.fired) })
	select {
	case <-g.opened:
	case <-done:
	}
}
