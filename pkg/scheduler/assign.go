package scheduler

import (
	"cmp"
	"math"
	"slices"
)

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

// The constants of the assignment of many files were chosen by hand over the simulator's suite of
// lists unless a source is named; see docs/scheduler.md.
const (
	// Where there are many files, a connection should have been asked for what its share of the link's
	// rate brings in aheadTrips round trips, at least aheadFloor, and for aheadLeast bytes while its own
	// rate is unknown; while the link's is, for aheadWindows times what it has brought, up to aheadUnmet
	// bytes, as among the next files are some whose servers answer. Connections differ, and what is
	// requested too early costs little before the end of the job.
	aheadTrips   = 1.5
	aheadFloor   = 100 * Millisecond
	aheadLeast   = aheadWindows * initialWindow
	aheadWindows = 4
	aheadUnmet   = 256 << 10
	// When a job lasts no more than learnTrips round trips, files of unknown size go before those
	// in progress: an answer comes behind all that its connection was asked for before, and what
	// it tells of must still be shared out.
	learnTrips = 6
)

// worthJoining is how long the other links must still be busy for a link without a connection to
// be given work. Name resolution, connection, TLS and the first steps of slow start take half of
// that on a mobile link, and its radio has to be woken. Chosen by hand.
const worthJoining = Second

// usable says whether l may be given work, and has time for it: a link that has not been asked for
// anything joins only while the others are busy.
func (v View) usable(l *link) bool {
	if !l.fit(v.core.now) {
		return false
	}
	return l.load.asked || !v.core.freeMap.sized || l.linkUse.urgent || without("too-late") || v.core.links.busy(v.core.flight.left(), v.core.now)
}

// fit says whether the link may be given work. A banned link may not: only the fail-over probes it.
func (l *link) fit(now Time) bool { return l.health.fit(now) && !l.linkUse.resting }

// assignment lets connections ask for free bytes, as many as the policy says: it knows which asks
// next, for which bytes, and whether it helps others instead.
type assignment struct {
	cfg     *Config
	links   linkList
	freeMap *freeMap
	flight  *flight
	batch   *batch
	view    View
	drained int64 // bytes that the consumer of a stream has read

	// What one assignment has found out:
	order   []LinkID    // the order in which links are served
	states  []linkState // of the links
	asking  bool        // files of unknown size go first, so that all sizes are known soon
	helping bool        // idle connections help others
	anyway  bool        // the policy gave nothing to any link
}

// linkState is what one assignment has found out about a link.
type linkState struct {
	blocked uint64 // bit s: there is nothing for stream s now
	helped  int    // what has been taken over for the link; a bound, as two may want the same
}

func newAssignment(c *Core) assignment {
	a := assignment{cfg: &c.cfg, links: c.links, freeMap: &c.freeMap, flight: &c.flight, batch: &c.batch, view: View{c}, states: make([]linkState, len(c.links))}
	for id := range LinkID(len(c.links)) {
		a.order = append(a.order, id)
	}
	return a
}

// assign gives work to every connection that is ready for more, to one of each link after the
// other, and lets idle ones take over what others are too slow with. If the policy gives nothing to
// any link and nothing is in flight, the first one that can asks: the download must go on.
func (a *assignment) assign(out []Action) []Action {
	if a.helping, a.asking = true, false; a.cfg.Batch {
		trip := Time(0)
		for i := range a.links {
			trip = max(trip, a.links[i].rtt.min)
		}
		a.helping = a.freeMap.allAsked()
		a.asking = a.lasts() < learnTrips*trip.Seconds() && !without("sizes-first")
	}
	if a.freeMap.empty() && !a.helping {
		return out
	}
	a.anyway = false
	out = a.assignRounds(out)
	if a.anyway = len(a.flight.chunks) == 0 && !a.freeMap.empty(); a.anyway {
		out = a.assignRounds(out)
	}
	return a.fetchHead(out)
}

