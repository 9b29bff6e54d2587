package engine

import (
	"context"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// lookForReturns takes in what the links' interfaces say: links that join, that
// come back, that have moved, and those that are worth a try at once.
func (d *download) lookForReturns(reqs context.Context) {
	for id := range d.links {
		l, shared := &d.links[id], d.e.links[id]
		n := shared.arrivals.Load()
		if n != l.arrivals {
			l.arrivals = n
			d.arrive(reqs, scheduler.LinkID(id))
		}
		if n := shared.returns.Load(); n != l.returns {
			l.returns = n
			if l.there && !l.lost {
				d.step(reqs, scheduler.Input{Kind: scheduler.LinkUp, Link: scheduler.LinkID(id)})
			}
		}
	}
}

// arrive makes a link that joins, or was renewed, one like those from the start:
// it has everything before it, the checks of its responses included.
func (d *download) arrive(reqs context.Context, id scheduler.LinkID) {
	l := &d.links[id]
	moved := d.e.routes[id].follow(&d.e.cfg.HTTP)
	if moved {
		d.leave(reqs, id)
	}
	lost := l.lost
	if moved || lost || !l.there {
		*l = linkState{
			there: true, url: d.job.URL, returns: l.returns, arrivals: l.arrivals,
			bytes: l.bytes, wasted: l.wasted, disorder: l.disorder, lastByte: l.lastByte,
			resting: l.resting, capped: l.capped,
		}
	}
	if lost {
		d.e.cfg.Bus.Publish(event.LinkChanged{At: d.e.now(), Link: id, State: event.LinkUnused, Reason: "it is back"})
		d.e.notice(true, "%s: it is back", d.e.links[id].name())
	}
	d.linkUp(reqs, id)
}

// leave withdraws a link's requests, whose connections are gone.
func (d *download) leave(reqs context.Context, id scheduler.LinkID) {
	for _, t := range d.transfers {
		if t.link == id {
			d.count(reqs, t) // what came before counts
			t.cancel(errMoved)
		}
	}
	if !d.links[id].lost {
		d.step(reqs, scheduler.Input{Kind: scheduler.LinkDown, Link: id})
	}
	if d.refLink == id {
		// The first response came over another network: should this one give
		// another object, that says nothing about the first.
		d.refLink = scheduler.NoLink
	}
}

// linkUp tells the scheduler of a link and of what is known of it.
func (d *download) linkUp(reqs context.Context, id scheduler.LinkID) {
	l := d.e.links[id]
	d.step(reqs, scheduler.Input{
		Kind: scheduler.LinkUp, Link: id, Bandwidth: l.terms.Bandwidth, RTT: l.roundTrip(nil), Terms: l.terms.Terms,
	})
}

// linkCount is how many links the download has, those that are lost included.
// Links join in the order of their ids, but a look at all of them may have missed
// one before the last.
func (d *download) linkCount() (n int) {
	for i := range d.links {
		if d.links[i].there {
			n = i + 1
		}
	}
	return n
}

// several says whether there is more than one link, so that it matters which.
func (d *download) several() bool { return d.linkCount() > 1 }
