package scheduler

// jitMargin widens the just-in-time rule: rates rise during slow start, and a
// request that is sent early costs nothing but its place in the queue.
const jitMargin = 2.0

// openingTrips bounds what a connection in slow start is taken to bring next, in round trips
// at its rate: that is measured over the last two, and doubles in each (RFC 5681, 3.1).
const openingTrips = 6

// leastWake is the least time between two looks at several streams, and batchWake
// that in a batch.
const (
	leastWake = 10 * Millisecond
	batchWake = 25 * Millisecond
)

// worthJoining is how long the others must still be busy for a link that has no
// connection yet to be given work: name, connection, TLS and the first steps of
// slow start take half of that on a phone's link, and its radio has to be woken.
const worthJoining = Second

// usable says whether l may be given work, and it is not too late for that. A banned link
// may not, whatever its state: its probes are the fail-over's business.
func (c *Core) usable(l *link) bool {
	return l.health.fit(c.now) && !l.linkUse.resting && !c.tooLate(l)
}

// assign gives work to every stream that is ready for more, and lets the idle
// ones take over what others are too slow with.
func (c *Core) assign(out []Action) []Action {
	if c.batch != nil {
		return c.assignBatch(out)
	}
	for id := range LinkID(len(c.links)) {
		helped := 0 // what has been taken over for it; a bound, as two may want the same
		for c.usable(&c.links[id]) {
			stream, ok := c.ready(id)
			if !ok {
				break
			}
			before := len(out)
			if out = c.request(id, stream, out); len(out) > before {
				continue
			}
			c.emtcp().noteIdle(id)
			if c.emtcp().overShare(id) {
				break
			}
			if out = c.steal(id, stream, out); len(out) == before {
				break
			}
			if helped++; helped == maxQueued {
				break
			}
		}
	}
	return c.fetchHead(c.requestAnyway(out))
}

// ready is the link's stream that should send its next request now, the one with
// the least to do if there are several.
func (c *Core) ready(id LinkID) (StreamID, bool) {
	l := &c.links[id]
	if l.load.requests == 0 {
		return l.streams.first(), true
	}
	if !c.freeMap.sized {
		return 0, false
	}
	best, found, idle := StreamID(0), false, false
	for s := range l.streams.most {
		q := &l.load.queues[s]
		switch {
		case q.requests >= maxQueued || !l.streams.served(s):
			continue
		case q.requests == 0 && (c.backLate(l, s) || l.gauging(s, c.now) && c.task().startDecides()):
			continue
		case q.requests == 0 && l.streams.free(s):
			return s, true
		case idle:
			continue
		case q.requests == 0:
			best, found, idle = s, true, true
			continue
		case c.cfg.Overlap > 0:
			if last := c.flight.youngest(id, s); float64(last.got) < c.cfg.Overlap*float64(last.rng.Len()) {
				continue
			}
		case float64(q.pending) > max(l.beforeAnswer()*l.shareOf(s), l.slowStartDemand(s)):
			continue
		}
		if !found || q.pending < l.load.queues[best].pending {
			best, found = s, true
		}
	}
	return best, found
}

// backLate says whether a connection that was cut short would not be made anew before all
// can be done. Whatever it were asked for, others would take over.
func (c *Core) backLate(l *link, s StreamID) bool {
	trips := l.streams.trips(s)
	return !without("back-late") && trips >= reconnectRTTs && (trips*l.rtt.known()).Seconds() > (View{c}).finishTime()
}

// tooLate says whether a link that joins while others are at work, or about to
// be, would hardly have begun when they have finished.
func (c *Core) tooLate(l *link) bool {
	if l.load.asked || without("too-late") || !c.freeMap.sized || l.linkUse.urgent {
		return false
	}
	rate := 0.0
	for i := range c.links {
		o := &c.links[i]
		works := !o.load.fruitless() // else nothing came of what it was asked for last
		if o.load.requests > 0 {
			works = !o.silent(c.now)
		}
		if o.load.asked && c.usable(o) && works {
			rate += o.est.rate
		}
	}
	return float64(c.flight.left()) < float64(rate*worthJoining.Seconds())
}

// beforeAnswer is how many bytes l will receive before the first byte of a request that is
// sent now; 0 while its rate is unknown.
func (l *link) beforeAnswer() float64 {
	if l.streams.server.single {
		return l.reconnecting()
	}
	return float64(l.est.rate * jitMargin * l.rtt.toAnswer().Seconds()) // the conversion forbids a fused multiply-add where this is inlined
}

// slowStartDemand is how many bytes a connection in slow start, whose rate is not known or still
// grows, should have been asked for. In the round trip after which a request that is sent now
// is answered it brings what it has brought before and an initial window (RFC 5681, 3.1); once
// more what it has brought before, as the scheduler may be half a round trip late.
func (l *link) slowStartDemand(s StreamID) float64 {
	if without("opening") || l.streams.server.single || l.streams.conn[s].cut > 0 || l.est.measured() && !l.rising(s, l.est.rate) {
		return 0
	}
	brings := 2 * float64(l.streams.conn[s].brought)
	if l.est.measured() {
		brings = min(brings, openingTrips*l.est.rate*l.rtt.known().Seconds())
	}
	return brings + initialWindow
}

