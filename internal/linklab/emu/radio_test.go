package emu

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/energy"
)

// near says whether two energies in J are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9 }

// TestRadioClosedForm sends a burst of which everything is known.
func TestRadioClosedForm(t *testing.T) {
	for _, looks := range []time.Duration{time.Hour, time.Millisecond} { // looking changes nothing
		synctest.Test(t, func(t *testing.T) {
			l := startLab(t, "link a,down=12,up=24,rtt=20,queue=1000,power=wifi\nlink b,down=1")
			r, ok := energy.Lookup("wifi")
			if !ok {
				t.Fatal("no model")
			}
			time.Sleep(time.Second) // idle
			l.up(1500, 0)           // leaves after 0.5 ms
			for i := range 100 {
				l.down(1500, byte(i)) // comes after 11, 12, ... 110 ms
			}
			for l.Elapsed() < 400*time.Millisecond {
				time.Sleep(min(looks, 400*time.Millisecond-l.Elapsed()))
				l.Radios()
			}
			at, radios := l.Radios()
			if at != 1400*time.Millisecond || len(radios) != 1 || radios[0].Link != "a" || radios[0].Model != "wifi" {
				t.Fatalf("at %v: %+v", at, radios)
			}
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			promotion, tail, hold := ms(r.PromotionTime), ms(r.TailTime), ms(r.Hold)
			want := energy.Energy{
				Idle:      r.Idle * (1000.5 + 1400 - 1110 - tail),
				Promotion: r.Promotion * promotion,
				Transfer:  r.Active*(110+hold-promotion-0.5) + 1e3*(r.Down*1.2+r.Up*0.012),
				Tail:      r.Tail * (tail - hold),
			}
			got := radios[0].Machine.Energy()
			if !near(got.Idle, want.Idle/1e6) || !near(got.Promotion, want.Promotion/1e6) || !near(got.Transfer, want.Transfer/1e6) || !near(got.Tail, want.Tail/1e6) {
				t.Errorf("%+v J, want %+v µJ", got, want)
			}
		})
	}
}

// TestWhatNeverCrossesCostsNothing: lost, refused by the queue, swallowed.
func TestWhatNeverCrossesCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=12,queue=1,rtt=200,power=lte\nat 100ms a loss 100\nat 200ms a loss 0\nat 350ms a down")
		spent := func() energy.Energy {
			_, radios := l.Radios()
			return radios[0].Machine.Energy()
		}
		r, ok := energy.Lookup("lte")
		if !ok {
			t.Fatal("no model")
		}
		bytes := func(down, up float64) float64 { return 8e-9 * (r.Down*down + r.Up*up) }
		l.down(1500, 0)
		l.at(90 * time.Millisecond)
		if e := spent(); e.Transfer != 0 || e.Promotion != 0 {
			t.Errorf("before it has come: %+v", e)
		}
		l.at(150 * time.Millisecond) // the first has come
		l.up(1500, 0)
		l.down(1500, 0)
		if e := spent(); !near(e.Transfer, bytes(1500, 0)) {
			t.Errorf("with what was lost: %+v, want %g", e, bytes(1500, 0))
		}
		l.at(220 * time.Millisecond)
		for range 5 {
			l.down(1500, 0) // two find room
		}
		l.at(340 * time.Millisecond)
		if e := spent(); !near(e.Transfer, bytes(4500, 0)) {
			t.Errorf("with what found no room: %+v, want %g", e, bytes(4500, 0))
		}
		l.up(1500, 0)   // leaves the client at once
		l.down(1500, 0) // never comes
		l.at(360 * time.Millisecond)
		if l.Quiet() != 20*time.Millisecond {
			t.Errorf("quiet for %v", l.Quiet())
		}
		l.up(1500, 0)
		l.at(30 * time.Second)
		// All of it came while the radio was being promoted, from 100 ms on.
		if e, want := spent(), bytes(4500, 1500)+1e-12*r.Active*float64(r.Hold); !near(e.Transfer, want) {
			t.Errorf("with what was swallowed: %+v, want %g", e, want)
		}
	})
}

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=12,rtt=200\nlink b,down=12")
		time.Sleep(time.Second)
		if q := l.Quiet(); q != time.Second {
			t.Errorf("at first %v", q)
		}
		l.up(1500, 0)
		l.at(50 * time.Millisecond)
		if q := l.Quiet(); q != 0 {
			t.Errorf("with a packet on its way %v", q)
		}
		l.at(300 * time.Millisecond)
		if q := l.Quiet(); q < 190*time.Millisecond || q > 200*time.Millisecond {
			t.Errorf("200 ms after it %v", q)
		}
	})
}

// TestNoModelChargesConnections: none is counted.
func TestNoModelChargesConnections(t *testing.T) {
	for _, name := range energy.Names() {
		if r, ok := energy.Lookup(name); !ok || r.PerConn != 0 {
			t.Errorf("%s charges for connections, which the emulator does not count", name)
		}
	}
}
