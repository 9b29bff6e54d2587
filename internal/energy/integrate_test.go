package energy

import (
	"math"
	"testing"

	"github.com/mlget/mlget/internal/stats"
)

// sampled is the function at each of the times (ns); at 0 it is at second 0.
func sampled(f func(s float64) float64, times ...int64) []Sample {
	samples := make([]Sample, len(times))
	for i, ns := range times {
		samples[i] = Sample{At: ns, Watts: f(float64(ns) / 1e9)}
	}
	return samples
}

func TestSimpsonClosedForms(t *testing.T) {
	quadratic := func(s float64) float64 { return 3 - 2*s + s*s }
	integral := func(s float64) float64 { return 3*s - s*s + s*s*s/3 }
	cubic := func(s float64) float64 { return s * s * s }
	tests := []struct {
		name    string
		samples []Sample
		want    float64
	}{
		{"nothing", nil, 0},
		{"one", sampled(quadratic, 5*sec), 0},
		{"two: a trapezoid", sampled(cubic, 0, 2*sec), 8},
		{"a parabola through three uneven points", sampled(quadratic, 0, 800*ms, 2*sec), integral(2)},
		{"and through four", sampled(quadratic, 0, 800*ms, 2*sec, 2700*ms), integral(2.7)},
		{"and through seven", sampled(quadratic, 0, 1*sec, 3*sec, 4*sec, 4600*ms, 6*sec, 7*sec), integral(7)},
		{"a cubic through five even points", sampled(cubic, 0, 1*sec, 2*sec, 3*sec, 4*sec), 64},
		{"a sine", sampled(math.Sin, 0, sec/2, 1*sec, 3*sec/2, 2*sec, 5*sec/2, 3*sec), 1 - math.Cos(3)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tolerance := 1e-12
			if tt.name == "a sine" {
				tolerance = 1e-3
			}
			if got := simpson(tt.samples); math.Abs(got-tt.want) > tolerance*max(1, tt.want) {
				t.Errorf("got %.15g, want %.15g", got, tt.want)
			}
		})
	}
}

func TestIntegrateWindow(t *testing.T) {
	line := func(s float64) float64 { return 1 + 2*s }
	area := func(a, b float64) float64 { return (b - a) + b*b - a*a }
	whole := sampled(line, 0, 1*sec, 2*sec, 3*sec, 4*sec, 5*sec)
	tests := []struct {
		name       string
		samples    []Sample
		start, end int64
		want       float64
		covered    float64
	}{
		{"all of it", whole, 0, 5 * sec, area(0, 5), 1},
		{"between samples", whole, 1200 * ms, 3700 * ms, area(1.2, 3.7), 1},
		{"within one interval", whole, 1200 * ms, 1300 * ms, area(1.2, 1.3), 1},
		{"the first holds before it", whole, -3 * sec, 1 * sec, 3*1 + area(0, 1), 1.0 / 4},
		{"the last holds after it", whole, 4 * sec, 9 * sec, area(4, 5) + 4*11, 1.0 / 5},
		{"all before it", whole, 6 * sec, 8 * sec, 22, 0},
		{"one sample", whole[1:2], 0, 2 * sec, 6, 0},
		{"no sample", nil, 0, 2 * sec, 0, 0},
		{"no time", whole, 2 * sec, 2 * sec, 0, 0},
		{"time that goes backwards", whole, 2 * sec, 1 * sec, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, covered := Integrate(tt.samples, tt.start, tt.end)
			near(t, "joules", got, tt.want)
			near(t, "covered", covered, tt.covered)
		})
	}
}

func TestIntegrateLeavesOut(t *testing.T) {
	samples := []Sample{
		{At: 0, Watts: 1},
		{At: 1 * sec, Watts: math.NaN()},
		{At: 2 * sec, Watts: 1},
		{At: 2 * sec, Watts: 50},  // repeated
		{At: 1 * sec, Watts: 100}, // backwards
		{At: 3 * sec, Watts: math.Inf(1)},
		{At: 4 * sec, Watts: 1},
	}
	got, covered := Integrate(samples, 0, 4*sec)
	near(t, "joules", got, 4)
	near(t, "covered", covered, 1)
}