// request gives a link free bytes, as many as the policy says.
func (c *Core) request(id LinkID, stream StreamID, out []Action) []Action {
	if c.freeMap.empty() {
		return out
	}
	size := c.emtcp().limit(id, min(unsized, c.cfg.Policy.Request(View{c}, id)))
	if size <= 0 {
		return out
	}
	return c.grant(id, stream, size, out)
}

// requestAnyway has the first link that may begin where all have declined: with nothing in flight,
// somebody must go on.
func (c *Core) requestAnyway(out []Action) []Action {
	if len(c.flight.chunks) > 0 || c.freeMap.empty() {
		return out
	}
	for id := range LinkID(len(c.links)) {
		if stream, ok := c.ready(id); ok && c.usable(&c.links[id]) {
			return c.grant(id, stream, 0, out)
		}
	}
	return out
}

// grant gives a link free bytes: so many, but no less and no more than makes sense.
func (c *Core) grant(id LinkID, stream StreamID, size int64, out []Action) []Action {
	each := c.links[id].equalShare(stream, size, c.task())
	if each > 0 {
		size = min(size, each)
	} else {
		size = int64(float64(size) * c.links[id].shareOf(stream))
	}
	if !c.freeMap.sized {
		size = min(size, (View{c}).First())
	}
	// A remainder that is not worth a request of its own goes along.
	least := c.links[id].atLeast(c.cfg.minRequest())
	size = max(size, least)
	if free := c.freeMap.open[0].live()[0].Len(); free-size < least {
		size = free
	}
	size = min(size, c.most(id))
	if c.cfg.Window > 0 {
		size = min(size, max(1, c.cfg.Window/int64(2*c.links.up())))
	}
	return c.flight.start(id, stream, c.freeMap.takeFirst(size, c.limit()), out)
}

// limit is from where on nobody is asked for bytes. What a link was told of the end says
// nothing if nobody else is at work.
func (c *Core) limit() int64 {
	limit := c.freeMap.end
	if w := c.cfg.Window; w > 0 && w < limit-c.drained { // no sum of them overflows
		limit = c.drained + w
	}
	if c.endHint > 0 && !c.freeMap.sized && len(c.flight.chunks) > 0 {
		limit = min(limit, c.endHint)
	}
	return limit
}

// NextWake is when the Core must be stepped again if nothing happens before:
// with a Tick, and after a Progress for every chunk in flight.
func (c *Core) NextWake() Time {
	wake := c.NextDue()
	if c.complete {
		return wake
	}
	least := leastWake
	if c.batch != nil { // connections have enough to do
		least = batchWake
	}
	for i := range c.links {
		if l := &c.links[i]; l.health.up && l.load.requests > 0 {
			wake = min(wake, c.now+max(rateWindow/2/Time(l.streams.most), least))
		}
	}
	return wake
}

// NextDue is when something has to be decided, whether bytes come or not. NextWake is no
// later; what it has besides are looks at links that are at work, which may be a tenth of a
// second late while others find out that bytes come.
func (c *Core) NextDue() Time {
	due := Never
	if c.complete {
		return due
	}
	if c.batch != nil && c.batch.booked {
		return c.now
	}
	if c.selection.due > 0 {
		due = max(c.now, c.selection.due)
	}
	for i := range c.links {
		l := &c.links[i]
		switch {
		case !l.health.up:
			continue
		case l.load.requests > 0:
			due = min(due, c.nextDecision(l))
		case l.health.notBefore > c.now:
			due = min(due, l.health.notBefore)
		}
		if len(c.flight.chunks) == 0 && l.linkUse.resting { // else they wake it
			due = min(due, max(c.now, c.selection.next))
		}
	}
	return due
}

// nextDecision is when something of a link that is at work may have to be decided.
func (c *Core) nextDecision(l *link) Time {
	wake := Never
	// In slow start a round trip decides who should have what is free, or others owe.
	if c.batch == nil && c.freeMap.sized && c.flight.left() > l.load.owed() && c.cfg.Overlap == 0 && l.slowStartDemand(0) > 0 && !without("opening-wake") {
		wake = min(wake, c.now+max(leastWake, l.rtt.known()/2))
	}
	if c.batch == nil && c.freeMap.sized && l.streams.ahead.room == 0 && l.streams.conn[1].early > 0 && c.now < l.health.lastByte+silentConnect {
		look := leastWake
		if l.streams.ahead.answered > 0 && !c.cfg.secure() {
			look = gaugeLook
		}
		wake = min(wake, c.now+look)
	}
	if l.load.received == 0 && l.rtt.min == 0 { // one that is far gets more streams
		if due := l.health.lastByte + longTrip; due > c.now {
			wake = min(wake, due)
		} else if c.sizesUnknown() && c.now < l.health.lastByte+silentConnect { // its handshake says how many
			wake = min(wake, c.now+leastWake)
		}
	}
	if l.est.rate > 0 && c.freeMap.sized && c.cfg.Overlap == 0 && l.streams.most == 1 {
		if spare := float64(l.load.owed()) - l.beforeAnswer(); spare > 0 {
			wake = min(wake, c.now+max(Millisecond, FromSeconds(min(forever, spare/l.est.rate))))
		}
	}
	return wake
}
