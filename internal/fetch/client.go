package fetch

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxRoutes bounds how many URLs a Client remembers the redirects of.
	maxRoutes = 1024
	// maxRouteBytes bounds the lengths of these URLs and of where they lead, in all: a
	// server's header may hold one of maxHeaderBytes, and a run has dozens of Clients.
	maxRouteBytes = 1 << 20
)

// Client fetches over one link. See the package comment for what it keeps and
// for the concurrency contract.
type Client struct {
	cfg    *Config
	dialer Dialer
	trace  Trace

	mu      sync.Mutex
	closed  bool
	origins map[originKey]*origin
	routes  map[string]route // URL as given to Get -> where its redirects ended
	kept    int              // bytes of the URLs in routes
	ended   chan struct{}    // closed with the client

	ahead    aheadPool
	pieces   piecePool
	vain     atomic.Int64   // payload bytes that came in vain
	skippers sync.WaitGroup // goroutines that read cancelled responses off a connection
}

// NewClient makes a Client for the link that d dials over. trace may be nil.
// cfg must not change afterwards; Clients may share it.
func NewClient(cfg *Config, d Dialer, trace Trace) *Client {
	return &Client{
		cfg: cfg.withDefaults(), dialer: d, trace: trace,
		origins: make(map[originKey]*origin), routes: make(map[string]route), ended: make(chan struct{}),
	}
}

// Close closes all connections, which ends the responses on them, and waits
// until nothing of the Client runs in the background. Close what Gets returned
// first, or cancel their contexts.
func (c *Client) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.ended)
	}
	var h1 []*h1Conn
	var h2 []*h2Conn
	for _, o := range c.origins {
		h1, h2 = append(h1, o.h1...), append(h2, o.h2...)
		o.wake()
	}
	c.mu.Unlock()
	for _, hc := range h1 {
		hc.kill()
	}
	for _, hc := range h2 {
		hc.close()
	}
	c.skippers.Wait()
}

// Get asks for the bytes [off, end) of the object at u, or for the whole object
// when end is negative (off must be 0), follows redirects, and returns when the
// response's header has been read and checked. A server that ignores the range
// yields a Response that is Whole: the caller decides what to do with it. An
// error is always an *Error.
//
// ctx governs the response until it is closed; when it ends, its cause is what
// Get and Read report, as class Canceled.
func (c *Client) Get(ctx context.Context, u *url.URL, off, end int64) (*Response, error) {
	return c.Turn(u).Get(ctx, off, end)
}

// Head asks for the header of the object at u, and follows redirects. The Response has no
// body, and is closed.
func (c *Client) Head(ctx context.Context, u *url.URL) (*Response, error) {
	r, err := c.get(ctx, u, asked{end: -1, head: true})
	if err == nil {
		r.abort()
	}
	return r, err
}

func (c *Client) get(ctx context.Context, u *url.URL, a asked) (*Response, error) {
	off, end := a.off, a.end
	a.plain = c.cfg.NoRange && end >= 0
	if off < 0 || (end < 0 && off != 0) || (end >= 0 && end <= off) {
		return nil, protocolError("no such range: [%d, %d)", off, end)
	}
	if err := cmp.Or(checkURL(u), c.cfg.allows(u)); err != nil {
		return nil, &Error{Class: Protocol, Err: err}
	}
	name := u.String()
	t, known := c.route(name)
	if !known {
		r, err := c.follow(ctx, c.first(u), u, a, name)
		return r, plain(err)
	}
	// Signed URLs expire, mirrors lose files: ask the original URL again. Others do so
	// too, and may use up what it leads to before this request comes.
	for resolves := 0; ; resolves++ {
		if t.u == nil {
			t = c.first(u)
		}
		began := time.Now()
		r, err := c.follow(ctx, t, u, a, name)
		if err != nil && t.u != u && (err.Class == Network || err.Class == Busy) {
			c.distrust(name, t, began)
		}
		if err == nil || !movedOn(err) || resolves == resolvesMost {
			return r, plain(err)
		}
		c.forget(name)
		t = target{}
	}
}

// resolvesMost is how often a request asks the original URL again when the target of its
// redirect, which worked before, no longer does.
const resolvesMost = 4

// plain keeps a nil *Error from becoming an error that is not nil.
func plain(err *Error) error {
	if err == nil {
		return nil
	}
	return err
}

// movedOn reports whether an error from a remembered redirect target may only
// mean that the target is out of date.
func movedOn(err *Error) bool {
	// Expired: 400 with Google Cloud Storage and S3's session tokens, 403 with others.
	return err.Status/100 == 4 && (err.Class == Auth || err.Class == Status) || err.Class == DNS || err.Class == Refused
}

