package scheduler

import "slices"

// Over HTTP/2 bytes come by TLS's records of 16 KiB, which over a slow link are a tenth of a
// second apart: as long as rates are measured over. They are measured from one lot of bytes
// to another, or they would be off by one.
const (
	// lotCount is how many of the latest lots tell how large they are.
	lotCount = 6
	// recordSize is the largest of TLS's (RFC 8446, 5.1).
	recordSize = int64(16) << 10
	// evidence is how many bytes a rate must come of to be held against another one.
	evidence = int64(64) << 10
	// A rate is measured over rateRecords of these at least: behind a lost packet one or two
	// wait, and then come together.
	rateRecords = 3
	// gapMost is the longest that nothing coming between two lots explains, which is a record
	// of a link of 0.13 Mbit/s.
	gapMost = Second
)

// lots tells by how many bytes at once a link's come.
type lots struct {
	at     Time // when the latest came
	latest [lotCount]int64
	n      int
	size   int64   // bytes: the second smallest of these, as one may be the end of a request
	gap    Time    // for how long nothing comes between two of them
	rate   float64 // bytes per second at which the latest came
}

// came notes that bytes have come, if any have.
func (l *lots) came(now Time, bytes int64) {
	if bytes <= 0 {
		return
	}
	l.at = now
	l.latest[l.n%lotCount] = bytes
	l.n++
	sorted := l.latest
	slices.Sort(sorted[:min(l.n, lotCount)])
	l.size = sorted[min(1, l.n-1)]
}

// pass notes the rate at which a lot has come, in bytes per second.
func (l *lots) pass(rate float64) {
	if rate > 0 {
		l.rate = rate
		l.gap = min(gapMost, FromSeconds(float64(l.size)/rate))
	}
}

// since is when the latest bytes came, as far as a gap explains that none do.
func (l *lots) since(now Time) Time { return max(l.at, now-l.gap) }

// some is over how many bytes a rate is measured at least; 0 where they do not come by records,
// or do not come any more.
func (l *lots) some(now Time) int64 {
	if l.over(now) || without("records") {
		return 0
	}
	return rateRecords * min(recordSize, l.size)
}

// over says whether no gap explains that nothing comes. As long as there was but one lot, none
// is known.
func (l *lots) over(now Time) bool {
	return now-l.at > 2*l.gap && (l.gap > 0 || l.n == 0)
}

// countMark is a link's byte count at a time.
type countMark struct {
	at    Time
	came  Time // when the latest of these bytes did; see lots.since
	bytes int64
}

// mark is l's count now.
func (l *link) mark(now Time) countMark {
	return countMark{now, l.est.lots.since(now), l.load.received}
}

// rateSince is l's mean rate in bytes per second since m.
func (l *link) rateSince(m countMark, now Time) float64 {
	return l.mark(now).rateSince(m)
}

// rateSince is the mean rate in bytes per second since another mark.
func (m countMark) rateSince(from countMark) float64 {
	if span := m.came - from.came; span > 0 {
		return float64(m.bytes-from.bytes) / span.Seconds()
	}
	return 0
}

// tells says whether enough has come since m for its rate to mean something.
func (l *link) tells(m countMark) bool { return l.load.received-m.bytes >= evidence }

// record is how long what a link brings at once takes it, a record at most; gapMost as long as
// that cannot be told.
func (l *link) record() Time {
	lots := &l.est.lots
	if lots.n == 0 || without("record-time") {
		return 0
	}
	rate := lots.rate
	if rate <= 0 {
		rate = l.est.capacity()
	}
	if rate <= 0 {
		return gapMost
	}
	return min(silentMost, FromSeconds(float64(min(recordSize, slices.Max(lots.latest[:])))/rate))
}

// apart is how long it takes until each of the connections at work has had a lot: over a slow
// link with many of them, longer than any silence would be borne otherwise.
func (l *link) apart() Time {
	if l.load.working < 2 || l.est.capacity() <= 0 {
		return 0
	}
	return min(silentMost, Time(l.load.working)*l.record())
}
