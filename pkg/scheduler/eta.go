package scheduler

import "math/bits"

const (
	// connectRTTs is how many round trips pass before the first byte on a stream that has to
	// connect first, in clear: handshake and request. reconnectRTTs is the same for a stream whose
	// HTTP/1.1 connection was closed in the middle of a range, until it is at its rate again: the
	// first steps of slow start are added.
	connectRTTs   = 2
	reconnectRTTs = 4
	// For freshTrips round trips a connection that was opened ahead is expected to bring its
	// windows, whatever the link has carried so far, since that came over others. Chosen by hand;
	// see fresh-eta in docs/scheduler.md.
	freshTrips = 2
	// risingPart of a connection's bytes came while its rate was measured if it is still in slow
	// start, which doubles in each of the two round trips of that: 3/4.
	risingPart = 0.75
	// unknownTrip stands for a round trip that has not been measured. Chosen by hand.
	unknownTrip = 50 * Millisecond
	// initialWindow is how many bytes a connection brings in its first round trip (RFC 6928).
	initialWindow = 10 * segment
	// forever is more seconds than any request takes.
	forever = 1e9
	// speedGrowth is the factor by which a window grows in a round trip at most: see speed.
	speedGrowth = 2
	// noStream names no stream.
	noStream StreamID = -1
)

// eta is the estimated time at which each stream of a link will have received what it was asked
// for.
type eta struct {
	rate    float64 // bytes per second of each stream at work
	active  int     // streams at work
	trip    float64 // round trip in seconds
	streams *streams
	last    [MaxStreams]*chunk
	full    float64             // the rate, before a thief without work takes its part of it
	speeds  *speeds             // how the rate is shared
	sum     float64             // of the speeds of the streams at work
	late    uint64              // bit s: stream s has been silent for longer than expected
	fresh   uint64              // bit s: stream s was opened ahead, and its first bytes are not due yet
	passed  uint64              // bit s: nothing could be done for stream s
	owed    [MaxStreams]int64   // bytes
	wait    [MaxStreams]float64 // seconds until the first of them
	copied  [MaxStreams]float64 // seconds until the duplicate of each one's last request is done
}

// eta fills in the estimate of a link. A link whose rate is unknown is taken to be as fast as
// the mean of the others.
func (v View) eta(id LinkID, o *eta) {
	c := v.core
	l := &c.links[id]
	*o = eta{trip: l.rtt.now().Seconds(), streams: &l.streams, speeds: &l.speeds}
	for i := range c.flight.chunks {
		ch := &c.flight.chunks[i]
		if ch.link != id || ch.copy {
			continue
		}
		if o.last[ch.stream] == nil {
			o.active++
			o.sum += o.speeds.of(ch.stream)
			o.wait[ch.stream] = l.due(ch, c.now)
			if l.late(ch, c.now) {
				o.late |= 1 << ch.stream
			}
			if !c.cfg.Batch && l.streams.fresh(ch.stream) && c.now-ch.issued < freshTrips*l.rtt.now() {
				if !without("fresh-eta") {
					o.fresh |= 1 << ch.stream
				}
			}
		}
		if ch.duplicate != NoChunk {
			o.copied[ch.stream] = v.copyEnds(&c.flight.chunks[c.flight.find(ch.duplicate)])
		}
		o.last[ch.stream] = ch
		o.owed[ch.stream] += ch.left() - ch.over
	}
	o.rate = v.RateOrMean(id) / float64(max(1, o.active))
	o.full = o.rate
}

// speed is what a stream carries, or would carry, in bytes per second. The few connections that
// are still at work at the end grow by what the idle ones leave, but hardly by more than their
// window does in a round trip. What the link has carried of late includes the idle ones' part.
func (o *eta) speed(s StreamID) float64 {
	if o.fresh&(1<<s) != 0 {
		return float64(o.owed[s]) / max(o.trip, o.doubling(s, o.owed[s]))
	}
	if o.sum <= 0 || o.active == 0 {
		return o.rate
	}
	own := o.speeds.of(s)
	part := own / (o.sum / float64(o.active))
	grown := own * max(1, min(speedGrowth, o.speeds.sum/o.sum))
	if without("speed-growth") {
		grown = 0
	}
	share := o.rate * float64(o.active) * own / max(o.sum, o.speeds.sum)
	return min(o.full*part, max(grown, share))
}

// end is in how many seconds a stream will be done.
func (o *eta) end(s StreamID) float64 { return o.wait[s] + o.lasts(s, o.owed[s]) }

// lasts is how many seconds a stream takes to receive so many bytes: at its rate, or in slow start,
// where each round trip brings twice what the one before did (RFC 5681, 3.1), whichever is longer.
func (o *eta) lasts(s StreamID, bytes int64) float64 {
	rounds := o.doubling(s, bytes)
	if without("slow-start-eta") {
		rounds = 0
	}
	rate := o.speed(s)
	if rate <= 0 { // slow start is all that is known of it
		return rounds
	}
	return min(forever, max(float64(bytes)/rate, rounds))
}