// follow makes the request at t and at where it is redirected from there.
func (c *Client) follow(ctx context.Context, t target, first *url.URL, a asked, name string) (*Response, *Error) {
	again := false     // a request is made once more, without Range
	var refusal *Error // of the one with it
	challenges := 0    // of this hop's server, that were answered
	for hops := 0; ; {
		key, a := originOf(t.u), a
		a.plain = a.plain || again || a.first && c.cfg.Peers.plainly(key, c.trace)
		h, b, err := c.roundTrip(ctx, t, first, a) //nolint:bodyclose // b is its body
		if err != nil {
			if again = c.fails(key, a, err); again {
				refusal = err
				continue
			}
			return nil, err.without(a.plain)
		}
		if isRedirect(h) {
			to, err := redirectTarget(h, t.u)
			c.leave(ctx, h, b)
			if err == nil {
				if refused := c.cfg.allows(to); refused != nil {
					err = protocolError("redirect refused: %w", refused)
				}
			}
			if err == nil && hops >= max(c.cfg.MaxRedirects, 0) {
				err = protocolError("more than %d redirects", max(c.cfg.MaxRedirects, 0))
			}
			if err != nil {
				err.Status = h.StatusCode
				return nil, err
			}
			t = t.next(to, h.StatusCode, c.cfg.method())
			hops++
			challenges = 0
			continue
		}
		if c.challenged(h, t, first, challenges) {
			c.leave(ctx, h, b)
			challenges++
			continue
		}
		r, err := check(h, a)
		if err == nil && c.cfg.exceeds(r.Object.Size) {
			err = c.cfg.tooLarge()
		}
		if err != nil {
			if err.Class == Protocol {
				c.inVain(b.lying())
				b.abort() // it may be the answer to another question, and more of that kind behind it
			} else {
				c.leave(ctx, h, b)
			}
			if e := ended(ctx); e != nil {
				return nil, e
			}
			if again = c.fails(key, a, err); again {
				refusal = err
				continue
			}
			return nil, err.without(a.plain)
		}
		if again && r.Whole && c.cfg.Peers.serves(key, c.trace) && !refusesRange(refusal, true) {
			b.abort() // it has served others' ranges meanwhile: something else was the matter
			return nil, refusal
		}
		if a.end >= 0 && !c.cfg.NoRange {
			c.cfg.Peers.brought(key, c.trace, a.plain, r.Whole)
		}
		if t.u != first {
			c.remember(name, t)
		}
		r.ctx, r.client, r.body = ctx, c, b
		if x, ok := b.(*exchange); ok {
			r.Single = x.single
		}
		r.EffectiveURL = WithoutUser(t.u)
		r.Secure = t.u.Scheme == "https" && !t.clear && c.cfg.verifies()
		r.Proto, r.Remote = "1.1", addrPort(b.conn().RemoteAddr())
		if h.ProtoMajor == 2 {
			r.Proto = "2"
		}
		if r.End == 0 && h.ProtoMajor == 1 && !a.head {
			_ = r.settle() // nothing to read: let the next request have its turn
		}
		return r, nil
	}
}

// fails says whether the first request of an object, which has failed, is worth being made
// once more without Range.
func (c *Client) fails(key originKey, a asked, err *Error) bool {
	return a.first && a.end >= 0 && !c.cfg.NoRange && err.Class != Canceled && c.cfg.Peers.failed(key, c.trace, a.plain, err)
}

// leave closes a response whose body is not wanted. Bytes of it that had arrived count as
// received in vain.
func (c *Client) leave(ctx context.Context, h *http.Response, b body) {
	if h.Request != nil && h.Request.Method == http.MethodHead { // its length is of what does not come
		b.abort()
		return
	}
	r := &Response{End: h.ContentLength, ctx: ctx, client: c, body: b}
	n := r.drop(smallRest)
	if !r.over {
		n += b.lying()
	}
	c.inVain(n)
	r.abort()
}

// inVain counts n payload bytes that arrived and were discarded.
func (c *Client) inVain(n int64) {
	if n <= 0 {
		return
	}
	c.vain.Add(n)
	if c.trace != nil {
		c.trace.InVain(n)
	}
}

// spare is how many bytes may come in vain to save a connection.
func (c *Client) spare() int64 {
	if c.trace == nil {
		return math.MaxInt64
	}
	return c.trace.Spare()
}

// Vain is how many payload bytes were received in vain since the last call: of redirects,
// errors and responses that were given up. Bytes under way when their connection was closed are
// not known, nor, where the system does not report them, those in its buffer.
func (c *Client) Vain() int64 { return c.vain.Swap(0) }

// route is where a URL has led with success before.
type route struct {
	to       target    // without a URL: it does not lead there any more
	failures int       // in a row, of requests each of which began after the last one's failure
	failed   time.Time // when the last of them did
}

// route is where a URL leads; known says that it has led somewhere.
func (c *Client) route(name string) (to target, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.routes[name]
	return r.to, ok
}

// first is the hop to a URL given to Get.
func (c *Client) first(u *url.URL) target { return target{u: u, home: c.cfg.Named.has(u)} }

// start is where a request for u goes first.
func (c *Client) start(u *url.URL) target {
	if t, _ := c.route(u.String()); t.u != nil {
		return t
	}
	return c.first(u)
}

func (c *Client) remember(name string, t target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.routes[name].to.u == t.u {
		c.routes[name] = route{to: t} // which takes back its failures
		return
	}
	size := len(name) + len(t.u.String())
	if size > maxRouteBytes/2 {
		return
	}
	if len(c.routes) >= maxRoutes || c.kept+size > maxRouteBytes {
		clear(c.routes)
		c.kept = 0
	}
	c.kept += size // one that it replaces counts as well, until all are forgotten
	c.routes[name] = route{to: t}
}

// failuresMost is how often in a row a target may fail before the original URL, which may
// lead to another mirror, is asked again. One failure says little: a mirror that works is
// worth staying with, for another may have another version.
const failuresMost = 2

// distrust records that t, a URL's redirect target, did not serve a request that began at that
// time. Failures at the same time count once.
func (c *Client) distrust(name string, t target, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.routes[name]
	if r.to.u != t.u || began.Before(r.failed) {
		return
	}
	r.failures, r.failed = r.failures+1, time.Now()
	if r.failures >= failuresMost {
		r = route{}
	}
	c.routes[name] = r
}

// forget says that a URL does not lead any more to where it did.
func (c *Client) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.routes[name] = route{}
}
