package scheduler

// A link may become much longer while it works: a phone changes to a network that is
// farther away. The window of its connection is what filled the link as it was, and takes
// tens of seconds to fill it again (RFC 9438, 4.2), where new connections take a few round
// trips (RFC 5681, 3.1). Data that waits in a deep queue before a link which has become slow
// looks alike, but a queue grows and is emptied, and the round trips with it, where those of
// a long link stay as they are. What is left of doubt a trial has to resolve.
const (
	// A link has become long when the round trips of the data that comes are outgrownTimes
	// the least one, at least longTrip, have differed by no more than evenPart for
	// evenTrips of them, at least evenSpan, without a loss, and the link carries less than
	// outgrownPart of what it carried.
	outgrownTimes = 3
	evenPart      = 0.01
	evenTrips     = 4
	evenSpan      = Second
	outgrownPart  = 0.85
	// outgrownWorth trials must fit into what is left for one to pay.
	outgrownWorth = 2
)

// even watches for long round trips that stay the same.
type even struct {
	from        countMark // since when they have; at 0: they have not
	least, most Time      // since then
	tried       Time      // the round trip for which more connections were tried; 0: none were
}

func (e *even) watch(now Time, l *link) {
	trip := l.streams.calm.trip
	switch {
	case trip < longest(longTrip, outgrownTimes, max(l.rtt, e.tried)):
		e.from.at = 0
		return
	case e.from.at == 0 || l.streams.loss.grew.at > e.from.at:
		e.begin(now, l)
	}
	e.least, e.most = min(e.least, trip), max(e.most, trip)
	if float64(e.most-e.least) > evenPart*float64(e.least) {
		e.begin(now, l)
	}
}

func (e *even) begin(now Time, l *link) {
	e.from, e.least, e.most = l.mark(now), l.streams.calm.trip, l.streams.calm.trip
}

// outgrown says whether a link seems to have become too long for the window of its only
// connection, and there is time enough left to find out and make use of that.
func (c *Core) outgrown(l *link) bool {
	e, trip := &l.streams.even, l.streams.calm.trip
	if e.from.at == 0 || c.now-e.from.at < longest(evenSpan, evenTrips, trip) || !c.mayTry(l) || c.now-l.lastByte > trip {
		return false
	}
	return l.rateSince(e.from, c.now) < outgrownPart*l.est.capacity() &&
		float64(c.left()) > c.brought(outgrownWorth*2*longest(trialFloor, trialRTTs, trip).Seconds())
}

// stretch takes the round trip of the data that comes for the link's own, and tries more
// connections.
func (s *streams) stretch(now Time, l *link) {
	for range lagSamples {
		l.lag.saw(s.calm.trip)
	}
	s.explore = exploring{failed: s.explore.failed, wanted: s.explore.wanted}
	s.try(now, l.rateSince(s.even.from, now))
	s.even = even{tried: s.calm.trip}
}
