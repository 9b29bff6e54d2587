package engine

import (
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// routineLook is from what time on the owner's next look waits for bytes: shorter waits
	// are for a decision that is due then.
	routineLook = 20 * scheduler.Millisecond
	// lookDelay is how much later than it should be a look is when no bytes come.
	lookDelay = 150 * scheduler.Millisecond
)

// lookout wakes the owner of transfers as soon as bytes come when a look at them is due. A
// process that is awake for bytes looks for less than one that a timer has to wake: each
// time costs a dozen context switches, most of them the Go runtime's.
type lookout struct {
	due  atomic.Int64  // the scheduler.Time of the next look; scheduler.Never: the owner knows
	bell chan struct{} // bytes have come since
}

func newLookout() *lookout {
	l := &lookout{bell: make(chan struct{}, 1)}
	l.due.Store(int64(scheduler.Never))
	return l
}

// set has the owner woken by the first bytes that come after wait, and returns for how long
// to sleep at most. It is for the owner.
func (l *lookout) set(now, wait scheduler.Time) time.Duration {
	l.due.Store(int64(now + wait))
	if wait >= routineLook {
		wait += lookDelay
	}
	return time.Duration(wait)
}

// came tells of bytes. It may be called from any goroutine.
func (l *lookout) came(now scheduler.Time) {
	due := l.due.Load()
	if int64(now) < due || !l.due.CompareAndSwap(due, int64(scheduler.Never)) {
		return
	}
	select {
	case l.bell <- struct{}{}:
	default:
	}
}
