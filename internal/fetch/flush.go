package fetch

import (
	"context"
	"net/url"
)

// flushBytes is how many bytes Flush requests: with a header before them, more than the largest
// packet of most networks.
const flushBytes = 2 << 10

// Flush makes the server send the end of the responses that are in flight on an HTTP/1.1
// connection of u's origin, by requesting a few bytes that are discarded: a server that gathers
// small packets keeps the last one back until those before are acknowledged, unless something
// follows. Flush does not wait.
//
// ctx governs the request.
func (c *Client) Flush(ctx context.Context, u *url.URL) {
	turn := c.Turn(u)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		turn.pass()
		return
	}
	c.skippers.Go(func() {
		defer turn.pass()
		turn.await(ctx)
		t := c.start(u)
		x := c.behind(originOf(t.u))
		if x == nil {
			return
		}
		turn.pass()
		a := asked{off: 0, end: flushBytes}
		if h, b, err := x.roundTrip(ctx, c.newRequest(ctx, t, u, a), a); err == nil { //nolint:bodyclose // leave closes it
			c.leave(ctx, h, b)
		}
	})
}

// behind is a place behind the requests in flight on the connection to an origin; nil where
// there are none.
func (c *Client) behind(key originKey) *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.origins[key]; o != nil && !c.closed && !o.noPipeline {
		for _, hc := range o.h1 {
			if hc.pending > 0 && hc.takes && !hc.closing && hc.pending < maxDepth {
				return hc.enqueue()
			}
		}
	}
	return nil
}
