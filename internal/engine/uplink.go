package engine

import (
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// An uplink may be so slow that acknowledgements fill it (80 Mbit/s down, 0.5 up), and
// then it is what bounds the rate. Gathering has one sent for every second packet, since Linux
// takes a socket below its mark (SO_RCVLOWAT) for one whose reader waits. A reader that rests
// between two reads, with no mark, has one sent for each read. That takes a timer, which costs
// more than a mark, so it is for such uplinks. They look like any link that is full: a queue
// stands, of acknowledgements instead of data. So the reader rests for two round trips: where
// more comes meanwhile and the queue goes, acknowledgements bound the rate, and it rests from
// then on. A queue of data stays, and then gathering does no harm at this rate, nor at any
// lower one, as fewer acknowledgements are sent then.
const (
	// A queue stands when round trips are longer than the least by uplinkQueue, and by
	// uplinkPart of it, throughout a measurement of uplinkTrips of them, at least uplinkSpan.
	uplinkQueue = 10 * scheduler.Millisecond
	uplinkPart  = 0.2
	uplinkTrips = 3
	uplinkSpan  = 150 * scheduler.Millisecond
	// uplinkRest is for how long the reader rests; at 80 Mbit/s some 70 packets come meanwhile.
	uplinkRest = 10 * time.Millisecond
	// uplinkPeek is the least time for which it does to see what that changes, and before that
	// to have what was sent earlier out of the way; a round trip each where that is longer.
	uplinkPeek = 40 * scheduler.Millisecond
	// uplinkGone is which part of the queue's time has to be gone then. Chosen by hand: what the
	// kernel tells of a round trip is a mean that follows slowly.
	uplinkGone = 0.25
	// uplinkRate is how many bytes per second have to come: below it acknowledgements of
	// every second packet take less than 0.4 Mbit/s, and resting costs CPU time.
	uplinkRate = 2e6
	// uplinkHarm is how many times as much comes of a link that is not to be gathered.
	uplinkHarm = 1.15
	// uplinkAgain is how long after that it is looked at anew, as the link may have changed by
	// then, and uplinkSpoiled how long after a look during which packets were lost, which makes
	// the rate fall by itself; twice as long each time that it had not changed.
	uplinkAgain   = 10 * scheduler.Second
	uplinkSpoiled = scheduler.Second
	// uplinkGrown is how many times as much has to come as when it was found harmless for it to
	// be looked at anew before that. Chosen by hand: a link that builds up its rate is looked at
	// a few times.
	uplinkGrown = 1.5
)

// uplink looks whether acknowledgements are what bounds a link's rate.
type uplink struct {
	bytes int64 // received, in all

	step  uplinkStep
	trip  scheduler.Time // at the beginning of the measurement
	since scheduler.Time // when the present measurement began; 0: none has
	from  int64          // bytes then
	lost  int64          // packets out of order then
	again scheduler.Time // when to look anew, once it is known
	pause scheduler.Time // how long that was put off; 0: it never was

	gathered float64        // bytes per second, before its reader rested
	stood    scheduler.Time // a round trip then
	harmless float64        // bytes per second at which gathering was found to do no harm; 0: it never was
}

type uplinkStep uint8

const (
	gathering uplinkStep = iota // no queue stands, or too little comes
	draining                    // its reader rests, until what was sent before is out of the way
	peeking                     // its reader rests, and it is measured
	known                       // gathering does no harm
	bounded                     // it does
)

// rests says whether the link's reader is to rest between two reads.
func (u *uplink) rests() bool {
	return u.step == draining || u.step == peeking || u.step == bounded
}

// watch looks at a link whose data takes trip, and the fastest of it least, and of whose
// packets so many were out of order.
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

// next is what follows the present step, which brought so many bytes per second and ended with
// round trips of trip, the fastest of all being least; lost says whether packets were lost.
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
	if rate >= uplinkGrown*u.harmless {
		u.pause = 0 // that it was put off before says nothing of this rate
	}
	u.harmless = max(rate, u.harmless)
	return u.rest(now, uplinkAgain, known)
}

// rest puts the next look off, by at least so long.
func (u *uplink) rest(now, least scheduler.Time, step uplinkStep) uplinkStep {
	u.pause = max(least, 2*u.pause)
	u.again = now + u.pause
	return step
}

func (u *uplink) begin(step uplinkStep, now, trip scheduler.Time, disorder int64) {
	u.step, u.since, u.trip, u.from, u.lost = step, now, trip, u.bytes, disorder
}
