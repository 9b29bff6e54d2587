package engine

import "github.com/mlget/mlget/pkg/scheduler"

// An uplink may be so slow that acknowledgements fill it (80 Mbit/s down, 0.5 up), and
// then it is what bounds the rate. Gathering has twice as many of them sent, and there
// halves the rate. It looks like any link that is full: a queue stands, of
// acknowledgements instead of data. So a link of that kind is read at once until its rate
// is level, and gathered from then on if that brings as much.
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
	// uplinkLevel is the most by which a level rate changes from one measurement to the next.
	uplinkLevel = 1.08
	// uplinkHarm is how much less comes of a link that is not to be gathered. If uplinkGain
	// times as much comes when it is read at once that need not be tried: a level rate
	// does not grow by as much meanwhile.
	uplinkHarm = 1.15
	uplinkGain = 1.3
	// uplinkTries to gather may end because packets are lost.
	uplinkTries = 3
	// uplinkAgain is how long after it was found harmless it is looked at anew, as more may
	// come by then; twice as long each time.
	uplinkAgain = scheduler.Second
)

// uplink looks whether acknowledgements are what bounds a link's rate.
type uplink struct {
	bytes int64 // received, in all

	step  uplinkStep
	trip  scheduler.Time // at the beginning of the measurement
	since scheduler.Time // when the present measurement began; 0: none has
	from  int64          // bytes then
	lost  int64          // packets out of order then
	rate  float64        // bytes per second, of the measurement before; 0: there is none
	tries int            // that ended because packets were lost
	again scheduler.Time // when to look anew, once it is known
	pause scheduler.Time // how long that was put off; 0: it never was

	gathered float64 // bytes per second, before it was read at once
}

type uplinkStep uint8

const (
	gathering uplinkStep = iota // no queue stands, or too little comes
	hurrying                    // read at once, until its rate is level
	trying                      // gathered, until what that changes can be seen
	comparing                   // gathered, and measured
	known                       // gathering does no harm
	bounded                     // it does
)

// atOnce says whether the link is to be read at once.
func (u *uplink) atOnce() bool { return u.step == hurrying || u.step == bounded }

// watch looks at a link whose data takes trip, and the fastest of it least, and of whose
// packets so many were out of order.
func (u *uplink) watch(now, trip, least scheduler.Time, disorder int64) {
	switch {
	case u.step == bounded:
		return
	case u.step == gathering && (least == 0 || trip <= least+max(uplinkQueue, scheduler.Time(uplinkPart*float64(least)))):
		u.since = 0
		return
	case u.since == 0:
		u.begin(u.step, now, trip, disorder)
		return
	case now-u.since < max(uplinkSpan, uplinkTrips*u.trip):
		return
	}
	before, lost := u.rate, disorder != u.lost
	u.rate = float64(u.bytes-u.from) / (now - u.since).Seconds()
	next := u.step
	switch u.step {
	case gathering:
		if u.rate >= uplinkRate {
			u.gathered, u.rate, next = u.rate, 0, hurrying
		}
	case hurrying:
		switch {
		case lost: // the rate falls by itself
			u.rate = 0
		case min(before, u.rate) >= uplinkRate && u.rate <= uplinkLevel*before && before <= uplinkLevel*u.rate:
			next = trying
			if u.rate >= uplinkGain*u.gathered {
				next = bounded
			}
		}
	case trying:
		u.rate, next = before, comparing
	case comparing:
		switch {
		case lost && u.tries < uplinkTries:
			u.tries++
			u.rate, next = 0, hurrying
		case lost || uplinkHarm*u.rate < before:
			next = bounded
		default:
			u.pause = max(uplinkAgain, 2*u.pause)
			u.again, next = now+u.pause, known
		}
	case known:
		if now >= u.again {
			u.tries, next = 0, gathering
		}
	case bounded:
	}
	u.begin(next, now, trip, disorder)
}

func (u *uplink) begin(step uplinkStep, now, trip scheduler.Time, disorder int64) {
	u.step, u.since, u.trip, u.from, u.lost = step, now, trip, u.bytes, disorder
}
