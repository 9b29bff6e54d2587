package energy

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// plain is a radio whose constants are easy to reckon with: in mW, a promotion
// of 1 s, a tail of 10 s of which 2 s at the active power.
func plain() Radio {
	return Radio{
		Name: "plain", Down: 10, Up: 100, Active: 1000, PerConn: 5, Idle: 50,
		Promotion: 800, PromotionTime: time.Second,
		Tail: 600, TailTime: 10 * time.Second, Hold: 2 * time.Second,
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
		t.Errorf("%s: got %.15g, want %.15g", what, got, want)
	}
}

// step is one call of Step.
type step struct {
	at       int64
	down, up int64
	conns    int
}

func TestMachineClosedForms(t *testing.T) {
	tests := []struct {
		name  string
		steps []step
		want  Energy // Dynamic is checked against the others
		state State
	}{
		{
			name:  "nothing ever",
			steps: []step{{at: 100 * sec}},
			want:  Energy{Idle: 5},
			state: Idle,
		},
		{
			// 5 s of silence, 4 s of traffic of which 1 s is promotion, then 10 s of
			// tail, 2 s of it active, and 1 s of silence.
			name:  "one burst",
			steps: []step{{at: 5 * sec}, {at: 9 * sec, down: 1e6, up: 1e5, conns: 2}, {at: 20 * sec, conns: 2}},
			want: Energy{
				Idle: 0.05 * 6, Promotion: 0.8,
				Transfer: 1*(3+2) + 0.01*5 + 0.01*8 + 0.1*0.8,
				Tail:     0.6 * 8,
			},
			state: Idle,
		},
		{
			name:  "the second burst finds the tail",
			steps: []step{{at: 3 * sec, down: 1e6}, {at: 8 * sec}, {at: 9 * sec, down: 1e6}, {at: 19 * sec}},
			want: Energy{
				Promotion: 0.8,
				Transfer:  1*(2+2+1+2) + 0.01*16,
				Tail:      0.6 * (3 + 8),
			},
			state: Idle,
		},
		{
			name:  "a gap shorter than hold is active",
			steps: []step{{at: 3 * sec, down: 1e6}, {at: 4 * sec}, {at: 5 * sec, down: 1e6}},
			want:  Energy{Promotion: 0.8, Transfer: 1*4 + 0.01*16},
			state: Active,
		},
		{
			name:  "cut in the promotion",
			steps: []step{{at: 250 * ms, down: 1e6, conns: 9}},
			want:  Energy{Promotion: 0.2, Transfer: 0.01 * 8},
			state: Promotion,
		},
		{
			name:  "one packet: the tail counts from the end of the promotion",
			steps: []step{{at: 0, up: 1e3}, {at: 11 * sec}},
			want:  Energy{Promotion: 0.8, Transfer: 1*2 + 0.1*8e-3, Tail: 0.6 * 8},
			state: Idle,
		},
		{
			name:  "to the end of the promotion",
			steps: []step{{at: 1 * sec, down: 1e6}},
			want:  Energy{Promotion: 0.8, Transfer: 0.01 * 8},
			state: Active,
		},
		{
			name:  "to the end of hold",
			steps: []step{{at: 1 * sec, down: 1e6}, {at: 3 * sec}},
			want:  Energy{Promotion: 0.8, Transfer: 1*2 + 0.01*8},
			state: Tail,
		},
		{
			name:  "a nanosecond before the end of the tail",
			steps: []step{{at: 1 * sec, down: 1e6}, {at: 11*sec - 1}, {at: 11*sec - 1, down: 1e6}, {at: 11 * sec}},
			want:  Energy{Promotion: 0.8, Transfer: 1*(2+1e-9) + 0.01*16, Tail: 0.6 * (8 - 1e-9)},
			state: Active,
		},
		{
			name:  "at the end of the tail",
			steps: []step{{at: 1 * sec, down: 1e6}, {at: 11 * sec}, {at: 11 * sec, down: 1e6}, {at: 12 * sec}},
			want:  Energy{Promotion: 2 * 0.8, Transfer: 1*2 + 0.01*16, Tail: 0.6 * 8},
			state: Active,
		},
		{
			name:  "time and bytes that go backwards",
			steps: []step{{at: 5 * sec}, {at: 2 * sec, down: -5, up: -1, conns: -3}, {at: 6 * sec, conns: -3}},
			want:  Energy{Idle: 0.05 * 6},
			state: Idle,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMachine(plain(), 0)
			for _, s := range tt.steps {
				m.Step(s.at, s.down, s.up, s.conns)
			}
			got := m.Energy()
			near(t, "idle", got.Idle, tt.want.Idle)
			near(t, "promotion", got.Promotion, tt.want.Promotion)
			near(t, "transfer", got.Transfer, tt.want.Transfer)
			near(t, "tail", got.Tail, tt.want.Tail)
			elapsed := float64(tt.steps[len(tt.steps)-1].at) / 1e9
			near(t, "dynamic", got.Dynamic, got.Total()-0.05*elapsed)
			if m.State() != tt.state {
				t.Errorf("state: got %v, want %v", m.State(), tt.state)
			}
		})
	}
}

