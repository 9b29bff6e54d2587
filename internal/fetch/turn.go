package fetch

import (
	"context"
	"net/url"
)

// Turn is the place of a request among its Client's requests to one origin: they get onto
// connections in the order of their Turns, whichever goroutine runs first.
type Turn struct {
	// First says that nothing of the object has come yet: should its server refuse the
	// range, it is asked for the whole, or at once where it has done so before.
	First bool

	c      *Client
	u      *url.URL
	before <-chan struct{} // closed when all that came before are on a connection, or given up
	passed chan struct{}
	over   bool // passed is closed; its goroutine's
}

// Turn is the place of a request for u that is about to be made, behind all for the same
// origin that were given before; its Get must be called. Where u has led before, that
// origin is meant.
func (c *Client) Turn(u *url.URL) *Turn {
	key := originOf(c.start(u).u)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origin(key)
	t := &Turn{c: c, u: u, before: o.line, passed: make(chan struct{})}
	o.line = t.passed
	return t
}

// Get is Client.Get, in its turn. It may be called once, and First be set before that.
func (t *Turn) Get(ctx context.Context, off, end int64) (*Response, error) {
	defer t.pass()
	return t.c.get(ctx, t.u, asked{off: off, end: end, turn: t, first: t.First})
}

// await waits until it is the request's turn, or its client is closed.
func (t *Turn) await(ctx context.Context) {
	if t == nil || t.over || t.before == nil {
		return
	}
	select {
	case <-t.before:
	case <-t.c.ended:
	case <-ctx.Done():
	}
}

// pass lets later requests go on once all earlier ones have passed: a request that is given up
// early must not let others overtake.
func (t *Turn) pass() {
	if t == nil || t.over {
		return
	}
	t.over = true
	if t.before == nil {
		close(t.passed)
		return
	}
	select {
	case <-t.before:
		close(t.passed)
	default:
		go func() {
			<-t.before
			close(t.passed)
		}()
	}
}
