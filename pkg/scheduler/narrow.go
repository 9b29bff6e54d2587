package scheduler

// Connections of a trial that was in vain are given up a few at a time: slow start may have filled
// the link just before the trial, which then had no more to gain, and what the connections did
// bring shows only as they go. When the link's rate falls, the last step is taken back.
//
// The constants were chosen by hand; see narrow-slowly in docs/scheduler.md.
const (
	// A step gives up one connection in narrowPart, as soon as the one before has been measured.
	narrowPart = 4
	// The rate is the same if it is not below fullPart of the mean of the steps before within
	// settleTrips round trips: a queue that overflows holds back bytes for two or three, and
	// then all come at once. narrowWeight is that of the latest step in the mean.
	narrowWeight = 0.5
)

// narrowing is the way from many connections to fewer.
type narrowing struct {
	goal   StreamID // how many there should be; 0: it is over
	before StreamID // how many there were before the latest step
	from   countMark
	rate   float64 // bytes per second, the mean of the steps
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
	if n.goal == 0 || now-n.from.at < rateSpan(l.rtt.path()) {
		return
	}
	rate := l.rateSince(n.from, now)
	if rate < fullPart*n.rate {
		if now-n.from.at >= settleSpan(l.rtt.path()) {
			s.most, n.goal = n.before, 0
		}
		return
	}
	n.from = l.mark(now)
	n.rate = float64(narrowWeight*rate) + float64((1-narrowWeight)*n.rate)
	n.before = s.most
	if s.most = max(n.goal, s.most-max(1, s.most/narrowPart)); s.most == n.goal {
		n.goal = 0
	}
}