// lasts is how many seconds more the job will last; forever while that is not known.
func (a *assignment) lasts() float64 {
	if rate := a.view.SumRate(); a.freeMap.last() && rate > 0 {
		return float64(a.flight.left()) / rate
	}
	return forever
}

// assignRounds serves the links in turn until none takes anything.
func (a *assignment) assignRounds(out []Action) []Action {
	clear(a.states)
	for more := true; more; {
		more = false
		if a.batch.files > 0 && !without("arrange") {
			a.arrange(a.links)
		}
		for _, id := range a.order {
			before := len(out)
			out = a.assignTo(id, out)
			more = more || len(out) > before
		}
	}
	return out
}

// arrange puts the links in the order in which they are served where files at once are
// bounded: where one more request gets most, or else slow links and the first ones take all
// the places. A link that could not show yet how fast it is goes first.
func (a *assignment) arrange(links []link) {
	gets := func(id LinkID) float64 {
		l := &links[id]
		if !l.load.asked {
			return math.MaxFloat64
		}
		return l.est.rate / float64(l.load.requests+1)
	}
	slices.SortFunc(a.order, func(x, y LinkID) int { return cmp.Or(cmp.Compare(gets(y), gets(x)), cmp.Compare(x, y)) })
}

// assignTo lets one of a link's connections ask for something, or take something over.
func (a *assignment) assignTo(id LinkID, out []Action) []Action {
	l, t := &a.links[id], &a.states[id]
	for before := len(out); len(out) == before && a.view.usable(l); {
		stream, ok := a.ready(id)
		if !ok {
			break
		}
		if out = a.request(id, stream, out); len(out) > before {
			break
		}
		a.view.emtcp().noteIdle(id)
		if a.helping && t.helped < maxQueued && !a.view.emtcp().overShare(id) {
			if out = a.steal(id, stream, out); len(out) > before {
				t.helped++
				break
			}
		}
		t.blocked |= 1 << stream
		if !a.batch.planned(id) {
			t.blocked = ^uint64(0) // nor is there for the others
		}
	}
	return out
}

