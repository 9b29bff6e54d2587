package engine

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// ErrCapped says that a link has carried all that it may, and no other is left.
var ErrCapped = errors.New("its allowance of bytes is spent")

const (
	// allowanceShare is what part of what is left one reader reserves at most: it may wait
	// for its bytes, and others have theirs at hand.
	allowanceShare = 8
	// allowanceLeast is from how many bytes on that is not worth the calls.
	allowanceLeast = int64(4) << 10
)

// allowance is how many bytes of payload a link may receive, over all downloads
// and over the run. The scheduler asks for no more than that, as far as it knows;
// this is what holds when several downloads ask at once, or a response is longer
// than it was to be. What the kernel has received by then, nobody can refuse.
type allowance struct {
	most int64        // bytes; 0: no bound
	got  atomic.Int64 // bytes received

	mu    sync.Mutex
	taken int64         // bytes received, and those that readers are about to
	back  chan struct{} // closed when some are given back; nil: nobody waits for that
}

// take reserves up to n bytes for t; 0: all have been received. While the last are
// reserved by others, it waits for what those leave.
func (a *allowance) take(ctx context.Context, t *transfer, n int64) (int64, error) {
	if a.most == 0 {
		return n, nil
	}
	for {
		some, back := a.try(n)
		if back == nil {
			return some, nil
		}
		t.held.Store(true)
		select {
		case <-back:
			t.held.Store(false)
		case <-ctx.Done():
			return 0, &fetch.Error{Class: fetch.Canceled, Err: context.Cause(ctx)}
		}
	}
}

// try is take, but says when to try again instead of waiting.
func (a *allowance) try(n int64) (some int64, back <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := max(0, a.most-a.taken)
	some = min(n, left, max(left/allowanceShare, allowanceLeast))
	a.taken += some
	if some > 0 || a.got.Load() >= a.most {
		return some, nil
	}
	if a.back == nil {
		a.back = make(chan struct{})
	}
	return 0, a.back
}

// affords says whether so many bytes are left; of an unknown length (-1) they may be.
func (a *allowance) affords(n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most == 0 || n <= a.most-a.taken
}

// left is how many bytes may still be received, and nobody has reserved.
func (a *allowance) left() int64 {
	if a.most == 0 {
		return math.MaxInt64
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, a.most-a.taken)
}

// spend says that so many bytes were received that nobody had reserved.
func (a *allowance) spend(received int64) { a.receive(0, received) }

// receive says that of the bytes reserved so many were received; the others are
// given back.
func (a *allowance) receive(reserved, received int64) {
	if a.most == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken += received - reserved
	a.got.Add(received)
	if a.back != nil {
		close(a.back)
		a.back = nil
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
// allowance.
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
