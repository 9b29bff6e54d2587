package energy

import (
	"math"

	"github.com/mlget/mlget/internal/stats"
)

// Series holds the samples around a run: power, readings of a counter, or both. Where there are
// readings, energy is taken from them, and their [Powers] stand in for missing samples.
type Series struct {
	Samples  []Sample
	Readings []Reading
	Interval int64 // ns between readings, as they were asked for; 0: unknown
	Refresh  int64 // ns between two looks of the slowest gauge that is in the sum; 0: unknown
}

// Run is the download that the samples are about. Samples before Start tell the
// base power, samples after End the tail.
type Run struct {
	Start int64 // start of the first connection, ns
	First int64 // first payload byte, ns; 0: unknown
	End   int64 // last payload byte, ns
	Bytes int64 // payload bytes that came in this run
}

// Summary is a run in watts and joules, as the report has them. All of it is
// measured, if the samples were.
type Summary struct {
	Samples   int     // usable ones between Start and End
	Covered   float64 // share of the run that usable samples or readings cover, 0 to 1
	BaseKnown bool    // BaseWatts is from before the run; else it is the 5th percentile of all samples
	Counted   bool    // by a counter, which misses nothing however seldom it is updated
	Refresh   float64 // s between two looks of the gauge or counter, as far as it can be seen; 0: too few changes

	BaseWatts, MedianWatts, P05Watts, P90Watts, PeakWatts float64

	TotalJoules   float64 // dynamic, and base power from Start to End [Guner and Kosar, tradeoffs, eq. 1]
	DynamicJoules float64 // above base power [eq. 2]; the tail is not in it [thesis, 3.4: Main]
	// LowJoules and HighJoules are what DynamicJoules may be off by: what passes while
	// the gauge does not look, at the two ends of the run, the spread of the base's
	// readings, and what is not covered. They are bounds and no deviations.
	LowJoules, HighJoules float64
	Tail                  MeasuredTail // what came after End
	TailKnown             bool         // there were samples after End
	JoulesPer100MB        float64      // dynamic, per 10^8 payload bytes; 0 without payload
	MbpsPerJoule          float64      // throughput over dynamic energy; 0 without either
}

const (
	// slowerThanAsked is how much longer than the interval of the readings the time
	// between two looks of a gauge has to be before it counts as slower: the clocks
	// of gauge and reader are not the same.
	slowerThanAsked = 1.5
	// minLooks is how often a slow gauge has to change within a run for its readings to be a
	// measurement.
	minLooks = 10
)

// Slow says whether a gauge looks more seldom than it was asked, every interval (ns).
func (s *Summary) Slow(interval int64) bool {
	return !s.Counted && interval > 0 && s.Refresh > slowerThanAsked*seconds(interval)
}

// TooSlow says whether it looks so seldom that the run was too short for it.
func (s *Summary) TooSlow(interval int64, run Run) bool {
	return s.Slow(interval) && seconds(run.End-run.Start) < s.Needs()
}

// Needs is how long a run has to be for a gauge that is slower than asked, in s.
func (s *Summary) Needs() float64 { return minLooks * s.Refresh }

// Summarise describes a run. ok is false if there is no usable sample, or no
// time between Start and End.
func Summarise(series Series, run Run) (s Summary, ok bool) {
	m := meter{Series: series, run: run, samples: clean(series.Samples)}
	before := m.samples // and of these, what is before the start tells the base
	if m.counts = len(m.samples) == 0; m.counts {
		m.samples = Powers(series.Readings)
		// A counter's step around the start is partly the download's.
		before = Powers(early(series.Readings, run.Start))
	}
	w := clip(m.samples, run.Start, run.End)
	if len(w.points) == 0 {
		return Summary{}, false
	}
	s.Samples, s.Covered = w.inside, max(0, w.covered-m.missing())
	m.thaw()
	if s.BaseWatts, s.BaseKnown = BasePower(before, run.Start); !s.BaseKnown {
		s.BaseWatts, _ = LowestPower(m.samples)
	} else if m.counts {
		s.BaseWatts = meanPower(early(series.Readings, run.Start))
	}
	m.base, m.tolerance = s.BaseWatts, BaseTolerance(before, run.Start, s.BaseWatts)

	inside := powersOf(m.inside(w))
	s.MedianWatts, s.PeakWatts = stats.Median(inside), stats.Peak(inside)
	s.P05Watts, s.P90Watts = stats.Quantile(inside, 0.05), stats.Quantile(inside, 0.9)

	m.look(s.MedianWatts)
	s.Refresh, s.Counted = seconds(m.refresh), m.counts
	joules, covered := m.dynamic()
	if covered > 0 { // of readings
		s.Covered = covered
	}
	s.DynamicJoules = joules
	s.Tail, s.TailKnown = m.tail()
	s.TotalJoules = s.DynamicJoules + s.BaseWatts*seconds(run.End-run.Start)
	unseen := (1 - s.Covered) * seconds(run.End-run.Start)
	doubt := m.doubt(before) + unseen*max(s.PeakWatts-s.BaseWatts, 0)
	s.LowJoules, s.HighJoules = s.DynamicJoules-doubt, s.DynamicJoules+doubt
	s.JoulesPer100MB = JoulesPer100MB(s.DynamicJoules, run.Bytes)
	s.MbpsPerJoule = MbpsPerJoule(s.DynamicJoules, run.Bytes, run.End-run.Start)
	return s, true
}

