package report

import (
	"math"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/modelled"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// noPower is why the report's power is null where no event says why.
	noPower = "not measured"
	// maxReadings bounds the memory that readings of power take: three days at
	// one a second. Later ones are counted, and no more.
	maxReadings = 1 << 18
	// restIntervals is for how many intervals between readings a device has to be
	// watched before the first connection, for its base power to be measured: one
	// reading there always is, from when the program began.
	restIntervals = 2
)

// powerTally gathers the readings of the device's power.
type powerTally struct {
	source   event.PowerSource // the last
	name     string            // of the source of the first reading
	series   energy.Series     // what the device drew: samples of a gauge, readings of a counter
	count    int               // of those with watts
	refresh  time.Duration     // between two looks of the slowest gauge, by the last reading
	external []scheduler.Time  // first and last reading on external power
}

func (t *powerTally) add(e event.Power) {
	switch {
	case e.External:
		if len(t.external) == 0 {
			t.external = []scheduler.Time{e.At, e.At}
		}
		t.external[1] = e.At
		return
	case math.IsNaN(e.Watts) || math.IsInf(e.Watts, 0) || e.Over < 0: // from a record
		return
	}
	if t.name == "" {
		t.name = e.Source
	}
	if e.HasWatts() {
		t.count++
	}
	t.refresh = e.Refresh
	switch {
	case len(t.series.Samples)+len(t.series.Readings) >= maxReadings:
	case e.Counter:
		t.series.Readings = append(t.series.Readings, energy.Reading{At: int64(e.At), Joules: e.Joules, Still: int64(min(max(e.Still, 0), max(e.Over, 0)))})
	default:
		t.series.Samples = append(t.series.Samples, energy.Sample{At: int64(e.At), Watts: e.Watts})
	}
}

// unavailable is why there is no power; empty: there is.
func (t *powerTally) unavailable() string {
	switch {
	case t.count > 0:
		return ""
	case t.source.Unavailable != "":
		return t.source.Unavailable
	case len(t.external) > 0:
		return "on external power"
	}
	return noPower
}

// report returns the report's power and its source data; nil if there is none. idle is the
// radios' idle power by their models.
func (t *powerTally) report(run energy.Run, idle float64) (*Power, energy.Summary) {
	if t.count == 0 {
		return nil, energy.Summary{}
	}
	run.End = max(run.End, run.Start+1) // a run of no time has power all the same
	series := t.series
	series.Refresh = int64(min(max(t.refresh, 0), time.Hour))
	series.Interval = int64(min(max(t.source.Interval, 0), time.Hour))
	s, ok := energy.Summarise(series, run)
	if !ok {
		return nil, energy.Summary{}
	}
	p := &Power{
		Source:          t.name,
		IntervalSeconds: round(t.source.Interval.Seconds()),
		Samples:         t.count,
		BaseWatts:       round(s.BaseWatts),
		MedianWatts:     round(s.MedianWatts),
		P90Watts:        round(s.P90Watts),
		PeakWatts:       round(s.PeakWatts),
		RefreshSeconds:  round(s.Refresh),
		BaseMeasured:    s.BaseKnown && t.watchedBefore(run.Start),
	}
	if s.Counted {
		p.RefreshSeconds = 0
	}
	if t.modelled() {
		p.BaseWatts, p.BaseMeasured = round(idle), false
	}
	return p, s
}

// modelled says that the readings come from models of the radios.
func (t *powerTally) modelled() bool { return t.name == modelled.Source }

// watchedBefore says whether the device was watched for long enough before start.
func (t *powerTally) watchedBefore(start int64) bool {
	first := start
	for _, s := range t.series.Samples {
		first = min(first, s.At)
	}
	for _, r := range t.series.Readings {
		first = min(first, r.At)
	}
	// Implausible times may have an implausible difference: then it is below 0.
	watched := start - first
	return watched > 0 && watched >= restIntervals*int64(min(max(t.source.Interval, 0), time.Hour))
}

// fed says whether the device was on external power at any time of the run.
func (t *powerTally) fed(run energy.Run) bool {
	return len(t.external) > 0 && int64(t.external[0]) <= run.End && int64(t.external[1]) >= run.Start
}

// BaseShare is the share of the usual base power of a device by which that of a run may
// always be off: over half a minute it is a joule or two [chosen by hand].
const BaseShare = 0.05

// MeasuredBase is the base power before the run in W, and its source; ok is false if the device
// was not measured at rest.
func (r *Report) MeasuredBase() (watts float64, source string, ok bool) {
	if r.Power == nil || r.Energy == nil || r.Energy.Modelled || !r.Power.BaseMeasured {
		return 0, "", false
	}
	return r.Power.BaseWatts, r.Power.Source, true
}
