package scheduler

import (
	"math"
	"slices"
)

const (
	// rateWindow is the least time over which a rate is measured, and anything else that bytes
	// or round trips tell of a link: see rateSpan.
	rateWindow = 100 * Millisecond
	// fewTrips is how many round trips show more than one burst or one lost packet does, and
	// settleTrips in how many new connections leave slow start, and what a full queue held back
	// has come. Chosen by hand.
	fewTrips    = 4
	settleTrips = 6
	// bandwidthWindow is how long a rate counts as evidence of what the link
	// can do.
	bandwidthWindow = 10 * Second
	// bandwidthQuantile of the rates in that window is the link's bandwidth:
	// high, but no single burst out of a buffer. The window begins anew whenever the link
	// was not asked for all it can carry, or its rate still grew.
	bandwidthQuantile = 0.9
	// historyLeast is how many rates make a history: half a second, by which slow start
	// is over on most links. Chosen by hand.
	historyLeast = 5

	markCount   = 24
	sampleCount = 100
)

// rateSpan is the time over which a rate is measured where a round trip takes rtt: twice that,
// because bytes arrive in bursts a round trip apart (ALGORITHMS: "over max(100 ms, 2*min RTT)").
func rateSpan(rtt Time) Time { return max(rateWindow, 2*rtt) }

// fewSpan is a few round trips.
func fewSpan(rtt Time) Time { return longest(rateWindow, fewTrips, rtt) }

// settleSpan is for how long new connections of a link take to settle.
func settleSpan(rtt Time) Time { return longest(rateWindow, settleTrips, rtt) }

type mark struct {
	at    Time
	bytes int64
}

type rateSample struct {
	at   Time
	full bool // the link was asked for all it can carry while it was measured
	rate float64
}

// estimator measures one link: the sum over its requests in flight, never a
// single request (skjolden, 4.4.3.2).
type estimator struct {
	bytes     int64 // that have come so far; see load.arrived
	burst     arrivalBurst
	rate      float64
	bandwidth float64
	variation float64 // coefficient of variation C_v of the rates in the window
	history   bool    // there were enough rates for that
	fullSince Time    // since when the link is asked for all it can carry: the window begins there
	full      bool    // it has been for as long as a rate takes to measure
	known     float64 // bandwidth as the user gave it; 0: not given

	// marks are points of the byte count at least an eighth of a window
	// apart, newest last; empty while the link waits for a first byte.
	marks    [markCount]mark
	nMarks   int
	samples  [sampleCount]rateSample // ring
	nSamples int
	scratch  [sampleCount]float64
}

// idle says that nothing is outstanding: the time until the next first byte is
// not the link's fault and must not count.
func (e *estimator) idle(bytes int64) {
	e.bytes = bytes
	e.nMarks = 0
}

// rebase says that n bytes which were counted will not be from now on.
func (e *estimator) rebase(n int64) {
	e.bytes -= n
	for i := range e.nMarks {
		e.marks[i].bytes -= n
	}
}

// observe takes the link's byte count at now. It may be called with an
// unchanged count: a silent link's rate falls, but not before a round trip has
// passed since the bytes that started the clock, for the next burst comes then.
func (e *estimator) observe(now Time, bytes int64, rtt Time) {
	if e.nMarks == 0 {
		if bytes > e.bytes { // the first bytes after a wait start the clock
			e.bytes = bytes
			e.push(mark{now, bytes})
		}
		return
	}
	e.bytes = bytes
	window := rateSpan(rtt)
	since := e.before(now-window, bytes)
	if age := e.burst.since(now) - since.at; age >= window/4 {
		if rate := float64(bytes-since.bytes) / age.Seconds(); rate > e.rate || age >= rtt {
			e.rate = rate
		}
		if now-since.at >= window && (e.nSamples == 0 || now-e.samples[(e.nSamples-1)%sampleCount].at >= window) {
			e.sample(now, since.at)
		}
	}
	if now == e.burst.at {
		e.burst.setRate(e.steady(now, rtt))
	}
	if now-e.marks[e.nMarks-1].at >= window/8 && (now == e.burst.at || e.burst.ended(now)) {
		e.push(mark{now, bytes})
	}
}