// doubling is how many seconds a stream takes to receive so many bytes in slow start.
func (o *eta) doubling(s StreamID, bytes int64) float64 {
	return float64(o.trip * float64(bits.Len64(uint64(bytes/o.streams.window(s)))))
}

// rising says whether most of what a link's only connection has brought, at so many bytes per
// second, came while its rate was measured, and no queue stands before the link: the next round
// trips will bring more. One that has not brought its first window is slow by other means.
func (l *link) rising(s StreamID, rate float64) bool {
	if l.streams.most > 1 || without("rising") || l.rtt.queued(l.rtt.data) {
		return false
	}
	opened, recent := l.streams.conn[s].brought, rateSpan(l.rtt.path()).Seconds()
	return opened > initialWindow && rate*recent >= risingPart*float64(opened)
}

// mean is the rate at which a stream would receive so many bytes by the end of them.
func (o *eta) mean(s StreamID, bytes int64) float64 {
	return float64(bytes) / max(o.trip, o.lasts(s, bytes))
}

// latest is the stream, other than one, that will be done last, and when;
// noStream when there is none.
func (o *eta) latest(except StreamID) (StreamID, float64) {
	best, end := noStream, -1.0
	for s := range StreamID(MaxStreams) {
		ch := o.last[s]
		if ch == nil || s == except || o.passed&(1<<s) != 0 {
			continue
		}
		e := o.end(s)
		if ch.duplicate != NoChunk {
			e = min(e, o.copied[s])
		}
		if e > end {
			best, end = s, e
		}
	}
	return best, end
}

// duplicated has the bits of the streams whose last request is copied.
func (o *eta) duplicated() (set uint64) {
	for s, ch := range o.last {
		if ch != nil && ch.duplicate != NoChunk {
			set |= 1 << s
		}
	}
	return set
}

// copyEnds is in how many seconds a duplicate will be done.
func (v View) copyEnds(ch *chunk) float64 {
	l := &v.core.links[ch.link]
	bytes := l.load.queues[ch.stream].pending + ch.left() // copies are not among the former
	end := l.due(ch, v.core.now)
	if rate := v.RateOrMean(ch.link) * l.shareOf(ch.stream); rate > 0 {
		end += float64(bytes) / rate
	}
	return min(forever, end)
}

// due is in how many seconds the next byte of ch, the first of its stream's requests, is expected.
// A late one is expected to be as late again.
func (l *link) due(ch *chunk, now Time) float64 {
	in := l.expected(ch) - now
	if in < 0 {
		if in = max(0, -in-l.turnTime()-rateWindow/2); without("late-again") {
			in = 0
		} // bytes are told of now and then
	}
	return in.Seconds()
}

// late says whether the first byte of ch, the first of its stream's requests, should
// have come, or the next one followed.
func (l *link) late(ch *chunk, now Time) bool {
	return now > l.expected(ch)+l.turnTime()+l.rtt.now()+rateWindow/2
}

// expected is when the next byte of ch, the first of its stream's requests, should
// come, or should have come.
func (l *link) expected(ch *chunk) Time {
	at := l.streams.conn[ch.stream].heard
	if ch.got == 0 {
		trips := l.streams.trips(ch.stream)
		if ch.id < l.streams.conn[ch.stream].cut { // its connection is the one before
			trips = 1
		}
		at = max(at, max(ch.issued, l.streams.ready(ch.stream, l.rtt.known()))+trips*l.rtt.now())
	}
	return at
}

// trips is how many round trips it takes an idle link to its first byte.
func (l *link) trips() Time {
	fewest := l.streams.trips(0)
	for s := range l.streams.most {
		if l.streams.served(s) {
			fewest = min(fewest, l.streams.trips(s))
		}
	}
	return fewest
}

// delay is in how many seconds the first byte of another request on a stream would come: after what
// the stream still has to receive, and not before a round trip has passed.
func (o *eta) delay(stream StreamID) float64 {
	trips := o.trip * float64(o.streams.trips(stream))
	if o.owed[stream] == 0 { // at no rate, either
		return trips
	}
	return max(trips, o.wait[stream]+float64(o.owed[stream])/o.speed(stream))
}

// soonest is in how many seconds a stream would have so many bytes more. A thief's end is estimated
// as a victim's is: otherwise two streams would each seem to be the sooner one, and take the same
// bytes from each other in turns.
func (o *eta) soonest(stream StreamID, bytes int64) float64 {
	after := o.wait[stream] + o.lasts(stream, o.owed[stream]+bytes)
	return max(o.delay(stream)+o.next(stream, bytes), after)
}
