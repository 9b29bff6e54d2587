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
	// allowanceShare is the part of what is left that one reader reserves at most: it may wait for its
	// bytes while others could read theirs.
	allowanceShare = 8
	// allowanceLeast is how many bytes one reader may reserve in any case: fewer are not worth the calls.
	allowanceLeast = int64(4) << 10
)

// allowance is how many bytes of payload a link may receive, over all downloads of the run. The scheduler
// asks for no more than that, as far as it knows; the allowance holds even when several downloads ask at
// once, or a response is too long. What the kernel has already received cannot be refused.
//
// A data plan grants it in portions (Link.Allow), and counts more than payload.
type allowance struct {
	bounded bool         // set before the first arrival
	got     atomic.Int64 // bytes received

	mu    sync.Mutex
	most  int64         // bytes that may be received by now, in all
	later int64         // bytes that a plan may grant beyond that
	extra int64         // bytes that a plan counts beside those received, such as headers
	taken int64         // bytes received or reserved
	back  chan struct{} // closed when bytes are given back or granted; nil: no reader waits for that
	low   chan struct{} // gets a value when half of the last portion of a plan is taken
	half  int64         // the sum of taken and extra at which that is
}

// take reserves up to n bytes for t; 0: none is left. While the last ones are reserved by others, it waits
// until they are given back, or more is granted.
func (a *allowance) take(ctx context.Context, t *transfer, n int64) (int64, error) {
	if !a.bounded {
		return n, nil
	}
	for {
		some, back := a.try(n)
		if back == nil {
			return some, nil
		}
		t.waits.Store(true)
		select {
		case <-back:
			t.waits.Store(false)
		case <-ctx.Done():
			return 0, &fetch.Error{Class: fetch.Canceled, Err: context.Cause(ctx)}
		}
	}
}

// try is take without waiting: where back is not nil, nothing is reserved, and back is closed when it is
// worth another try.
func (a *allowance) try(n int64) (some int64, back <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := max(0, a.most-a.taken-a.extra)
	some = min(n, left, max(left/allowanceShare, allowanceLeast))
	a.taken += some
	a.tellLow()
	if some > 0 || a.rest() == 0 {
		return some, nil
	}
	if a.back == nil {
		a.back = make(chan struct{})
	}
	return 0, a.back
}

// tellLow asks for the next portion of a plan when half of the last one is taken; mu is held.
func (a *allowance) tellLow() {
	if a.later > 0 && a.taken+a.extra >= a.half {
		select {
		case a.low <- struct{}{}:
		default: // it has been told
		}
	}
}

// rest is how many bytes may still be received; mu is held.
func (a *allowance) rest() int64 { return max(0, a.most+a.later-a.got.Load()-a.extra) }

// total is how many bytes may be received, and how many of them still.
func (a *allowance) total() (all, rest int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most + a.later, a.rest()
}

// affords says whether so many bytes are left; of an unknown length (-1) they may be.
func (a *allowance) affords(n int64) bool { return n <= a.left() }

// left is how many bytes may still be received and are not reserved.
func (a *allowance) left() int64 {
	if !a.bounded {
		return math.MaxInt64
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, a.most+a.later-a.taken-a.extra)
}

// spend counts bytes that were received without being reserved.
func (a *allowance) spend(received int64) { a.receive(0, received) }

// receive counts the bytes received of those reserved, and gives the others back.
func (a *allowance) receive(reserved, received int64) {
	if !a.bounded {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken += received - reserved
	a.got.Add(received)
	a.tellLow()
	a.wake()
}

// wake has the waiting readers try again; mu is held.
func (a *allowance) wake() {
	if a.back != nil {
		close(a.back)
		a.back = nil
	}
}

// count takes how many bytes have crossed the link in all, by the kernel's count, and returns how many are
// used. Those beyond the bytes received are headers, and bytes that were not read yet.
func (a *allowance) count(crossed int64) (used int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.extra = max(0, crossed-a.got.Load())
	return a.got.Load() + a.extra
}

// allow grants most bytes in all by now, with what a plan counts beside them, and says that up to later
// more may follow. more says that clearly more is left than before.
func (a *allowance) allow(most, later int64) (more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.rest()
	if most != a.most { // a new portion
		a.half = most - max(0, most-a.taken-a.extra)/2
	}
	a.most, a.later = most, later
	a.wake()
	return a.rest()-before > before/allowanceShare
}

// noteSpent looks up what links with an allowance have received. It has to precede the count of the
// transfers' progress, and tellSpent has to follow it: bytes that come in between would otherwise be told
// twice.
func (o *owner) noteSpent() {
	for id := range o.links {
		if l := o.e.links[id]; o.links[id].there && l.allowance.bounded {
			_, rest := l.allowance.total()
			o.links[id].quota.noted = o.links[id].quota.cap - rest
		}
	}
}

// tellSpent tells the scheduler what noteSpent has found: other downloads spend the allowance, too.
func (o *owner) tellSpent(reqs context.Context) {
	for id := range o.links {
		if l := &o.links[id]; l.quota.noted > l.quota.spent {
			l.quota.spent = l.quota.noted
			o.step(reqs, scheduler.Input{Kind: scheduler.Spent, Link: scheduler.LinkID(id), Bytes: l.quota.spent})
		}
	}
}

// capped handles the end of a transfer for which nothing was left of its link's
// allowance.
func (o *owner) capped(t *transfer) diagnosis {
	if !o.singleStream {
		return diagnosis{outcome: event.OutcomeCancelled, retry: true, wait: backoffFirst}
	}
	o.links[t.link].quota.exhausted = true
	o.changed(t.link, event.LinkCapped, ErrCapped.Error())
	return diagnosis{outcome: event.OutcomeCancelled, retry: true}
}

// rest notes and publishes that the scheduler has sent a link to rest, or has woken it, and why.
func (o *owner) rest(a scheduler.Action) {
	l := &o.links[a.Link]
	l.use.resting = a.Kind == scheduler.Rest
	l.quota.exhausted = l.use.resting && a.Why == scheduler.ReasonCapped
	l.use.reason = a.Text()
	state, said := event.LinkUnused, "used"
	switch {
	case l.quota.exhausted:
		state, said = event.LinkCapped, "capped"
	case l.use.taken:
		state = event.LinkUsed
	}
	if l.use.resting && !l.quota.exhausted {
		said = "left idle"
		if l.use.taken {
			l.use.reason = "then left idle: " + l.use.reason
		}
	}
	o.e.cfg.Bus.Publish(event.LinkChanged{At: o.e.now(), Link: a.Link, State: state, Reason: l.use.reason})
	o.e.notice(false, "%s %s: %s", o.e.links[a.Link].Name(), said, a.Text())
}
