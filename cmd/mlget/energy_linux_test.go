package main_test

import (
	"math"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/battery"
)

// TestEnergyInLab: what mlget makes of the laboratory's battery is what the
// laboratory says that its radios have spent.
func TestEnergyInLab(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 15e6, Battery: battery.Config{Every: 100 * time.Millisecond}},
		"wlan0,down=24,rtt=16,power=wifi-s7-mean", "rmnet0,down=16,rtt=30,power=wifi")
	meter := l.StartEnergy()
	// Asked twice as often as it looks, so that no reading of it is missed under load.
	r := l.fetch(t, l.URL(), "--sysfs", l.Sysfs(), "--power", "battery", "--power-interval", "50ms",
		"--power-baseline", "1s", "--tail", "1500ms", "--link", "rmnet0,tech=nr")
	meter.End()
	want := meter.Energy(linklab.UntilIdle).Total.Dynamic
	if r.Energy == nil {
		t.Fatal(r.EnergyUnavailable)
	}
	e := r.Energy
	got := e.DynamicJoules + e.TailJoules
	t.Logf("%.3f J and %.3f J of tail, the laboratory says %.3f (%+.2f %%)", e.DynamicJoules, e.TailJoules, want, 100*(got/want-1))
	if math.Abs(got/want-1) > 0.05 {
		t.Errorf("%g J, want %g", got, want)
	}
	if e.Modelled || e.TailCut || e.Covered < 0.99 || !r.Power.BaseMeasured || math.Abs(r.Power.BaseWatts-battery.DefaultBaseWatts) > 0.005 {
		t.Errorf("%+v, %+v", r.Power, e)
	}
	if len(e.PerLink) != 2 || e.PerLink["wlan0"].Model != "wifi" || e.PerLink["rmnet0"].Model != "nr" || e.PerLink["wlan0"].DynamicJoules <= 0 {
		t.Errorf("%+v", e.PerLink)
	}
}

// TestModelInLab: with the laboratory's own models, mlget's model of each link is
// close to it, though it sees no packets.
func TestModelInLab(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 15e6}, "wlan0,down=24,rtt=16,power=wifi", "rmnet0,down=16,rtt=30,power=lte")
	meter := l.StartEnergy()
	r := l.fetch(t, l.URL(), "--power", "model", "--power-interval", "100ms")
	meter.End()
	lab := meter.Energy(linklab.UntilIdle)
	if r.Energy == nil || !r.Energy.Modelled || r.Power == nil || r.Power.Source != "model" {
		t.Fatalf("%+v, %+v", r.Power, r.Energy)
	}
	for _, want := range lab.Links {
		e := r.Energy.PerLink[want.Name]
		got := e.DynamicJoules + e.TailJoules
		t.Logf("%s: %.3f J, the laboratory says %.3f (%+.2f %%)", want.Name, got, want.Dynamic, 100*(got/want.Dynamic-1))
		if math.Abs(got/want.Dynamic-1) > 0.1 {
			t.Errorf("%s: %+v, want %g J", want.Name, e, want.Dynamic)
		}
	}
}
