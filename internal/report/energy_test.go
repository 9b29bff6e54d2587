package report

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/pkg/scheduler"
)

// tech gives the links of a run technologies, and what the kernel counted.
func tech(events []event.Event, techs ...string) []event.Event {
	events = slices.Clone(events)
	begun := events[0].(event.RunStarted)
	begun.Links = slices.Clone(begun.Links)
	for i, t := range techs {
		begun.Links[i].Tech = t
	}
	events[0] = begun
	ended := events[len(events)-1].(event.RunEnded)
	ended.Links = slices.Clone(ended.Links)
	ended.Links[0].TCP = event.TCPSegments{In: 35000, Out: 17000, DataIn: 34530, DataOut: 2}
	events[len(events)-1] = ended
	return events
}

// steady is a reading of a gauge every 100 ms, n times.
func steady(at time.Duration, n int, watts float64) []event.Event {
	return gauge(at, 100*time.Millisecond, slices.Repeat([]float64{watts}, n)...)
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 2e-6*max(1, math.Abs(want)) { // it is rounded
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestMeasuredEnergy: 1 W before 0.1 s, 3 W to 5.1 s, 2 W for a second, 1 W again.
func TestMeasuredEnergy(t *testing.T) {
	events := slices.Concat(
		[]event.Event{event.PowerSource{Source: "battery", Interval: 40 * time.Millisecond}},
		gauge(0, 20*time.Millisecond, 1, 1, 1, 1, 1),
		steady(120*time.Millisecond, 1, 3), steady(200*time.Millisecond, 50, 3), steady(5200*time.Millisecond, 10, 2), steady(6200*time.Millisecond, 3, 1),
	)
	r := build(tech(powered(events...), "wifi", "lte"))
	e := r.Energy
	if e == nil || e.Modelled || e.TailCut || !r.Power.BaseMeasured || r.EnergyUnavailable != "" {
		t.Fatalf("%+v, %+v, %q", r.Power, e, r.EnergyUnavailable)
	}
	near(t, "dynamic", e.DynamicJoules, 10) // 0.01 J of it before 0.1 s, on the way from 1 to 3 W
	near(t, "total", e.TotalJoules, 15)
	near(t, "tail", e.TailJoules, 1.05) // the last reading above base was at 6.1 s, the first at base at 6.2 s
	near(t, "tail's time", e.TailSeconds, 1.1)
	near(t, "per 100 MB", e.JoulesPer100MB, 10/0.75)
	near(t, "Mbit/s per J", e.MbpsPerJoule, 12)
	near(t, "covered", e.Covered, 1)
	if len(e.PerLink) != 2 || !e.PerLink["wlan0"].Modelled || e.PerLink["rmnet0"].Model != "lte" || e.PerLink["rmnet0"].DynamicJoules <= 0 {
		t.Errorf("%+v", e.PerLink)
	}
	// 34532 packets and 17468 bare ACKs on an iPAQ; none of it is in any other sum.
	near(t, "TCP", e.TCPComputationJoules, 1e-6*(34532*6090+(470+16998)*176))
	near(t, "TCP of wlan0", e.PerLink["wlan0"].TCPComputationJoules, e.TCPComputationJoules)
	if got, want := energyLine(r), "energy: 10.0 J dynamic (battery, 25 Hz, 69 samples), 13.3 J per 100 MB, tail 1.1 J\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	// Without the time before, and without the end of the tail.
	r = build(powered(slices.Concat(events[:1], steady(200*time.Millisecond, 5, 1.2), steady(700*time.Millisecond, 60, 3))...))
	if r.Energy == nil || r.Power.BaseMeasured || !r.Energy.TailCut || len(r.Energy.PerLink) != 0 {
		t.Fatalf("%+v, %+v", r.Power, r.Energy)
	}
	if line := energyLine(r); !strings.HasSuffix(line, ", tail 2.7 J and more: it was cut; at least: the base was not measured (--power-baseline)\n") {
		t.Errorf("%q", line)
	}

	// A radio that was awake from another download when the base was measured.
	r = build(powered(slices.Concat(events[:1], gauge(0, 20*time.Millisecond, 3, 3, 3, 3, 3), steady(200*time.Millisecond, 60, 2))...))
	if r.Energy == nil || !r.Power.BaseMeasured || r.Energy.DynamicJoules >= 0 {
		t.Fatalf("%+v, %+v", r.Power, r.Energy)
	}
	if line := energyLine(r); !strings.HasSuffix(line, "; the base was too high: the device drew more before the start than after it\n") {
		t.Errorf("%q", line)
	}
}

// TestUtilisation: what a run drew of what the device can draw (skjolden, 7.4.5).
func TestUtilisation(t *testing.T) {
	models, err := energy.ParseModels([]byte(`{"full_load_mw": 5000}`))
	if err != nil {
		t.Fatal(err)
	}
	events := powered(slices.Concat(
		[]event.Event{event.PowerSource{Source: "battery", Interval: 40 * time.Millisecond}},
		gauge(0, 20*time.Millisecond, 1, 1, 1, 1, 1), steady(120*time.Millisecond, 1, 3), steady(200*time.Millisecond, 70, 3),
	)...)
	b := Builder{Models: *models}
	for _, e := range events {
		b.Add(e)
	}
	r := b.Report()
	near(t, "full load", r.Energy.FullLoadWatts, 5)
	near(t, "utilisation", r.Energy.Utilisation, 3.0/5)
	if line := energyLine(r); !strings.Contains(line, ", 60 % of full load") {
		t.Errorf("%q", line)
	}
}

// TestCountedEnergy is of a counter, which is exact whatever its intervals.
func TestCountedEnergy(t *testing.T) {
	counter := func(at time.Duration, over time.Duration, joules float64) event.Event {
		return event.Power{At: scheduler.Time(at), Source: "odpm", Counter: true, Over: over, Joules: joules, Watts: 1}
	}
	const ms = time.Millisecond
	r := build(powered(
		event.PowerSource{Source: "odpm", Interval: 50 * ms},
		counter(0, 0, 0), counter(50*ms, 50*ms, 0.05), counter(100*ms, 50*ms, 0.1),
		counter(5100*ms, 5*time.Second, 20.1), counter(6100*ms, time.Second, 21.1), counter(7100*ms, time.Second, 22.1), counter(8100*ms, time.Second, 23.1),
	))
	if r.Energy == nil || r.Power.BaseWatts != 1 || !r.Power.BaseMeasured {
		t.Fatalf("%+v, %+v", r.Power, r.Energy)
	}
	near(t, "dynamic", r.Energy.DynamicJoules, 15)
	near(t, "tail", r.Energy.TailJoules, 0)
}

func TestModelledEnergy(t *testing.T) {
	plain := tech(eventtest.TwoLinks(), "wifi", "lte")
	r := build(plain)
	e := r.Energy
	if e == nil || !e.Modelled || r.Power != nil || r.PowerUnavailable != noPower || len(e.PerLink) != 2 {
		t.Fatalf("%+v, %+v", r.Power, e)
	}
	var dynamic, tail float64
	for name, l := range e.PerLink {
		if !l.Modelled || l.Model == "" || l.Source == "" {
			t.Errorf("%s: %+v", name, l)
		}
		dynamic += l.DynamicJoules
		tail += l.TailJoules
	}
	near(t, "dynamic", e.DynamicJoules, dynamic)
	near(t, "tail", e.TailJoules, tail)
	near(t, "total", e.TotalJoules, dynamic+5*(1.9+20.05)/1e3)
	near(t, "Mbit/s per J", e.MbpsPerJoule, 120/dynamic)
	// LTE draws 1.288 W for some 5 s, WiFi 137 mW per Mbit/s for 408 Mbit.
	if dynamic < 60 || dynamic > 85 || tail < 10 || tail > 13 {
		t.Errorf("%g J, and %g J of tail", dynamic, tail)
	}
	if line := energyLine(r); !strings.HasPrefix(line, "modelled: ") || !strings.Contains(line, " J dynamic (lte, wifi: generic radios), ") {
		t.Errorf("%q", line)
	}

	// A file of models rules.
	models, err := energy.ParseModels([]byte(`{"device": "x", "radios": {"wifi": {"like": "ethernet"}, "lte": {"like": "lte-2021", "tail_mw": 170}}}`))
	if err != nil {
		t.Fatal(err)
	}
	b := Builder{Models: *models}
	for _, ev := range plain {
		b.Add(ev)
	}
	ofDevice := b.Report()
	if line := energyLine(ofDevice); !strings.Contains(line, " J dynamic (lte), ") {
		t.Errorf("%q", line)
	}
	own := ofDevice.Energy
	if own == nil || own.PerLink["wlan0"].DynamicJoules != 0 || own.PerLink["rmnet0"].Source != "x" || own.PerLink["rmnet0"].Model != "lte" || own.PerLink["wlan0"].Model != "ethernet" || own.DynamicJoules >= dynamic {
		t.Errorf("%+v", own)
	}

	// What a sampler makes of the model is power, and no measured energy.
	r = build(tech(powered(
		event.PowerSource{Source: "model", Interval: time.Second},
		event.Power{Source: "model", Counter: true},
		event.Power{At: 5 * scheduler.Second, Source: "model", Counter: true, Over: 5 * time.Second, Watts: 12, Joules: 60},
	), "wifi", "lte"))
	if r.Power == nil || r.Power.Source != "model" || r.Power.PeakWatts != 12 || r.Power.BaseMeasured || r.Power.BaseWatts != 0.02195 {
		t.Errorf("%+v", r.Power)
	}
	if r.Energy == nil || !r.Energy.Modelled || r.Energy.DynamicJoules != e.DynamicJoules {
		t.Errorf("%+v", r.Energy)
	}
}

// TestNoEnergy: rather none than one that leaves something out.
func TestNoEnergy(t *testing.T) {
	external := event.Power{At: 3 * scheduler.Second, Source: "battery", Watts: 9, External: true}
	some := gauge(0, time.Second, 1, 2, 3, 2, 3, 2)
	for _, c := range []struct {
		name   string
		events []event.Event
		want   string // why
	}{
		{"no models", eventtest.TwoLinks(), "not measured; there is no model of the radio of wlan0, rmnet0"},
		{"a model for one", tech(eventtest.TwoLinks(), "wifi"), "not measured; there is no model of the radio of rmnet0"},
		{"wires", tech(eventtest.TwoLinks(), "ethernet", "ethernet"), "not measured; the models charge nothing for its links"},
		{"plugged in", powered(append(some, external)...), "on external power for a part of the run; there is no model of the radio of wlan0, rmnet0"},
		{"one reading", powered(gauge(time.Second, time.Second, 1)...), "there are too few readings; there is no model of the radio of wlan0, rmnet0"},
		{"nothing came", eventtest.Empty(), "nothing was downloaded"},
		{"no event", nil, "nothing was downloaded"},
	} {
		r := build(c.events)
		if r.Energy != nil || r.EnergyUnavailable != c.want {
			t.Errorf("%s: %+v, %q; want %q", c.name, r.Energy, r.EnergyUnavailable, c.want)
		}
		if line := energyLine(r); line != "" {
			t.Errorf("%s: %q", c.name, line)
		}
	}
	if r := build(powered(slices.Concat(some, []event.Event{event.Power{At: 9 * scheduler.Second, External: true}})...)); r.Energy == nil {
		t.Errorf("plugged in after the end: %q", r.EnergyUnavailable)
	}
}

// TestEnergyInSummary: the line is the last one.
func TestEnergyInSummary(t *testing.T) {
	var s bytes.Buffer
	if err := WriteSummary(&s, build(tech(eventtest.TwoLinks(), "wifi", "lte")), Detail{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(s.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "modelled: ") {
		t.Errorf("%q", last)
	}
}
