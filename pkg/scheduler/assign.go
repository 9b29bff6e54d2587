package scheduler

// jitMargin widens the just-in-time rule: rates rise during slow start, and a request that is sent
// early costs nothing but its place in the queue. Chosen by hand.
const jitMargin = 2.0

// openingTrips bounds what a connection in slow start is expected to bring next, in round trips
// at its rate. The rate is measured over the last two, and doubles in each (RFC 5681, 3.1).
const openingTrips = 6

// leastWake is the least time between two looks at a link's connections, and batchWake the same in
// a batch, where connections have enough to do. Chosen by hand.
const (
	leastWake = 10 * Millisecond
	batchWake = 25 * Millisecond
)

// worthJoining is how long the other links must still be busy for a link without a connection to
// be given work. Name resolution, connection, TLS and the first steps of slow start take half of
// that on a mobile link, and its radio has to be woken. Chosen by hand.
const worthJoining = Second

// usable says whether l may be given work, and has time for it: a link that has not been asked for
// anything joins only while the others are busy.
func (c *Core) usable(l *link) bool {
	if !l.fit(c.now) {
		return false
	}
	return l.load.asked || !c.freeMap.sized || l.linkUse.urgent || without("too-late") || c.links.busy(c.flight.left(), c.now)
}

// fit says whether the link may be given work. A banned link may not: only the fail-over probes it.
func (l *link) fit(now Time) bool { return l.health.fit(now) && !l.linkUse.resting }

// assign gives work to every connection that is ready for more, and lets idle ones take over what
// others are too slow with.
func (c *Core) assign(out []Action) []Action {
	if c.batch != nil {
		return c.assignBatch(out)
	}
	for id := range LinkID(len(c.links)) {
		helped := 0 // takeovers for this link; bounded, as two links may want the same bytes
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

// ready is the link's stream that should send its next request now; of several, the one that owes
// the fewest bytes.
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
		case q.requests == 0 && l.gauging(s, c.now) && c.task().startDecides():
			continue
		case q.requests == 0 && l.reconnectTime(s) > 0 && l.reconnectTime(s).Seconds() > (View{c}).finishTime():
			continue // others would take over whatever it was asked for
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

// reconnectTime is how long a connection that was cut short takes to be there again; 0: it was not.
func (l *link) reconnectTime(s StreamID) Time {
	if trips := l.streams.trips(s); trips >= reconnectRTTs && !without("back-late") {
		return trips * l.rtt.known()
	}
	return 0
}

// busy says whether the links that are at work, or could be at once, need longer than worthJoining
// for so many bytes: a link that joins has time to begin.
func (ls linkList) busy(left int64, now Time) bool {
	rate := 0.0
	for i := range ls {
		l := &ls[i]
		works := !l.load.fruitless() // an idle link counts unless its last requests brought nothing
		if l.load.requests > 0 {
			works = !l.silent(now)
		}
		if l.load.asked && l.fit(now) && works {
			rate += l.est.rate
		}
	}
	return float64(left) >= float64(rate*worthJoining.Seconds())
}

// beforeAnswer is how many bytes l receives before the first byte of a request that is sent now; 0
// while its rate is unknown. A link that owes fewer should send its next request.
func (l *link) beforeAnswer() float64 {
	if l.streams.server.single {
		return l.reconnecting()
	}
	return float64(l.est.rate * jitMargin * l.rtt.toAnswer().Seconds()) // the conversion forbids a fused multiply-add where this is inlined
}

// slowStartDemand is how many bytes a connection in slow start should have been asked for, while its
// rate is unknown or still grows; 0: it is past that. Until a request that is sent now is answered,
// it brings as much as before and an initial window (RFC 5681, 3.1); and as much again, since the
// scheduler may be half a round trip late.
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

// requestAnyway has the first link that can ask for bytes if the policy gave none to any link and
// nothing is in flight: the download must go on.
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

// grant gives a link about size free bytes: at least what is worth a request, at most what one
// request may be for.
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
	// A remainder that is not worth a request of its own is asked for with this one.
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

// limit is where the bytes end that may be asked for now: at the end of the window, or where a link
// was told that the object ends. That hint is ignored while nothing is in flight.
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

// NextDue is when something has to be decided, whether bytes come or not. NextWake is no later: it
// includes the regular looks at links that are at work, which may be a tenth of a second late if the
// driver notices arriving bytes by other means.
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
		if len(c.flight.chunks) == 0 && l.linkUse.resting { // nothing else would wake the link
			due = min(due, max(c.now, c.selection.next))
		}
	}
	return due
}

// nextDecision is when a decision about a link that is at work may become due.
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
	if l.load.received == 0 && l.rtt.min == 0 { // a far link gets more connections
		if due := l.health.lastByte + longTrip; due > c.now {
			wake = min(wake, due)
		} else if c.flight.sizesUnknown() && c.now < l.health.lastByte+silentConnect { // its handshake says how many
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
