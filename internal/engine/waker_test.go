package engine

import (
	"testing"
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// The owner is woken by bytes once a look is due, once for each look, and sleeps longer only
// while bytes come.
func TestBytesWakeTheOwnerWhenALookIsDue(t *testing.T) {
	const ms = scheduler.Millisecond
	l := newWaker()
	rung := func() bool {
		select {
		case <-l.bell:
			return true
		default:
			return false
		}
	}
	wait := func(now, look, due, want scheduler.Time) {
		t.Helper()
		if got := l.set(now, look, due); got != time.Duration(want) {
			t.Errorf("at %v it sleeps for %v, want %v", now, got, time.Duration(want))
		}
	}
	wait(1000*ms, 1050*ms, scheduler.Never, 50*ms) // no bytes have come
	l.bytesCame(1049 * ms)
	if rung() {
		t.Error("woken before a look is due")
	}
	for range 2 {
		l.bytesCame(1050 * ms)
	}
	if !rung() || rung() {
		t.Error("not woken once")
	}
	wait(1050*ms, 1100*ms, scheduler.Never, 200*ms)
	wait(1050*ms, 1100*ms, 1110*ms, 60*ms)         // there is something to decide
	wait(1050*ms, 1040*ms, 1040*ms, 0)             // there was
	wait(1200*ms, 1250*ms, scheduler.Never, 50*ms) // bytes have stopped
}
