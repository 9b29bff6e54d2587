package engine

import (
	"net/url"
	"sync"

	"github.com/mlget/mlget/pkg/scheduler"
)

// Files of a batch that are downloaded by themselves share their servers with the others. One
// that bounds its requests may forbid a file (403) while it serves others.

// crowd is what all downloads of a run ask for at the same time, by origin and link.
type crowd struct {
	mu sync.Mutex
	of map[crowdKey]*crowding
}

type crowdKey struct {
	origin string
	link   scheduler.LinkID
}

type crowding struct {
	requests int  // in flight
	forbids  bool // it has forbidden a file again and again: that is no bound
}

func newCrowd() *crowd { return &crowd{of: map[crowdKey]*crowding{}} }

// add counts a request that has begun (1), or ended (-1).
func (c *crowd) add(u *url.URL, link scheduler.LinkID, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := crowdKey{origin(u), link}
	o := c.at(key)
	if o.requests += n; o.requests == 0 && !o.forbids {
		delete(c.of, key)
	}
}

// at is that of a key; mu is held.
func (c *crowd) at(key crowdKey) *crowding {
	if c.of[key] == nil {
		c.of[key] = new(crowding)
	}
	return c.of[key]
}

// beyond says whether an origin is asked over a link for more than so many things, of which it may
// forbid some for that.
func (c *crowd) beyond(u *url.URL, link scheduler.LinkID, requests int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.of[crowdKey{origin(u), link}]
	return o != nil && !o.forbids && o.requests > requests
}

// forbid notes that an origin has forbidden a file again and again.
func (c *crowd) forbid(u *url.URL, link scheduler.LinkID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at(crowdKey{origin(u), link}).forbids = true
}
