package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// ErrCapped says that a link has carried all that it may, and no other is left.
var ErrCapped = errors.New("its allowance of bytes is spent")

// allowance is how many bytes of payload a link may receive, over all downloads
// and over the run. The scheduler asks for no more than that, as far as it knows;
// this is what holds when several downloads ask at once, or a response is longer
// than it was to be. What the kernel has received by then, nobody can refuse.
type allowance struct {
	most  int64        // bytes; 0: no bound
	taken atomic.Int64 // bytes received, and those that readers are about to
	got   atomic.Int64 // bytes received
}

// take reserves up to n bytes; 0: none are left.
func (a *allowance) take(n int64) int64 {
	if a.most == 0 {
		return n
	}
	over := a.taken.Add(n) - a.most
	if over <= 0 {
		return n
	}
	over = min(over, n)
	a.taken.Add(-over)
	return n - over
}

// receive says that of the bytes reserved so many were received; the others are
// given back.
func (a *allowance) receive(reserved, received int64) {
	if a.most > 0 {
		a.taken.Add(received - reserved)
		a.got.Add(received)
	}
}

// noteSpent looks up what links with an allowance have received. That has to come
// before the progress of the transfers is counted, and tellSpent after it: bytes
// that came in between would else be told of twice.
func (o *owner) noteSpent() {
	for id := range o.links {
		if l := o.e.links[id]; o.links[id].there && l.allowance.most > 0 {
			o.links[id].noted = l.allowance.got.Load()
		}
	}
}

// tellSpent tells the scheduler of it: other downloads spend the allowance too.
func (o *owner) tellSpent(reqs context.Context) {
	for id := range o.links {
		if l := &o.links[id]; l.noted > l.spent {
			l.spent = l.noted
			o.step(reqs, scheduler.Input{Kind: scheduler.Spent, Link: scheduler.LinkID(id), Bytes: l.spent})
		}
	}
}

// capped handles the end of a transfer for which nothing was left of its link's
// allowance: all of it was received, or is about to be by others.
func (o *owner) capped(t *transfer) ending {
	if !o.whole {
		return ending{outcome: event.OutcomeCancelled, retry: true, wait: backoffFirst}
	}
	o.links[t.link].capped = true
	o.changed(t.link, event.LinkCapped, ErrCapped.Error())
	return ending{outcome: event.OutcomeCancelled, retry: true}
}

// rest notes that the scheduler sent a link to rest, or woke it, and why.
func (o *owner) rest(a scheduler.Action) {
	l := &o.links[a.Link]
	l.resting = a.Kind == scheduler.Rest
	l.capped = l.resting && a.Why == scheduler.ReasonCapped
	l.why = a.Text()
	state, said := event.LinkUnused, "used"
	switch {
	case l.capped:
		state, said = event.LinkCapped, "capped"
	case l.used:
		state = event.LinkUsed
	}
	if l.resting && !l.capped {
		said = "left idle"
		if l.used {
			l.why = "then left idle: " + l.why
		}
	}
	o.e.cfg.Bus.Publish(event.LinkChanged{At: o.e.now(), Link: a.Link, State: state, Reason: l.why})
	o.e.notice(false, "%s %s: %s", o.e.links[a.Link].name(), said, a.Text())
}
