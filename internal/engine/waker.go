package engine

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/timerfd"
	"github.com/mlget/mlget/pkg/scheduler"
)

// wakeDelay is by how much a look is late when bytes have come lately and then stop: less than the shortest
// silence that counts.
const wakeDelay = 150 * scheduler.Millisecond

// waker wakes the owner of transfers with the first bytes that come after a look at them is due: a process
// that is awake for bytes looks at lower cost than one that a timer has to wake. Its timer is for when no
// bytes come.
type waker struct {
	due  atomic.Int64  // the scheduler.Time of the next look; scheduler.Never: the bell has been rung for it
	last atomic.Int64  // the scheduler.Time when bytes came last
	bell chan struct{} // bytes have come since the look was due, or it is time

	timer *time.Timer    // until there is an alarm
	alarm *timerfd.Timer // nil: there is none
	tried bool           // an alarm was asked for: there is one, or there can be none
}

func newWaker() *waker {
	l := &waker{bell: make(chan struct{}, 1), timer: time.NewTimer(0)}
	l.due.Store(int64(scheduler.Never))
	return l
}

// chooseTimer has the kernel's timer used from now on if a connection over which bytes come is a socket. It
// is for the owner.
func (l *waker) chooseTimer(conn net.Conn) {
	if l.tried || !link.IsSocket(conn) {
		return
	}
	l.tried = true
	if a, err := timerfd.New(l.bell); err == nil {
		l.timer.Stop()
		l.alarm = a
	}
}

// sleep has the owner woken after d, by its timer or the bell. It is for the owner.
func (l *waker) sleep(d time.Duration) {
	if l.alarm != nil {
		l.alarm.Set(d)
		return
	}
	l.timer.Reset(d)
}

func (l *waker) close() {
	l.timer.Stop()
	if l.alarm != nil {
		l.alarm.Close()
	}
}

// set has the owner woken by the first bytes that come from look on, and returns for how long it may sleep
// at most. due is when it has to be awake even if no bytes come. It is for the owner.
func (l *waker) set(now, look, due scheduler.Time) time.Duration {
	l.due.Store(int64(look))
	until := look
	if now-scheduler.Time(l.last.Load()) < wakeDelay {
		until = min(look+wakeDelay, due)
	}
	return time.Duration(max(0, until-now))
}

// bytesCame tells of bytes. It may be called from any goroutine.
func (l *waker) bytesCame(now scheduler.Time) {
	l.last.Store(int64(now))
	due := l.due.Load()
	if int64(now) < due || !l.due.CompareAndSwap(due, int64(scheduler.Never)) {
		return
	}
	select {
	case l.bell <- struct{}{}:
	default:
	}
}
