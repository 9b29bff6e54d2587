package energy

import "math"

// Sample is the power that a sampler read at an instant.
type Sample struct {
	At    int64 // ns
	Watts float64
}

// Reading is the value of an energy counter: RAPL's, a rail's. Counters are subtracted, never
// integrated; their reader undoes wraps.
type Reading struct {
	At     int64   // ns
	Joules float64 // since some start of the counter's own
	Still  int64   // ns of the time since the reading before in which it was seen to stand still
}

// Integrate is the energy from start to end (ns), in J, and which share of that time, 0 to 1,
// lies between the first and the last usable sample.
//
// Impossible samples are left out, and samples that are no later than one before them. At start
// and end the power is interpolated between the samples on either side; where there is none on
// one side, the nearest holds [D]. No usable sample, or no time: 0, 0.
//
// Between samples the power follows Simpson's rule, as in the thesis [3.4]; see simpson for
// where it is a straight line.
func Integrate(samples []Sample, start, end int64) (joules, covered float64) {
	w := clip(samples, start, end)
	return simpson(w.points), w.covered
}

// CounterJoules is what a counter advanced from start to end (ns), in J, and which share of
// that time, 0 to 1, the readings cover. At start and end it is interpolated; time that no
// reading covers adds nothing. Impossible readings are left out, and readings that are no later
// than one before, or lower (the counter started over).
func CounterJoules(readings []Reading, start, end int64) (joules, covered float64) {
	var time int64
	usable := advancing(readings)
	for i := 1; i < len(usable); i++ {
		last, r := usable[i-1], usable[i]
		if from, to := max(start, last.At), min(end, r.At); from < to {
			joules += (r.Joules - last.Joules) * float64(to-from) / float64(r.At-last.At)
			time += to - from
		}
	}
	if time == 0 || !sane(start, 0) || !sane(end, 0) {
		return 0, 0
	}
	return joules, float64(time) / float64(end-start)
}

// advancing is the readings that can be used, in a slice of its own.
func advancing(readings []Reading) []Reading {
	usable := make([]Reading, 0, len(readings))
	for _, r := range readings {
		if n := len(usable); sane(r.At, r.Joules) && (n == 0 || r.At > usable[n-1].At && r.Joules >= usable[n-1].Joules) {
			usable = append(usable, r)
		}
	}
	return usable
}

// Powers is the mean power between each two readings, at the middle of the two.
// Unusable readings are left out as in [CounterJoules].
func Powers(readings []Reading) []Sample {
	usable := advancing(readings)
	samples := make([]Sample, 0, len(usable))
	for i := 1; i < len(usable); i++ {
		last, r := usable[i-1], usable[i]
		d := r.At - last.At
		samples = append(samples, Sample{At: last.At + d/2, Watts: (r.Joules - last.Joules) / seconds(d)})
	}
	return samples
}

// window is the result of integrating samples over a span of time.
type window struct {
	points  []Sample // the first at the start, the last at the end of the span
	inside  int      // usable samples in the span
	covered float64  // share of the span between usable samples
}

// clip cuts usable samples to the time from start to end, with interpolated
// samples at both.
func clip(samples []Sample, start, end int64) window {
	usable := clean(samples)
	if len(usable) == 0 || end <= start || !sane(start, 0) || !sane(end, 0) {
		return window{}
	}
	first, last := usable[0].At, usable[len(usable)-1].At
	w := window{
		points:  make([]Sample, 0, len(usable)+2),
		covered: float64(max(0, min(end, last)-max(start, first))) / float64(end-start),
	}
	w.points = append(w.points, Sample{At: start, Watts: at(usable, start)})
	for _, s := range usable {
		if s.At < start || s.At > end {
			continue
		}
		w.inside++
		if s.At > start && s.At < end {
			w.points = append(w.points, s)
		}
	}
	w.points = append(w.points, Sample{At: end, Watts: at(usable, end)})
	return w
}

// at is the power at t by the usable samples, of which there is at least one.
func at(usable []Sample, t int64) float64 {
	for i, s := range usable {
		if s.At < t {
			continue
		}
		if i == 0 || s.At == t {
			return s.Watts
		}
		before := usable[i-1]
		return before.Watts + (s.Watts-before.Watts)*float64(t-before.At)/float64(s.At-before.At)
	}
	return usable[len(usable)-1].Watts
}

// clean is the samples that can be used, in a slice of its own.
func clean(samples []Sample) []Sample {
	usable := make([]Sample, 0, len(samples))
	for _, s := range samples {
		if sane(s.At, s.Watts) && (len(usable) == 0 || s.At > usable[len(usable)-1].At) {
			usable = append(usable, s)
		}
	}
	return usable
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Bounds of what is believed of samplers, in W or J, and of clocks, in ns: wide
// enough for all devices, and narrow enough that nothing overflows.
const (
	maxValue = 1e12
	maxClock = int64(1) << 61
)

// sane says whether a sampler may have read value at t. NaN is not.
func sane(t int64, value float64) bool {
	return math.Abs(value) <= maxValue && -maxClock <= t && t <= maxClock
}