// meter takes the joules of a run from its readings.
type meter struct {
	Series
	run       Run
	samples   []Sample // usable ones; of a counter, its powers
	counts    bool     // there is a counter, and no gauge
	base      float64  // W
	tolerance float64  // W above base that are still base
	level     float64  // W, the median of the run
	refresh   int64    // ns between two looks; 0: unknown
	during    side     // from the start on
	rest      side     // from the end on
}

// inside is the readings within the run at the requested interval. Around the start there are
// more readings, and that time would count for too much; of a gauge's repetitions only the
// first and the last reading count. If there is none, it is the interpolated value.
func (m *meter) inside(w window) (inside []Sample) {
	take := func(s Sample) {
		// A reading may come a moment early.
		if n := len(inside); n == 0 || s.At-inside[n-1].At >= m.Interval-m.Interval/8 {
			inside = append(inside, s)
		}
	}
	for i, s := range m.samples {
		if i > 0 && m.Interval > 0 && s.Watts == m.samples[i-1].Watts {
			from := m.samples[i-1].At
			from += max(0, (m.run.Start-from)/m.Interval) * m.Interval
			for t := from + m.Interval; t < min(s.At, m.run.End) && len(inside) < maxRepeats; t += m.Interval {
				if t > m.run.Start {
					take(Sample{At: t, Watts: s.Watts})
				}
			}
		}
		if s.At > m.run.Start && s.At <= m.run.End {
			take(s)
		}
	}
	if len(inside) == 0 {
		return w.points
	}
	return inside
}

// maxRepeats bounds the readings that are taken for repeated: times come from records.
const maxRepeats = 1 << 18

// look finds out how often the gauge looks, and divides the samples at the start and
// the end of a run of so many watts.
func (m *meter) look(level float64) {
	m.level = level
	far := m.tolerance
	if m.level > m.base {
		far = max(far, 0.05*(m.level-m.base))
	}
	if m.refresh = max(refresh(m.samples), m.Refresh); m.counts { // each sample is between two changes
		m.refresh = spacing(m.Readings)
	}
	rise := m.shown(max(m.run.Start, m.run.First), m.base, m.level)
	if few := len(changes(m.samples)) < manyNumbers; few && !m.counts {
		fall := m.shown(m.run.End, m.level, m.base)
		if 4*max(rise, fall) < m.refresh { // steps that it showed at once: the power has few of its own
			m.refresh = 0
		}
	}
	if late := m.late(far); late > m.Interval {
		m.refresh = max(m.refresh, late)
	}
	// A gauge of means shows the whole of a step at its second look.
	reach := 2 * m.refresh
	switch {
	case m.refresh > 0:
	case rise <= atOnce:
		reach = min(2*atOnce, m.Interval)
	default:
		reach = m.Interval
	}
	if m.run.End-m.run.Start < 3*reach {
		m.level = m.peak(level) // of so few readings half may be of the time before
	}
	from := m.run.Start
	if m.run.First > from+max(reach, atOnce) {
		from = m.run.First // a radio may wake up before that, but for the run's bytes
	}
	m.during = after(m.samples, from, m.run.End, reach, m.base, m.level, far)
	if from > m.run.Start {
		m.during.samples = m.waiting(from)
	}
	resting := m.base // the level of the tail: what is first seen beyond reach
	for _, s := range m.samples {
		if resting = s.Watts; s.At >= m.run.End+reach {
			break
		}
	}
	m.rest = after(m.samples, m.run.End, math.MaxInt64-1, reach, m.level, resting, far)
}