// ready is the link's stream that should send its next request now: of idle ones, one that need not
// connect first; else the one with the least to do.
func (a *assignment) ready(id LinkID) (best StreamID, found bool) {
	l, t := &a.links[id], &a.states[id]
	if t.blocked == ^uint64(0) || !a.cfg.Batch && !a.freeMap.sized && l.load.requests > 0 {
		return 0, false
	}
	if t.blocked == 0 && l.load.requests == 0 {
		return l.streams.first(), true
	}
	fewest := Never // round trips to the first byte over the best one, if it is idle
	least := 0.0    // what it has to do, if it is not
	for s := range l.streams.most {
		q := &l.load.queues[s]
		switch {
		case t.blocked&(1<<s) != 0 || !l.streams.served(s):
			continue
		case q.requests == 0:
			trip := l.reconnectTime(s)
			late := trip > 0 && trip.Seconds() > a.lasts() // others would take over what it was asked for
			wait := !a.cfg.Batch && l.gauging(s, a.flight.now) && a.view.task().startDecides()
			if trips := l.streams.idleTrips(s); !late && !wait && trips < fewest {
				best, found, fewest = s, true, trips
			}
			continue
		case q.requests >= a.pipelining(id, s):
			continue
		case a.cfg.Overlap > 0 && !a.cfg.Batch:
			if last := a.flight.youngest(id, s); float64(last.got) < a.cfg.Overlap*float64(last.rng.Len()) {
				continue
			}
		case float64(q.pending) > a.askAhead(id, s):
			continue
		}
		wait := float64(q.pending + 1)
		if a.cfg.Batch {
			wait /= l.shareOf(s)
		}
		if !found || fewest == Never && wait < least {
			best, found, least = s, true, wait
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

// pipelining is how many requests a connection may have in flight.
func (a *assignment) pipelining(id LinkID, stream StreamID) int32 {
	if !a.links[id].est.measured() {
		return unmetQueued
	}
	if !a.cfg.Batch {
		return maxQueued
	}
	plan := &a.batch.plans[id]
	if n := plan.Classes[plan.class(stream)].Pipelining; n > 0 {
		return int32(min(n, batchQueued))
	}
	return batchQueued
}

// askAhead is for how many bytes a connection should have been asked: for what it receives before
// the first byte of a request that is sent now, and more where there are many files.
func (a *assignment) askAhead(id LinkID, stream StreamID) float64 {
	l := &a.links[id]
	share := l.shareOf(stream)
	ahead := l.slowStartDemand(stream)
	if !a.cfg.Batch {
		return max(ahead, l.beforeAnswer()*share)
	}
	ahead = max(ahead, l.est.rate*longest(aheadFloor, aheadTrips, l.rtt.toAnswer()).Seconds()*share)
	switch {
	case l.est.rate <= 0:
		ahead = max(ahead, float64(min(aheadUnmet, aheadWindows*max(initialWindow, l.streams.conn[stream].brought))))
	case l.speeds.rate[stream] <= 0:
		ahead = max(ahead, aheadLeast)
	}
	return ahead
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

// request lets a connection ask for a free part, or the beginning of it.
func (a *assignment) request(id LinkID, stream StreamID, out []Action) []Action {
	k, fresh, i := a.pick(id, stream)
	if i < 0 {
		return out
	}
	n := a.requestSize(id, stream, &a.freeMap.freeList(k, fresh).live()[i])
	if n <= 0 {
		return out
	}
	return a.flight.start(id, stream, a.freeMap.take(k, fresh, i, n), out)
}

// limit is where the bytes end that may be asked for now: at the end of the window, or where a link
// was told that the object ends. That hint is ignored while nothing is in flight.
func (a *assignment) limit() int64 {
	limit := a.freeMap.end
	if w := a.cfg.Window; w > 0 && w < limit-a.drained { // no sum of them overflows
		limit = a.drained + w
	}
	if a.flight.endHint > 0 && !a.freeMap.sized && len(a.flight.chunks) > 0 {
		limit = min(limit, a.flight.endHint)
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
	if c.cfg.Batch { // connections have enough to do
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
	if c.batch.booked {
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
			due = min(due, c.assignment.nextDecision(l))
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
func (a *assignment) nextDecision(l *link) Time {
	wake := Never
	// In slow start a round trip decides who should have what is free, or others owe.
	if !a.cfg.Batch && a.freeMap.sized && a.flight.left() > l.load.owed() && a.cfg.Overlap == 0 && l.slowStartDemand(0) > 0 && !without("opening-wake") {
		wake = min(wake, a.flight.now+max(leastWake, l.rtt.known()/2))
	}
	if !a.cfg.Batch && a.freeMap.sized && l.streams.ahead.room == 0 && l.streams.conn[1].early > 0 && a.flight.now < l.health.lastByte+silentConnect {
		look := leastWake
		if l.streams.ahead.answered > 0 && !a.cfg.secure() {
			look = gaugeLook
		}
		wake = min(wake, a.flight.now+look)
	}
	if l.load.received == 0 && l.rtt.min == 0 { // a far link gets more connections
		if due := l.health.lastByte + longTrip; due > a.flight.now {
			wake = min(wake, due)
		} else if a.flight.sizesUnknown() && a.flight.now < l.health.lastByte+silentConnect { // its handshake says how many
			wake = min(wake, a.flight.now+leastWake)
		}
	}
	if l.est.rate > 0 && a.freeMap.sized && a.cfg.Overlap == 0 && l.streams.most == 1 {
		if spare := float64(l.load.owed()) - l.beforeAnswer(); spare > 0 {
			wake = min(wake, a.flight.now+max(Millisecond, FromSeconds(min(forever, spare/l.est.rate))))
		}
	}
	return wake
}