// TestIntegrateNeverNegative gives readings a moment apart, where Simpson's
// parabola runs away.
func TestIntegrateNeverNegative(t *testing.T) {
	samples := []Sample{{0, 3}, {1 * ms, 0}, {1 * sec, 0}, {2 * sec, 0}}
	got, _ := Integrate(samples, 0, 2*sec)
	near(t, "joules", got, 0.0015)
}

func TestCounterJoules(t *testing.T) {
	var readings []Reading
	for _, r := range []Sample{
		{0, 100}, {2 * sec, 104}, {2 * sec, 90}, {1 * sec, 200}, {3 * sec, math.NaN()}, {4 * sec, 103}, {4 * sec, 112},
	} {
		readings = append(readings, Reading{At: r.At, Joules: r.Watts})
	}
	tests := []struct {
		name       string
		start, end int64
		want       float64
		covered    float64
	}{
		{"all", 0, 4 * sec, 12, 1},
		{"within", 1 * sec, 3 * sec, 2 + 4, 1},
		{"beyond", -4 * sec, 6 * sec, 12, 0.4},
		{"before", -4 * sec, -2 * sec, 0, 0},
		{"no time", 2 * sec, 2 * sec, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, covered := CounterJoules(readings, tt.start, tt.end)
			near(t, "joules", got, tt.want)
			near(t, "covered", covered, tt.covered)
		})
	}
	powers := Powers(readings)
	want := []Sample{{1 * sec, 2}, {3 * sec, 4}}
	if len(powers) != 2 || powers[0] != want[0] || powers[1] != want[1] {
		t.Errorf("powers: %v, want %v", powers, want)
	}
}

func TestBaseAndTail(t *testing.T) {
	// Rest at 0.7 W, a download from 3 s to 6 s at 3 W, a tail of 1.2 W to 9 s.
	watts := []float64{0.7, 0.72, 0.7, 3, 3, 3, 3, 1.2, 1.2, 0.7, 0.7, 0.7}
	var samples []Sample
	for i, w := range watts {
		samples = append(samples, Sample{At: int64(i) * sec, Watts: w})
	}
	base, ok := BasePower(samples, 3*sec)
	if !ok || base != 0.7 {
		t.Errorf("base: %g, %v", base, ok)
	}
	if _, ok := BasePower(samples, 0); ok {
		t.Error("a base power without a sample before the start")
	}
	if low, ok := LowestPower(samples[3:]); !ok || math.Abs(low-0.7) > 1e-9 {
		t.Errorf("lowest: %g, %v", low, ok)
	}
	if _, ok := LowestPower(nil); ok {
		t.Error("a lowest power of nothing")
	}

	tail, ok := TailEnergy(samples, 6*sec, base, 0.05)
	if !ok || tail.Cut || tail.Seconds != 3 {
		t.Errorf("tail: %+v, %v", tail, ok)
	}
	// A parabola through 3, 1.2 and 1.2 W, a line down to 0.7 W, and base taken off.
	near(t, "tail", tail.Joules, (3+4*1.2+1.2)/3+(1.2+0.7)/2-3*0.7)

	cut, ok := TailEnergy(samples[:9], 6*sec, base, 0.05)
	if !ok || !cut.Cut || cut.Seconds != 2 {
		t.Errorf("cut tail: %+v, %v", cut, ok)
	}
	// A single dip is no end.
	dip := append([]Sample(nil), samples...)
	dip[8].Watts = 0.7
	dip[9].Watts = 1.2
	if tail, _ := TailEnergy(dip, 6*sec, base, 0.05); tail.Seconds != 4 {
		t.Errorf("a dip ended the tail: %+v", tail)
	}
	if tail, ok := TailEnergy(samples, 11*sec, base, 0.05); ok {
		t.Errorf("a tail of no samples: %+v", tail)
	}
	near(t, "tolerance", BaseTolerance(samples, 1*sec, 2), 0.1)
	near(t, "tolerance", BaseTolerance(samples, 2*sec, 0.1), 2*stats.Sigma(watts[:2]))
}
