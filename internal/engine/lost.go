package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// permanent says whether an error will come again whatever one does. A refused
// connection and an unknown host are: unless somebody was there before.
func permanent(fe *fetch.Error, met bool) bool {
	if fe.Class == fetch.Refused || fe.Class == fetch.DNS {
		return !met
	}
	return !fe.Temporary()
}

func outcomeOf(c fetch.Class) event.Outcome {
	switch c {
	case fetch.TLS:
		return event.OutcomeTLS
	case fetch.Auth, fetch.Status, fetch.Busy, fetch.Unsatisfied:
		return event.OutcomeStatus
	case fetch.Protocol:
		return event.OutcomeProtocol
	case fetch.Canceled:
		return event.OutcomeCancelled
	case fetch.Network, fetch.DNS, fetch.Refused:
	}
	return event.OutcomeNetwork
}

// lose takes a link out of the download, until it is renewed.
func (o *owner) lose(reqs context.Context, id scheduler.LinkID, err error) {
	l := &o.links[id]
	if l.lost {
		return
	}
	l.lost, l.err = true, err
	o.closeOpened(id)
	o.step(reqs, scheduler.Input{Kind: scheduler.LinkDown, Link: id})
	if o.several() && !o.e.ofMany { // of one file of a batch others may still come over it
		o.changed(id, event.LinkLost, err.Error())
	}
}

// checkLost ends the download when no link is left, with the error that says
// most: what a server answered, rather than that another link had no server.
func (o *owner) checkLost() {
	if o.complete {
		return
	}
	worst, rank := error(nil), -1
	for i := range o.links {
		l := &o.links[i]
		if !l.there {
			continue
		}
		err := l.err
		if l.capped && !l.lost {
			err = fmt.Errorf("%s: %w", o.e.links[i].name(), ErrCapped)
		}
		if !l.lost && !l.capped {
			return
		}
		if r := rankOf(err); r > rank {
			worst, rank = err, r
		}
	}
	o.fail(worst)
}

// rankOf orders errors by how much they say about the object.
func rankOf(err error) int {
	switch {
	case errors.Is(err, ErrChanged):
		return 5
	case errors.Is(err, ErrCapped):
		return 1
	}
	switch classOf(err) {
	case fetch.Auth, fetch.Status, fetch.Unsatisfied:
		return 4
	case fetch.TLS:
		return 3
	case fetch.Protocol, fetch.Busy:
		return 2
	case fetch.Network:
		return 1
	case fetch.DNS, fetch.Refused, fetch.Canceled:
	}
	return 0
}
