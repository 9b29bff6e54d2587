package daemon

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestEnergyAddsUp: the expectation is the area below the watts, of each time in which there
// were readings, by hand; a counter's is the difference of its readings.
func TestEnergyAddsUp(t *testing.T) {
	s := scheduler.Second
	m := energyMeter{radios: new(radios)}
	var last reading
	for _, e := range []event.Event{
		event.PowerSource{Source: "battery"},
		event.Power{At: 1 * s, Source: "battery", Watts: 2},
		event.Power{At: 3 * s, Source: "battery", Watts: 4}, // 6 J
		event.Power{At: 5 * s, Source: "battery", External: true},
		event.Power{At: 9 * s, Source: "battery", Watts: 9},
		event.Power{At: 10 * s, Source: "battery", Watts: 1}, // 5 J
	} {
		m.add(e, &last)
	}
	last = reading{} // another sampler
	for _, e := range []event.Event{
		event.PowerSource{Source: "rapl"},
		event.Power{At: 20 * s, Source: "rapl", Counter: true},
		event.Power{At: 22 * s, Source: "rapl", Counter: true, Joules: 7, Watts: 3.5},
		event.Power{At: 23 * s, Source: "rapl", Counter: true, Joules: 8.5, Watts: 1.5, Over: time.Second},
	} {
		m.add(e, &last)
	}
	got := m.Energy()
	if math.Abs(got.Joules-19.5) > 1e-9 || math.Abs(got.Seconds-6) > 1e-9 || got.Source != "rapl" || got.Watts != 1.5 {
		t.Errorf("%+v", got)
	}
	m.rest(last)
	if got := m.Energy(); got.Watts != 0 || got.Joules != 19.5 {
		t.Errorf("at rest: %+v", got)
	}
}

// TestEnergyIsMeasuredWhileDownloading reads a battery that the test writes.
func TestEnergyIsMeasuredWhileDownloading(t *testing.T) {
	s, dir, sys := files(t), t.TempDir(), t.TempDir()
	battery := filepath.Join(sys, "class", "power_supply", "BAT0")
	if err := os.MkdirAll(battery, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"type": "Battery", "status": "Discharging", "power_now": "5000000", "present": "1", "scope": "System"} {
		if err := os.WriteFile(filepath.Join(battery, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := begin(t, dir, "--", "--power", "battery", "--power-interval", "100ms", "--sysfs", sys)
	if e := c.must("mlget.getEnergy", "token:").(map[string]any); e["joules"] != "0.000" {
		t.Errorf("before the first download: %v", e)
	}
	gid := c.must("aria2.addUri", []string{s.URL + "/f1"}, map[string]any{"max-download-limit": "300K"}).(string)
	var e map[string]any
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if e = c.must("mlget.getEnergy", "token:").(map[string]any); e["joules"] != "0.000" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing is measured: %v", e)
		}
	}
	if e["source"] != "battery" || e["watts"] != "5.000" {
		t.Error(e)
	}
	c.must("aria2.pause", gid)
	for deadline := time.Now().Add(time.Minute); c.must("mlget.getEnergy", "token:").(map[string]any)["watts"] != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it goes on measuring while nothing is downloaded")
		}
	}
}
