package scheduler

// The round trips of the data show whether a queue stands before a link. If they are as short
// as the least one, there is no queue, and the link could carry more. If packets are lost
// although no queue stands, then either they are lost at random (loss.go), or the queue is too
// short for one connection: the connection reduces its window whenever the queue overflows, and
// takes seconds to grow it again (RFC 9438, 4.2), so that several connections carry more.
//
// A link whose rate still builds up may have no queue either, but has lost nothing.
const (
	// A queue stands when round trips exceed the least one by more than noQueueFloor and
	// noQueuePart of it, which is how exact clocks and smoothing are, and by the time in which
	// noQueuePackets are sent: the least round trip is that of packets without data, and
	// receivers acknowledge every second packet.
	noQueueFloor   = Millisecond
	noQueuePart    = 0.02
	noQueuePackets = 1.5
	// A connection whose window grows by a packet in each round trip takes as many round trips
	// to double its rate as it has packets in flight. Where that takes less than
	// recoveryWorth, no more connections are tried. Chosen by hand.
	recoveryWorth = 400 * Millisecond
	// A link carries as much as before at fullPart of the rate that it had: what comes is counted
	// now and then. Chosen by hand.
	fullPart = 0.93
	// lessPart of what it could carry is clearly less. Chosen by hand.
	lessPart = 0.85
)

// queueDetector says whether a queue stands before a link.
type queueDetector struct {
	clear countMark // when the time without a queue began; at 0: there is a queue
	from  countMark // the same, or the latest loss after it; at 0: there is a queue
	began countMark // when the latest queue began; at 0: none has
	full  float64   // bytes per second, while it stood; 0: not known
}

// queued says whether a queue stands before a link: its data takes longer than its least round
// trip.
func (l *link) queued() bool {
	floor := longest(noQueueFloor, noQueuePart, l.rtt.min)
	if rate := l.est.capacity(); rate > 0 { // not what happens to come now: packets take no longer for that
		floor = max(floor, FromSeconds(noQueuePackets*segment/rate))
	}
	return l.rtt.data > l.rtt.min+floor
}

// mayDrop says whether a packet that is lost now may have been dropped by a queue: there has been
// one within two round trips.
func (q *queueDetector) mayDrop(now, rtt Time) bool {
	return without("queue-clear") || q.clear.at == 0 || now-q.clear.at < rateSpan(rtt)
}

func (q *queueDetector) watch(now Time, l *link) {
	lost := l.streams.loss.grew
	switch {
	case l.rtt.data == 0:
		q.clear.at = 0
	case l.queued():
		if q.clear.at > 0 || q.began.at == 0 {
			q.began = l.mark(now)
		}
		if q.clear.at = 0; now-q.began.at >= fewSpan(l.rtt.path()) {
			q.full = l.rateSince(q.began, now)
		}
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

// tooShort says whether packets were lost and there has been no queue for a few round trips since, and the link carries
// less than it did with one.
func (q *queueDetector) tooShort(now Time, l *link) bool {
	if q.from.at == 0 || l.streams.loss.grew.at == 0 || q.full > 0 && l.rateSince(q.from, now) >= fullPart*q.full {
		return false
	}
	trip := l.rtt.path()
	inFlight := l.est.rate * trip.Seconds() / segment
	return now-q.from.at >= fewSpan(trip) && inFlight*trip.Seconds() >= recoveryWorth.Seconds()
}
