package engine

import "github.com/mlget/mlget/pkg/scheduler"

// An uplink may be so slow that acknowledgements fill it (80 Mbit/s down, 0.5 up), and
// then it is what bounds the rate. Gathering has twice as many of them sent, and there
// halves the rate. It looks like any link that is full: a queue stands, of
// acknowledgements instead of data, and no packet is lost. So a link of that kind is read
// at once for a moment, to see whether it brings more.
const (
	// A queue stands when round trips are longer than the least by uplinkQueue, and by
	// uplinkPart of it, throughout a measurement of uplinkTrips of them, at least uplinkSpan.
	uplinkQueue = 10 * scheduler.Millisecond
	uplinkPart  = 0.2
	uplinkTrips = 3
	uplinkSpan  = 150 * scheduler.Millisecond
	// uplinkRate is how many bytes per second have to come: below it acknowledgements of
	// every second packet take less than 0.4 Mbit/s, and reading at once costs CPU time.
	uplinkRate = 2e6
	// uplinkLevel is the most by which the rate may have grown from one measurement to the
	// next beforehand: that of a link that builds up its rate would grow without our doing.
	uplinkLevel = 1.08
	// uplinkGain is how much more has to come for a link to be read at once from then on:
	// more than a growth of uplinkLevel comes to in the two measurements that follow.
	uplinkGain = 1.2
)

// uplink looks whether acknowledgements are what bounds a link's rate.
type uplink struct {
	bytes int64 // received, in all

	step  uplinkStep
	trip  scheduler.Time // at the beginning of the step
	since scheduler.Time // when the present measurement began; 0: none has
	from  int64          // bytes then
	lost  int64          // packets out of order then
	rate  float64        // bytes per second, of the measurement before; 0: there is none
}

type uplinkStep uint8

const (
	gathering uplinkStep = iota // before it has been tried
	hurrying                    // read at once, until what that changes can be seen
	comparing                   // read at once, and measured
	known                       // gathering does no harm
	bounded                     // gathering does harm
)

// atOnce says whether the link is to be read at once.
func (u *uplink) atOnce() bool {
	return u.step == hurrying || u.step == comparing || u.step == bounded
}

// watch looks at a link whose data takes trip, and the fastest of it least, and of whose
// packets so many were out of order.
func (u *uplink) watch(now, trip, least scheduler.Time, disorder int64) {
	if u.step == known || u.step == bounded {
		return
	}
	queued := trip > least+max(uplinkQueue, scheduler.Time(uplinkPart*float64(least)))
	switch {
	case u.step == gathering && (!queued || least == 0):
		*u = uplink{bytes: u.bytes}
		return
	case disorder != u.lost && u.since > 0: // the queue is one of data, or the rate falls by itself
		*u = uplink{bytes: u.bytes}
		return
	case u.since == 0:
		u.begin(u.step, now, trip, disorder)
		return
	case now-u.since < max(uplinkSpan, uplinkTrips*u.trip):
		return
	}
	before := u.rate
	u.rate = float64(u.bytes-u.from) / (now - u.since).Seconds()
	next := u.step
	switch u.step {
	case gathering:
		if min(before, u.rate) >= uplinkRate && u.rate <= uplinkLevel*before && before <= uplinkLevel*u.rate {
			next = hurrying
		}
	case hurrying:
		u.rate, next = before, comparing
	case comparing:
		if next = known; u.rate >= uplinkGain*before {
			next = bounded
		}
	case known, bounded:
	}
	u.begin(next, now, trip, disorder)
}

func (u *uplink) begin(step uplinkStep, now, trip scheduler.Time, disorder int64) {
	u.step, u.since, u.trip, u.from, u.lost = step, now, trip, u.bytes, disorder
}
