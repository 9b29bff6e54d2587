package engine

import (
	"context"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Network is a link as the engine needs it; *link.Link is one. It must take
// IP addresses in the place of host names.
type Network interface {
	fetch.Dialer
	Name() string
}

// Link is a link of a run, or a spare one until it joins. Engines share Links.
type Link struct {
	id      scheduler.LinkID
	bus     *event.Bus
	started time.Time
	block   int // bytes, for the limiter

	// Set before the first arrival, and not changed afterwards.
	terms   Terms
	limiter *rate.Limiter // nil: no limit

	allowance allowance

	changes linkChanges
	reads   atomic.Int64 // system calls that took bytes from its connections

	mu     sync.Mutex
	net    Network // nil of a spare link
	rtts   rtts
	totals event.LinkTotals // over the run

	segments segmentCount
}

// linkChanges are how often what belongs to a link has changed.
type linkChanges struct {
	returns  atomic.Int64 // its interface reported a change
	moves    atomic.Int64 // it has another address or device; counted before arrivals
	arrivals atomic.Int64 // it has joined or was renewed; 0: a spare link
}

// rtts are a link's round trips since it last moved.
type rtts struct {
	least      time.Duration    // 0: none
	handshakes [3]time.Duration // of the latest ones
	n          int              // how many there were
	made       int64            // how many handshakes there were in all
}

// Terms are on what terms a link of a run is used.
type Terms struct {
	Bandwidth float64  // known capacity in bytes per second; 0: not known
	Rate      int64    // most bytes per second; 0: no limit
	Proxy     *url.URL // that all requests over the link go through; nil: as the configuration says
	Plan      bool     // Cap is what is left of a data plan: Allow says how much of it may be used by now
	scheduler.Terms
}

// NewLinks makes the links of a run, each with its terms, and behind them spare ones for links that Join
// during the run, in that order.
func NewLinks(bus *event.Bus, started time.Time, nets []Network, terms []Terms, spares, block int) []*Link {
	links := make([]*Link, len(nets)+spares)
	for i := range links {
		links[i] = newLink(i, bus, started, block)
	}
	for i, n := range nets {
		links[i].Join(n, terms[i])
	}
	return links
}

func newLink(id int, bus *event.Bus, started time.Time, block int) *Link {
	l := &Link{id: scheduler.LinkID(id), bus: bus, started: started, block: block}
	l.allowance.low = make(chan struct{}, 1)
	return l
}

// Join makes a spare link one of the run. Downloads in progress use it from now
// on.
func (l *Link) Join(n Network, terms Terms) {
	l.terms, l.limiter = terms, NewLimiter(terms.Rate, l.block)
	l.allowance.bounded, l.allowance.most = terms.Cap > 0 || terms.Plan, terms.Cap
	if terms.Plan {
		l.allowance.most, l.allowance.later = 0, terms.Cap
	}
	l.Renew(n, false)
}

// Renew says that the link, which may have been given up, can be used again or has changed: connections
// are made by n from now on. moved says that it has another address or device, so that those made before
// are of no use.
func (l *Link) Renew(n Network, moved bool) {
	l.mu.Lock()
	l.net = n
	if moved {
		l.rtts.least, l.rtts.n = 0, 0
	}
	l.mu.Unlock()
	if moved {
		l.changes.moves.Add(1)
	}
	l.changes.arrivals.Add(1)
}

func (l *Link) network() Network {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.net
}

// Name is the name of a link that has joined.
func (l *Link) Name() string { return l.network().Name() }

// DialContext dials over the link as it is at present. It implements fetch.Dialer.
func (l *Link) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := l.network().DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return l.segments.watch(conn, l.terms.Plan), nil
}

// Proxy implements fetch.Proxied.
func (l *Link) Proxy() *url.URL { return l.terms.Proxy }

// Backup says whether the link is used only when no other works.
func (l *Link) Backup() bool { return l.terms.Backup }

// NewLimiter allows bytesPerSecond, in portions of up to block bytes; nil for 0. A portion is what 50 ms
// allow, so that a link with a low limit is not silent for so long that it is taken for dead.
func NewLimiter(bytesPerSecond int64, block int) *rate.Limiter {
	if bytesPerSecond <= 0 {
		return nil
	}
	if block <= 0 {
		block = DefaultBlockSize
	}
	portion := max(1, min(int64(block), bytesPerSecond/20))
	return rate.NewLimiter(rate.Limit(bytesPerSecond), int(portion))
}

