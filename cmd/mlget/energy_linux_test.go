package main_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/battery"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestEnergyInLab: what mlget makes of the laboratory's battery is what that has
// shown, and this is what the laboratory says that its radios have spent, unless the
// machine is so busy that mlget came late to a reading, or the battery looked late itself:
// then it has shown something else, for which mlget is not to blame.
func TestEnergyInLab(t *testing.T) {
	t.Parallel()
	const every = 100 * time.Millisecond
	l := startLab(t, linklab.Config{Size: 30e6, Battery: battery.Config{Every: every}},
		"wlan0,down=24,rtt=16,power=wifi-s7-mean", "rmnet0,down=16,rtt=30,power=wifi")
	before, _ := l.Shown()
	meter := l.StartEnergy()
	// Asked twice as often as it looks, so that no reading of it is missed under load.
	r := l.fetch(t, l.URL(), "--sysfs", l.Sysfs(), "--power", "battery", "--power-interval", "50ms",
		"--power-baseline", "1s", "--tail", "1500ms", "--link", "rmnet0,tech=nr", "--record", "record.jsonl")
	meter.End()
	shown, late := l.Shown()
	shown -= before
	want := meter.Energy(linklab.UntilIdle).Total.Dynamic
	if r.Energy == nil {
		t.Fatal(r.EnergyUnavailable)
	}
	e := r.Energy
	got := e.DynamicJoules + e.TailJoules
	read := l.longestPause(t)
	t.Logf("%.3f J and %.3f J of tail, the battery showed %.3f (%+.2f %%), the laboratory says %.3f (%+.2f %%); the same for %v at most, read after %v",
		e.DynamicJoules, e.TailJoules, shown, 100*(got/shown-1), want, 100*(got/want-1), late, read)
	inTime := read < 4*every // before and after the download, it reads every 250 ms
	if inTime && math.Abs(got/shown-1) > 0.05 {
		t.Errorf("%g J, the battery showed %g", got, shown)
	}
	if inTime && late < 2*every && math.Abs(got/want-1) > 0.05 {
		t.Errorf("%g J, want %g", got, want)
	}
	if e.Modelled || inTime && (e.TailCut || e.Covered < 0.99) || !r.Power.BaseMeasured || math.Abs(r.Power.BaseWatts-battery.DefaultBaseWatts) > 0.005 {
		t.Errorf("%+v, %+v", r.Power, e)
	}
	if len(e.PerLink) != 2 || e.PerLink["wlan0"].Model != "wifi" || e.PerLink["rmnet0"].Model != "nr" || e.PerLink["wlan0"].DynamicJoules <= 0 {
		t.Errorf("%+v", e.PerLink)
	}
}

