package scheduler

const (
	// guidedPart of what a link can still bring is the most that its next request is, so that
	// what was taken to be too much can still go to others. With a half instead, over links
	// whose queues overflow, small files take 0.5 to 1.4 % longer (docs/simulator.md).
	guidedPart = 1.0 / 3
)

// guided bounds a request near the end of the object (guided self-scheduling:
// Polychronopoulos and Kuck 1987). It is a part of what the link can bring by the moment at
// which all links can be done together, round trips included; the last request is all of that,
// to the byte. A link that could bring nothing before the others are done is left idle, which
// is quicker than to wait for it (ECF, Lim et al., CoNEXT 2017; BLEST, Ferlin et al.,
// Networking 2016).
//
// A link whose server ends the connection with each response is asked for its whole share,
// as another connection would have to learn again what the link carries.
func (v View) guided(id LinkID, size int64) int64 {
	if !v.Stealing() || v.SumRate() <= 0 {
		return size
	}
	l := &v.core.links[id]
	end := v.finishTime()
	share, least := v.brings(id, end), float64(l.atLeast(v.core.cfg.minRequest()))
	switch {
	case share < least && v.another(id, share, end) && !without("leave-idle"):
		return 0
	case share < least: // too little to be shared out
		return int64(least)
	case l.streams.server.single:
		return int64(share)
	case share < 2*max(least, v.BDP(id)):
		return min(size, int64(share))
	}
	if without("guided-part") {
		return min(size, int64(share))
	}
	return min(size, int64(guidedPart*share))
}

// another says whether there is another link that would bring more than so many bytes by end.
func (v View) another(id LinkID, bytes, end float64) bool {
	for l := range v.Links() {
		if l != id && v.Usable(l) && v.brings(l, end) > bytes && !v.late(l) {
			return true
		}
	}
	return false
}

// brings is how many more bytes a link could have by end, in seconds from now, if
// it were asked for them now; below 0, end is before its first one.
func (v View) brings(l LinkID, end float64) float64 {
	return v.RateOrMean(l) * (end - v.delay(l))
}

// late says whether a link owes bytes and has been silent for longer than bursts
// explain: no other link should wait for it.
func (v View) late(id LinkID) bool {
	l := &v.core.links[id]
	return !without("late-link") && l.load.requests > 0 && v.core.now-l.health.lastByte > rateSpan(l.rtt.known())
}

// delay is in how many seconds the first byte of a request would come: after a
// round trip, and after all that the link was asked for before.
func (v View) delay(id LinkID) float64 {
	l := &v.core.links[id]
	trip := max(l.rtt.known(), l.rtt.leastAnswer())
	if without("guided-delay") {
		trip = 0
	}
	if l.load.requests == 0 {
		return float64(l.trips()) * trip.Seconds()
	}
	return max(trip.Seconds(), float64(l.load.owed())/v.RateOrMean(id))
}

// finishTime is the number of seconds in which the usable links can have all free bytes if
// those that help end at the same moment: the T for which Σ r_i (T - d_i) is that many bytes,
// over the links whose delay d_i is below T.
func (v View) finishTime() float64 {
	end := forever
	for {
		bytes, rates, latest := float64(v.Free()), 0.0, 0.0
		for l := range v.Links() {
			if d := v.delay(l); v.Usable(l) && d < end {
				rate := v.RateOrMean(l)
				bytes += float64(rate * d)
				rates += rate
				latest = max(latest, d)
			}
		}
		if rates <= 0 {
			return end
		}
		if end = bytes / rates; latest < end {
			return end
		}
	}
}