// Returned says that the link's interface has reported a change, such as an address or a route: if the
// link waits after failures, it is worth a try at once.
func (l *Link) Returned() { l.changes.returns.Add(1) }

// Totals sums up the link's connections so far.
func (l *Link) Totals() event.LinkTotals {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.totals
	t.TCP, t.Reads = l.segments.total(), l.reads.Load()
	return t
}

// RoundTrip implements fetch.Trace.
func (l *Link) RoundTrip(conn net.Conn, rtt time.Duration) {
	rtt = link.Handshake(conn, rtt)
	l.sawRTT(rtt)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rtts.handshakes[l.rtts.n%len(l.rtts.handshakes)] = rtt
	l.rtts.n++
	l.rtts.made++
}

// handshakes are the least round trip of the latest handshakes, since one alone may have lost a packet,
// the latest one, and how many handshakes there were in all.
func (l *Link) handshakes() (least, latest time.Duration, made int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.rtts
	if r.n > 0 {
		least, latest = slices.Min(r.handshakes[:min(r.n, len(r.handshakes))]), r.handshakes[(r.n-1)%len(r.handshakes)]
	}
	return least, latest, r.made
}

// ConnOpened implements fetch.Trace.
func (l *Link) ConnOpened(local, remote net.Addr, _ string, rtt time.Duration) {
	l.mu.Lock()
	l.totals.Connections++
	l.totals.LocalAddr, l.totals.RemoteAddr = local.String(), remote.String()
	l.mu.Unlock()
	l.bus.Publish(event.ConnOpened{
		At: sinceStart(l.started), Link: l.id, Local: local.String(), Remote: remote.String(), RTT: rtt,
	})
}

// InVain implements fetch.Trace: such bytes count against the allowance as well.
func (l *Link) InVain(bytes int64) { l.allowance.spend(bytes) }

// Traffic is how many bytes have crossed the link, as far as the kernel counts them: with
// headers, and in both directions. They count against its allowance.
func (l *Link) Traffic() int64 { return l.allowance.count(l.segments.crossed()) }

// Carried says that something else than a download has sent and received so many bytes over the
// link. They count as the link's own against its allowance.
func (l *Link) Carried(bytes int64) {
	l.segments.carried(bytes)
	l.allowance.spend(bytes)
}

// Terms are the terms on which the link has joined.
func (l *Link) Terms() Terms { return l.terms }

// Limiter limits what is received over the link; nil: nothing does.
func (l *Link) Limiter() *rate.Limiter { return l.limiter }

// Allow says how many bytes may cross the link by now in all, as Traffic counts them, and how
// many more may be allowed later: for links whose Terms have a Plan. Downloads in progress
// use a link again for which nothing was left.
func (l *Link) Allow(most, later int64) {
	if l.allowance.allow(most, later) && l.changes.arrivals.Load() > 0 {
		l.changes.arrivals.Add(1)
	}
}

// Low says that half of what was allowed last has been taken.
func (l *Link) Low() <-chan struct{} { return l.allowance.low }

// Spare implements fetch.Trace.
func (l *Link) Spare() int64 { return l.allowance.left() }

// Read implements fetch.Trace.
func (l *Link) Read() { l.reads.Add(1) }

// sawRTT keeps the least round-trip time, and returns it.
func (l *Link) sawRTT(rtt time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, least := range [...]*time.Duration{&l.rtts.least, &l.totals.RTT} {
		if rtt > 0 && (*least == 0 || rtt < *least) {
			*least = rtt
		}
	}
	return l.rtts.least
}

// leastRTT is the least round-trip time, from handshakes and from what the
// kernel has seen on conn since, if that is given.
func (l *Link) leastRTT(conn net.Conn) scheduler.Time {
	var seen time.Duration
	if conn != nil {
		if info, ok := link.ReadTCPInfo(conn); ok {
			seen = info.MinRTT
		}
	}
	return scheduler.Time(l.sawRTT(seen))
}

func sinceStart(started time.Time) scheduler.Time { return scheduler.Time(time.Since(started)) }
