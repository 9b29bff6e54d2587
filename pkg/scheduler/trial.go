package scheduler

// The constants were chosen by hand over the simulator's suites unless a source is named; see
// loss-trial, pair-trial and short-queue in docs/scheduler.md.
const (
	// A trial begins with firstTrial connections. It waits for settleTrips round trips until
	// the new ones have left slow start, and then measures for as long. If the
	// rate has risen by the factor streamGain they stay, and twice as many are tried as soon as no
	// queue stands. If it has not, and no trial before has helped, they are given up step by step
	// (see narrow.go); after one that helped they stay.
	firstTrial = 8
	streamGain = 1.25
	// openMost is the most that are tried, or twice as many as the link began with. There is
	// no such bound where packets are lost at random and each connection brings fastPackets in a
	// round trip: with fewer, a loss costs it a timeout (RFC 5681, 3.2).
	fastPackets = 4
	// streamRest is how long a link that did not gain is left alone after the first trial; each
	// time it is twice as long. A connection that lost its first packet may be fast later.
	streamRest = Second
	// A trial pays if the download still takes worthSpans times as long as it takes
	// new connections to settle, at most worthMost, over this link alone, since its cost is counted in round trips, too. Over all
	// links it must take longer than the trial.
	worthSpans = 3
	worthMost  = 2 * Second
)

// trial finds out by trying whether a link brings more over more connections.
type trial struct {
	running   bool
	began     Time      // when the latest one did; 0: none has
	helped    bool      // more connections have brought more
	before    StreamID  // how many there were before it
	base      float64   // bytes per second before it
	settled   Time      // when the measurement begins
	measured  countMark // with which it began
	restUntil Time
	failed    int // how many were in vain
}

// verdict is what a trial has shown.
type verdict uint8

const (
	pending verdict = iota
	gained          // more connections bring more
	vain            // they do not
)

// begin begins a trial where before connections bring base bytes per second.
func (t *trial) begin(now Time, before StreamID, base float64) {
	t.running, t.began, t.before, t.base, t.settled = true, now, before, base, 0
}

// judge ends a trial when it has been measured: span is for how long new connections are left
// alone, and then measured. It gives the rate in bytes per second, too.
func (t *trial) judge(count countMark, span Time) (v verdict, rate float64) {
	switch {
	case t.settled == 0:
		t.settled, t.measured = count.at+span, countMark{}
	case count.at < t.settled:
	case t.measured.at == 0:
		t.measured = count
	case count.at >= t.measured.at+span && count.bytes-t.measured.bytes >= evidence:
		t.running = false
		rate = count.rateSince(t.measured)
		if rate >= streamGain*t.base {
			t.helped = true
			return gained, rate
		}
		t.restUntil = count.at + streamRest<<min(t.failed, 10)
		t.failed++
		return vain, rate
	}
	return pending, 0
}

// try begins a trial with more streams.
func (s *streams) try(now Time, base float64) {
	most := min(MaxStreams, max(openMost, 2*s.initial))
	if s.loss.random() && s.loss.trip >= fastPackets*float64(s.most) { // what holds each of them back is not the link
		most = MaxStreams
	}
	if s.most >= most {
		return
	}
	s.trial.begin(now, s.most, base)
	s.most = min(most, max(firstTrial, 2*s.most))
	s.narrowing.goal = 0
}

// judge does what a trial has shown. What new connections bring at first does not last: when it
// has fallen so far that no queue stands any more, there may be need of more.
func (s *streams) judge(now Time, l *link) {
	count := l.mark(now)
	switch v, rate := s.trial.judge(count, l.trialSpan()); {
	case v == gained && !l.queued():
		s.try(now, rate)
	case v == vain && !s.trial.helped:
		s.narrowFrom(s.trial.before, rate, count)
	}
}

// trialSpan is for how long new streams are left alone, and then measured.
func (l *link) trialSpan() Time { return settleSpan(l.rtt.toAnswer()) }

// trialWorth is for how long what more streams would bring must be of use.
func (l *link) trialWorth() Time {
	return min(worthMost, worthSpans*settleSpan(l.rtt.toAnswer()))
}
