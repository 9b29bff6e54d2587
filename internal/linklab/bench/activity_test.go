package bench

import (
	"math"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

const ms = time.Millisecond

func TestLinkDelta(t *testing.T) {
	type sample struct {
		at   time.Duration
		a, b int64
	}
	both := []bool{true, true}
	for name, c := range map[string]struct {
		samples []sample
		there   []bool
		want    float64 // < 0: none
	}{
		"one after the other":     {[]sample{{5 * ms, 9000, 9000}, {10 * ms, 18000, 9000}, {15 * ms, 27000, 9000}}, both, 0.010},
		"the other way":           {[]sample{{5 * ms, 9000, 9000}, {10 * ms, 9000, 18000}}, both, 0.005},
		"together":                {[]sample{{5 * ms, 9000, 5000}, {10 * ms, 18000, 9000}}, both, 0},
		"the end of a connection": {[]sample{{5 * ms, 9000, 9000}, {10 * ms, 9052, 18000}, {15 * ms, 9104, 27000}}, both, 0.010},
		"one link carried none":   {[]sample{{5 * ms, 9000, 0}, {10 * ms, 18000, 60}}, both, -1},
		"one link is dead":        {[]sample{{5 * ms, 9000, 9000}, {10 * ms, 9000, 18000}}, []bool{false, true}, -1},
		"nothing came":            {nil, both, -1},
	} {
		a := newActivity(2)
		for _, s := range c.samples {
			a.observe(s.at, []int64{s.a, s.b})
		}
		got := a.delta(c.there)
		if (got == nil) != (c.want < 0) || got != nil && math.Abs(*got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestThereAt(t *testing.T) {
	for _, c := range []struct {
		name string
		at   time.Duration
		a, b bool // wlan0, rmnet0
	}{
		{"high-speed", time.Hour, true, true},
		{"wifi-dies", 5 * time.Second, true, true},
		{"wifi-dies", 7 * time.Second, false, true},
		{"lte-dies-and-returns", 7 * time.Second, true, false},
		{"lte-dies-and-returns", 10 * time.Second, true, true},
		{"wifi-sags", time.Minute, true, true},
	} {
		s, err := scenario.Load(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := thereAt(s, c.at); got[0] != c.a || got[1] != c.b {
			t.Errorf("%s at %v: %v", c.name, c.at, got)
		}
	}
	s := scenario.Scenario{Links: []scenario.Link{{Name: "a"}}, Events: []scenario.Event{
		{At: 1, Link: "a", Kind: scenario.CarrierOff},
		{At: 2, Link: "a", Kind: scenario.Down},
		{At: 3, Link: "a", Kind: scenario.CarrierOn},
		{At: 4, Link: "a", Kind: scenario.Up},
	}}
	for at, want := range []bool{true, false, false, false, true} {
		if got := thereAt(s, time.Duration(at)); got[0] != want {
			t.Errorf("at %d: %v", at, got)
		}
	}
}

func TestWastePercent(t *testing.T) {
	const packets = 10000
	for _, c := range []struct {
		delivered, size int64
		secure          bool
		want            float64
	}{
		{1500 * packets, 1448 * packets, false, 0},
		{1515 * packets, 1448 * packets, false, 1},
		{3000 * packets, 1448 * packets, false, 100},
		{1500 * packets, 1448 * packets, true, -0.134},
	} {
		if got := wastePercent(c.delivered, c.size, c.secure); math.Abs(got-c.want) > 0.001 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
