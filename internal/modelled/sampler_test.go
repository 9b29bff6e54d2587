package modelled

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play publishes a run's events when they happen, and returns what the sampler
// makes of them.
func play(t *testing.T, run event.RunStarted, interval, linger time.Duration, events func(func(event.Event))) (powers []event.Power, sources []event.PowerSource) {
	synctest.Test(t, func(*testing.T) {
		var bus event.Bus
		sub := bus.Subscribe()
		run.Started = time.Now()
		bus.Publish(run)
		s := Start(Config{Interval: interval, Run: run, Bus: &bus})
		s.Linger(context.Background(), 3*time.Second)
		base := scheduler.Time(time.Since(run.Started))
		events(func(e event.Event) {
			var at scheduler.Time
			switch c := e.(type) {
			case event.RunStarted, event.RunEnded:
				return
			case event.RequestStarted:
				c.At += base
				at, e = c.At, c
			case event.RequestEnded:
				c.At += base
				c.LastByte += base
				at, e = c.At, c
			case event.Sample:
				c.At += base
				at, e = c.At, c
			}
			time.Sleep(time.Duration(at) - time.Since(run.Started))
			bus.Publish(e)
		})
		s.Linger(context.Background(), linger)
		s.Stop()
		s.Stop() // does no harm
		bus.Publish(event.RunEnded{})
		bus.Close()
		for e := range sub.All() {
			switch e := e.(type) {
			case event.Power:
				powers = append(powers, e)
			case event.PowerSource:
				sources = append(sources, e)
			}
		}
	})
	return powers, sources
}

// TestSampler watches a download of 4 s and LTE's tail: its counter says in the end
// what the radios have spent, and its watts add up to it.
func TestSampler(t *testing.T) {
	powers, sources := play(t, started(), 500*time.Millisecond, 14*time.Second, download)
	if len(sources) != 1 || sources[0].Source != Source || sources[0].Detail != "wlan0: wifi, rmnet0: lte" || sources[0].Unavailable != "" {
		t.Errorf("%+v", sources)
	}
	if len(powers) < 40 || powers[0].Joules != 0 || powers[0].HasWatts() {
		t.Fatalf("%+v", powers)
	}
	var sum, peak float64
	for i, p := range powers[1:] {
		if p.At <= powers[i].At || p.Joules < powers[i].Joules || p.Source != Source || !p.HasWatts() || p.Over != time.Duration(p.At-powers[i].At) {
			t.Errorf("%+v after %+v", p, powers[i])
		}
		sum += p.Watts * p.Over.Seconds()
		peak = max(peak, p.Watts)
	}
	last := powers[len(powers)-1]
	r := NewRun(energy.Models{})
	download(r.Add)
	want := 0.02195 * last.At.Seconds()
	for _, l := range r.Links() {
		want += l.Joules + l.TailJoules
	}
	if math.Abs(last.Joules-want) > 1e-6 || math.Abs(sum-last.Joules) > 1e-6 {
		t.Errorf("%g J, the watts make %g, want %g", last.Joules, sum, want)
	}
	// WiFi at 40 Mbit/s and more for headers, LTE at 16.
	if peak < 7.5 || peak > 9 {
		t.Errorf("peak: %g W", peak)
	}
	// Before the download the radios idle, and after the tail, too.
	for _, p := range []event.Power{powers[1], last} {
		if math.Abs(p.Watts-0.02195) > 1e-9 {
			t.Errorf("at %v: %g W", p.At, p.Watts)
		}
	}
}

// TestSamplerWithoutModel has nothing to tell, and keeps nobody waiting, until a
// link joins of which there is a model.
func TestSamplerWithoutModel(t *testing.T) {
	run := event.RunStarted{Links: []event.LinkInfo{{Name: "tun0"}}}
	powers, sources := play(t, run, time.Second, time.Hour, func(func(event.Event)) {})
	if len(powers) != 0 || len(sources) != 1 || sources[0].Unavailable != "model: there is none of the radio of tun0" {
		t.Errorf("%+v, %+v", powers, sources)
	}
	powers, _ = play(t, run, time.Second, time.Hour, func(add func(event.Event)) {
		add(event.LinkJoined{Link: 1, Info: event.LinkInfo{Name: "wlan0", Tech: "wifi"}})
		add(event.RequestStarted{At: second, Link: 1})
		add(event.Sample{At: 3 * second, Links: []event.LinkSample{{}, {Bytes: 1e6}}})
		add(event.RequestEnded{At: 5 * second, Link: 1, Bytes: 1e6, LastByte: 3 * second})
	})
	if len(powers) < 2 || powers[len(powers)-1].Joules <= 0 {
		t.Errorf("%+v", powers)
	}
}
