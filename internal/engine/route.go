package engine

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/pkg/scheduler"
)

// route is how an Engine's requests go over a link: its connections, and the
// address to which a host is pinned, if any.
type route struct {
	link    *Link
	cfg     *fetch.Config
	clients [scheduler.MaxStreams]*fetch.Client // the owner's, one per stream; nil until used
	counts  [scheduler.MaxStreams]kernelCounts
	pinned  bool
	moves   int64 // of the link, when the clients were made

	mu   sync.Mutex
	host string
	addr netip.Addr
}

// kernelCounts are the kernel's counts of a stream's connections, the latest first: over HTTP/1.1 a client
// may use two by turns.
type kernelCounts [2]kernelCount

// forConn is the count of conn; a new one takes the place of the one not asked for longest.
func (c *kernelCounts) forConn(conn net.Conn) *kernelCount {
	switch conn {
	case c[0].conn:
	case c[1].conn:
		c[0], c[1] = c[1], c[0]
	default:
		c[0], c[1] = kernelCount{conn: conn}, c[0]
	}
	return &c[0]
}

// kernelCount is what the kernel counted on a connection when last asked.
type kernelCount struct {
	conn      net.Conn
	reordered uint32
	delivered uint64 // bytes, in order
	behindGap int64  // bytes that wait for one that is missing
	dataRTT   tripFigure
}

// tripFigure is the kernel's estimate of a round trip of the data. As seen on Linux 6.18, a shorter sample
// replaces it at once, while longer ones change it slowly: one packet that found the queue empty between
// two requests would count for all until the next is measured.
type tripFigure struct {
	told   scheduler.Time // what the kernel said last
	counts scheduler.Time // what is made of it
}

// see takes the kernel's present estimate. One that has fallen counts once it has changed again.
func (f *tripFigure) see(told scheduler.Time) scheduler.Time {
	if told >= f.counts || f.told < f.counts && told != f.told {
		f.counts = told
	}
	f.told = told
	return f.counts
}

// connSample is what a look at a connection shows.
type connSample struct {
	reordered int64          // packets that came out of order since the last one
	behindGap int64          // bytes that wait for one that is missing, about; 0: no more than before
	dataRTT   scheduler.Time // a round trip of the data that comes; 0: not known
	window    int64          // bytes that may be on their way at present; 0: not known
}

func newRoute(l *Link, cfg *fetch.Config) *route {
	return &route{link: l, cfg: cfg, moves: l.changes.moves.Load()}
}

// closeIfMoved closes all connections, and unpins addresses, if the link has moved since they were made,
// and says whether it has.
func (r *route) closeIfMoved(cfg *fetch.Config) (moved bool) {
	if n := r.link.changes.moves.Load(); n != r.moves {
		r.moves = n
		r.pin("", netip.Addr{}, cfg)
		return true
	}
	return false
}

// client is the client of a stream; it has connections of its own.
func (r *route) client(s scheduler.StreamID) *fetch.Client {
	if r.clients[s] == nil {
		r.clients[s] = fetch.NewClient(r.cfg, r, r.link)
	}
	return r.clients[s]
}

// drop closes a stream's connections, on which there is no request.
func (r *route) drop(s scheduler.StreamID) {
	r.clients[s].Close()
	r.clients[s] = nil
}

// current says whether a client is still in use: a request in flight may have an older one.
func (r *route) current(c *fetch.Client) bool { return slices.Contains(r.clients[:], c) }

// close closes all connections.
func (r *route) close() {
	for _, c := range r.clients {
		if c != nil {
			c.Close()
		}
	}
	clear(r.clients[:])
}

// pin has connections to host made to addr from now on, and requests made by cfg; an addr that is not
// valid undoes that. All connections so far are closed.
func (r *route) pin(host string, addr netip.Addr, cfg *fetch.Config) {
	r.mu.Lock()
	r.host, r.addr = host, addr
	r.mu.Unlock()
	r.pinned = addr.IsValid()
	r.cfg = cfg
	r.close()
}

// look asks the kernel about a stream's connection.
func (r *route) look(s scheduler.StreamID, conn net.Conn) connSample {
	info, ok := link.ReadTCPInfo(conn)
	if !ok {
		return connSample{}
	}
	return r.counts[s].forConn(conn).look(&info)
}

func (c *kernelCount) look(info *link.TCPInfo) connSample {
	fresh, delivered := int64(info.OutOfOrder-c.reordered), int64(info.BytesReceived-c.delivered)
	c.reordered, c.delivered = info.OutOfOrder, info.BytesReceived
	sample := connSample{reordered: fresh, dataRTT: c.dataRTT.see(scheduler.Time(info.ReceiveRTT)), window: info.ReceiveWindow}
	if info.DataSegsIn > 0 {
		c.behindGap += fresh * int64(info.BytesReceived/uint64(info.DataSegsIn))
	}
	if c.behindGap = max(0, c.behindGap-delivered); fresh > 0 {
		sample.behindGap = c.behindGap
	}
	return sample
}

// Proxy implements fetch.Proxied.
func (r *route) Proxy() *url.URL { return r.link.Proxy() }

// DialContext dials over the link.
func (r *route) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if host, port, err := net.SplitHostPort(addr); err == nil {
		r.mu.Lock()
		if r.addr.IsValid() && strings.EqualFold(host, r.host) {
			addr = net.JoinHostPort(r.addr.String(), port)
		}
		r.mu.Unlock()
	}
	return r.link.DialContext(ctx, network, addr)
}
