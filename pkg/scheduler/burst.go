package scheduler

import "slices"

// Over HTTP/2 bytes arrive in TLS records of up to 16 KiB, which over a slow link are a tenth of a
// second apart: as long as the window that rates are measured over. A rate must be measured from
// one burst of bytes to another, or it is wrong by a burst.
const (
	// burstCount is how many of the latest bursts tell how large they are. Chosen by hand.
	burstCount = 6
	// recordSize is the largest TLS record in bytes (RFC 8446, 5.1).
	recordSize = int64(16) << 10
	// evidence is how many bytes a rate must come of to be compared with another one: four records.
	evidence = int64(64) << 10
	// gapMost is the longest time between two bursts, that of a record at 0.13 Mbit/s.
	gapMost = Second
)

// arrivalBurst is how many bytes of a link arrive at once.
type arrivalBurst struct {
	at     Time // when the latest burst arrived
	latest [burstCount]int64
	n      int
	size   int64   // bytes: the second smallest of the latest, as one may be the end of a request
	gap    Time    // from one burst to the next
	rate   float64 // bytes per second at which the latest arrived
}

// arrived notes that bytes have arrived, if any have.
func (b *arrivalBurst) arrived(now Time, bytes int64) {
	if bytes <= 0 {
		return
	}
	b.at = now
	b.latest[b.n%burstCount] = bytes
	b.n++
	sorted := b.latest
	slices.Sort(sorted[:min(b.n, burstCount)])
	b.size = sorted[min(1, b.n-1)]
}

// setRate notes the rate at which a burst arrived, in bytes per second.
func (b *arrivalBurst) setRate(rate float64) {
	if rate > 0 {
		b.rate = rate
		b.gap = min(gapMost, FromSeconds(float64(b.size)/rate))
	}
}

// since is when the latest bytes arrived, or now less a gap where that is later: a longer time
// without bytes counts as idle.
func (b *arrivalBurst) since(now Time) Time { return max(b.at, now-b.gap) }

// ended says whether nothing has arrived for longer than a gap explains. The gap is unknown after
// a single burst.
func (b *arrivalBurst) ended(now Time) bool {
	return now-b.at > 2*b.gap && (b.gap > 0 || b.n == 0)
}

// countMark is a link's byte count at a time.
type countMark struct {
	at    Time
	came  Time // when the latest of these bytes did; see arrivalBurst.since
	bytes int64
}

// mark is l's count now.
func (l *link) mark(now Time) countMark {
	return countMark{now, l.est.burst.since(now), l.load.received}
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

// isEvidence says whether enough bytes have arrived since m for the rate to mean something.
func (l *link) isEvidence(m countMark) bool { return l.load.received-m.bytes >= evidence }

// recordTime is how long a record takes a link over HTTP/2, at most; gapMost while that is unknown.
func (l *link) recordTime() Time {
	b := &l.est.burst
	if b.n == 0 || !l.streams.server.lasting || without("record-time") {
		return 0
	}
	rate := b.rate
	if rate <= 0 {
		rate = l.est.capacity()
	}
	if rate <= 0 {
		return gapMost
	}
	return min(banMost, FromSeconds(float64(min(recordSize, slices.Max(b.latest[:])))/rate))
}

// turnTime is how long it takes until each of the connections at work has had a burst: over a
// slow link with many connections, longer than any silence that would be tolerated otherwise.
func (l *link) turnTime() Time {
	if l.load.working < 2 || l.est.capacity() <= 0 {
		return 0
	}
	return min(banMost, Time(l.load.working)*l.recordTime())
}