// atOnce is within what time (ns) after a step a gauge shows it that looks as often as
// it is read closely.
const atOnce = 120_000_000

// shown is for how long after a moment (ns) the gauge did not show half of a step from
// one power to the other, in W.
func (m *meter) shown(edge int64, from, to float64) int64 {
	for _, s := range m.samples {
		if s.At > edge && math.Abs(s.Watts-to) < math.Abs(s.Watts-from) {
			return s.At - edge
		}
	}
	return math.MaxInt64 / 8
}

// peak is the highest sample of the run, or watts if that is higher.
func (m *meter) peak(watts float64) float64 {
	for _, s := range m.samples {
		if s.At > m.run.Start && s.At <= m.run.End {
			watts = max(watts, s.Watts)
		}
	}
	return watts
}

// waiting is the samples of the run, with the step of the first byte at from (ns).
func (m *meter) waiting(from int64) (all []Sample) {
	for _, s := range m.samples {
		if s.At > m.run.Start && s.At < from {
			all = append(all, s)
		}
	}
	if n := len(all); n > 0 && len(m.during.samples) > 0 {
		all = append(all, Sample{At: from - 1, Watts: all[n-1].Watts}, Sample{At: from, Watts: m.during.samples[0].Watts})
	}
	return append(all, m.during.samples...)
}

// late is for how long after the first byte of the run the gauge still told base power,
// in ns, where it told more than far watts above it later: so long at least it does
// not look. A counter tells no power of a moment.
func (m *meter) late(far float64) int64 {
	if m.counts || m.run.First < m.run.Start || m.level <= m.base+far {
		return 0
	}
	late := int64(0)
	for _, s := range m.samples {
		switch {
		case s.At > m.run.End:
			return 0
		case s.At > m.run.First && s.Watts > m.base+far:
			return late
		case s.At > m.run.First:
			late = s.At - m.run.First
		}
	}
	return 0
}

// spacing is the usual time between two readings that differ, in ns; 0: there are too
// few of them.
func spacing(readings []Reading) int64 {
	var gaps []float64
	usable := advancing(readings)
	for i := 1; i < len(usable); i++ {
		gaps = append(gaps, float64(usable[i].At-usable[i-1].At))
	}
	if len(gaps) < minChanges {
		return 0
	}
	return int64(stats.Quantile(gaps, 0.25))
}

// dynamic is the energy above base within the run, in J. A counter's covered is that of its
// readings; of a gauge it is 0.
func (m *meter) dynamic() (joules, covered float64) {
	duration := seconds(m.run.End - m.run.Start)
	if counted, covered := CounterJoules(m.Readings, m.run.Start, m.run.End); covered > 0 {
		if covered > 0.999 {
			counted = m.counted(m.run.End) - m.counted(m.run.Start)
		}
		if covered -= m.stalls(); covered <= 0 {
			return 0, 0
		}
		// Time outside of the readings goes at their mean power.
		return counted/covered - m.base*duration, covered
	}
	points := between(m.during.samples, m.run.Start, m.run.End)
	if points == nil { // the run was over before there was a reading
		joules, _ := Integrate(m.samples, m.run.Start, m.run.End)
		return joules - m.base*duration + m.onset(), 0
	}
	return simpson(points) - m.base*duration, 0
}

// counted is the counter's value at the start or the end of the run, in J. The reading on
// either side of it is as exact as it is late; in between lies base power before the start, and
// after the end the power measured after the reading.
func (m *meter) counted(t int64) float64 {
	usable := advancing(m.Readings)
	i := 0
	for i < len(usable) && usable[i].At <= t {
		i++
	}
	switch {
	case len(usable) == 0:
		return 0
	case i == len(usable):
		return usable[i-1].Joules
	case i == 0:
		return usable[i].Joules
	}
	a, b := usable[i-1], usable[i]
	line := a.Joules + (b.Joules-a.Joules)*float64(t-a.At)/float64(b.At-a.At)
	switch {
	case t == m.run.Start:
		line = a.Joules + m.base*seconds(t-a.At)
	case i+1 < len(usable):
		next := usable[i+1]
		line = b.Joules - (next.Joules-b.Joules)/seconds(next.At-b.At)*seconds(b.At-t)
	}
	return min(max(line, a.Joules), b.Joules)
}

