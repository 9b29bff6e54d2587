package report

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/pkg/scheduler"
)

// powered is the run over two links, from 0.1 s to 5.1 s, with readings.
func powered(events ...event.Event) []event.Event {
	run := eventtest.TwoLinks()
	return slices.Insert(run, len(run)-1, events...)
}

// gauge are readings of a battery.
func gauge(at time.Duration, interval time.Duration, watts ...float64) (events []event.Event) {
	for i, w := range watts {
		events = append(events, event.Power{At: scheduler.Time(at + time.Duration(i)*interval), Source: "battery", Watts: w})
	}
	return events
}

func TestPower(t *testing.T) {
	begun := event.PowerSource{Source: "battery", Interval: time.Second, Detail: "a battery"}
	ended := event.PowerSource{Source: "battery", Interval: time.Second, Unavailable: "battery: no reading"}
	quick := event.PowerSource{Source: "battery", Interval: 20 * time.Millisecond}
	external := event.Power{At: 1, Source: "battery", Watts: 9, External: true}
	for _, c := range []struct {
		name        string
		events      []event.Event
		want        *Power
		unavailable string
	}{
		{"no events", nil, nil, noPower},
		{"nothing to read", []event.Event{event.PowerSource{Unavailable: "rapl: permission denied"}}, nil, "rapl: permission denied"},
		{"no reading", []event.Event{begun, ended}, nil, "battery: no reading"},
		{"a run that was killed", []event.Event{begun, external}, nil, "on external power"},
		{
			"a gauge",
			append([]event.Event{begun}, gauge(50*time.Millisecond, time.Second, 1, 2, 4, 3, 5)...),
			&Power{Source: "battery", IntervalSeconds: 1, Samples: 5, BaseWatts: 1, MedianWatts: 3.5, P90Watts: 4.7, PeakWatts: 5}, "",
		},
		{
			"with a tail", // after 5.1 s
			append([]event.Event{begun}, gauge(0, time.Second, 1, 2, 3, 4, 5, 6, 99, 0.5)...),
			&Power{Source: "battery", IntervalSeconds: 1, Samples: 8, BaseWatts: 1, MedianWatts: 4, P90Watts: 5.6, PeakWatts: 6, RefreshSeconds: 1}, "",
		},
		{
			"some of it on external power",
			append([]event.Event{begun, external}, gauge(time.Second, time.Second, 2, 3)...),
			&Power{Source: "battery", IntervalSeconds: 1, Samples: 2, BaseWatts: 2.05, MedianWatts: 2.5, P90Watts: 2.9, PeakWatts: 3}, "",
		},
		{
			"a base", // before 0.1 s
			append(append([]event.Event{quick}, gauge(0, 20*time.Millisecond, 1.5, 1, 1.25)...), gauge(time.Second, time.Second, 2, 3)...),
			&Power{Source: "battery", IntervalSeconds: 0.02, Samples: 5, BaseWatts: 1.25, MedianWatts: 2.5, P90Watts: 2.9, PeakWatts: 3, BaseMeasured: true}, "",
		},
		{
			"a run of a moment",
			[]event.Event{begun, event.Power{At: 0, Source: "battery", Watts: 2}},
			&Power{Source: "battery", IntervalSeconds: 1, Samples: 1, BaseWatts: 2, MedianWatts: 2, P90Watts: 2, PeakWatts: 2}, "",
		},
		{
			"a counter", // whose first reading has no watts, and whose last is of the run's end
			[]event.Event{
				event.PowerSource{Source: "rapl", Interval: 10 * time.Second},
				event.Power{Source: "rapl", Counter: true},
				event.Power{At: 5200 * scheduler.Millisecond, Source: "rapl", Counter: true, Watts: 2, Over: 5200 * time.Millisecond, Joules: 10.4},
			},
			&Power{Source: "rapl", IntervalSeconds: 10, Samples: 1, BaseWatts: 2, MedianWatts: 2, P90Watts: 2, PeakWatts: 2}, "",
		},
		{
			"a hostile record",
			[]event.Event{
				event.Power{Watts: math.NaN()},
				event.Power{Watts: math.Inf(1)},
				event.Power{Watts: 1, Counter: true, Over: -1},
				event.Power{At: math.MinInt64, Watts: 3, Counter: true, Over: math.MaxInt64},
			},
			nil, "no reading can be used",
		},
	} {
		r := build(powered(c.events...))
		if (r.Power == nil) != (c.want == nil) || r.Power != nil && *r.Power != *c.want || r.PowerUnavailable != c.unavailable {
			t.Errorf("%s: %+v, %q; want %+v, %q", c.name, r.Power, r.PowerUnavailable, c.want, c.unavailable)
		}
	}
}

func TestManyReadingsAreBounded(t *testing.T) {
	var b Builder
	for i := range maxReadings + 10 {
		b.Add(event.Power{At: scheduler.Time(i), Watts: 1})
	}
	if len(b.power.series.Samples) != maxReadings || b.Report().Power.Samples != maxReadings+10 {
		t.Errorf("%d readings are kept, %d are counted", len(b.power.series.Samples), b.Report().Power.Samples)
	}
}
