package scheduler

// cutting is how many bytes of a free part a connection should ask for.
func (c *Core) cutting(id LinkID, stream StreamID, p *part) int64 {
	size := c.emtcp().limit(id, min(unsized, c.cfg.Policy.Request(View{c}, id)))
	if size <= 0 && len(c.flight.chunks) > 0 {
		return 0 // with nothing in flight, somebody must go on
	}
	whole, likely := p.Len(), c.freeMap.likely(p)
	spare := c.spare(id, stream)
	if spare <= 0 && c.links[id].load.queues[stream].requests > 0 {
		return 0 // another will be there sooner
	}
	size = max(int64(float64(size)*c.links[id].shareOf(stream)), c.cfg.minRequest())
	most := c.handy(id, stream)
	if c.batch.planned(id) && c.batch.files == 0 && likely > most && !without("plan-brief") {
		size = min(size, most) // a connection that the next plan gives up brings what it was asked for first
	}
	switch {
	case likely-size < c.cfg.minRequest(), !without("whole-piece") && whole <= wholePiece && likely <= most && float64(likely) <= spare, p.guess && c.brief(id, stream, likely):
		size = whole
	}
	if p.guess && c.freeMap.typicalCount == 0 && c.batch.files == 0 && !without("first-unknown") {
		size = min(size, leastWhole)
	}
	if p.guess && size < whole && c.tooBusyToLearn(id, stream) {
		return 0
	}
	return min(size, whole, c.most(id))
}

// tooBusyToLearn says whether a connection has so much to do that, by the time at which
// all links can be done, what it could learn of a file would not have been shared out and
// fetched: others ask sooner.
func (c *Core) tooBusyToLearn(id LinkID, stream StreamID) bool {
	l := &c.links[id]
	q := &l.load.queues[stream]
	rate := (View{c}).RateOrMean(id) * l.shareOf(stream)
	if without("too-busy-to-learn") || q.requests == 0 || rate <= 0 || c.batch.files > 0 {
		return false
	}
	trip := l.rtt.known().Seconds()
	return float64(q.pending)/rate+float64(learnFirst*trip) > (View{c}).finishTime()
}

// handy is up to how many bytes a piece is asked for as a whole.
func (c *Core) handy(id LinkID, stream StreamID) int64 {
	if c.batch.files > 0 {
		return wholePiece
	}
	l := &c.links[id]
	return max(leastWhole, int64(float64(l.est.rate*l.shareOf(stream))*wholeSeconds))
}

// brief says whether a connection needs no longer for so many bytes than it takes
// to learn how long a file is and to share it out then.
func (c *Core) brief(id LinkID, stream StreamID, bytes int64) bool {
	l := &c.links[id]
	return !without("brief") && float64(bytes) <= briefTrips*l.rtt.known().Seconds()*(View{c}).RateOrMean(id)*l.shareOf(stream)
}

// spare is how many more bytes a connection would have, if it were asked for them
// now, by the time at which all links can have all that is left; very many while
// nobody knows.
func (c *Core) spare(id LinkID, stream StreamID) float64 {
	v := View{c}
	rate := v.RateOrMean(id) * c.links[id].shareOf(stream)
	if rate <= 0 || c.batch.files > 0 || without("spare") {
		return float64(unsized)
	}
	l := &c.links[id]
	wait := max(l.rtt.known().Seconds()*float64(min(connectRTTs, l.streams.trips(stream))), float64(l.load.queues[stream].pending)/rate)
	return rate * (v.finishTime() - wait)
}
