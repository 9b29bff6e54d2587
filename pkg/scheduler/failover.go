package scheduler

import "math"

const (
	// staticLimit is the rate in bytes per second under which a link is too
	// slow to keep: 100 kbit/s (skjolden, 8.2.4, "Static – slow link").
	staticLimit = 100e3 / 8
	// dynamicFactor of the links' mean rate is the limit of the thesis's
	// second rule (skjolden, 8.2.4, "Dynamic – slow link").
	dynamicFactor = 0.2
	// slowFor is how long a rate must stay below a limit before it counts.
	slowFor = 2 * Second
	// doublings of slowFor, at most: each time that the dynamic rule has released a link, the rate
	// must stay below its limit for twice as long before it does so again, up to 16 s, where
	// others steal from the link. Chosen over the simulator's suites, where 5 is as good:
	// docs/simulator.md.
	doublings = 3
	// A silence of silentRTTs round trips, at least silentFloor, while bytes are due and another
	// link still delivers, is a stall. The floor leaves room for two retransmission timeouts of
	// TCP (0.2 s and 0.4 s).
	silentRTTs  = 6
	silentFloor = 700 * Millisecond
	// A time longer than unseen between two Ticks is left out of account: a process that was not
	// scheduled, or suspended, cannot tell whether its links were silent meanwhile.
	unseen = 300 * Millisecond
	// silentAgain is the floor for the first byte of a later request, for which a server may need
	// time, and silentConnect for the link's very first, before which come name, connection and
	// TLS. Chosen by hand.
	silentAgain   = 1500 * Millisecond
	silentConnect = 3 * Second
	// A ban lasts banFirst; after bansInRow+1 of them in a row each lasts twice as long as the one
	// before, up to banMost; so does a silence that was waited for in vain. Most outages of a phone's
	// link are short, and a connection that is tried again costs a packet or two. Chosen by hand.
	banFirst  = 100 * Millisecond
	banMost   = 30 * Second
	bansInRow = 16
	// A probe's first byte may take probeFor: a lost first packet is sent again after a second
	// (RFC 6298), and a new probe is as good.
	probeFor = 400 * Millisecond
	// probeSize is how many bytes a banned link is asked for, to see whether it is back.
	probeSize = int64(64) << 10
)

// failover releases the requests of links that are silent or slow, so that
// others continue them at the byte where they stopped, and tries banned links
// again (skjolden, 8.2.4). When all links are slow, all are kept.
func (c *Core) failover(out []Action) []Action {
	if gap := c.now - c.lastTick; gap > unseen {
		for i := range c.links {
			c.links[i].forgive(c.now, gap)
		}
	}
	c.lastTick = c.now
	if id := c.links.allBanned(); id != NoLink {
		out = append(out, c.links[id].unban(c.now, id))
	}
	for id := range LinkID(len(c.links)) {
		l := &c.links[id]
		switch {
		case !l.health.up:
		case l.health.banned && l.health.probing:
			if c.now-l.health.lastByte > l.rtt.probeLimit(l.health.probeLimit()) {
				out = append(c.flight.release(id, out), l.ban(c.now, id))
			}
		case l.health.banned:
			if c.now >= l.health.notBefore && !l.linkUse.resting {
				out = c.probe(id, out)
			}
		case l.load.requests > 0 && ((l.silent(c.now) || c.assignment.holdsUp(id)) && (View{c}).anotherServes(id, 0) || c.slow(id) && (View{c}).anotherServes(id, 2*staticLimit)):
			if !l.silent(c.now) && !c.assignment.holdsUp(id) && l.est.rate >= staticLimit {
				l.health.slowBans = min(l.health.slowBans+1, doublings)
			}
			if l.load.fruitless() && l.health.inVain < math.MaxUint8 {
				l.health.inVain++
			}
			out = append(c.flight.release(id, out), l.ban(c.now, id))
		case l.load.requests > 0 && l.est.nMarks > 0 && l.silent(c.now):
			out = c.probeByReconnect(id, out)
		case l.health.reconnect.tries > 0:
			out = c.flight.endReconnectProbe(id, out)
		case l.load.requests > 1:
			out = c.flight.releaseSilent(id, out)
		}
	}
	return out
}

// forgive leaves a time out of account in which the process did not run.
func (l *link) forgive(now, gap Time) {
	l.health.forgive(now, gap)
	for s := range l.streams.conn {
		l.streams.conn[s].heard = min(now, l.streams.conn[s].heard+gap)
	}
}

// silent says whether nothing has come over a link for too long.
func (l *link) silent(now Time) bool {
	limit := silentFloor
	switch {
	case l.est.nMarks > 0: // bytes are due at any moment
	case l.load.received > 0:
		limit = silentAgain
	default:
		limit = silentConnect
	}
	return l.health.idle(now) > l.rtt.silenceLimit(limit, l.health.inVain)
}

