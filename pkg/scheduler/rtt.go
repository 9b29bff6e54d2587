package scheduler

// A link's least round trip is kept for as long as the link is up, and its latency may have grown
// a hundredfold since: a phone that has gone to a slower network, a queue that never empties. So
// round trips are known in several ways, and each is used where it can be trusted: how long
// requests that nothing delayed took to be answered, for when the next one should be sent, and
// what may be expected of it; the latest handshakes, for how long a silence must be; what both
// answers and data take, for the same, and for how far apart bursts are, and losses.

// answerSamples is how many of the latest waits count: the least of them, as one may have been
// the server's or a lost packet's.
const answerSamples = 3

// roundTrips is what is known of a link's round trips.
type roundTrips struct {
	min        Time // the least; 0 while unknown
	unheard    Time // how long the link was waited for, as long as that is not known
	handshake  Time // as the latest handshakes had it; 0 while unknown
	latest     Time // as the latest handshake had it
	handshakes int  // how many there were, as far as one was told
	probed     int  // of these, when the latest probe of a banned link began
	regained   Time // as the handshake of the probe that ended the latest ban had it; 0: it made none
	data       Time // of the data that comes, queue included; 0 while unknown

	answers  [answerSamples]Time // of the latest requests that were alone, from request to first byte
	answered int                 // how many there were
}

// saw notes a round trip, of which the least is kept; 0: none is known.
func (r *roundTrips) saw(rtt Time) {
	if rtt > 0 && (r.min == 0 || rtt < r.min) {
		r.set(rtt)
	}
}

// set takes a round trip that the system knows for the least one.
func (r *roundTrips) set(rtt Time) { r.min, r.unheard = rtt, 0 }

// shook notes a handshake that took so long, 0: none was made, and what the latest ones took.
func (r *roundTrips) shook(latest, handshake Time) {
	if handshake > 0 {
		r.handshake = handshake
	}
	if latest > 0 {
		r.latest = latest
		r.handshakes++
	}
}

// carried notes what a round trip takes the data that comes; 0: that is not known.
func (r *roundTrips) carried(data Time) {
	if data > 0 {
		r.data = data
	}
}

// answer notes that a request which nothing delayed was answered after wait.
func (r *roundTrips) answer(wait Time) {
	r.answers[r.answered%answerSamples] = wait
	r.answered++
}

// waiting notes how long a link has been waited for of which nothing has been heard.
func (r *roundTrips) waiting(since Time) {
	if r.min == 0 && !without("unheard-reach") {
		r.unheard = max(r.unheard, since)
	}
}

// leastAnswer is the shortest of the latest waits; 0: there were none.
func (r *roundTrips) leastAnswer() Time {
	least := Never
	if without("answer-trip") {
		return 0
	}
	for _, w := range r.answers[:min(r.answered, answerSamples)] {
		least = min(least, w)
	}
	if least == Never {
		return 0
	}
	return least
}

// known is the least round trip, or what stands for it.
func (r *roundTrips) known() Time {
	if r.min > 0 {
		return r.min
	}
	return unknownTrip
}

// toAnswer is how long the link takes to answer: its round trip, or what requests that were
// alone have waited where that is longer.
func (r *roundTrips) toAnswer() Time { return max(r.min, r.leastAnswer()) }

// now is toAnswer, or what stands for it while it is not known.
func (r *roundTrips) now() Time { return max(r.known(), r.leastAnswer()) }

// reach is now as far as it is known: a link that has been waited for in vain is likely to take
// as long again.
func (r *roundTrips) reach() Time { return max(r.now(), 2*r.unheard) }

// path is the link's round trip, or what both answers and data take where that is longer: servers
// think, and queues stand, but not for both. Bursts are as far apart as that.
func (r *roundTrips) path() Time { return max(r.min, min(r.leastAnswer(), r.data)) }

// patient is a silence limit: silentRTTs round trips as the latest handshakes have them, at least
// floor, and twice as long for each wait in vain.
func (r *roundTrips) patient(floor Time, inVain uint8) Time {
	limit := longest(floor, silentRTTs, max(r.path(), r.handshake, min(r.regained, r.data)))
	if limit >= silentMost || without("patience-doubles") {
		return limit
	}
	return min(silentMost, limit<<min(inVain, 8))
}

// probe notes that a probe of a banned link begins.
func (r *roundTrips) probe() { r.probed = r.handshakes }

// regain notes how long the link has become while it was banned: its latest requests were
// answered before that.
func (r *roundTrips) regain() {
	if r.regained = 0; r.handshakes > r.probed {
		r.regained = r.latest
	}
}

// probeLimit is how long a banned link's probe may take, where limit is enough for one of a link
// that is as before. If its handshake is through it may take as many of that one's round trips as
// any request may.
func (r *roundTrips) probeLimit(limit Time) Time {
	if r.handshakes > r.probed && !without("probe-handshake") {
		limit = max(limit, silentRTTs*r.latest)
	}
	return max(silentRTTs*r.min, min(probeMost, limit))
}

// waited says whether a round trip has waited in a queue.
func (r *roundTrips) waited(trip Time) bool {
	return float64(trip) > max(queueTrips*float64(r.min), float64(r.min+queueFloor))
}
