package scheduler

import (
	"math"
	"testing"
)

// The worked examples of the thesis, sections 4.3.3 to 4.3.5, in KB and KB/s.
func TestThesisExamples(t *testing.T) {
	tests := []struct {
		name string
		got  float64
		want float64 // as printed, cut to whole KB
	}{
		{"Algorithm 1, link 1", staticShare(4000, 1600, 2400), 2666},
		{"Algorithm 1, link 2", staticShare(4000, 800, 2400), 1333},
		{"Algorithm 2, example 1, U", dynamicLimit(250000, 2, 2400, 60000), 5000},
		{"Algorithm 2, example 1, link 1", staticShare(dynamicLimit(250000, 2, 2400, 60000), 1600, 2400), 3333},
		{"Algorithm 2, example 1, link 2", staticShare(dynamicLimit(250000, 2, 2400, 60000), 800, 2400), 1666},
		{"Algorithm 2, example 2, U", dynamicLimit(250000, 2, 8800, 60000), 18333},
		{"Algorithm 2, example 2, link 1", staticShare(dynamicLimit(250000, 2, 8800, 60000), 8000, 8800), 16666},
		{"Algorithm 2, example 2, link 2", staticShare(dynamicLimit(250000, 2, 8800, 60000), 800, 8800), 1666},
		{"Algorithm 3, U", dynamicLimit(250000, 2, 2000, 60000), 4166},
		{"Algorithm 3, link 1", paddedSize(staticShare(dynamicLimit(250000, 2, 2000, 60000), 1600, 2000), 30000*0.02, 1), 3333},
		{"Algorithm 3, link 2", paddedSize(staticShare(dynamicLimit(250000, 2, 2000, 60000), 400, 2000), 30000*0.04, 1), 1200},
		// The thesis prints 4100, through 9000 for 10000 and 2000+2100.
		{"Algorithm 3, padding", paddedSize(10000, 2000, 0.3), 4400},
	}
	for _, tt := range tests {
		if math.Floor(tt.got+1e-9) != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// TestPoliciesUseTheFormulas drives real Cores to the state of the examples and
// asks the policies themselves.
func TestPoliciesUseTheFormulas(t *testing.T) {
	const kb = 1000
	core := func(p Policy, r1, r2, b float64, rtt1, rtt2 Time) *Core {
		c, err := New(Config{Links: 2, Policy: p, Size: 250000 * kb, NoSteal: true})
		if err != nil {
			t.Fatal(err)
		}
		for id, rate := range []float64{r1, r2} {
			l := &c.links[id]
			l.health.up, l.rtt.min = true, []Time{rtt1, rtt2}[id]
			l.est.rate, l.est.known = rate*kb, b*kb
		}
		return c
	}
	ms := Millisecond
	tests := []struct {
		name   string
		policy Policy
		r1, r2 float64
		want   [2]int64
	}{
		{"1", &algorithm1{limit: 4000 * kb}, 1600, 800, [2]int64{2666, 1333}},
		{"2, example 1", &algorithm2{}, 1600, 800, [2]int64{3333, 1666}},
		{"2, example 2", &algorithm2{}, 8000, 800, [2]int64{16666, 1666}},
		{"3", &algorithm3{padding: 1}, 1600, 400, [2]int64{3333, 1200}},
		{"3, padded", &algorithm3{padding: 0.3}, 1600, 400, [2]int64{1420, 1200}},
	}
	for _, tt := range tests {
		c := core(tt.policy, tt.r1, tt.r2, 30000, 20*ms, 40*ms)
		for id, want := range tt.want {
			if got := tt.policy.Request(View{c}, LinkID(id)) / kb; got != want {
				t.Errorf("Algorithm %s, link %d: got %d KB, want %d KB", tt.name, id+1, got, want)
			}
		}
	}
}

func TestTailFormula(t *testing.T) {
	// A thief at 8 MB/s, 50 ms away, and a victim with 4 MB left at 2 MB/s:
	// x = 8*(4 - 2*0.05)/10 = 3.12 MB, and both end after 0.44 s.
	x := balanced(4e6, 8e6, 2e6, 0.05)
	if x != 3120000 {
		t.Fatalf("x is %v", x)
	}
	if a, b := 0.05+x/8e6, (4e6-x)/2e6; math.Abs(a-b) > 1e-6 {
		t.Errorf("the thief ends after %v s, the victim after %v s", a, b)
	}
}

// TestThesis435FactorFollowsStability is a worked example of the dynamic staticFactor that
// 4.3.5 asks for: f = clamp(1 - 4*C_v, 0.3, 1). Rates of 9 and 11 by turns have a mean of 10
// and a deviation of 1, so C_v = 0.1 and f = 0.6: the example's request of 10,000 KB with a
// BDP of 2000 KB becomes 2000 + 0.6*8000 = 6800 KB.
func TestThesis435FactorFollowsStability(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rates  []float64 // KB in each 100 ms, by turns
		factor float64
		size   float64 // KB
	}{
		{"steady", []float64{1000, 1000}, 1, 10_000},
		{"varies by 10 %", []float64{900, 1100}, 0.6, 6800},
		{"varies by 20 %", []float64{800, 1200}, 0.3, 4400},
	} {
		c, err := New(Config{Links: 1, Policy: &naive{}, Size: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		p, e := &algorithm3{padding: AutoPadding}, &c.links[0].est
		if f := p.factor(View{c}, 0); f != 0.3 {
			t.Errorf("%s: a link with no history has the factor %v, want 0.3", tt.name, f)
		}
		total := 0.0
		for i := range 60 {
			total += tt.rates[i%2] * 1000
			e.observe(Time(i+1)*rateWindow, int64(total), 20*Millisecond)
		}
		f := p.factor(View{c}, 0)
		if math.Abs(f-tt.factor) > 0.02 {
			t.Errorf("%s: f is %v, want %v", tt.name, f, tt.factor)
		}
		if size := paddedSize(10_000, 2000, f); math.Abs(size-tt.size) > 0.02*8000 {
			t.Errorf("%s: a request of %v KB, want %v", tt.name, size, tt.size)
		}
	}
	if f := (&algorithm3{padding: 0.5}).factor(View{}, 0); f != 0.5 {
		t.Errorf("a factor that was given became %v", f)
	}
}

// carry has each link bring its rate in bytes per second for so long, told every 50 ms,
// while it owes so many bytes. It gives the time at which that ends.
func carry(c *Core, rates []float64, owes int64, from, long Time) Time {
	for c.now = from; c.now < from+long; c.now += 50 * Millisecond {
		for id, rate := range rates {
			l := &c.links[id]
			l.load.received += int64(rate * 0.05)
			l.health.lastByte, l.load.pending = c.now, owes
		}
		c.measure()
	}
	return c.now
}

// TestThesis822BandwidthIsWhatTheLinkCanCarry: the thesis could not estimate B continuously
// (8.2.2). A link that carries 10 MB/s and is then asked for only 1 MB/s still has B = 10
// MB/s, however long that lasts; one whose capacity falls to 4 MB/s is found out.
func TestThesis822BandwidthIsWhatTheLinkCanCarry(t *testing.T) {
	c, err := New(Config{Links: 1, Policy: &algorithm2{}, Size: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	l := &c.links[0]
	l.health.up, l.rtt.min, l.load.requests = true, 40*Millisecond, 1
	v := View{c}
	const much, little = 8 << 20, 16 << 10
	now := carry(c, []float64{10e6}, much, Second, 4*Second)
	if b := v.Bandwidth(0); math.Abs(b-10e6) > 0.05*10e6 || !v.BandwidthKnown(0) {
		t.Fatalf("B is %.0f (known: %v) of a link that carries 10 MB/s", b, v.BandwidthKnown(0))
	}
	now = carry(c, []float64{1e6}, little, now, 30*Second)
	if b := v.Bandwidth(0); math.Abs(b-10e6) > 0.05*10e6 {
		t.Errorf("B is %.0f after half a minute of little to do, want 10 MB/s", b)
	}
	carry(c, []float64{4e6}, much, now, 15*Second)
	if b := v.Bandwidth(0); math.Abs(b-4e6) > 0.05*4e6 {
		t.Errorf("B is %.0f of a link that now carries 4 MB/s at full load", b)
	}
}

// TestThesis434NoShareOfSByRatesThatGrow: ΣB is "the best guess" at first (4.3.4). While LTE
// builds up its rate (3.1.4: 2.5 s on average) B is not known, and no link is asked for its part
// of S/n by rates that do not last; when they do, U = S/n * Σr/ΣB holds.
func TestThesis434NoShareOfSByRatesThatGrow(t *testing.T) {
	const size = 250_000_000
	for name, p := range map[string]Policy{"2": &algorithm2{}, "3": &algorithm3{padding: 0.3}} {
		c, err := New(Config{Links: 2, Policy: p, Size: size, NoSteal: true, Overlap: 0.6})
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.links {
			l := &c.links[i]
			l.health.up, l.rtt.min, l.load.requests = true, 40*Millisecond, 1
		}
		now, rate := Second, 1e6
		for range 5 { // LTE grows by 60 % in each half second, Wi-Fi stays
			now = carry(c, []float64{2e6, rate}, 8<<20, now, 500*Millisecond)
			rate *= 1.6
			if got := p.Request(View{c}, 0); got > size/50 {
				t.Errorf("Algorithm %s: %d bytes over Wi-Fi while LTE's rate grows", name, got)
			}
		}
		carry(c, []float64{2e6, rate}, 8<<20, now, 4*Second)
		v := View{c}
		want := float64(size) / 2 * v.Rate(0) / v.SumBandwidth()
		if name == "3" {
			want = paddedSize(want, v.BDP(0), 0.3)
		}
		if got := float64(p.Request(v, 0)); math.Abs(got-want) > 1 {
			t.Errorf("Algorithm %s: %.0f bytes over Wi-Fi when both are steady, want %.0f", name, got, want)
		}
	}
}