// before is the latest point not after at with no more than so many bytes; the first one
// where there is none. There must be one.
func (e *estimator) before(at Time, bytes int64) mark {
	for i := e.nMarks - 1; i > 0; i-- {
		if m := e.marks[i]; m.at <= at && m.bytes <= bytes {
			return m
		}
	}
	return e.marks[0]
}

// steady is the rate over as long as evidence takes to come, as far back as it is known.
func (e *estimator) steady(now, rtt Time) float64 {
	if e.nMarks == 0 {
		return e.rate
	}
	since := e.before(now-rateSpan(rtt), e.bytes-evidence)
	if span := e.burst.since(now) - since.at; span > 0 {
		return float64(e.bytes-since.bytes) / span.Seconds()
	}
	return e.rate
}

func (e *estimator) push(m mark) {
	if e.nMarks == markCount {
		copy(e.marks[:], e.marks[1:])
		e.nMarks--
	}
	e.marks[e.nMarks] = m
	e.nMarks++
}

// restart begins the window of evidence anew: what the link carries now is not all that it
// could.
func (e *estimator) restart(now Time) { e.fullSince = now }

// sample keeps the present rate, measured since then, as evidence of what the link can
// carry, and takes the quantile and the variation anew: over the rates since the window has
// begun, as soon as there was one while the link was asked for all it can carry, else over
// all. A window that has begun anew has to become a history before it lowers the bandwidth:
// connections that have rested begin slowly (RFC 5681, 4.1).
func (e *estimator) sample(now, since Time) {
	full := since >= e.fullSince
	e.samples[e.nSamples%sampleCount] = rateSample{now, full, e.rate}
	e.nSamples++
	if e.full && !full {
		return
	}
	recent := e.scratch[:0]
	for _, s := range e.samples[:min(e.nSamples, sampleCount)] {
		if now-s.at <= bandwidthWindow && (!full || s.full && s.at > e.fullSince) {
			recent = append(recent, s.rate)
		}
	}
	slices.Sort(recent)
	history := len(recent) >= historyLeast
	bandwidth := recent[int(float64(bandwidthQuantile*float64(len(recent)-1))+0.5)]
	if history || full != e.full || bandwidth > e.bandwidth {
		e.bandwidth = bandwidth
	}
	e.full = full
	if history {
		e.variation, e.history = variation(recent), true
	}
}

// variation is the coefficient of variation of rates: their standard deviation over their
// mean (skjolden, 3.4).
func variation(rates []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, r := range rates {
		sum += r
	}
	mean := sum / float64(len(rates))
	if mean <= 0 {
		return 0
	}
	for _, r := range rates {
		squares += float64((r - mean) * (r - mean))
	}
	return math.Sqrt(squares/float64(len(rates))) / mean
}

// capacity is the link's bandwidth B in bytes per second: what the user says it
// is, else the quantile; never below the present rate. 0: nothing known.
func (e *estimator) capacity() float64 {
	if e.known > 0 {
		return max(e.known, e.rate)
	}
	return max(e.bandwidth, e.rate)
}

// measured says whether the link has ever shown a rate.
func (e *estimator) measured() bool { return e.rate > 0 || e.nSamples > 0 }

// forget drops what was measured before a link was lost or came back.
func (e *estimator) forget() {
	*e = estimator{bytes: e.bytes, known: e.known, fullSince: e.fullSince}
}

// meter takes the mean rate of a request that is over for the link's where that says more.
func (l *link) meter(ch *chunk, now Time, batch bool) {
	age := now - ch.issued
	if age <= 0 {
		return
	}
	rate := float64(ch.got) / age.Seconds()
	switch {
	case l.est.rate > 0 && age <= rateSpan(l.rtt.toAnswer()) && !without("mean-of-brief"):
		// So much the link does carry at present, whatever was measured of requests
		// that were over before their rate could be.
		l.est.rate = max(l.est.rate, rate)
	case !without("mean-of-first") && l.est.rate == 0 && (batch || l.load.requests == 1) && ch.got >= initialWindow:
		// Over before it could be measured: its mean is better than nothing, unless
		// so little came that it tells of the round trip alone, or it had but a part
		// of the link's rate.
		l.est.rate = rate
	}
}
