package scheduler

// Packets that come out of order tell of others that were lost before them. They
// come in episodes: from the loss until it has been made good, a round trip later.
// Where no queue stands, one that follows another is enough to tell random loss.
const (
	// An episode is over when no packet came out of order for quietRTTs round
	// trips, at least quietFloor.
	quietRTTs  = 1.5
	quietFloor = 40 * Millisecond
	// Another one that begins within againSpans times a few round trips of the
	// beginning of the first is the sign of random loss: a queue takes
	// longer to overflow again. But not within a few, when it may still be the
	// same. One that does not end for lastsSpans times as long counts as another
	// too.
	againSpans = 6
	lastsSpans = 2
	// When a queue overflows, round trips are longer than the least one, and all
	// that comes within one of them, or several, is out of order: more than
	// overflowShare of all packets, and more than overflowTrips of the least round
	// trip bring, and overflowPackets.
	overflowShare   = 0.6
	overflowTrips   = 2.5
	overflowPackets = 10
	// lossRepeats is how many episodes must follow another that soon.
	lossRepeats = 2
	// segment is a full packet's payload in bytes.
	segment = 1448
)

// loss watches for packets that are lost at random, rather than because a queue
// overflows.
type loss struct {
	reordered int64 // packets out of order so far

	counted  int64     // of them, at the latest look
	grew     countMark // when they last became more
	looked   countMark // the look before
	episode  countMark // when the present or last episode began
	disorder int64     // packets out of order before it
	trip     float64   // packets in a least round trip, then
	repeats  int       // how many episodes followed one another soon
}

// random says whether packets are lost at random.
func (s *loss) random() bool { return s.repeats >= lossRepeats }

// watch looks at the packets out of order.
func (s *loss) watch(now Time, l *link) {
	before := s.looked
	before.at = now
	s.looked = l.mark(now)
	if s.reordered == s.counted {
		return
	}
	quiet, age := now-s.grew.at, now-s.episode.at
	over := quiet > longest(quietFloor, quietRTTs, l.rtt.path())
	soon := s.episode.at > 0 && age <= againSpans*fewSpan(l.rtt.path())
	fresh := age < fewSpan(l.rtt.path())
	old := s.counted
	s.counted = s.reordered
	switch {
	case !soon, over && s.overflowed(old, s.grew.bytes):
		s.repeats = 0
		s.begin(before, old, l)
	case over && !fresh:
		s.repeats++
		s.begin(before, old, l)
	case !over && age >= lastsSpans*fewSpan(l.rtt.path()):
		s.repeats++
		if s.overflowed(s.counted, l.load.received) {
			s.repeats = 0
		}
		s.begin(l.mark(now), s.counted, l)
	}
	if over && soon && !fresh && !l.streams.queue.mayDrop(now, l.rtt.path()) {
		s.repeats = max(s.repeats, lossRepeats)
	}
	s.grew = l.mark(now)
}

func (s *loss) begin(at countMark, disorder int64, l *link) {
	s.episode, s.disorder = at, disorder
	s.trip = l.est.rate * l.rtt.path().Seconds() / segment
}

// overflowed says whether the episode, up to a count of packets out of order and
// one of bytes received, is that of a queue.
func (s *loss) overflowed(reordered, bytes int64) bool {
	n := float64(reordered - s.disorder)
	return n > overflowShare*float64(bytes-s.episode.bytes)/segment && n > float64(overflowTrips*s.trip)+overflowPackets
}
