package fetch

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/mlget/mlget/internal/digestauth"
)

// maxResends is how often a request that met a dying connection is sent again on whatever
// connection there is; after that it gets one of its own. Failures behind other requests do not
// count, or the end of few connections would give each of many requests its own.
const maxResends = 2

// maxConns is how many connections a Client has before it closes idle ones to
// other origins, for the sake of lists of URLs on very many hosts.
const maxConns = 32

// maxOrigins is of how many origins a Client keeps what it has learnt, unless it has
// connections to more: a server may redirect each of many files to another.
const maxOrigins = 256

// origin is a Client's state per scheme, host and port. Client.mu guards it.
type origin struct {
	h1      []*h1Conn
	h2      []*h2Conn // takers of new requests and, until their streams end, those retired
	dialing int
	waiting int // requests that wait for a connection

	// noPipeline is set for good once the server has dropped pipelined requests.
	noPipeline bool
	// http1 is set for good once the server has asked for HTTP/1.1 (HTTP_1_1_REQUIRED).
	http1 bool

	digest *digestauth.Session // the server's challenge, to be answered with each request; nil: there was none

	dialErr *Error // of the latest failure to dial
	dialGen int    // counts those failures

	line    <-chan struct{} // closed when the latest Turn has passed; nil: there was none
	changed chan struct{}   // closed, and replaced, when a waiter should look again
}

// wake makes all waiting requests look for a connection again.
func (o *origin) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// slot is the right to make one request on a connection.
type slot interface {
	// roundTrip sends the request and reads the header of the final response. It
	// returns errResend, wrapped or not, when the request may be sent again.
	roundTrip(ctx context.Context, req *http.Request, a asked) (*http.Response, body, error)
}

// roundTrip makes the request for one hop on a connection to its origin.
func (c *Client) roundTrip(ctx context.Context, t target, first *url.URL, a asked) (*http.Response, body, *Error) {
	req := c.newRequest(ctx, t, first, a)
	for resends := 0; ; {
		a.turn.await(ctx)
		s, e := c.acquire(ctx, originOf(t.u), resends >= maxResends)
		a.turn.pass()
		if e != nil {
			return nil, nil, e
		}
		h, b, err := s.roundTrip(ctx, req, a)
		switch {
		case err == nil:
			c.keepCookies(h, t.u)
			if c.cfg.Answers != nil {
				c.cfg.Answers.Answered(t.u, h)
			}
			return h, b, nil
		case errors.Is(err, errWantsHTTP1) && !c.downgrade(originOf(t.u)):
			return nil, nil, protocolError("server wants HTTP/1.1")
		case !errors.Is(err, errResend) || ctx.Err() != nil || resends > maxResends || req.Method != http.MethodGet && req.GetBody != nil:
			return nil, nil, readError(ctx, err)
		case !errors.Is(err, errQueued):
			resends++
		}
	}
}

// downgrade has requests to come speak HTTP/1.1; false: that is not what the user wants.
func (c *Client) downgrade(key originKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origin(key)
	o.http1 = c.cfg.Protocol != HTTP2PriorKnowledge
	return o.http1
}

// acquire finds room for a request on a connection to an origin, opening one
// when it must, or waits. fresh asks for a connection without a history.
func (c *Client) acquire(ctx context.Context, key originKey, fresh bool) (slot, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origin(key)
	gen := o.dialGen
	for {
		if c.closed {
			return nil, &Error{Class: Canceled, Err: ErrClosed}
		}
		if e := ended(ctx); e != nil {
			return nil, e
		}
		if !fresh {
			if s := o.take(); s != nil {
				return s, nil
			}
			if o.dialGen != gen && len(o.h1) == 0 {
				return nil, o.dialErr // whom we waited for was not let in
			}
		}
		if fresh || len(o.h1)+o.dialing < o.most() {
			return c.open(ctx, o, key)
		}
		changed := o.changed
		o.waiting++
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		c.mu.Lock()
		o.waiting--
	}
}

// origin returns the state of key; c.mu is held.
func (c *Client) origin(key originKey) *origin {
	o := c.origins[key]
	if o == nil {
		if len(c.origins) >= maxOrigins {
			maps.DeleteFunc(c.origins, func(_ originKey, o *origin) bool { return o.unused() })
		}
		o = &origin{changed: make(chan struct{})}
		c.origins[key] = o
	}
	return o
}