// tail is the device's energy above base after the run.
func (m *meter) tail() (tail MeasuredTail, ok bool) {
	if len(m.rest.samples) == 0 {
		return MeasuredTail{}, false
	}
	usable := m.rest.samples
	first := Sample{At: m.run.End, Watts: usable[0].Watts}
	tail, ok = TailEnergy(append([]Sample{first}, usable...), m.run.End, m.base, m.tolerance)
	end := m.run.End + int64(tail.Seconds*1e9)
	if _, covered := CounterJoules(m.Readings, m.run.End, end); covered > 0.999 {
		tail.Joules = m.counted(end) - m.counted(m.run.End) - m.base*tail.Seconds
		return tail, ok
	}
	if tail.Cut || m.counts {
		return tail, ok
	}
	// The end of the tail is seen late as the other steps were.
	lag := min((m.during.lag+m.rest.lag)/2, tail.Seconds)
	if above := tail.Joules / max(tail.Seconds, 1e-9); lag > 0 {
		tail.Joules -= above * lag
		tail.Seconds -= lag
	}
	return tail, ok
}

// doubt is the possible error of the dynamic joules, where they are covered.
func (m *meter) doubt(before []Sample) float64 {
	blind := seconds(m.refresh)
	if m.refresh == 0 {
		blind = max(m.during.lag, min(seconds(m.Interval), 0.1))
	}
	var base []float64
	for _, s := range before {
		if s.At < m.run.Start {
			base = append(base, s.Watts)
		}
	}
	doubt := math.Abs(m.level-m.base) * blind
	if n := len(base); n >= 2 {
		doubt += 2 * stats.Sigma(base) / math.Sqrt(float64(n)) * seconds(m.run.End-m.run.Start)
	}
	// Between two readings the power may have changed at any time, and each has its
	// noise: half of the difference, for as long, twice.
	var between float64
	for i := 1; !m.counts && i < len(m.during.samples); i++ {
		a, b := m.during.samples[i-1], m.during.samples[i]
		between += math.Pow((b.Watts-a.Watts)*seconds(b.At-a.At), 2)
	}
	return doubt + math.Sqrt(between)
}

// early is the readings up to an instant (ns). The first one is left out if there are others:
// it is unknown when the counter had been updated before it.
func early(readings []Reading, end int64) (all []Reading) {
	for _, r := range advancing(readings) {
		if r.At <= end {
			all = append(all, r)
		}
	}
	if len(all) > 2 {
		all = all[1:]
	}
	return all
}

// meanPower is a counter's mean power from its first to its last reading, in W.
func meanPower(readings []Reading) float64 {
	if len(readings) < 2 {
		return 0
	}
	first, last := readings[0], readings[len(readings)-1]
	return (last.Joules - first.Joules) / seconds(last.At-first.At)
}

// onset is, for a run that ended before there was a reading, its energy above base by the line
// from the last reading before it, in J: if the device was at rest then, everything above base
// is the run's, on either side of its start [D].
func (m *meter) onset() float64 {
	var last Sample
	known := false
	for _, s := range m.samples {
		if s.At <= m.run.Start {
			last, known = s, true
		}
	}
	if !known || last.Watts > m.base+m.tolerance {
		return 0
	}
	joules, _ := Integrate(m.samples, last.At, m.run.Start)
	return joules - m.base*seconds(m.run.Start-last.At)
}

// JoulesPer100MB is energy per 10^8 bytes [Guner and Kosar, tradeoffs, 4]; 0
// where there are no bytes.
func JoulesPer100MB(joules float64, bytes int64) float64 {
	if bytes <= 0 {
		return 0
	}
	return joules / (float64(bytes) / 1e8)
}

// noJoules is the energy that counts as none: it is 0 at the six decimals of reports, and less
// than any meter shows. Sums that ought to be 0 are often off by 1e-15.
const noJoules = 0.5e-6

// MbpsPerJoule is the efficiency of a transfer: its throughput in 10^6 bit/s,
// over the joules that it took [Guner and Kosar, LowE/HAT/EHT]. 0 where there
// are no bytes, no time (ns) or no energy.
func MbpsPerJoule(joules float64, bytes, duration int64) float64 {
	if bytes <= 0 || duration <= 0 || joules < noJoules {
		return 0
	}
	return float64(bytes) * mbitPerByte / seconds(duration) / joules
}
