package scheduler

// The round trips of the data that comes tell whether a queue stands before a link. Without
// one they are as short as ever, and the link could carry more. If packets have been lost
// nevertheless, its queue is too short for a connection, which gives way each time that
// it overflows and then takes seconds to get where it was (RFC 9438, 4.2). Several take
// turns at that.
//
// A link that builds up its rate may be without a queue, too, but has lost nothing then.
const (
	// A queue makes round trips longer than the least one by more than calmFloor, and
	// calmPart of it: clocks and smoothing are as exact as that. The least one is that of
	// packets without data, and a full one takes its time to be sent: calmPackets of them,
	// as they are acknowledged by twos.
	calmFloor   = Millisecond
	calmPart    = 0.02
	calmPackets = 1.5
	// An answer that is late may have been the server's, or a lost packet's: so many tell
	// that the link has become longer.
	lagTells = 2
	// There has to be none for calmTrips round trips, at least calmSpan, after a loss.
	calmTrips = 4
	calmSpan  = 100 * Millisecond
	// What is lost after clearTrips round trips without one, at least clearSpan, was not
	// dropped by a queue.
	clearTrips = 2
	clearSpan  = 100 * Millisecond
	// A connection that gains a packet in each round trip doubles its rate in as many of
	// them as it has packets in flight. Where that takes less than calmWorth, it is left
	// to itself.
	calmWorth = 400 * Millisecond
)

// calm watches for links before which no queue stands.
type calm struct {
	trip  Time      // that the data takes which comes; 0: not known
	clear countMark // when there began to be no queue; at 0: there is one
	from  countMark // the same, or when a packet was lost last; at 0: there is one
}

// queued says whether a queue stands before a link: its data takes longer than answers do
// that nothing delays.
func (l *link) queued() bool {
	least := l.rtt
	if l.lag.n >= lagTells && !without("lag-tells") {
		least = l.answerTrip()
	}
	floor := longest(calmFloor, calmPart, least)
	if rate := l.est.capacity(); rate > 0 { // not what happens to come now: packets take no longer for that
		floor = max(floor, FromSeconds(calmPackets*segment/rate))
	}
	return l.streams.calm.trip > least+floor
}

// drops says whether a queue may be what drops the packets that are lost now.
func (q *calm) drops(now, rtt Time) bool {
	return without("queue-clear") || q.clear.at == 0 || now-q.clear.at < longest(clearSpan, clearTrips, rtt)
}

func (q *calm) watch(now Time, l *link) {
	lost := l.streams.loss.grew
	switch {
	case q.trip == 0 || l.queued():
		q.clear.at = 0
	case q.clear.at == 0:
		q.clear = l.mark(now)
	}
	switch {
	case q.clear.at == 0 || l.est.nMarks == 0:
		q.from.at = 0
	case q.from.at == 0:
		q.from = l.mark(now)
	case q.from.at < lost.at:
		q.from = lost
	}
}

// shortens says whether packets were lost, and yet there has been no queue since. What was
// lost when one connection followed another found the queue of that one.
func (q *calm) shortens(now Time, l *link) bool {
	inFlight := l.est.rate * l.length().Seconds() / segment
	lost := l.streams.loss.grew.at
	return q.from.at > 0 && lost > 0 && !l.beginsAgain(lost) && now-q.from.at >= longest(calmSpan, calmTrips, l.length()) &&
		inFlight*l.length().Seconds() >= calmWorth.Seconds()
}
