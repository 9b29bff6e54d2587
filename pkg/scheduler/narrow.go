package scheduler

// Connections that were needed for a quick start are superfluous once the link is full, like those
// of a trial that was in vain; they cost energy, memory and packets that a full queue drops. They
// are given up a few at a time, since the windows of those that stay have to grow in their place.
// Where they do not, as over a link that builds up its rate, or whose loss bounds each connection,
// the link's rate falls, and the last step is taken back.
//
// The constants were chosen by hand; see narrow-slowly and narrow-plan in docs/scheduler.md.
const (
	// A step gives up one connection in narrowPart, narrowTrips round trips, at least narrowFloor,
	// after the one before.
	narrowPart  = 4
	narrowTrips = 1
	narrowFloor = 200 * Millisecond
	// The rate is the same if it is not below narrowKeeps of the mean of the steps before within
	// narrowPatience round trips: a queue that overflows holds back bytes for two or three, and
	// then all come at once. narrowWeight is that of the latest step in the mean.
	narrowKeeps    = 0.93
	narrowWeight   = 0.5
	narrowPatience = 6
	// A plan's goal that was given up is tried again after narrowRest round trips, then after
	// twice as many each time: on a busy machine, or while a queue overflows, a rate falls for
	// other reasons. Without it HAT's 58 connections of the start stayed 44 to the end of a job
	// that was to have 24.
	narrowRest = 8
)

// narrowing is the way from many connections to fewer.
type narrowing struct {
	goal   StreamID // how many there should be; 0: it is over
	before StreamID // how many there were before the latest step; 0: there has been no goal
	from   countMark
	rate   float64 // bytes per second, the mean of the steps
	again  float64 // round trips to rest when the next step towards a plan's goal is taken back; 0: give up
	until  Time    // end of that rest
}

// narrowTo aims at n connections: step by step the first time, at once later, when there are more
// only because they were tried for a while, and before the link has shown a rate, when what its
// other connections were asked for fills it while the windows of those that stay grow.
func (s *streams) narrowTo(n StreamID, l *link) {
	before := s.narrowing.before
	s.narrowing = narrowing{before: s.most, again: narrowRest}
	if n >= s.most || without("narrow-plan") || before > 0 || l.rtt.min < longTrip || l.est.nSamples == 0 {
		s.most = n
		return
	}
	s.narrowing.goal = n
}

// narrowFrom sets out for n connections where so many as there are carry rate, in bytes
// per second.
func (s *streams) narrowFrom(n StreamID, rate float64, now countMark) {
	s.narrowing = narrowing{goal: n, before: s.most, from: now, rate: rate}
	if without("narrow-slowly") {
		s.narrowing.goal, s.most = 0, n
	}
}

// narrow takes the next step, or the last one back.
func (s *streams) narrow(now Time, l *link) {
	n := &s.narrowing
	switch {
	case n.goal == 0:
		return
	case now < n.until:
		return
	case n.from.at == 0:
		n.from = l.mark(now)
		return
	case now-n.from.at < longest(narrowFloor, narrowTrips, l.rtt.path()):
		return
	}
	rate := l.rateSince(n.from, now)
	if rate < narrowKeeps*n.rate {
		if now-n.from.at >= longest(narrowFloor, narrowPatience, l.rtt.path()) {
			s.most = n.before
			if n.again == 0 {
				n.goal = 0
				return
			}
			n.until, n.from, n.rate = now+longest(narrowFloor, n.again, l.rtt.path()), countMark{}, 0
			n.again *= 2
		}
		return
	}
	n.from = l.mark(now)
	if n.rate == 0 {
		n.rate = rate
	}
	n.rate = float64(narrowWeight*rate) + float64((1-narrowWeight)*n.rate)
	n.before = s.most
	if s.most = max(n.goal, s.most-max(1, s.most/narrowPart)); s.most == n.goal {
		n.goal = 0
	}
}
