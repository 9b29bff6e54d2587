package energy

import (
	"slices"

	"github.com/mlget/mlget/internal/stats"
)

// A gauge may be gone for a while with its device, or its driver may answer with the
// same number over and over. Such time is not covered: what a line across it says of
// the power is a guess.

const (
	// longestGap is for how many intervals nothing may be read before that time counts
	// as a gap; a busy machine is late for one.
	longestGap = 2.5
	// lateNanos is how late a reading may always be: so late it is on a busy machine.
	lateNanos = 400_000_000
	// repeatEvery is after how many intervals an unchanged number is published again
	// (internal/power).
	repeatEvery = 5
	// frozenHold is how many times longer than usual a number has to stay for it to be
	// that of a driver that is stuck: nine of ten of a gauge's numbers stay for what is
	// usual [D].
	frozenHold = 3
	// leastFrozen is for how long (ns) any gauge may show the same.
	leastFrozen = 1_500_000_000
	// restless is the share of a gauge's numbers that may be read twice, if it is one
	// of which three of the same in a row are no chance.
	restless = 0.03
	// manyNumbers is of how many numbers what is usual is known; and muchMore is of how
	// many it is known that they are hardly ever read twice.
	manyNumbers = 8
	muchMore    = 20
	// madeUp is how many times the usual power a counter has to show after it stood
	// still, if it has made up for that [D].
	madeUp = 1.5
)

// missing is the share of the run, 0 to 1, in which the gauge was not read, or was
// stuck.
func (m *meter) missing() float64 {
	if m.counts || m.Interval <= 0 {
		return 0
	}
	var lost int64
	miss := func(from, to int64) { lost += max(min(to, m.run.End)-max(from+m.Interval, m.run.Start), 0) }
	all := holds(m.samples)
	limit, frozen := max(int64(longestGap*float64(m.Interval)), lateNanos), stuck(all, m.Interval)
	for i, h := range all {
		until := h.to
		if i+1 < len(all) {
			until = all[i+1].from
		}
		switch {
		case m.isStuck(h, frozen):
			miss(h.from, until)
		case until-h.to > limit:
			miss(h.to, until)
		}
	}
	repeat := repeatEvery*m.Interval + max(m.Interval, lateNanos)
	for i := 1; i < len(m.samples); i++ {
		if a, b := m.samples[i-1], m.samples[i]; a.Watts == b.Watts && b.At-a.At > repeat {
			miss(a.At, b.At)
		}
	}
	return min(float64(lost)/float64(m.run.End-m.run.Start), 1)
}

// thaw removes the repetitions of a driver that was stuck, keeping the first value.
func (m *meter) thaw() {
	if m.counts || m.Interval <= 0 {
		return
	}
	all := holds(m.samples)
	limit := stuck(all, m.Interval)
	if limit == 0 {
		return
	}
	m.samples = slices.DeleteFunc(m.samples, func(s Sample) bool {
		for len(all) > 1 && all[0].to < s.At {
			all = all[1:]
		}
		return s.At > all[0].from && m.isStuck(all[0], limit)
	})
}

// isStuck says whether a number stayed for more than limit (ns; 0: there is none) within
// the run. Before and after that a device may well be at rest.
func (m *meter) isStuck(h plateau, limit int64) bool {
	return limit > 0 && min(h.to, m.run.End)-max(h.from, m.run.Start) > limit
}

// plateau is from when to when (ns) a gauge showed the same number, as far as it was read.
type plateau struct{ from, to int64 }

func holds(usable []Sample) (all []plateau) {
	first := 0
	for i := range usable {
		if i+1 == len(usable) || usable[i+1].Watts != usable[i].Watts {
			all = append(all, plateau{usable[first].At, usable[i].At})
			first = i + 1
		}
	}
	return all
}

// stuck is for how long (ns) a number has to stay to be that of a driver that is stuck,
// by how long the others stay of a gauge that is read every interval (ns). 0: a gauge
// that changes so seldom may show the same for as long as it likes.
func stuck(all []plateau, interval int64) int64 {
	if len(all) < manyNumbers {
		return 0
	}
	long := make([]float64, len(all))
	twice := 0
	for i, h := range all {
		if long[i] = float64(h.to - h.from); h.to > h.from {
			twice++
		}
	}
	least := longestGap
	if len(all) >= muchMore && float64(twice) <= max(1, restless*float64(len(all))) {
		least-- // a third reading of it is enough
	}
	return int64(max(frozenHold*stats.Quantile(long, 0.9), least*float64(interval), leastFrozen))
}

// stalls is the share of the run in which a counter stood still and did not make up
// for it: what it advanced by after that is no more than usual for the rest of the time.
func (m *meter) stalls() (share float64) {
	usable := advancing(m.Readings)
	if m.Interval <= 0 {
		return 0
	}
	limit := max(int64(longestGap*float64(m.Interval)), 2*m.refresh) - m.Interval
	for i := 1; i < len(usable); i++ {
		a, b := usable[i-1], usable[i]
		rest := b.At - a.At - b.Still
		if b.Still <= limit || rest <= 0 || (b.Joules-a.Joules)/seconds(rest) > madeUp*m.level {
			continue
		}
		// It stood still for longer than it was seen to: for as long as is missing.
		still := b.Still
		if m.level > 0 {
			still = max(still, b.At-a.At-int64((b.Joules-a.Joules)/m.level*1e9))
		}
		from, to := max(a.At, m.run.Start), min(a.At+still, m.run.End)
		share += float64(max(to-from, 0)) / float64(m.run.End-m.run.Start)
	}
	return share
}
