package scheduler

// The least round trip of a link is kept for as long as the link is up, though its latency may grow
// a hundredfold: a phone moves to a slower network, or a queue never empties. So there are four
// kinds of round trip, each used where it can be trusted:
//
//	min        the least one seen
//	handshake  of the latest handshakes: how long a silence must be
//	answers    from a request that nothing delayed to its first byte: when to send the next one
//	data       of the data, queue included: with the answers, how far apart bursts and losses are

// answerSamples is how many of the latest waits count: the least of them, as one may have been
// the server's or a lost packet's.
const answerSamples = 3

// roundTrips is what is known of a link's round trips.
type roundTrips struct {
	min        Time // the least; 0 while unknown
	unheard    Time // how long the link was waited for, while min is unknown
	handshake  Time // of the latest handshakes; 0 while unknown
	latest     Time // of the latest handshake
	handshakes int  // handshakes that were told
	probed     int  // of these, when the latest probe of a banned link began
	regained   Time // of the handshake of the probe that ended the latest ban; 0: it made none
	data       Time // of the data, queue included; 0 while unknown

	answers  [answerSamples]Time // of the latest requests that were alone, from request to first byte
	answered int                 // how many there were
}

// observeMin notes a round trip, of which the least is kept; 0: none is known.
func (r *roundTrips) observeMin(rtt Time) {
	if rtt > 0 && (r.min == 0 || rtt < r.min) {
		r.setMin(rtt)
	}
}

// setMin takes a round trip that the system knows for the least one.
func (r *roundTrips) setMin(rtt Time) { r.min, r.unheard = rtt, 0 }

// observeHandshake notes a handshake that took so long, 0: none was made, and what the latest ones took.
func (r *roundTrips) observeHandshake(latest, handshake Time) {
	if handshake > 0 {
		r.handshake = handshake
	}
	if latest > 0 {
		r.latest = latest
		r.handshakes++
	}
}

// observeData notes what a round trip takes the data that comes; 0: that is not known.
func (r *roundTrips) observeData(data Time) {
	if data > 0 {
		r.data = data
	}
}

// observeAnswer notes that a request which nothing delayed was answered after wait.
func (r *roundTrips) observeAnswer(wait Time) {
	r.answers[r.answered%answerSamples] = wait
	r.answered++
}

// observeSilence notes how long a link has been waited for of which nothing has been heard.
func (r *roundTrips) observeSilence(since Time) {
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

// silenceLimit is how long a link may be silent: silentRTTs round trips as the latest handshakes have them, at least
// floor, and twice as long for each wait in vain.
func (r *roundTrips) silenceLimit(floor Time, inVain uint8) Time {
	limit := longest(floor, silentRTTs, max(r.path(), r.handshake, min(r.regained, r.data)))
	if limit >= banMost || without("patience-doubles") {
		return limit
	}
	return min(banMost, limit<<min(inVain, 8))
}

// beginProbe notes that a probe of a banned link begins.
func (r *roundTrips) beginProbe() { r.probed = r.handshakes }

// endBan notes how long the link has become while it was banned: its latest requests were
// answered before that.
func (r *roundTrips) endBan() {
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

// queued says whether a round trip has waited in a queue.
func (r *roundTrips) queued(trip Time) bool {
	return float64(trip) > max(queueTrips*float64(r.min), float64(r.min+queueFloor))
}
