package power

import (
	"math"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

func at(d time.Duration) scheduler.Time { return scheduler.Time(d) }

// spentOf is what a Meter makes of events, with readings every 100 ms.
func spentOf(t *testing.T, events ...event.Event) (Spent, bool) {
	t.Helper()
	m := new(Meter)
	m.Add(event.PowerSource{Source: Battery, Interval: 100 * time.Millisecond})
	for _, e := range events {
		m.Add(e)
	}
	return m.Spent()
}

func gauge(d time.Duration, watts float64) event.Power {
	return event.Power{At: at(d), Source: Battery, Watts: watts}
}

// A device that draws 0.7 W by itself, and 2 W more from the first request at 1 s on.
func TestMeterSubtractsBasePower(t *testing.T) {
	var events []event.Event
	for i := range 31 {
		if i == 10 {
			events = append(events, event.RequestStarted{At: at(time.Second)})
		}
		watts := 0.7
		if i > 10 {
			watts += 2
		}
		events = append(events, gauge(time.Duration(i)*100*time.Millisecond, watts))
	}
	s, ok := spentOf(t, events...)
	if !ok || math.Abs(s.Joules-4) > 0.2 || s.Until != at(3*time.Second) || s.Every != at(100*time.Millisecond) || s.Source != Battery {
		t.Errorf("%+v, %v: want 2 W over 2 s", s, ok)
	}
}

// A counter's joules are exact, whatever happened between its readings.
func TestMeterOfCounter(t *testing.T) {
	counter := func(d, over time.Duration, joules, watts float64) event.Power {
		return event.Power{At: at(d), Source: RAPL, Counter: true, Joules: joules, Watts: watts, Over: over}
	}
	s, ok := spentOf(t,
		counter(0, 0, 0, 0), counter(time.Second, time.Second, 5, 5),
		event.RequestStarted{At: at(time.Second)},
		counter(9*time.Second, 8*time.Second, 61, 7), // 7 W for 8 s
	)
	if !ok || math.Abs(s.Joules-16) > 1e-9 || s.Source != RAPL {
		t.Errorf("%+v, %v: want 2 W above 5 W for 8 s", s, ok)
	}
}

func TestMeterKnowsNothing(t *testing.T) {
	asked := event.RequestStarted{At: at(time.Second)}
	for name, events := range map[string][]event.Event{
		"without a reading":                    {asked},
		"without a request":                    {gauge(0, 1), gauge(time.Second, 1)},
		"without a reading before the request": {asked, gauge(2*time.Second, 3), gauge(3*time.Second, 3)},
		"on external power":                    {gauge(0, 1), asked, gauge(2*time.Second, 3), event.Power{At: at(3 * time.Second), Source: Battery, External: true}},
		"when the source is lost":              {gauge(0, 1), asked, gauge(2*time.Second, 3), event.PowerSource{Source: Battery, Unavailable: "gone"}},
		"of what is only modelled":             {event.Power{Source: Model, Watts: 1}, asked, event.Power{At: at(2 * time.Second), Source: Model, Watts: 2}},
	} {
		if s, ok := spentOf(t, events...); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Readings that come back from external power begin anew, and the base power stays.
func TestMeterAfterExternalPower(t *testing.T) {
	s, ok := spentOf(t, gauge(0, 1), event.RequestStarted{At: at(time.Second)},
		event.Power{At: at(2 * time.Second), Source: Battery, External: true},
		gauge(3*time.Second, 4), gauge(4*time.Second, 4))
	if !ok || math.Abs(s.Joules-3) > 1e-9 {
		t.Errorf("%+v, %v: want 3 W for a second", s, ok)
	}
}
