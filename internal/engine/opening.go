package engine

import (
	"context"
	"math/bits"
	"net/url"

	"github.com/mlget/mlget/pkg/scheduler"
)

// unusedMost is how long a connection that was made before there was a request may wait for one. Its
// server keeps state for it, and closes it some time.
const unusedMost = 10 * scheduler.Second

// open makes a connection for requests to come, to the server of the link's latest request. A failure is
// ignored: a request will meet it again.
func (o *owner) open(reqs context.Context, a scheduler.Action) {
	u := o.asksFor(a.Link)
	if u == nil || o.err != nil || o.early.disabled {
		return
	}
	l, client := &o.links[a.Link], o.e.routes[a.Link].client(a.Stream)
	l.conns.opened |= 1 << a.Stream
	l.conns.openedAt = o.e.now()
	o.early.making.Go(func() { _ = client.Open(reqs, u) })
}

// asksFor is the URL of the link's latest request; nil: there is none.
func (o *owner) asksFor(id scheduler.LinkID) *url.URL {
	for i := len(o.transfers) - 1; i >= 0; i-- {
		if t := o.transfers[i]; t.link == id && !t.released {
			return t.url
		}
	}
	return nil
}

// closeUnused closes the connections that have waited too long for a request.
func (o *owner) closeUnused(now scheduler.Time) {
	for id := range o.links {
		if l := &o.links[id]; l.conns.opened != 0 && now-l.conns.openedAt > unusedMost {
			o.closeOpened(scheduler.LinkID(id))
		}
	}
}

// closeOpened closes the connections of a link that have had no request.
func (o *owner) closeOpened(id scheduler.LinkID) {
	l, r := &o.links[id], o.e.routes[id]
	for ; l.conns.opened != 0; l.conns.opened &= l.conns.opened - 1 {
		if s := scheduler.StreamID(bits.TrailingZeros64(l.conns.opened)); r.clients[s] != nil {
			r.drop(s)
		}
	}
}

// closeAllOpened does so for all links, after the context has ended in which connections are made.
func (o *owner) closeAllOpened() {
	for id := range o.links {
		o.closeOpened(scheduler.LinkID(id))
	}
	o.early.making.Wait()
}
