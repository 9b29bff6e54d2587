package engine

import (
	"context"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// lookForReturns takes in what has changed about the links: some join, come back or have moved, and some
// are worth a try at once.
func (o *owner) lookForReturns(reqs context.Context) {
	for id := range o.links {
		l, shared := &o.links[id], o.e.links[id]
		n := shared.changes.arrivals.Load()
		if n != l.seen.arrivals {
			l.seen.arrivals = n
			o.arrive(reqs, scheduler.LinkID(id))
		}
		if n := shared.changes.returns.Load(); n != l.seen.returns {
			l.seen.returns = n
			if l.there && !l.lost() {
				o.resumeLink(reqs, scheduler.LinkID(id))
			}
		}
	}
}

// arrive takes in a link that joins or was renewed. It begins like those from the start: its responses are
// checked anew.
func (o *owner) arrive(reqs context.Context, id scheduler.LinkID) {
	l := &o.links[id]
	moved := o.e.routes[id].closeIfMoved(&o.e.cfg.HTTP)
	if moved {
		o.withdrawAll(reqs, id)
	}
	lost := l.lost()
	o.closeOpened(id)
	if moved || lost || !l.there {
		t := &l.traffic
		*l = linkState{
			id: id, there: true, use: linkUse{resting: l.use.resting}, quota: l.quota, seen: l.seen,
			traffic: traffic{received: t.received, wasted: t.wasted, reordered: t.reordered, lastByte: t.lastByte},
		}
	}
	if lost {
		o.e.cfg.Bus.Publish(event.LinkChanged{At: o.e.now(), Link: id, State: event.LinkUnused, Reason: "it is back"})
		o.e.notice(true, "%s: it is back", o.e.links[id].Name())
	}
	if l.quota.exhausted && !l.use.resting && o.e.links[id].allowance.left() > 0 { // of one stream
		l.quota.exhausted = false
	}
	o.linkUp(reqs, id)
}

// withdrawAll withdraws the requests of a link that has moved.
func (o *owner) withdrawAll(reqs context.Context, id scheduler.LinkID) {
	for _, t := range o.transfers {
		if t.link == id {
			o.count(reqs, t) // what came before counts
			t.cancel(errMoved)
		}
	}
	if !o.links[id].lost() {
		o.step(reqs, scheduler.Input{Kind: scheduler.LinkDown, Link: id})
	}
	o.work.linkMoved(id)
}

// linkUp tells the scheduler of a link and of what is known of it.
func (o *owner) linkUp(reqs context.Context, id scheduler.LinkID) {
	l, terms := o.e.links[id], o.e.links[id].terms.Terms
	if l.allowance.bounded {
		all, rest := l.allowance.total()
		o.links[id].quota.cap = max(all, o.links[id].quota.spent+rest)
		terms.Cap = max(1, o.links[id].quota.cap) // 0 is no bound
	}
	o.step(reqs, scheduler.Input{
		Kind: scheduler.LinkUp, Link: id, Bandwidth: l.terms.Bandwidth, RTT: l.leastRTT(nil), Terms: terms,
		Wait: o.serversWait(id),
	})
}

// resumeLink tells the scheduler that a link need not wait any longer, but for its server.
func (o *owner) resumeLink(reqs context.Context, id scheduler.LinkID) {
	o.step(reqs, scheduler.Input{Kind: scheduler.LinkUp, Link: id, Wait: o.serversWait(id)})
}

// serversWait is for how long a link's server still asks for a pause.
func (o *owner) serversWait(id scheduler.LinkID) scheduler.Time {
	return max(0, o.links[id].responses.notBefore-o.e.now())
}

// linkCount is how many links the download has, lost ones included. Links join in the order of their ids,
// but a look at all of them may have missed one before the last.
func (o *owner) linkCount() (n int) {
	for i := range o.links {
		if o.links[i].there {
			n = i + 1
		}
	}
	return n
}

// several says whether there is more than one link, so that it matters which.
func (o *owner) several() bool { return o.linkCount() > 1 }
