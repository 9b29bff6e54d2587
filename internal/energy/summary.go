package energy

import "github.com/mlget/mlget/internal/stats"

// Series is what was sampled around a run: power, or the readings of a counter,
// or both. Where there are readings, energy is taken from them, and their
// [Powers] stand in for missing samples.
type Series struct {
	Samples  []Sample
	Readings []Reading
}

// Run is the download that the samples are about. Samples before Start tell the
// base power, samples after End the tail.
type Run struct {
	Start int64 // start of the first connection, ns
	End   int64 // last payload byte, ns
	Bytes int64 // payload bytes that came in this run
}

// Summary is a run in watts and joules, as the report has them. All of it is
// measured, if the samples were.
type Summary struct {
	Samples   int     // usable ones between Start and End
	Covered   float64 // share of the run between usable samples or readings, 0 to 1
	BaseKnown bool    // BaseWatts is from before the run; else it is the 5th percentile of all samples

	BaseWatts, MedianWatts, P05Watts, P90Watts, PeakWatts float64

	TotalJoules    float64      // dynamic, and base power from Start to End [Guner and Kosar, tradeoffs, eq. 1]
	DynamicJoules  float64      // above base power [eq. 2]; the tail is not in it [thesis, 3.4: Main]
	Tail           MeasuredTail // what came after End
	TailKnown      bool         // there were samples after End
	JoulesPer100MB float64      // dynamic, per 10^8 payload bytes; 0 without payload
	MbpsPerJoule   float64      // throughput over dynamic energy; 0 without either
}

// Summarise describes a run. ok is false if there is no usable sample, or no
// time between Start and End.
func Summarise(series Series, run Run) (s Summary, ok bool) {
	samples := series.Samples
	before := samples // and of these, what is before the start tells the base
	if len(clean(samples)) == 0 {
		samples = Powers(series.Readings)
		// What a counter tells of the time around the start is the download's, too.
		before = Powers(until(series.Readings, run.Start))
	}
	w := clip(samples, run.Start, run.End)
	if len(w.points) == 0 {
		return Summary{}, false
	}
	s.Samples, s.Covered = w.inside, w.covered
	s.BaseWatts, s.BaseKnown = BasePower(before, run.Start)
	if !s.BaseKnown {
		s.BaseWatts, _ = LowestPower(samples)
	}
	inside := powersOf(w.points)
	if w.inside > 0 {
		// What was interpolated at the edges is no reading.
		inside = inside[:0]
		for _, p := range clean(samples) {
			if p.At >= run.Start && p.At <= run.End {
				inside = append(inside, p.Watts)
			}
		}
	}
	s.MedianWatts, s.PeakWatts = stats.Median(inside), stats.Peak(inside)
	s.P05Watts, s.P90Watts = stats.Quantile(inside, 0.05), stats.Quantile(inside, 0.9)

	tolerance := BaseTolerance(before, run.Start, s.BaseWatts)
	joules, _ := Integrate(samples, run.Start, run.End)
	s.Tail, s.TailKnown = TailEnergy(samples, run.End, s.BaseWatts, tolerance)
	if counted, covered := CounterJoules(series.Readings, run.Start, run.End); covered > 0 {
		// A counter misses nothing between two readings; what lies outside of
		// them goes at its mean power.
		joules, s.Covered = counted/covered, covered
	}
	if s.TailKnown {
		end := run.End + int64(s.Tail.Seconds*1e9)
		if joules, covered := CounterJoules(series.Readings, run.End, end); covered > 0.999 {
			s.Tail.Joules = joules - s.BaseWatts*s.Tail.Seconds
		}
	}
	base := s.BaseWatts * seconds(run.End-run.Start)
	s.DynamicJoules = joules - base
	if s.BaseKnown {
		s.DynamicJoules += onset(samples, series.Readings, run.Start, s.BaseWatts, tolerance)
	}
	s.TotalJoules = s.DynamicJoules + base
	s.JoulesPer100MB = JoulesPer100MB(s.DynamicJoules, run.Bytes)
	s.MbpsPerJoule = MbpsPerJoule(s.DynamicJoules, run.Bytes, run.End-run.Start)
	return s, true
}

// until is the readings up to an instant (ns).
func until(readings []Reading, end int64) (early []Reading) {
	for _, r := range readings {
		if r.At <= end {
			early = append(early, r)
		}
	}
	return early
}

// onset is what a run that began at start (ns) has drawn above base by the samples
// before that, in J. The reading after the start tells of both sides of it, and so
// does the line, or the counter's step, that leads there; if the device was at rest
// at the last reading before, what rises above base is the run's, on either side
// [D]. Without it, a run of 15 s is 1 % too low on average where a gauge of
// instants is asked once a second.
func onset(samples []Sample, readings []Reading, start int64, base, tolerance float64) float64 {
	usable := clean(samples)
	from, known := int64(0), false
	for _, s := range usable {
		if s.At <= start {
			from, known = s.At, true
		}
	}
	if len(readings) > 0 {
		known = false
		for _, r := range readings {
			if sane(r.At, r.Joules) && r.At <= start {
				from, known = r.At, true
			}
		}
	}
	rest := false
	for _, s := range usable {
		if s.At <= from {
			rest = s.Watts <= base+tolerance
		}
	}
	if !known || !rest {
		return 0
	}
	joules, covered := CounterJoules(readings, from, start)
	if covered == 0 {
		joules, _ = Integrate(samples, from, start)
	}
	return joules - base*seconds(start-from)
}

// JoulesPer100MB is energy per 10^8 bytes [Guner and Kosar, tradeoffs, 4]; 0
// where there are no bytes.
func JoulesPer100MB(joules float64, bytes int64) float64 {
	if bytes <= 0 {
		return 0
	}
	return joules / (float64(bytes) / 1e8)
}

// noJoules is what counts as no energy: it is 0 at the six decimals of reports, and
// less than any meter tells. Sums that ought to be 0 are often off by 1e-15.
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
