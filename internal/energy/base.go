package energy

import "github.com/mlget/mlget/internal/stats"

// BasePower is the device's power before start (ns), when nothing was being downloaded: the
// median of the samples before that, which one odd reading does not move [D]. It is P_b of
// Guner and Kosar's equation 2. If there are none, ok is false: [LowestPower] is then the next
// best.
func BasePower(samples []Sample, start int64) (watts float64, ok bool) {
	var before []float64
	for _, s := range clean(samples) {
		if s.At < start {
			before = append(before, s.Watts)
		}
	}
	if len(before) == 0 {
		return 0, false
	}
	return stats.Median(before), true
}

// LowestPower stands in for a base power that was not measured: the 5th
// percentile of all samples [D]. It is too high where the device never came to
// rest while it was watched, and the dynamic energy is then too low; say so
// wherever it is used. ok is false if there are no samples.
func LowestPower(samples []Sample) (watts float64, ok bool) {
	usable := clean(samples)
	if len(usable) == 0 {
		return 0, false
	}
	return stats.Quantile(powersOf(usable), 0.05), true
}

// MeasuredTail is a device's energy above its base power after a download.
type MeasuredTail struct {
	Joules  float64 // above base
	Seconds float64 // from the last byte until the power was back at base
	Cut     bool    // the samples ended before it was
}

// TailEnergy follows the power from the last byte (ns) on until it is back at
// base watts: until the first of two samples in a row that are no more than
// tolerance watts above [D]. If that does not happen the tail goes on to the
// last sample, and is cut. ok is false if no sample is later than the last byte.
func TailEnergy(samples []Sample, last int64, base, tolerance float64) (tail MeasuredTail, ok bool) {
	usable := clean(samples)
	if len(usable) == 0 || usable[len(usable)-1].At <= last {
		return MeasuredTail{}, false
	}
	end, low, edge := usable[len(usable)-1].At, 0, 0
	tail.Cut = true
	for i, s := range usable {
		switch {
		case s.At <= last:
		case s.Watts > base+tolerance:
			low = 0
		default:
			low++
		}
		if low == 2 {
			end, tail.Cut, edge = usable[i-1].At, false, i-1
			break
		}
	}
	joules, _ := Integrate(usable, last, end)
	if edge > 0 && usable[edge-1].At >= last { // the end is a step as well, and no curve
		joules, _ = Integrate(usable, last, usable[edge-1].At)
		joules += trapezoids(usable[edge-1 : edge+1])
	}
	tail.Seconds = seconds(end - last)
	tail.Joules = joules - base*tail.Seconds
	return tail, true
}

// BaseTolerance is how far above base power still counts as base: twice the
// standard deviation of the samples before start (ns), and at least 5 % of base
// [D].
func BaseTolerance(samples []Sample, start int64, base float64) float64 {
	tolerance := 0.05 * base
	var before []float64
	for _, s := range clean(samples) {
		if s.At < start {
			before = append(before, s.Watts)
		}
	}
	if len(before) >= 2 {
		tolerance = max(tolerance, 2*stats.Sigma(before))
	}
	return tolerance
}

// powersOf is the power of each sample.
func powersOf(samples []Sample) []float64 {
	watts := make([]float64, len(samples))
	for i, s := range samples {
		watts[i] = s.Watts
	}
	return watts
}