// TestMachineSteps cuts random histories into finer steps: not a bit of the
// energy may change.
func TestMachineSteps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		coarse := NewMachine(plain(), 7*sec)
		fine := coarse
		now := 7 * sec
		for range 30 {
			length := rnd.Int64N(5 * sec)
			parts := 1 + rnd.Int64N(7)
			length -= length % parts
			bytes := parts * rnd.Int64N(1e6) * rnd.Int64N(2)
			conns := rnd.IntN(4)
			for i := range parts {
				fine.Step(now+length/parts*(i+1), bytes/parts, 0, conns)
			}
			now += length
			coarse.Step(now, bytes, 0, conns)
			if coarse != fine {
				t.Fatalf("machines differ:\n%+v\n%+v", coarse, fine)
			}
		}
	}
}

// TestMachineAdds checks that the energies of parts make up that of the whole,
// and that idle, promotion, activity and tail fill the time.
func TestMachineAdds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	m := NewMachine(plain(), 0)
	var last, sum Energy
	var dynamic float64
	for now := int64(0); now < 1000*sec; now += rnd.Int64N(6 * sec) {
		m.Step(now, rnd.Int64N(1e6)*rnd.Int64N(2), rnd.Int64N(1e4), rnd.IntN(3))
		e := m.Energy()
		part := e.Sub(last)
		if part.Total() < -1e-9 || part.Dynamic < -1e-9 {
			t.Fatalf("a radio gave energy back: %+v", part)
		}
		sum.Idle += part.Idle
		sum.Promotion += part.Promotion
		sum.Transfer += part.Transfer
		sum.Tail += part.Tail
		dynamic += part.Dynamic
		last = e
	}
	if math.Abs(sum.Total()-last.Total()) > 1e-6 || math.Abs(dynamic-last.Dynamic) > 1e-6 {
		t.Errorf("parts make %g J, the whole %g", sum.Total(), last.Total())
	}
	var in int64
	for _, d := range m.in {
		in += d
	}
	if in != m.now {
		t.Errorf("%d ns in states, %d ns went by", in, m.now)
	}
}

// TestMachineRehearsal lets a copy run to the end of the tail.
func TestMachineRehearsal(t *testing.T) {
	m := NewMachine(plain(), 0)
	m.Step(3*sec, 1e6, 0, 0)
	before := m.Energy()
	if got := m.IdleAt(); got != 13*sec {
		t.Errorf("idle at %d, want 13 s", got)
	}
	rest := m
	rest.Step(m.IdleAt(), 0, 0, 0)
	near(t, "rest", rest.Energy().Sub(before).Total(), 1*2+0.6*8)
	if rest.State() != Idle || rest.IdleAt() != 13*sec {
		t.Errorf("%v until %d, want idle", rest.State(), rest.IdleAt())
	}
	if m.Energy() != before {
		t.Error("the rehearsal changed the original")
	}
}

