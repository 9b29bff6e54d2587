package energy

import (
	"slices"

	"github.com/mlget/mlget/internal/stats"
)

// A download is a step of the power: up when its first connection begins, down at its last
// byte, and down again at the end of the tail. A gauge shows a step late: it samples only now
// and then, and repeats itself in between; some gauges show the mean since the sample before,
// which is later still. A straight line from the last reading before a step to the first one
// after it loses half of what lies between, and always on the same side.
//
// So the moments of the first two steps, which are known, divide the readings: each belongs to
// one side, the first of a side stands for the time back to the step, and readings so soon
// after it that they may mix both sides count only if they agree with later ones [D].

// minChanges is how many times between two changes of a gauge tell how often it looks.
const minChanges = 4

// refresh is how often the gauge of usable samples looks, in ns, as far as it can be
// seen: the time between two changes of its value, of which a quarter are no longer.
// Values that happen to be equal make some of these times longer than the gauge's
// own, and none shorter. 0: it changes too seldom to tell.
func refresh(usable []Sample) int64 {
	gaps := changes(usable)
	if len(gaps) < minChanges {
		return 0
	}
	return int64(stats.Quantile(gaps, 0.25))
}

// changes is the times between each two changes of the value of usable samples, in ns.
func changes(usable []Sample) (gaps []float64) {
	var last int64
	seen := false
	for i := 1; i < len(usable); i++ {
		if usable[i].Watts == usable[i-1].Watts {
			continue
		}
		if seen {
			gaps = append(gaps, float64(usable[i].At-last))
		}
		last, seen = usable[i].At, true
	}
	return gaps
}

// side is the samples on one side of a step.
type side struct {
	samples []Sample
	lag     float64 // s for which the other side's power seemed to go on
}

// after is the side of a step at start (ns), up to end, of usable samples. Samples within reach
// of the step are left out if they are still on the way from the other side's power to level,
// by more than tolerance watts.
func after(usable []Sample, start, end, reach int64, from, level, tolerance float64) side {
	first, _ := slices.BinarySearchFunc(usable, start+1, compareAt)
	last, _ := slices.BinarySearchFunc(usable, end+1, compareAt)
	all := usable[first:last]
	down := from > level
	keep := 0
	for i := 0; i+1 < len(all) && all[i].At < start+reach; i++ {
		if !down && all[i].Watts < level-tolerance || down && all[i].Watts > level+tolerance {
			keep = i + 1
		}
	}
	s := side{samples: all[keep:]}
	if keep == 0 || from == level {
		return s
	}
	at, watts := start, from
	for _, next := range all[:keep+1] {
		s.lag += seconds(next.At-at) * (watts - level) / (from - level)
		at, watts = next.At, next.Watts
	}
	s.lag = min(max(s.lag, 0), seconds(reach))
	return s
}

func compareAt(s Sample, at int64) int {
	switch {
	case s.At < at:
		return -1
	case s.At > at:
		return 1
	}
	return 0
}

// between is the samples as a line from start to end (ns): the first stands for what
// is before it, the last for what is after it.
func between(samples []Sample, start, end int64) []Sample {
	if len(samples) == 0 || end <= start {
		return nil
	}
	points := make([]Sample, 0, len(samples)+2)
	points = append(points, Sample{At: start, Watts: at(samples, start)})
	for _, s := range samples {
		if s.At > start && s.At < end {
			points = append(points, s)
		}
	}
	return append(points, Sample{At: end, Watts: at(samples, end)})
}
