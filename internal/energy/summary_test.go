package energy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

func TestSummarise(t *testing.T) {
	// 0.5 W at rest until 5 s, 2.5 W until 15 s, 1.5 W until 18 s, rest again:
	// trapezoids on the edges, as everywhere.
	var samples []Sample
	for s := int64(0); s <= 25; s++ {
		watts := 0.5
		switch {
		case s >= 5 && s <= 15:
			watts = 2.5
		case s > 15 && s < 18:
			watts = 1.5
		}
		samples = append(samples, Sample{At: s * sec, Watts: watts})
	}
	s, ok := Summarise(Series{Samples: samples}, Run{Start: 5 * sec, End: 15 * sec, Bytes: 250e6})
	if !ok || !s.BaseKnown || s.Samples != 11 || s.Covered != 1 {
		t.Errorf("got %+v, %v", s, ok)
	}
	near(t, "base", s.BaseWatts, 0.5)
	near(t, "median", s.MedianWatts, 2.5)
	near(t, "p05", s.P05Watts, 2.5)
	near(t, "p90", s.P90Watts, 2.5)
	near(t, "peak", s.PeakWatts, 2.5)
	near(t, "total", s.TotalJoules, 25)
	near(t, "dynamic", s.DynamicJoules, 20)
	near(t, "per 100 MB", s.JoulesPer100MB, 8)
	near(t, "Mbit/s per J", s.MbpsPerJoule, 200.0/20)
	if !s.TailKnown || s.Tail.Cut || s.Tail.Seconds != 3 || s.Tail.Joules < 2.5 || s.Tail.Joules > 3.7 {
		t.Errorf("tail: %+v", s.Tail)
	}

	// Without samples before the start and after the end.
	s, ok = Summarise(Series{Samples: samples[5:16]}, Run{Start: 5 * sec, End: 15 * sec})
	if !ok || s.BaseKnown || s.TailKnown || s.JoulesPer100MB != 0 || s.MbpsPerJoule != 0 {
		t.Errorf("got %+v, %v", s, ok)
	}
	near(t, "base", s.BaseWatts, 2.5)
	near(t, "dynamic", s.DynamicJoules, 0)

	// A run between two samples.
	s, ok = Summarise(Series{Samples: samples}, Run{Start: 6*sec + 100*ms, End: 6*sec + 300*ms, Bytes: 1})
	if !ok || s.Samples != 0 || s.Covered != 1 {
		t.Errorf("got %+v, %v", s, ok)
	}
	near(t, "peak", s.PeakWatts, 2.5)
	near(t, "total", s.TotalJoules, 0.5)

	for name, run := range map[string]Run{"no time": {Start: 5, End: 5}, "backwards": {Start: 5, End: 4}} {
		if s, ok := Summarise(Series{Samples: samples}, run); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s, ok := Summarise(Series{Samples: []Sample{{At: 1, Watts: math.NaN()}}}, Run{End: 5}); ok {
		t.Errorf("of nothing: %+v", s)
	}
}

// TestSummariseStuckGauge is of a gauge that does not move while something is downloaded:
// what is left of its watts, base power taken off, is rounding.
func TestSummariseStuckGauge(t *testing.T) {
	samples := []Sample{
		{At: 0, Watts: 0.7}, {At: 1 * sec, Watts: 0.7}, {At: 1500 * ms, Watts: 0.7}, {At: 2250 * ms, Watts: 0.7}, {At: 3100 * ms, Watts: 0.7},
	}
	for start := sec; start < 2*sec; start += ms {
		s, ok := Summarise(Series{Samples: samples}, Run{Start: start, End: start + 2100*ms - 7, Bytes: 1e6})
		if !ok || math.Abs(s.DynamicJoules) > 1e-12 || s.MbpsPerJoule != 0 {
			t.Fatalf("from %d: %v J, %v Mbit/s per J", start, s.DynamicJoules, s.MbpsPerJoule)
		}
	}
}

func TestSummariseCounter(t *testing.T) {
	// 1 W until 5 s, 4 W until 15 s, 2 W until 18 s, 1 W again.
	var readings []Reading
	joules := 10.0
	for s := int64(0); s <= 25; s++ {
		readings = append(readings, Reading{At: s * sec, Joules: joules})
		switch {
		case s < 5 || s >= 18:
			joules++
		case s < 15:
			joules += 4
		default:
			joules += 2
		}
	}
	s, ok := Summarise(Series{Readings: readings}, Run{Start: 5 * sec, End: 15 * sec, Bytes: 1e8})
	if !ok || !s.BaseKnown || s.Covered != 1 || !s.TailKnown || s.Tail.Cut {
		t.Errorf("got %+v, %v", s, ok)
	}
	near(t, "base", s.BaseWatts, 1)
	near(t, "total", s.TotalJoules, 40)
	near(t, "dynamic", s.DynamicJoules, 30)
	near(t, "tail", s.Tail.Joules, 3)
	near(t, "per 100 MB", s.JoulesPer100MB, 30)
	near(t, "peak", s.PeakWatts, 4)
}

// TestSummariseCounterAcrossStart: what a counter advanced between the last reading
// before the start and the first after it is in part the download's: it tells neither
// base power nor how restless that is, or a tail of little power would pass for rest.
func TestSummariseCounterAcrossStart(t *testing.T) {
	// 1 W until 3.6 s, 4 W until 13 s, 1.2 W until 23 s, 1 W again.
	const start, end, asleep = 3600 * ms, 13 * sec, 23 * sec
	joules := func(at int64) float64 {
		return seconds(at) + 3*seconds(min(max(at-start, 0), end-start)) + 0.2*seconds(min(max(at-end, 0), asleep-end))
	}
	for _, first := range []int64{0, 1, 2, 3} { // when the first reading was, in s: so many tell of the base
		var readings []Reading
		for at := first * sec; at <= 28*sec; at += sec {
			readings = append(readings, Reading{At: at, Joules: joules(at)})
		}
		s, ok := Summarise(Series{Readings: readings}, Run{Start: start, End: end, Bytes: 1e8})
		if !ok || s.BaseKnown != (first < 3) {
			t.Fatalf("%+v, %v", s, ok)
		}
		near(t, "base", s.BaseWatts, 1)
		if first == 3 {
			continue
		}
		if !s.TailKnown || s.Tail.Cut || math.Abs(s.Tail.Joules-2) > 0.01 || math.Abs(s.DynamicJoules-28.2) > 0.01 {
			t.Errorf("from %d s: %.2f J dynamic, tail %+v", first, s.DynamicJoules, s.Tail)
		}
	}
}

// TestSummariseEmulatedPhone samples two radios and a base of 0.7 W, with noise,
// through a download of 15 s on both and LTE's tail, and compares what
// Summarise makes of the samples with what the radios really spent.
func TestSummariseEmulatedPhone(t *testing.T) {
	wifi, _ := Lookup("wifi")
	lte, _ := Lookup("lte")
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, tt := range []struct {
		name  string
		every int64 // ns
		limit float64
	}{{"1 Hz", sec, 0.05}, {"10 Hz", 100 * ms, 0.02}} {
		worst := 0.0
		for range 20 {
			start := 5*sec + rnd.Int64N(sec)
			end := start + 15*sec
			a, b := NewMachine(wifi, 0), NewMachine(lte, 0)
			a.radio.Idle, b.radio.Idle = 0, 0 // part of the base
			var samples []Sample
			var before, watts, atEnd, final float64 // J, W, J, J
			for now := ms; now <= end+20*sec; now += ms {
				if now > start && now <= end {
					a.Step(now, 2500, 50, 1)
					b.Step(now, 5000, 100, 1)
				} else {
					a.Step(now, 0, 0, 0)
					b.Step(now, 0, 0, 0)
				}
				final = a.Energy().Total() + b.Energy().Total()
				if now <= end {
					atEnd = final
				}
				if now%(20*ms) == 0 {
					// What a gauge reads is the mean of a short while.
					watts = (final - before) / 0.02
					before = final
				}
				if now%tt.every == 0 {
					samples = append(samples, Sample{At: now, Watts: 0.7 + watts + 0.01*rnd.NormFloat64()})
				}
			}
			s, ok := Summarise(Series{Samples: samples}, Run{Start: start, End: end, Bytes: 112.5e6})
			if !ok || !s.BaseKnown || !s.TailKnown || s.Tail.Cut {
				t.Fatalf("%s: %+v, %v", tt.name, s, ok)
			}
			off := math.Abs((s.DynamicJoules+s.Tail.Joules)/final - 1)
			worst = max(worst, off)
			if off > tt.limit {
				t.Errorf("%s: %.2f J while downloading and %.2f J of tail, really %.2f and %.2f",
					tt.name, s.DynamicJoules, s.Tail.Joules, atEnd, final-atEnd)
			}
		}
		t.Logf("%s: at most %.2f %% off", tt.name, 100*worst)
	}
}

// FuzzSummarise makes samples, readings and a run out of any bytes: records of
// runs come from outside. No figure may be one that JSON cannot hold.
func FuzzSummarise(f *testing.F) {
	f.Add([]byte{}, int64(0), int64(1), int64(1))
	f.Add(binary.LittleEndian.AppendUint64(make([]byte, 64), math.Float64bits(1e308)), int64(-5), int64(9), int64(7))
	f.Add(bytes.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, 4), int64(0), int64(1), int64(1e8))
	f.Fuzz(func(t *testing.T, data []byte, start, end, size int64) {
		var series Series
		var at int64
		for i := 0; i+16 <= len(data); i += 16 {
			step := int64(binary.LittleEndian.Uint64(data[i:]))
			value := math.Float64frombits(binary.LittleEndian.Uint64(data[i+8:]))
			if at += step; i%32 == 0 {
				series.Samples = append(series.Samples, Sample{At: at, Watts: value})
			} else {
				series.Readings = append(series.Readings, Reading{At: at, Joules: value})
			}
		}
		s, ok := Summarise(series, Run{Start: start, End: end, Bytes: size})
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("%+v, %v: %v", s, ok, err)
		}
		if s.Covered < 0 || s.Covered > 1.000001 {
			t.Errorf("covers %g", s.Covered)
		}
	})
}
