package fetch

import (
	"context"
	"net/url"
)

// Turn is the place of a request among those of its Client. Requests get onto
// connections in the order of their Turns, whatever goroutine is the first to run.
type Turn struct {
	c      *Client
	before <-chan struct{} // closed when all that came before are on a connection, or given up
	passed chan struct{}
	over   bool // passed is closed; its goroutine's
}

// Turn is the place of a request that is about to be made, behind all that were given
// before; its Get must be called.
func (c *Client) Turn() *Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &Turn{c: c, before: c.line, passed: make(chan struct{})}
	c.line = t.passed
	return t
}

// Get is Client.Get, in its turn. It may be called once.
func (t *Turn) Get(ctx context.Context, u *url.URL, off, end int64) (*Response, error) {
	defer t.pass()
	return t.c.get(ctx, u, asked{off: off, end: end, turn: t})
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

// pass lets those behind go on, once all before have passed: who is given up early must
// not let others overtake.
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
