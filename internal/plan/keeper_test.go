package plan

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wire is a link over which a rate of bytes crosses as long as it is allowed.
type wire struct {
	rate int64 // bytes per second; from the beginning on
	low  chan struct{}

	mu      sync.Mutex
	crossed int64
	most    int64
	later   int64
	stops   int
}

func newWire(rate int64) *wire { return &wire{rate: rate, low: make(chan struct{}, 1)} }

func (w *wire) Low() <-chan struct{} { return w.low }

func (w *wire) Traffic() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.crossed
}

// waited is how often nothing was allowed though more was to come.
func (w *wire) waited() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stops
}

// more is how much more may be allowed later.
func (w *wire) more() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.later
}

func (w *wire) Allow(most, later int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most, w.later = most, later
}

// carry lets bytes cross, every 10 ms, until ctx ends.
func (w *wire) carry(ctx context.Context) {
	for ctx.Err() == nil {
		w.mu.Lock()
		n := min(w.rate/100, w.most-w.crossed)
		if n < w.rate/100 && w.later > 0 {
			w.stops++
			select {
			case w.low <- struct{}{}:
			default:
			}
		}
		w.crossed += max(0, n)
		w.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

// keeping keeps a wire's plan until the function it gives is called.
func keeping(t *testing.T, k *Keeper, w *wire, warn func(error)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() { k.Run(ctx, w, warn) })
	wait.Go(func() { w.carry(ctx) })
	return func() {
		cancel()
		wait.Wait()
		if err := k.Close(w); err != nil {
			t.Error(err)
		}
	}
}

// never fails where something is warned of.
func never(t *testing.T) func(error) { return func(err error) { t.Error(err) } }

// TestKeepersShareAPlan: two links, or programs, use all of a plan and not a byte more, one is
// ten times as fast as the other, and neither waits for its lease while much is left.
func TestKeepersShareAPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Plan{100 << 20, Monthly, 17}
		dir := t.TempDir()
		wires := []*wire{newWire(10 << 20), newWire(1 << 20)}
		var stops []func()
		for _, w := range wires {
			k, err := NewBook(dir, time.UTC).Keep("a", p)
			if err != nil || k.Spent() {
				t.Fatal(err)
			}
			stops = append(stops, keeping(t, k, w, never(t)))
		}
		time.Sleep(5 * time.Second)
		for i, w := range wires {
			// The first lease is small; afterwards they fit.
			if n := w.waited(); n > 10 {
				t.Errorf("wire %d waited %d times", i, n)
			}
		}
		time.Sleep(time.Minute)
		for _, stop := range stops {
			stop()
		}
		if n := wires[0].crossed + wires[1].crossed; n != p.Bytes || wires[1].crossed < 5<<20 {
			t.Errorf("%d and %d bytes of %d", wires[0].crossed, wires[1].crossed, p.Bytes)
		}
		left, err := NewBook(dir, time.UTC).Left("a", p)
		if left != 0 || err != nil {
			t.Errorf("%d bytes are left, %v", left, err)
		}
	})
}

// TestAKeeperGivesBack: a run that ends leaves what it did not use to others, one of which
// had nothing left.
func TestAKeeperGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Plan{1 << 20, Monthly, 1}
		b := NewBook(t.TempDir(), time.UTC)
		idle, err := b.Keep("a", p)
		if err != nil {
			t.Fatal(err)
		}
		k, err := b.Keep("a", p)
		if err != nil {
			t.Fatal(err)
		}
		w := newWire(1 << 20)
		stop := keeping(t, k, w, never(t))
		time.Sleep(time.Minute)
		held := idle.lease.Rest
		if w.Traffic() != p.Bytes-held {
			t.Errorf("%d bytes of %d, of which %d are lent to another", w.Traffic(), p.Bytes, held)
		}
		if err := idle.Close(nil); err != nil {
			t.Error(err)
		}
		time.Sleep(learnEvery + time.Second)
		stop()
		if w.Traffic() != p.Bytes {
			t.Errorf("%d bytes of %d", w.Traffic(), p.Bytes)
		}
	})
}

// TestAPeriodBeginsDuringARun: at midnight there is more.
func TestAPeriodBeginsDuringARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Plan{10 << 20, Daily, 0}
		k, err := NewBook(t.TempDir(), time.FixedZone("", 23*3600)).Keep("a", p)
		if err != nil {
			t.Fatal(err)
		}
		w := newWire(1 << 20)
		stop := keeping(t, k, w, never(t))
		time.Sleep(time.Hour - time.Second)
		if w.Traffic() != p.Bytes {
			t.Errorf("%d bytes of %d before midnight", w.Traffic(), p.Bytes)
		}
		time.Sleep(time.Minute)
		if w.Traffic() != 2*p.Bytes {
			t.Errorf("%d bytes of %d after midnight", w.Traffic()-p.Bytes, p.Bytes)
		}
		stop()
	})
}

// TestWhatIsUsedBeyondALeaseIsBooked: headers and what was on its way are not held back.
func TestWhatIsUsedBeyondALeaseIsBooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Plan{1 << 20, Monthly, 1}
		b := NewBook(t.TempDir(), time.UTC)
		k, err := b.Keep("a", p)
		if err != nil {
			t.Fatal(err)
		}
		w := newWire(0)
		w.crossed = 2 << 20
		k.look(w, never(t))
		if w.most != 2<<20 || w.later != 0 || !k.Spent() {
			t.Errorf("%d may cross, %d more later", w.most, w.later)
		}
		w.crossed += 1000
		if err := k.Close(w); err != nil {
			t.Error(err)
		}
		all, err := b.Statuses()
		if err != nil || all[0].Used != 2<<20+1000 || all[0].Left != 0 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestABookThatCannotBeKept: nothing is used that is not booked, one hears of it once, and when
// it lasts nothing more is to be expected.
func TestABookThatCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook(t.TempDir(), time.UTC)
		k, err := b.Keep("a", Plan{100 << 20, Monthly, 1})
		if err != nil {
			t.Fatal(err)
		}
		blocked := filepath.Join(b.dir, newName)
		if err := os.Mkdir(blocked, 0o700); err != nil {
			t.Fatal(err)
		}
		w := newWire(1 << 20)
		warned := 0
		stop := keeping(t, k, w, func(error) { warned++ })
		time.Sleep(5 * time.Second)
		if w.Traffic() != smallLease || w.more() == 0 {
			t.Errorf("%d bytes of a lease of %d, later %d", w.Traffic(), smallLease, w.more())
		}
		time.Sleep(learnEvery)
		if w.more() != 0 {
			t.Errorf("later %d", w.more())
		}
		if err := os.Remove(blocked); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		stop()
		if warned != 1 || w.Traffic() < 8<<20 {
			t.Errorf("%d warnings, %d bytes", warned, w.Traffic())
		}
	})
}