// TestFixedJoules holds Radio.FixedJoules against what a Machine charges for
// waking up, over all models.
func TestFixedJoules(t *testing.T) {
	for _, r := range append(models(), plain()) {
		m := NewMachine(r, 0)
		m.Step(0, 1, 0, 0)
		m.Step(m.IdleAt(), 0, 0, 0)
		near(t, r.Name, m.Energy().Dynamic, r.FixedJoules()+r.Down*8e-9)
	}
}

func TestMachineAllocatesNothing(t *testing.T) {
	m := NewMachine(plain(), 0)
	now := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		now += 700 * ms
		m.Step(now, now%3, 0, 1)
		_ = m.Energy()
	}); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
}

func TestModels(t *testing.T) {
	for _, name := range []string{"wifi", "lte", "3g", "nr", "nr-mmwave", "lte-2021", "ethernet", "wifi-s7", "lte-s7"} {
		r, ok := Lookup(name)
		if !ok || r.Name != name || r.Source == "" {
			t.Errorf("%s: %v, %+v", name, ok, r)
		}
	}
	if _, ok := Lookup("wimax"); ok {
		t.Error("wimax is known")
	}
	seen := map[string]bool{}
	for _, name := range Names() {
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	// Measured peaks [thesis, tables 7.1b, 7.3 and 7.4a], with the device's 0.7 W.
	for _, p := range []struct {
		name        string
		mbps, watts float64
	}{{"wifi-s7", 7.5, 3.0}, {"wifi-s7", 79, 3.3}, {"lte-s7", 61, 3.15}, {"lte-s7", 80, 3.74}} {
		r, _ := Lookup(p.name)
		near(t, p.name, 0.7+r.Milliwatts(p.mbps, 0, 0)/1e3, p.watts)
	}
	// Energy of a tail and of a promotion as Huang et al. give them.
	lte, _ := Lookup("lte")
	if e := lte.FixedJoules(); e < 12.2 || e > 12.7 {
		t.Errorf("waking LTE costs %g J", e)
	}
}

// TestThesisMain holds the S7's mean models, with 0.7 W for the idle device,
// against the energy of downloads of 250 MB in the thesis's table 7.10.
func TestThesisMain(t *testing.T) {
	wifi, _ := Lookup("wifi-s7-mean")
	lte, _ := Lookup("lte-s7-mean")
	for _, d := range []struct {
		name                       string
		seconds, wifiMbps, lteMbps float64
		joules                     float64 // "Main"
	}{
		{"high-speed, WiFi", 26.25, 78.99, 0, 50.20},
		{"high-speed, LTE", 33.79, 0, 61.37, 66.83},
		{"low-speed, WiFi", 278.18, 7.49, 0, 375.08},
		{"low-speed, algorithm 3", 29.33, 7.49, 66.70, 77.48},
		{"TechnoWLAN stationary, WiFi", 135.05, 15.27, 0, 171.47},
		{"TechnoWLAN stationary, LTE", 24.86, 0, 80.14, 56.47},
		{"TechnoWLAN moving, WiFi", 131.59, 16.59, 0, 185.58},
		{"TechnoWLAN moving, LTE", 33.32, 0, 67.30, 62.99},
		{"AlwaysOnline, WiFi", 37.24, 57.28, 0, 67.70},
		{"AlwaysOnline, LTE", 28.16, 0, 70.44, 53.15},
	} {
		watts := 0.7
		if d.wifiMbps > 0 {
			watts += wifi.Milliwatts(d.wifiMbps, 0, 0) / 1e3
		}
		if d.lteMbps > 0 {
			watts += lte.Milliwatts(d.lteMbps, 0, 0) / 1e3
		}
		if off := watts*d.seconds/d.joules - 1; math.Abs(off) > 0.1 {
			t.Errorf("%s: %.1f J, measured %.1f J: %+.1f %%", d.name, watts*d.seconds, d.joules, 100*off)
		} else {
			t.Logf("%s: %.1f J, measured %.1f J: %+.1f %%", d.name, watts*d.seconds, d.joules, 100*off)
		}
	}
}
