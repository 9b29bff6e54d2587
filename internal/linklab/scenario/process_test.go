package scenario

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func one(t *testing.T, text string) Scenario {
	t.Helper()
	s, err := Parse("test", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestProcessClosedForms(t *testing.T) {
	constant := NewProcess(one(t, "link a,down=12"), 0, 1)
	if d := constant.Finish(0, 0, 12000); d != time.Millisecond {
		t.Errorf("1500 bytes at 12 Mbit/s take %v", d)
	}
	if d := constant.Finish(500*time.Microsecond, 0, 12e6); d != time.Second+500*time.Microsecond {
		t.Errorf("12 Mbit take until %v", d)
	}
	near(t, "bits", constant.Bits(300*time.Microsecond, 2300*time.Microsecond, 0), 24000, 1e-6)

	// A linear ramp from a quarter to all in 2 s: 2 s * 10 Mbit/s * 0.625.
	ramp := NewProcess(one(t, "link a,down=10,ramp=2"), 0, 1)
	near(t, "ramp", ramp.Bits(0, 2*time.Second, 0), 12.5e6, 1)
	near(t, "ramp from 3 s", ramp.Bits(3*time.Second, 5*time.Second, 3*time.Second), 12.5e6, 1)
	near(t, "after the ramp", ramp.Bits(5*time.Second, 6*time.Second, 3*time.Second), 10e6, 1)
	near(t, "its start", ramp.Rate(0, 0), 2.5e6, 1e4)

	steps := NewProcess(one(t, "link a,down=10\nat 2s a rate 1\nat 4s a rate 5"), 0, 1)
	near(t, "rate events", steps.Bits(time.Second, 5*time.Second, 0), 17e6, 1)
	// 1000 bytes that begin 0.4 ms before the fall: 4000 bits, and 4000 at 1 Mbit/s.
	if d := steps.Finish(2*time.Second-400*time.Microsecond, 0, 8000); d != 2*time.Second+4*time.Millisecond {
		t.Errorf("across a fall: %v", d)
	}
}

func TestWanderKeepsItsMeanAndLimits(t *testing.T) {
	s := one(t, "link a,down=100,vary=0.5\nlink b,down=100,vary=0.5\nlink c,down=100,vary=1")
	p := NewProcess(s, 0, 7)
	const long = 1000 * time.Second
	near(t, "mean", p.Bits(0, long, 0)/long.Seconds(), 100e6, 0.4e6)
	lo, hi := math.Inf(1), 0.0
	for at := time.Duration(0); at < long; at += 100 * time.Millisecond {
		r := p.Rate(at, 0)
		lo, hi = min(lo, r), max(hi, r)
	}
	if lo < 50e6 || hi > 150e6 || lo > 60e6 || hi < 140e6 {
		t.Errorf("it wanders within %v..%v", lo, hi)
	}
	if NewProcess(s, 0, 7).Rate(time.Second, 0) != p.Rate(time.Second, 0) {
		t.Error("the same seed gives another rate")
	}
	if NewProcess(s, 0, 8).Rate(time.Second, 0) == p.Rate(time.Second, 0) {
		t.Error("another seed gives the same rate")
	}
	if NewProcess(s, 1, 7).Rate(time.Second, 0) == p.Rate(time.Second, 0) {
		t.Error("two links go up and down together")
	}
	all := NewProcess(s, 2, 7)
	for at := time.Duration(0); at < 100*time.Second; at += Tick {
		if all.Rate(at, 0) < 1e6*0.999 {
			t.Fatalf("at %v the link has stopped: %v", at, all.Rate(at, 0))
		}
	}
}

func TestTraceShapesTheRate(t *testing.T) {
	tr, err := ParseTrace(strings.NewReader("1\n1\n4\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Scenario{Links: []Link{{Name: "a", Trace: tr}}}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	p := NewProcess(s, 0, 1)
	ms := time.Millisecond
	for i, want := range []time.Duration{ms / 2, ms, 4 * ms, 4*ms + ms/2, 5 * ms, 8 * ms} {
		if d := p.Finish(0, 0, float64(12000*(i+1))); d != want {
			t.Errorf("%d packets take %v, want %v", i+1, d, want)
		}
	}
	near(t, "a period", p.Bits(0, 4*ms, 0), 36000, 1e-6)
	doubled := p.With(0, 2*s.Links[0].DownMbps)
	near(t, "with twice the rate", doubled.Bits(0, 4*ms, 0), 72000, 1e-6)
}

func TestFinishInvertsBits(t *testing.T) {
	s := one(t, "link a,down=30,vary=0.9,ramp=3\nat 1s a rate 0.1\nat 2s a rate 50")
	p := NewProcess(s, 0, 3)
	since := 500 * time.Millisecond
	at := 600 * time.Millisecond
	for i := range 2000 {
		bits := float64(1 + i*37%12000)
		end := p.Finish(at, since, bits)
		// A finish is rounded to a ns: at most 75 Mbit/s * 1 ns.
		near(t, "bits", p.Bits(at, end, since), bits, 0.1)
		at = end
	}
}

func TestBoundClosedForms(t *testing.T) {
	const g = Goodput * 1e6
	for _, tc := range []struct {
		name, text string
		size       int64
		tls        bool
		want       float64 // s
	}{
		{"one link", "link a,down=8,rtt=50", 1e6, false, 0.1 + 8e6/(8*g)},
		{"with tls", "link a,down=8,rtt=50", 1e6, true, 0.15 + 8e6/(8*g)},
		{
			"two links: (S + sum of r d) / sum of r", "link a,down=80,rtt=16\nlink b,down=20,rtt=50", 25e6, false,
			(200e6 + 80*g*0.032 + 20*g*0.1) / (100 * g),
		},
		{"a link that is too late", "link a,down=80\nlink b,down=20,rtt=1000", 1e6, false, 8e6 / (80 * g)},
		{"ramp: 3/4 of half of 2 s are lost", "link a,down=8,ramp=2", 10e6, false, 80e6/(8*g) + 0.75},
		{"down for 3 s", "link a,down=8\nat 1s a down\nat 4s a up", 10e6, false, 3 + 80e6/(8*g)},
		{"down for 3 s, two ramps", "link a,down=8,ramp=2\nat 2s a down\nat 5s a up", 10e6, false, 3 + 80e6/(8*g) + 1.5},
		{"down for half a second keeps it awake", "link a,down=8,ramp=2\nat 2s a down\nat 2.5s a up", 10e6, false, 0.5 + 80e6/(8*g) + 0.75},
		{"down and without carrier", "link a,down=8\nat 1s a down\nat 2s a carrier off\nat 3s a up\nat 4s a carrier on", 10e6, false, 3 + 80e6/(8*g)},
		{"a device that comes after 3 s", "link a,down=8,rtt=50\nat 0s a gone\nat 3s a back", 10e6, false, 3 + 80e6/(8*g)},
		{"gone without carrier, back with one", "link a,down=8\nat 1s a carrier off\nat 2s a gone\nat 4s a back", 10e6, false, 3 + 80e6/(8*g)},
		{"silent all the same", "link a,down=8\nat 1s a gone\nat 2s a down\nat 3s a back\nat 4s a up", 10e6, false, 3 + 80e6/(8*g)},
		{"a dead link leaves the other", "link a,down=8\nlink b,down=8\nat 5s a down", 10e6, false, 80e6/(8*g) - 5},
		{"sag", "link a,down=8\nat 4s a rate 2", 10e6, false, 4 + (80e6-32*g)/(2*g)},
		{"loss", "link a,down=8,loss=50", 1e6, false, 8e6 / (4 * g)},
		{"loss event", "link a,down=8\nat 1s a loss 100\nat 2s a loss 0", 2e6, false, 1 + 16e6/(8*g)},
		{"nothing", "link a,down=8,rtt=10", 0, false, 0},
	} {
		got, err := Bound(one(t, tc.text), 1, tc.size, tc.tls)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		near(t, tc.name, got.Seconds(), tc.want, 2e-3)
	}
}

func TestBoundOfHighSpeed(t *testing.T) {
	s, err := Load("high-speed")
	if err != nil {
		t.Fatal(err)
	}
	// The ramp loses 0.75 * 2.5 s / 2 of rmnet0, less what of that lies
	// before d: there the rate is a quarter and a bit.
	const w, r = 82 * Goodput, 64 * Goodput
	before := (0.25 + 0.75*0.05/2.5) * 0.1
	want := (2000 + w*0.032 + r*(0.75*1.25+before)) / (w + r)
	got, err := Bound(s, 1, 250e6, false)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "high-speed", got.Seconds(), want, 2e-3)
}

func TestBoundNever(t *testing.T) {
	_, err := Bound(one(t, "link a,down=8\nat 1s a down"), 1, 10e6, false)
	if !errors.Is(err, ErrNever) {
		t.Errorf("over a dead link: %v", err)
	}
}