// TestStressInLab: mlget power --stress finds what the laboratory's battery shows
// with each radio at work, and with both. A battery of its own knows no processor.
func TestStressInLab(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 200e6, Battery: battery.Config{Every: 100 * time.Millisecond}},
		"wlan0,down=24,rtt=16,power=wifi-s7-mean", "rmnet0,down=16,rtt=30,power=wifi")
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := l.Command(ctx, "mlget", "power", "--stress", l.URL(), "--links", "wlan0,rmnet0", "--phase", "4s",
		"--sysfs", l.Sysfs(), "--power", "battery", "--power-interval", "100ms", "--json")
	c.Dir = l.dir
	r := finish(t, c, c.Cmd)
	r.want(t, 0)
	var s struct {
		Idle   float64 `json:"idle_watts"`
		Full   float64 `json:"full_load_watts"`
		Phases []struct {
			Name   string  `json:"name"`
			Mbps   float64 `json:"throughput_mbps"`
			Median float64 `json:"median_watts"`
			Peak   float64 `json:"peak_watts"`
		} `json:"phases"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &s); err != nil {
		t.Fatal(err)
	}
	// By docs/energy-models.md: 9.08 and 137.01 mW per Mbit/s, 532.8 and 132.86 mW, and
	// 0.7 W for the rest of the phone.
	const base, wifi, other = 0.7, (9.08*24 + 532.8) / 1000, (137.01*16 + 132.86) / 1000
	want := []struct {
		name        string
		mbps, watts float64
	}{
		{"idle", 0, base},
		{"wlan0", 24, base + wifi},
		{"rmnet0", 16, base + other},
		{"all links", 40, base + wifi + other},
		{"processor", 0, base},
		{"links and processor", 40, base + wifi + other},
	}
	if len(s.Phases) != len(want) {
		t.Fatalf("%+v", s)
	}
	slow := false
	for i, p := range s.Phases {
		w := want[i]
		// On a machine that does other things the laboratory's links come to a halt now and then.
		if i < len(want)-1 && p.Name == w.name && p.Mbps > 0 && p.Mbps < 0.75*w.mbps {
			slow = true
			if p.Median > 1.1*w.watts {
				t.Errorf("%+v, want %+v at most", p, w)
			}
			continue
		}
		// Tails and slow starts take their parts of 4 s.
		if i == len(want)-1 { // the laboratory's links need the processor that is at work
			if p.Name != w.name || p.Mbps <= 0 || p.Median < 1.1*base || p.Peak < p.Median {
				t.Errorf("%+v, want %+v", p, w)
			}
			continue
		}
		if p.Name != w.name || p.Mbps > w.mbps || math.Abs(p.Median/w.watts-1) > 0.1 || p.Peak < p.Median {
			t.Errorf("%+v, want %+v", p, w)
		}
	}
	if math.Abs(s.Idle/base-1) > 0.02 || !slow && math.Abs(s.Full/(base+wifi+other)-1) > 0.1 {
		t.Errorf("%v to %v W", s.Idle, s.Full)
	}
}

// throttled takes what is written to it at a rate, as who plays a video does.
type throttled struct {
	perSecond float64 // bytes
	begun     time.Time
	taken     float64
}

func (w *throttled) Write(p []byte) (int, error) {
	if w.begun.IsZero() {
		w.begun = time.Now()
	}
	w.taken += float64(len(p))
	time.Sleep(time.Until(w.begun.Add(time.Duration(w.taken / w.perSecond * float64(time.Second)))))
	return len(p), nil
}

// TestEMTCPStreamInLab: of a stream that the links are ahead of, the costly one gives
// up some of its share to the other (chen, III).
func TestEMTCPStreamInLab(t *testing.T) {
	t.Parallel()
	// The links are ahead even where a busy machine carries but half of what they should.
	const seconds, mbps = 24, 16
	l := startLab(t, linklab.Config{Size: seconds * mbps * 1e6 / 8}, "wlan0,down=24,rtt=40", "rmnet0,down=24,rtt=16")
	// What Chen's radios cost for a bit (table IV).
	check(t, os.WriteFile(filepath.Join(l.dir, "chen.json"), []byte(`{"radios": {
		"wifi": {"active_mw": 0, "down_mw_per_mbps": 61.5}, "lte": {"active_mw": 0, "down_mw_per_mbps": 541}}}`), 0o600))
	part := func(policy string) float64 {
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		c := l.command(ctx, "--energy", policy, "--energy-model", "chen.json", "--power", "none", "--report", policy+".json", "-o", "-", l.URL())
		out := &throttled{perSecond: mbps * 1e6 / 8}
		c.Stdout = out
		begun := time.Now()
		if err := c.Run(); err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		t.Logf("%s: %.1f s, and is read in %d", policy, time.Since(begun).Seconds(), seconds)
		r := readReport(t, filepath.Join(l.dir, policy+".json"))
		var all, costly int64
		for _, link := range r.Links {
			if all += link.Bytes; link.Name == "rmnet0" {
				costly = link.Bytes
			}
		}
		return float64(costly) / float64(all)
	}
	// While the buffer fills both are busy; after that the costly link keeps half of its share.
	off, half := part("off"), part("emtcp=0.5")
	t.Logf("the costly link carried %.3f and %.3f", off, half)
	if half > 0.75*off {
		t.Errorf("the costly link carried %.3f, with emtcp=0.5 %.3f", off, half)
	}
}

// longestPause is the longest time between two readings of the battery in the record.
func (l *lab) longestPause(t testing.TB) time.Duration {
	t.Helper()
	var last, longest scheduler.Time
	readings := 0
	for _, e := range l.events(t) {
		if p, ok := e.(event.Power); ok {
			if readings > 0 {
				longest = max(longest, p.At-last)
			}
			last = p.At
			readings++
		}
	}
	if readings < 10 {
		t.Fatalf("%d readings", readings)
	}
	return time.Duration(longest)
}

// TestModelOfLab: by the file that the laboratory hands out, mlget models what the
// laboratory counts, whatever the links are called and whoever made the radios.
func TestModelOfLab(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 15e6}, "wlan0,down=24,rtt=16,power=nr,perconn=300", "rmnet0,down=16,rtt=30,power=lte-s7-mean")
	meter := l.StartEnergy()
	r := l.fetch(t, l.URL(), "--energy-model", l.EnergyModel(), "-p", "1")
	meter.End()
	want := meter.Energy(linklab.UntilIdle)
	if r.Energy == nil || !r.Energy.Modelled {
		t.Fatalf("%+v, %s", r.Energy, r.EnergyUnavailable)
	}
	got := r.Energy.DynamicJoules + r.Energy.TailJoules
	t.Logf("%.3f J, the laboratory says %.3f (%+.2f %%)", got, want.Total.Dynamic, 100*(got/want.Total.Dynamic-1))
	if math.Abs(got/want.Total.Dynamic-1) > 0.1 { // 1 % where nothing else is at work
		t.Errorf("%g J, want %g", got, want.Total.Dynamic)
	}
	if a, b := r.Energy.PerLink["wlan0"], r.Energy.PerLink["rmnet0"]; a.Model != "wlan0" || a.Source != "linklab" || b.Model != "lte-s7-mean" {
		t.Errorf("%+v", r.Energy.PerLink)
	}
}

// TestModelInLab: with the laboratory's own models, mlget's model of each link is
// close to it, though it sees no packets.
func TestModelInLab(t *testing.T) {
	t.Parallel()
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
