package engine

import (
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// An uplink may be so slow that acknowledgements fill it (80 Mbit/s down, 0.5 up) and bound the rate.
// Gathering has one sent for every second packet: for Linux the reader of a socket below its mark
// (SO_RCVLOWAT) is waiting. A reader that rests between two reads, without a mark, has one sent for each
// read. That takes a timer, which costs more than a mark, so it is done for such uplinks only. They look
// like any link that is full: there is a standing queue, of acknowledgements instead of data. To tell
// them, the reader rests for two round trips. If more comes meanwhile and the queue goes away,
// acknowledgements bound the rate, and the reader rests from then on. A queue of data stays. Then
// gathering does no harm at this rate, nor at any lower one, at which fewer acknowledgements are sent.
const (
	// A queue stands when round trips are longer than the least by uplinkQueue, and by
	// uplinkPart of it, throughout a measurement of uplinkTrips of them, at least uplinkSpan.
	uplinkQueue = 10 * scheduler.Millisecond
	uplinkPart  = 0.2
	uplinkTrips = 3
	uplinkSpan  = 150 * scheduler.Millisecond
	// uplinkRest is for how long the reader rests; at 80 Mbit/s some 70 packets come meanwhile.
	uplinkRest = 10 * time.Millisecond
	// uplinkPeek is the least time for which it rests to see what that changes, and before that until what
	// was sent earlier has arrived; a round trip each where that is longer.
	uplinkPeek = 40 * scheduler.Millisecond
	// uplinkGone is which part of the queue, in time, has to have gone then, and uplinkSigns how often in a
	// row. Chosen by hand: a busy machine makes both rates and round trips change by chance.
	uplinkGone  = 0.5
	uplinkSigns = 2
	// uplinkRate is how many bytes per second have to come: below it acknowledgements of
	// every second packet take less than 0.4 Mbit/s, and resting costs CPU time.
	uplinkRate = 2e6
	// uplinkHarm is by which factor more has to come while the reader rests.
	uplinkHarm = 1.15
	// uplinkAgain is after what time the link is measured anew, as it may have changed, and uplinkSpoiled
	// the same after packets were lost during the measurement, which lowers the rate by itself; each time
	// that nothing has changed it doubles.
	uplinkAgain   = 10 * scheduler.Second
	uplinkSpoiled = scheduler.Second
	// uplinkGrown is by which factor the rate has to exceed one at which gathering was harmless for the link
	// to be measured anew before that. Chosen by hand: a link that builds up its rate is measured a few
	// times.
	uplinkGrown = 1.5
)

// uplink detects whether acknowledgements bound a link's rate.
type uplink struct {
	bytes int64 // received, in all

	step  uplinkStep
	trip  scheduler.Time // at the beginning of the measurement
	since scheduler.Time // when the present measurement began; 0: none has
	from  int64          // bytes then
	lost  int64          // packets out of order then
	again scheduler.Time // when to measure anew, once the answer is known
	pause scheduler.Time // how long that was put off last; 0: it never was

	gathered float64        // bytes per second before the reader rested
	stood    scheduler.Time // the round trip then
	signs    int            // how often in a row more has come and the queue has gone while the reader rested
	harmless float64        // bytes per second at which gathering does no harm; 0: not known
}

type uplinkStep uint8

const (
	gathering uplinkStep = iota // there is no queue, or too little comes
	draining                    // the reader rests, until what was sent before has arrived
	peeking                     // the reader rests, and the rate is measured
	known                       // gathering does no harm
	bounded                     // acknowledgements bound the rate: the reader rests
)

// rests says whether the link's readers are to rest between two reads.
func (u *uplink) rests() bool {
	return u.step == draining || u.step == peeking || u.step == bounded
}

// watch takes a measurement of a link: the present and the least round trip of its data, and how many
// packets have come out of order so far.
func (u *uplink) watch(now, trip, least scheduler.Time, disorder int64) {
	switch {
	case u.step == gathering && (least == 0 || trip <= least+max(uplinkQueue, scheduler.Time(uplinkPart*float64(least)))):
		u.since = 0
		return
	case u.since == 0:
		u.begin(u.step, now, trip, disorder)
		return
	case now-u.since < u.span():
		return
	}
	rate := float64(u.bytes-u.from) / (now - u.since).Seconds()
	u.begin(u.next(now, rate, trip, least, disorder != u.lost), now, trip, disorder)
}

// span is how long the present step lasts.
func (u *uplink) span() scheduler.Time {
	if u.step == draining || u.step == peeking {
		return max(uplinkPeek, u.trip)
	}
	return max(uplinkSpan, uplinkTrips*u.trip)
}

// next is the step after the present one, which had a rate in bytes per second and ended with a round trip
// of trip, the least so far being least; lost says whether packets were lost.
func (u *uplink) next(now scheduler.Time, rate float64, trip, least scheduler.Time, lost bool) uplinkStep {
	switch u.step {
	case gathering:
		if rate < uplinkRate {
			return gathering
		}
		u.gathered, u.stood = rate, trip
		return draining
	case draining:
		return peeking
	case peeking:
		gone := float64(u.stood-trip) >= uplinkGone*float64(u.stood-least)
		switch {
		case lost:
			return u.rest(now, uplinkSpoiled, known)
		case rate < uplinkHarm*u.gathered || !gone:
			return u.absolve(now, u.gathered)
		}
		if u.signs++; u.signs < uplinkSigns {
			return gathering
		}
		u.signs = 0
		return u.rest(now, uplinkAgain, bounded)
	case known, bounded:
		if now >= u.again || u.step == known && u.harmless > 0 && rate >= uplinkGrown*u.harmless {
			return gathering
		}
	}
	return u.step
}

// absolve notes that gathering does no harm at a rate.
func (u *uplink) absolve(now scheduler.Time, rate float64) uplinkStep {
	u.signs = 0
	if rate >= uplinkGrown*u.harmless {
		u.pause = 0 // that it was put off before says nothing of this rate
	}
	u.harmless = max(rate, u.harmless)
	return u.rest(now, uplinkAgain, known)
}

// rest puts the next measurement off, by at least so long.
func (u *uplink) rest(now, least scheduler.Time, step uplinkStep) uplinkStep {
	u.pause = max(least, 2*u.pause)
	u.again = now + u.pause
	return step
}

func (u *uplink) begin(step uplinkStep, now, trip scheduler.Time, disorder int64) {
	u.step, u.since, u.trip, u.from, u.lost = step, now, trip, u.bytes, disorder
}