// unused says whether o has no users.
func (o *origin) unused() bool {
	if len(o.h1)+len(o.h2)+o.dialing+o.waiting > 0 {
		return false
	}
	if o.line == nil {
		return true
	}
	select {
	case <-o.line:
		return true
	default:
		return false // a Turn is still to come
	}
}

// take finds a connection that can take a request now; nil when there is none.
func (o *origin) take() slot {
	for i := 0; i < len(o.h2); i++ {
		hc := o.h2[i]
		if !o.http1 && hc.reserve() {
			return hc
		}
		if hc.active == 0 {
			o.h2 = without(o.h2, hc)
			i--
			hc.shut()
		}
	}
	for _, hc := range o.h1 {
		if hc.pending == 0 && !hc.closing {
			return hc.enqueue()
		}
	}
	if o.noPipeline {
		return nil
	}
	for _, hc := range o.h1 {
		if hc.takes && !hc.closing && hc.pending < maxDepth {
			return hc.enqueue()
		}
	}
	return nil
}

// most is how many HTTP/1.1 connections an origin is worth at the moment: two
// where nothing can be queued behind a response, so that the next request need
// not wait for its end.
func (o *origin) most() int {
	if o.noPipeline {
		return 2
	}
	for _, hc := range o.h1 {
		if hc.blocked || hc.closing {
			return 2
		}
	}
	return 1
}

// trim closes what is idle, except at keep, when there are many connections.
// c.mu is held.
func (c *Client) trim(keep *origin) {
	n := 0
	for _, o := range c.origins {
		n += len(o.h1) + len(o.h2)
	}
	if n < maxConns {
		return
	}
	for _, o := range c.origins {
		if o == keep {
			continue
		}
		for _, hc := range slices.Clone(o.h1) {
			if hc.pending == 0 {
				hc.killLocked()
			}
		}
		for _, hc := range slices.Clone(o.h2) {
			if hc.active == 0 {
				o.h2 = without(o.h2, hc)
				hc.shut()
			}
		}
	}
}

// open dials for a request. It is called, and returns, with c.mu held.
func (c *Client) open(ctx context.Context, o *origin, key originKey) (slot, *Error) {
	w := c.cfg.Peers.await(key, c.trace)
	d, err := c.connected(ctx, o, key)
	if err != nil {
		w.end()
		if err.Class != Canceled {
			o.dialErr = err
			o.dialGen++
		}
		return nil, err
	}
	d.wait = w
	if d.h2 {
		hc := c.newH2(o, d)
		hc.active++
		o.h2 = append(o.h2, hc)
		return hc, nil
	}
	hc := c.newH1(o, d)
	o.h1 = append(o.h1, hc)
	return hc.enqueue(), nil
}

// connected dials, and wakes waiting requests as soon as c.mu is free. It is called, and
// returns, with c.mu held.
func (c *Client) connected(ctx context.Context, o *origin, key originKey) (*dialed, *Error) {
	c.trim(o)
	o.dialing++
	c.mu.Unlock()
	d, err := c.dial(ctx, key)
	if err == nil {
		d.key = key
	}
	c.mu.Lock()
	o.dialing--
	o.wake()
	if err == nil && c.closed {
		_ = d.raw.Close()
		return nil, &Error{Class: Canceled, Err: ErrClosed}
	}
	return d, err
}

// Open makes a connection to where u has led before, or its origin, unless there is one
// or one is being made, and leaves it to the requests to come: one that comes meanwhile
// waits for it, and makes its own if that fails. It returns when it is open, its TLS
// handshake included, or ctx has ended. An error is an *Error; no request will meet it.
func (c *Client) Open(ctx context.Context, u *url.URL) error {
	if err := checkURL(u); err != nil {
		return &Error{Class: Protocol, Err: err}
	}
	key := originOf(c.start(u).u)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origin(key)
	if c.closed || o.dialing > 0 || len(o.h1)+len(o.h2) > 0 || c.cfg.Peers.bounded(key) {
		return nil
	}
	d, err := c.connected(ctx, o, key)
	if err != nil {
		return plain(err)
	}
	if d.h2 {
		hc := c.newH2(o, d)
		hc.used = true
		o.h2 = append(o.h2, hc)
		return nil
	}
	hc := c.newH1(o, d)
	hc.early = true
	o.h1 = append(o.h1, hc)
	return nil
}
