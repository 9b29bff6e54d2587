package engine

import (
	"context"
	"math/bits"
	"net/url"

	"github.com/mlget/mlget/pkg/scheduler"
)

// unusedMost is how long a connection that was made before there was a request may wait
// for one: its server keeps something for it, and would close it some time.
const unusedMost = 10 * scheduler.Second

// open makes a connection for the requests to come, to where the link's latest one goes.
// That it fails is known to nobody: a request will find out for itself.
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

// asksFor is what the link's latest request asks for; nil: there is none.
func (o *owner) asksFor(id scheduler.LinkID) *url.URL {
	for i := len(o.transfers) - 1; i >= 0; i-- {
		if t := o.transfers[i]; t.link == id && !t.released {
			return t.url
		}
	}
	return nil
}

// closeUnused closes the connections for which no request has come.
func (o *owner) closeUnused(now scheduler.Time) {
	for id := range o.links {
		if l := &o.links[id]; l.conns.opened != 0 && now-l.conns.openedAt > unusedMost {
			o.closeOpened(scheduler.LinkID(id))
		}
	}
}

// closeOpened closes the connections of a link for which no request has come.
func (o *owner) closeOpened(id scheduler.LinkID) {
	l, r := &o.links[id], o.e.routes[id]
	for ; l.conns.opened != 0; l.conns.opened &= l.conns.opened - 1 {
		if s := scheduler.StreamID(bits.TrailingZeros64(l.conns.opened)); r.clients[s] != nil {
			r.drop(s)
		}
	}
}

// closeAllOpened closes such connections of all links at the end, when the context has ended in
// which they are made.
func (o *owner) closeAllOpened() {
	for id := range o.links {
		o.closeOpened(scheduler.LinkID(id))
	}
	o.early.making.Wait()
}
