package report

import (
	"math"
	"slices"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// noPower is why the report's power is null where no event says why.
	noPower = "not measured"
	// maxReadings bounds the memory that readings of power take: three days at
	// one a second. Later ones are counted, and no more.
	maxReadings = 1 << 18
)

// powerTally is what is known of the power that the device drew.
type powerTally struct {
	source   event.PowerSource // the last
	readings []event.Power     // what the device drew; a counter's first is among them
	count    int               // of those with watts
	external bool              // there were readings on external power
}

func (t *powerTally) add(e event.Power) {
	switch {
	case e.External:
		t.external = true
		return
	case math.IsNaN(e.Watts) || math.IsInf(e.Watts, 0) || e.Over < 0: // from a record
		return
	case e.HasWatts():
		t.count++
	}
	if len(t.readings) < maxReadings {
		t.readings = append(t.readings, e)
	}
}

// report gives the report's power, or why there is none. run is the stretch from
// the first connection to the last byte.
func (t *powerTally) report(run span) (power *Power, unavailable string) {
	switch {
	case t.count > 0:
	case t.source.Unavailable != "":
		return nil, t.source.Unavailable
	case t.external:
		return nil, "on external power"
	default:
		return nil, noPower
	}
	p := &Power{Source: t.readings[0].Source, IntervalSeconds: round(t.source.Interval.Seconds()), Samples: t.count}
	p.quantiles(t.readings, run)
	return p, ""
}

// quantiles sums the readings up.
func (p *Power) quantiles(readings []event.Power, run span) {
	var before, during, all []float64
	for _, e := range readings {
		if !e.HasWatts() {
			continue
		}
		all = append(all, e.Watts)
		switch begun := e.At - scheduler.Time(e.Over); {
		case run.hasFrom && e.At < run.from:
			before = append(before, e.Watts)
		case run.hasTo && begun > run.to:
		default:
			during = append(during, e.Watts)
		}
	}
	if len(during) == 0 { // a run of a moment
		during = all
	}
	slices.Sort(during)
	p.MedianWatts = round(quantile(during, 0.5))
	p.P90Watts = round(quantile(during, 0.9))
	p.PeakWatts = round(during[len(during)-1])
	p.BaseWatts = round(slices.Min(all))
	if len(before) > 1 { // one there always is: from when the run began
		slices.Sort(before)
		p.BaseWatts = round(quantile(before, 0.5))
	}
}

// quantile interpolates between the two sorted values around the fraction q.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
