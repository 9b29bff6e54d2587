package engine

import (
	"context"
	"errors"
	"fmt"
	"syscall"

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

// outcomeOf is what an error is called to observers.
func outcomeOf(err error) event.Outcome {
	switch c := classOf(err); {
	case errors.Is(err, fetch.ErrStalled):
		return event.OutcomeNetwork
	case c == fetch.TLS:
		return event.OutcomeTLS
	case c == fetch.Auth, c == fetch.Status, c == fetch.Busy, c == fetch.Unsatisfied:
		return event.OutcomeStatus
	case c == fetch.Protocol, errors.Is(err, ErrChanged):
		return event.OutcomeProtocol
	case c == fetch.Canceled:
		return event.OutcomeCancelled
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
	if o.several() && !o.e.ofBatch { // of one file of a batch others may still come over it
		o.changed(id, event.LinkLost, err.Error())
	}
}

// allLost is what ends it all when no link is left, and there is something left to fetch.
// nil: there is a link.
func (o *owner) allLost() error {
	if o.complete {
		return nil
	}
	return o.noneLeft()
}

// noneLeft is why no link is left, the error that says most: what a server answered, rather
// than that another link had no server. nil: there is a link.
func (o *owner) noneLeft() error {
	worst, rank := error(nil), -1
	for i := range o.links {
		l := &o.links[i]
		if !l.there {
			continue
		}
		err := l.err
		if l.quota.exhausted && !l.lost {
			err = fmt.Errorf("%s: %w", o.e.links[i].Name(), ErrCapped)
		}
		if !l.lost && !l.quota.exhausted {
			return nil
		}
		if r := rankOf(err); r > rank {
			worst, rank = err, r
		}
	}
	return worst
}

// unfetched is what ends a batch, as those of its files hear it that have no error of
// their own: its text names nobody else's file or server. What it was is below.
type unfetched struct {
	why string
	err error
}

func (e *unfetched) Error() string { return "not fetched: " + e.why }
func (e *unfetched) Unwrap() error { return e.err }

// noLink says that no link is left, because of err; nil: there is one. That all have
// carried what they may is nobody's failure.
func noLink(err error) error {
	if err == nil || errors.Is(err, ErrCapped) {
		return err
	}
	why := classOf(err).String()
	if fe, ok := errors.AsType[*fetch.Error](err); ok && fe.Status != 0 {
		why = fmt.Sprintf("server answered %d", fe.Status)
	}
	if no := syscall.Errno(0); errors.As(err, &no) {
		why = no.Error()
	}
	return &unfetched{fmt.Sprintf("no link is left (%s)", why), err}
}

// noRoom says that the disk has none, as err has it.
func noRoom(err error) error {
	no := syscall.Errno(0)
	errors.As(err, &no)
	return &unfetched{no.Error(), err}
}

// ownError is the error of a file's own when no link is left to fetch it, if it has one.
func (b *batch) ownError(f *file) error {
	if errors.As(b.err, new(*unfetched)) && !full(b.err) {
		return f.lastFailure
	}
	return nil
}

// rankOf orders errors by how much they say about the object.
func rankOf(err error) int {
	switch {
	case errors.Is(err, errStartOver):
		return 6
	case errors.Is(err, ErrChanged), errors.Is(err, ErrLonger):
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
