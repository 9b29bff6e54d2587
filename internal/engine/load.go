package engine

import (
	"context"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/mlget/mlget/pkg/scheduler"
)

// The files of a batch that are downloaded by themselves share servers and links with the others. A
// server that bounds the number of requests may forbid a file (403) while it serves others, and bytes of
// one download may stand before those of another on a link.

// runLoad is what all downloads of a run ask for at the same time, by origin and link.
type runLoad struct {
	over []lastOver // by link

	mu      sync.Mutex
	origins map[originKey]*originLoad
}

// lastOver is when something came last over a link, as scheduler.Time; 0: it never did.
type lastOver struct {
	response atomic.Int64
	byte     atomic.Int64 // of a body
}

type originKey struct {
	origin string
	link   scheduler.LinkID
}

type originLoad struct {
	requests int  // in flight
	served   int  // requests that were answered and have ended
	ended    int  // requests that have ended
	forbids  bool // it has forbidden a file again and again: it does not bound requests, but forbids files
}

func newRunLoad(links int) *runLoad {
	return &runLoad{over: make([]lastOver, links), origins: map[originKey]*originLoad{}}
}

// tellShared tells the scheduler of links over which bytes of other downloads come while its own
// requests get none: these are not silent, but stand behind the others.
func (o *owner) tellShared(reqs context.Context, now scheduler.Time) {
	for _, t := range o.transfers {
		own := o.links[t.link].traffic.lastByte
		if t.released || t.probe || now-own < gatherPatience {
			continue
		}
		if others := scheduler.Time(o.e.load.over[t.link].byte.Load()); others > own && now-others < gatherPatience {
			o.step(reqs, scheduler.Input{Kind: scheduler.Progress, Link: t.link, Chunk: t.chunk, Bytes: t.reported, Held: true})
		}
	}
}

// begin counts a request that has begun, and returns how many have ended before.
func (c *runLoad) begin(u *url.URL, link scheduler.LinkID) (ended int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.at(originKey{origin(u), link})
	o.requests++
	return o.ended
}

// end counts a request that has ended. served says that it was answered, before is what begin returned.
// others says whether another request has ended since then, so that the server may have had too many.
func (c *runLoad) end(u *url.URL, link scheduler.LinkID, served bool, before int) (others bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := originKey{origin(u), link}
	o := c.at(key)
	others = o.ended > before && !o.forbids
	o.ended++
	if served {
		o.served++
	}
	if o.requests--; o.requests == 0 && !o.forbids {
		delete(c.origins, key)
	}
	return others
}

// at is the load of an origin over a link; mu is held.
func (c *runLoad) at(key originKey) *originLoad {
	if c.origins[key] == nil {
		c.origins[key] = new(originLoad)
	}
	return c.origins[key]
}

// exceeds says whether an origin has more requests over a link than so many, and may forbid one for
// that.
func (c *runLoad) exceeds(u *url.URL, link scheduler.LinkID, requests int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.origins[originKey{origin(u), link}]
	return o != nil && !o.forbids && o.requests > requests
}

// noteForbids notes that an origin has forbidden a file again and again, whatever else it served.
func (c *runLoad) noteForbids(u *url.URL, link scheduler.LinkID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at(originKey{origin(u), link}).forbids = true
}

// forbidden counts the answers that forbid a file, perhaps because of other requests.
type forbidden struct {
	times  int // those that count: while none of the other requests ends, it is the same refusal
	all    int // all of them
	served int // the server's answered requests when the latest that counts came
}

// countForbidden counts one more; others says whether the server has other requests.
func (c *runLoad) countForbidden(f *forbidden, u *url.URL, link scheduler.LinkID, others bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	served := c.at(originKey{origin(u), link}).served
	f.all++
	if f.times == 0 || !others || f.served != served {
		f.times++
		f.served = served
	}
}
