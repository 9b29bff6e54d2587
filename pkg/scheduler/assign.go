package scheduler

// jitMargin widens the just-in-time rule: rates rise during slow start, and a
// request that is sent early costs nothing but its place in the queue.
const jitMargin = 2.0

// usable says whether l may be given work. A banned link may not, whatever its
// state: its probes are the fail-over's business.
func (c *Core) usable(l *link) bool {
	return l.up && !l.banned && c.now >= l.notBefore
}

// eta is how many seconds l will need for what it was asked for.
func (c *Core) eta(l *link) float64 {
	const forever = 1e9
	if l.pending == 0 {
		return 0
	}
	if l.est.rate <= 0 {
		return forever
	}
	return min(forever, float64(l.pending)/l.est.rate)
}

// assign gives work to every link that is ready for more, and lets the idle
// ones take over what others are too slow with.
func (c *Core) assign(out []Action) []Action {
	for id := range LinkID(len(c.links)) {
		l := &c.links[id]
		for c.usable(l) && c.wants(id) {
			before := len(out)
			if out = c.request(id, out); len(out) == before {
				if out = c.steal(id, out); len(out) == before {
					break
				}
			}
			if c.complete || l.requests >= maxQueued {
				break
			}
		}
	}
	return out
}

// wants says whether a link should send its next request now.
func (c *Core) wants(id LinkID) bool {
	l := &c.links[id]
	switch {
	case l.requests == 0:
		return true
	case !c.sized() || l.requests >= maxQueued:
		return false
	case c.cfg.Overlap > 0:
		last := c.lastChunk(id)
		return float64(last.got) >= c.cfg.Overlap*float64(last.rng.Len())
	}
	return float64(l.pending) <= c.runway(l)
}

// runway is how many bytes l will receive before the first byte of a request
// that is sent now; 0 while its rate is unknown.
func (c *Core) runway(l *link) float64 {
	return jitMargin * l.est.rate * l.rtt.Seconds()
}

// lastChunk is the link's youngest request; it must have one.
func (c *Core) lastChunk(id LinkID) *chunk {
	for i := len(c.chunks) - 1; i >= 0; i-- {
		if c.chunks[i].link == id {
			return &c.chunks[i]
		}
	}
	return nil
}

// request gives a link free bytes, as many as the policy says.
func (c *Core) request(id LinkID, out []Action) []Action {
	if len(c.ledger.free) == 0 {
		return out
	}
	size := c.cfg.Policy.Request(View{c}, id)
	if size <= 0 && len(c.chunks) > 0 {
		return out // with nothing in flight, somebody must go on
	}
	if !c.sized() {
		size = min(size, c.cfg.First)
	}
	// A remainder that is not worth a request of its own goes along.
	size = max(size, c.cfg.minRequest())
	if free := c.ledger.free[0].Len(); free-size < c.cfg.minRequest() {
		size = free
	}
	limit := c.ledger.size
	if c.cfg.Window > 0 {
		limit = min(limit, c.drained+c.cfg.Window)
		size = min(size, max(1, c.cfg.Window/int64(2*len(c.links))))
	}
	return c.start(id, c.ledger.take(size, limit), out)
}

func (c *Core) start(id LinkID, r Range, out []Action) []Action {
	if r.Empty() {
		return out
	}
	l := &c.links[id]
	if l.requests == 0 {
		l.lastByte = c.now
	}
	l.requests++
	l.pending += r.Len()
	l.assigned += r.Len()
	c.chunks = append(c.chunks, chunk{id: c.nextID, link: id, rng: r, issued: c.now})
	c.nextID++
	return append(out, Action{Kind: Start, Link: id, Chunk: c.nextID - 1, Range: r})
}

// steal lets thief, which has run out of work, take over the end of the
// youngest request of the link that would finish last (ALGORITHMS, Tail):
// x = r_s*(R - r_v*RTT_s)/(r_s + r_v) bytes, after which both finish together.
func (c *Core) steal(thief LinkID, out []Action) []Action {
	if c.cfg.NoSteal || !c.sized() {
		return out
	}
	id := c.cfg.Policy.Victim(View{c}, thief)
	if id == NoLink || id == thief || c.links[id].requests == 0 {
		return out
	}
	return c.takeOver(thief, id, c.loot(&c.links[thief], &c.links[id]), out)
}

// takeOver moves the last x bytes of the victim's youngest request to thief, or
// the whole of it where little would remain.
func (c *Core) takeOver(thief, victim LinkID, x int64, out []Action) []Action {
	ch := c.lastChunk(victim)
	if rest := ch.left(); x > rest || x > 0 && ch.got == 0 && rest-x < c.cfg.minRequest() {
		x = rest
	}
	if x <= 0 {
		return out
	}
	l := &c.links[victim]
	stolen := Range{ch.rng.End - x, ch.rng.End}
	l.pending -= x
	l.assigned -= x
	if l.est.nMarks == 0 {
		l.robbed++
		c.links[thief].robbed = max(c.links[thief].robbed, l.robbed)
	}
	ch.rng.End = stolen.Off
	if ch.left() == 0 { // do not wait for the end of what is complete
		out = append(out, Action{Kind: Cancel, Link: victim, Chunk: ch.id})
		c.end(c.find(ch.id))
	} else {
		out = append(out, Action{Kind: Shrink, Link: victim, Chunk: ch.id, Range: ch.rng})
	}
	return c.start(thief, stolen, out)
}

// patience is how long a link may take for the first byte of a request before
// an idle one steps in. It doubles each time that happens, so that two links
// with long round trips do not take the same bytes from each other for ever.
func (l *link) patience(rtt Time) Time {
	return max(Second, 4*max(l.rtt, rtt)) << min(l.robbed, 8)
}

// loot is how many bytes thief should take over from victim; 0 for none.
func (c *Core) loot(thief, victim *link) int64 {
	// What thief still has to receive delays it, but not below a round trip.
	delay := thief.rtt.Seconds()
	if thief.est.rate > 0 {
		delay = max(delay, float64(thief.pending)/thief.est.rate)
	}
	rest := float64(victim.pending)
	rs, rv := thief.est.rate, victim.est.rate
	if rs <= 0 {
		if thief.est.measured() {
			return 0 // it went silent itself
		}
		rs = max(rv, 1) // unmeasured: as good as the other
	}
	if fresh := victim.est.nMarks == 0 || !victim.est.measured(); fresh && c.now-victim.lastByte < victim.patience(thief.rtt) {
		return 0 // it was asked and has not answered yet, or has only just begun
	}
	x := int64(rs * (rest - float64(rv*delay)) / (rs + rv))
	if x >= c.cfg.minRequest() {
		return x
	}
	// A remainder too small to share: take it whole from a victim that is
	// getting nowhere.
	if alone := delay + rest/rs; rest > float64(2*rv*alone) {
		return victim.pending
	}
	return 0
}

// NextWake is when the Core must be stepped again if nothing happens before:
// with a Tick, and after a Progress for every chunk in flight.
func (c *Core) NextWake() Time {
	wake := Never
	if c.complete {
		return wake
	}
	for i := range c.links {
		l := &c.links[i]
		if !l.up {
			continue
		}
		if l.requests == 0 {
			if l.notBefore > c.now {
				wake = min(wake, l.notBefore)
			}
			continue
		}
		wake = min(wake, c.now+rateWindow/2)
		if l.est.rate > 0 && c.sized() && c.cfg.Overlap == 0 {
			if spare := float64(l.pending) - c.runway(l); spare > 0 {
				wake = min(wake, c.now+max(Millisecond, FromSeconds(spare/l.est.rate)))
			}
		}
	}
	return wake
}
