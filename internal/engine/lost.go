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

// permanent says whether an error will come again however often one tries. A refused connection and an
// unknown host will, unless there was an answer before.
func permanent(fe *fetch.Error, answered bool) bool {
	if fe.Class == fetch.Refused || fe.Class == fetch.DNS {
		return !answered
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
	if l.lost() {
		return
	}
	l.err = err
	o.closeOpened(id)
	o.step(reqs, scheduler.Input{Kind: scheduler.LinkDown, Link: id})
	if o.several() && !o.e.batch.known { // other files of a batch may still come over it
		o.changed(id, event.LinkLost, err.Error())
	}
}

// allLost is the error with which to end when no link is left and something is still to be fetched; nil:
// there is a link.
func (o *owner) allLost() error {
	if o.complete {
		return nil
	}
	return o.noneLeft()
}

// noneLeft is why no link is left: the error that says most, as what a server answered rather than that
// another link had none. nil: there is a link.
func (o *owner) noneLeft() error {
	worst, rank := error(nil), -1
	for i := range o.links {
		l := &o.links[i]
		if !l.there {
			continue
		}
		err := l.err
		if l.quota.exhausted && !l.lost() {
			err = fmt.Errorf("%s: %w", o.e.links[i].Name(), ErrCapped)
		}
		if !l.lost() && !l.quota.exhausted {
			return nil
		}
		if r := rankOf(err); r > rank {
			worst, rank = err, r
		}
	}
	return worst
}

// unfetched is the error of a batch as its files have it that have none of their own: its text names no
// other file or server. It wraps what has happened.
type unfetched struct {
	why string
	err error
}

func (e *unfetched) Error() string { return "not fetched: " + e.why }
func (e *unfetched) Unwrap() error { return e.err }

// noLink is the error of a batch that has no link left because of err; nil: there is one. Spent allowances
// are no failure, and are named as they are.
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

// noRoom is the error of a batch for which the disk has no room.
func noRoom(err error) error {
	no := syscall.Errno(0)
	errors.As(err, &no)
	return &unfetched{no.Error(), err}
}

// ownError is a file's own error where the batch ends because no link is left; nil: it has none.
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
