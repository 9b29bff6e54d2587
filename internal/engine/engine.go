// Package engine carries out what the scheduler decides: it runs the requests
// over the links, checks that all of them are about one object, stores the
// bytes, and publishes what happens.
//
// One goroutine owns a download's scheduler and everything that belongs to it.
// Each request in flight has a goroutine of its own, which blocks in reads and
// writes and tells its progress by atomic counters; it sends the owner two
// messages, when its response has been checked and when it has ended, and none
// per block. The owner looks at the counters when the scheduler wants to be
// woken.
//
// An Engine runs one download at a time and keeps its connections between
// them; for several at once, make several over the same Links.
package engine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Network is a link as the engine needs it; *link.Link is one.
type Network interface {
	fetch.Dialer
	Name() string
	// Pin makes dials of host go to these addresses only; none: no longer.
	Pin(host string, addrs []netip.Addr)
}

// Link is a link of a run. Engines share Links.
type Link struct {
	Net       Network
	Bandwidth float64 // known capacity in bytes per second; 0: not known

	id      scheduler.LinkID
	limiter *rate.Limiter // nil: no limit
	totals  totals
	bus     *event.Bus
	started time.Time
}

// totals is what a link's connections amount to over a run.
type totals struct {
	mu sync.Mutex
	event.LinkTotals
}

// Config is what an Engine needs to know.
type Config struct {
	HTTP    fetch.Config
	Bus     *event.Bus
	Started time.Time // the beginning of the run's time

	Algorithm   string  // one of scheduler.Names
	StaticLimit int64   // bytes, Algorithm 1
	Padding     float64 // Algorithm 3's staticFactor
	Overlap     float64 // as in scheduler.Config
	NoSteal     bool
	NoFailover  bool

	BlockSize    int           // bytes of one read and one write
	Tries        int           // attempts in a row without a byte, per link
	StallTimeout time.Duration // a link that owes bytes and delivers none for so long is given up
	LimitRate    *rate.Limiter // bytes per second over all links; nil: no limit
	Record       bool          // publish every step of the scheduler
}

// DefaultBlockSize is large enough that system calls do not show in a profile
// beside the copying of bytes, and small enough for a phone's cache.
const DefaultBlockSize = 128 << 10

// NewLinks makes the links of a run; rates are in bytes per second, 0 for none.
func NewLinks(bus *event.Bus, started time.Time, nets []Network, bandwidths []float64, rates []int64, block int) []*Link {
	links := make([]*Link, len(nets))
	for i, n := range nets {
		links[i] = &Link{Net: n, Bandwidth: bandwidths[i], id: scheduler.LinkID(i), limiter: NewLimiter(rates[i], block), bus: bus, started: started}
	}
	return links
}

// NewLimiter allows bytesPerSecond, in blocks of up to block bytes; nil for 0.
func NewLimiter(bytesPerSecond int64, block int) *rate.Limiter {
	if bytesPerSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(bytesPerSecond), block)
}

// Totals is what the link's connections amount to so far.
func (l *Link) Totals() event.LinkTotals {
	l.totals.mu.Lock()
	defer l.totals.mu.Unlock()
	return l.totals.LinkTotals
}

// ConnOpened implements fetch.Trace.
func (l *Link) ConnOpened(local, remote net.Addr, _ string, rtt time.Duration) {
	l.totals.mu.Lock()
	t := &l.totals.LinkTotals
	t.Connections++
	t.LocalAddr, t.RemoteAddr = local.String(), remote.String()
	l.totals.mu.Unlock()
	l.sawRTT(rtt)
	l.bus.Publish(event.ConnOpened{
		At: sinceStart(l.started), Link: l.id, Local: local.String(), Remote: remote.String(), RTT: rtt,
	})
}

// sawRTT keeps the least round-trip time, and returns it.
func (l *Link) sawRTT(rtt time.Duration) time.Duration {
	l.totals.mu.Lock()
	defer l.totals.mu.Unlock()
	if t := &l.totals.LinkTotals; rtt > 0 && (t.RTT == 0 || rtt < t.RTT) {
		t.RTT = rtt
	}
	return l.totals.RTT
}

func sinceStart(started time.Time) scheduler.Time { return scheduler.Time(time.Since(started)) }

// Engine downloads objects over links.
type Engine struct {
	cfg    Config
	links  []*Link
	http   []*fetch.Config // a link's configuration, shared unless it is pinned
	conns  []*fetch.Client
	blocks sync.Pool // of *[]byte, BlockSize long
	nextID atomic.Int32
}

// ErrInterrupted is the cause with which to cancel a download's context so that
// its state is kept for the next run.
var ErrInterrupted = errors.New("interrupted")

// New makes an Engine over links. Close it.
func New(cfg Config, links []*Link) (*Engine, error) {
	if _, err := scheduler.NewPolicy(cfg.Algorithm, cfg.StaticLimit, cfg.Padding); err != nil {
		return nil, err
	}
	if cfg.BlockSize == 0 {
		cfg.BlockSize = DefaultBlockSize
	}
	e := &Engine{cfg: cfg, links: links, conns: make([]*fetch.Client, len(links))}
	e.blocks.New = func() any {
		b := make([]byte, cfg.BlockSize)
		return &b
	}
	for i := range links {
		e.reconnect(scheduler.LinkID(i), &e.cfg.HTTP)
	}
	return e, nil
}

// reconnect gives a link a new client, with no connection yet.
func (e *Engine) reconnect(id scheduler.LinkID, cfg *fetch.Config) {
	if old := e.conns[id]; old != nil {
		old.Close()
	}
	e.conns[id] = fetch.NewClient(cfg, e.links[id].Net, e.links[id])
}

// Close closes all connections.
func (e *Engine) Close() {
	for _, c := range e.conns {
		c.Close()
	}
}

func (e *Engine) now() scheduler.Time { return sinceStart(e.cfg.Started) }

// roundTrip is the least round-trip time of a link, from its handshakes and from
// what the kernel has seen on the connection since.
func (e *Engine) roundTrip(id scheduler.LinkID, conn net.Conn) scheduler.Time {
	var seen time.Duration
	if conn != nil {
		if info, ok := link.ReadTCPInfo(conn); ok {
			seen = info.MinRTT
		}
	}
	return scheduler.Time(e.links[id].sawRTT(seen))
}

// waitRate waits until n bytes of a link may pass.
func (e *Engine) waitRate(ctx context.Context, id scheduler.LinkID, n int) error {
	for _, l := range [...]*rate.Limiter{e.cfg.LimitRate, e.links[id].limiter} {
		if l == nil {
			continue
		}
		if err := l.WaitN(ctx, n); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
	}
	return nil
}