// slow says whether a link has been below a limit for a while: the greater of the thesis's two.
// If others steal from it, a slow link delays nothing, and what it would bring while it is banned
// is lost. So the dynamic limit does not hold near the end, where others take over what it cannot
// bring in time, and bans a link that stays slow less and less often.
func (c *Core) slow(id LinkID) bool {
	l, v, wait := &c.links[id], View{c}, slowFor
	limit := max(staticLimit, dynamicFactor*v.SumRate()/float64(max(1, v.UsableLinks())))
	below := l.est.nMarks > 0 && l.est.rate > 0 && l.est.rate < limit
	if below && l.est.rate >= staticLimit && (View{c}).othersSteal(id) {
		below = !(View{c}).task().nearEnd()
		wait <<= l.health.slowBans
	}
	return l.health.below(c.now, below, wait)
}

// othersSteal says whether the policy lets other links take over what a link was asked for.
func (v View) othersSteal(id LinkID) bool {
	for o := range v.Links() {
		if o != id && v.Usable(o) && v.core.cfg.Policy.Victim(v, o) != NoLink {
			return !v.core.cfg.NoSteal
		}
	}
	return false
}

// anotherServes says whether another link could carry on: it is usable, not silent itself, and at
// least as fast as least, in bytes per second.
func (v View) anotherServes(id LinkID, least float64) bool {
	for i := range v.core.links {
		o := &v.core.links[i]
		// A resting link would be woken: see selectLinks.
		spare := o.linkUse.resting && o.health.fit(v.core.now) && v.core.flight.room(LinkID(i)) > 0
		if LinkID(i) == id || !v.usable(o) && !spare || o.est.rate < least {
			continue
		}
		if o.load.requests == 0 || o.est.nMarks > 0 && !o.silent(v.core.now) {
			return true
		}
	}
	return false
}

// ban takes the link, whose id is given, out of use for a while.
func (l *link) ban(now Time, id LinkID) Action {
	l.health.ban(now)
	l.linkUse.failingSince = min(l.linkUse.failingSince, now)
	l.est.forget()
	for i := range l.streams.conn {
		l.streams.conn[i].brought = 0 // a connection that rests starts slowly again (RFC 5681, 4.1)
	}
	return Action{Kind: Ban, Link: id}
}

// unban ends the ban of the link.
func (l *link) unban(now Time, id LinkID) Action {
	l.health.unban(now)
	return Action{Kind: Unban, Link: id}
}

// linkList is the links of a run.
type linkList []link

// up is how many links have not gone, waiting and banned ones included.
func (ls linkList) up() (n int) {
	for i := range ls {
		if ls[i].health.up {
			n++
		}
	}
	return n
}

// allBanned is the first banned link where no other is left that could carry anything, else
// NoLink: it is to be asked like any other then, and may take as long, so that the driver of the
// Core can give it up in the end.
func (ls linkList) allBanned() LinkID {
	banned := NoLink
	for i := range ls {
		switch l := &ls[i]; {
		case !l.health.up || l.linkUse.resting && l.linkUse.why == ReasonCapped:
		case !l.health.banned:
			return NoLink
		case banned == NoLink:
			banned = LinkID(i)
		}
	}
	return banned
}

// probe asks a banned link for a little, or, when nothing is free, for what a silent link still owes.
// With neither, the link stays banned and the others finish. While the size is unknown, and near the
// end, it is asked only if no other link is at work.
func (c *Core) probe(id LinkID, out []Action) []Action {
	if len(c.flight.chunks) > 0 && (!c.freeMap.sized || (View{c}).task().nearEnd()) {
		return out
	}
	victim := (View{c}).Slowest(id)
	if victim != NoLink && !c.links[victim].silent(c.now) {
		victim = NoLink
	}
	l, before := &c.links[id], len(out)
	out = c.try(id, 0, victim, out)
	l.health.probing = len(out) > before
	l.rtt.beginProbe()
	return out
}

// try asks for a little over a connection, to see whether it serves: for free bytes, or where there are
// none, for the end of what a silent link owes.
func (c *Core) try(id LinkID, stream StreamID, silent LinkID, out []Action) []Action {
	size := min(probeSize, c.flight.most(id))
	if size <= 0 {
		return out
	}
	if c.cfg.Window > 0 && !without("head-first") { // no consumer is to wait for it soon
		return c.flight.start(id, stream, c.freeMap.takeLast(size, c.assignment.limit()), out)
	}
	if k, fresh, i := c.assignment.pick(id, stream); i >= 0 {
		return c.flight.start(id, stream, c.freeMap.take(k, fresh, i, size), out)
	}
	if silent == NoLink {
		return out
	}
	if ch := c.flight.mostOwed(silent); ch != nil && !ch.guess && c.batch.mayHelp(&c.flight, id, stream, ch) {
		return c.flight.takeOver(id, stream, ch, size, out)
	}
	return out
}
