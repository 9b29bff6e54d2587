package scheduler

// A link's round trip may grow a lot while it works, for example when a phone changes to a
// network that is farther away. The window of the link's connection filled the path as it was,
// and takes tens of seconds to fill the new one (RFC 9438, 4.2); new connections take a few
// round trips (RFC 5681, 3.1). Data that waits in a deep queue looks alike, but a queue grows
// and empties, and round trips change with it, whereas those of a long path stay the same. A
// trial with more connections decides where doubt remains.
const (
	// A path has become longer when the data's round trips are rttShiftTimes the least one, at
	// least longTrip; have differed by no more than rttShiftSpread of themselves for
	// a few of them, at least rttShiftSpan, without a loss; and the link carries less than
	// lessPart of its capacity. Chosen by hand.
	rttShiftTimes  = 3
	rttShiftSpread = 0.01
	rttShiftSpan   = Second
	// rttShiftWorth is how many trials must fit into the rest of the download for one to pay.
	rttShiftWorth = 2
)

// rttShift watches for round trips that are much longer than the least one and stay the same.
type rttShift struct {
	from        countMark // since when they have; at 0: they have not
	least, most Time      // since then
	tried       Time      // the round trip for which more connections were tried; 0: none were
}

func (e *rttShift) watch(now Time, l *link) {
	trip := l.rtt.data
	switch {
	case trip < longest(longTrip, rttShiftTimes, max(l.rtt.min, e.tried)):
		e.from.at = 0
		return
	case e.from.at == 0 || l.streams.loss.grew.at > e.from.at:
		e.begin(now, l)
	}
	e.least, e.most = min(e.least, trip), max(e.most, trip)
	if float64(e.most-e.least) > rttShiftSpread*float64(e.least) {
		e.begin(now, l)
	}
}

func (e *rttShift) begin(now Time, l *link) {
	e.from, e.least, e.most = l.mark(now), l.rtt.data, l.rtt.data
}

// rttShifted says whether a link seems to have become too long for the window of its only
// connection, and there is time enough left to find out and make use of that.
func (l *link) rttShifted(now Time, t task) bool {
	e, trip := &l.streams.rttShift, l.rtt.data
	return e.from.at > 0 && now-e.from.at >= longest(rttShiftSpan, fewTrips, trip) && now-l.health.lastByte <= trip &&
		l.rateSince(e.from, now) < lessPart*l.est.capacity() && t.outlasts(rttShiftWorth*2*settleSpan(trip))
}

// followRTTShift takes the round trip of the data that comes for the link's own, and tries more
// connections.
func (s *streams) followRTTShift(now Time, l *link) {
	for range answerSamples {
		l.rtt.observeAnswer(l.rtt.data)
	}
	s.explore = exploring{failed: s.explore.failed, rateWatch: rateWatch{wanted: s.explore.wanted}}
	s.try(now, l.rateSince(s.rttShift.from, now))
	s.rttShift = rttShift{tried: l.rtt.data}
}
