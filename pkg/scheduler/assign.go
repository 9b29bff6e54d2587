package scheduler

// jitMargin widens the just-in-time rule: rates rise during slow start, and a
// request that is sent early costs nothing but its place in the queue.
const jitMargin = 2.0

const (
	// reconnectRTTs is how many round trips pass before a link whose HTTP/1.1
	// connection was closed in the middle of a range is at its rate again:
	// handshake, request, and the first steps of slow start.
	reconnectRTTs = 4
	// worthRTTs is how many of thief's round trips the victim must be relieved
	// of for a takeover to be worth the connection that it costs.
	worthRTTs = 0.5
	// worthJoining is how long the others must still be busy for a link that
	// has no connection yet to be given work: name, connection, TLS and the
	// first steps of slow start take half of that on a phone's link.
	worthJoining = Second
)

// usable says whether l may be given work, and it is not too late for that. A
// banned link may not, whatever its state: its probes are the fail-over's
// business.
func (c *Core) usable(l *link) bool {
	return l.up && !l.banned && c.now >= l.notBefore && !c.tooLate(l)
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

// assign gives work to every stream that is ready for more, and lets the idle
// ones take over what others are too slow with.
func (c *Core) assign(out []Action) []Action {
	for id := range LinkID(len(c.links)) {
		for c.usable(&c.links[id]) {
			stream, ok := c.ready(id)
			if !ok {
				break
			}
			before := len(out)
			if out = c.request(id, stream, out); len(out) == before {
				if out = c.steal(id, stream, out); len(out) == before {
					break
				}
			}
		}
	}
	return out
}

// ready is the link's stream that should send its next request now, the one with
// the least to do if there are several.
func (c *Core) ready(id LinkID) (StreamID, bool) {
	l := &c.links[id]
	if l.requests == 0 {
		return 0, true
	}
	if !c.sized() {
		return 0, false
	}
	var queue [MaxStreams]struct {
		requests int
		pending  int64
		last     *chunk
	}
	for i := range c.chunks {
		if ch := &c.chunks[i]; ch.link == id {
			q := &queue[ch.stream]
			q.requests++
			q.pending += ch.left()
			q.last = ch
		}
	}
	best, found := StreamID(0), false
	for s := range l.streams.most {
		q := &queue[s]
		switch {
		case q.requests >= maxQueued:
			continue
		case q.requests == 0:
			return s, true
		case c.cfg.Overlap > 0:
			if float64(q.last.got) < c.cfg.Overlap*float64(q.last.rng.Len()) {
				continue
			}
		case float64(q.pending) > c.runway(l):
			continue
		}
		if !found || q.pending < queue[best].pending {
			best, found = s, true
		}
	}
	return best, found
}

// tooLate says whether a link that joins while others are at work, or about to
// be, would hardly have begun when they have finished.
func (c *Core) tooLate(l *link) bool {
	if l.asked || !c.sized() {
		return false
	}
	rate := 0.0
	for i := range c.links {
		o := &c.links[i]
		if o.asked && c.usable(o) && (o.requests == 0 || !c.silent(o)) {
			rate += o.est.rate
		}
	}
	return float64(c.left()) < float64(rate*worthJoining.Seconds())
}

// runway is how many bytes a stream of l will receive before the first byte of a
// request that is sent now; 0 while its rate is unknown.
func (c *Core) runway(l *link) float64 {
	// The conversion forbids a fused multiply-add where this is inlined.
	return float64(jitMargin*l.est.rate*l.rtt.Seconds()) / float64(l.streams.most)
}

// tail is the link's chunk whose end is worth most to another: the youngest of
// its only stream, or, of several streams, the one with most to receive. The
// link must have one.
func (c *Core) tail(id LinkID) *chunk {
	var best *chunk
	for i := range c.chunks {
		ch := &c.chunks[i]
		if ch.link != id {
			continue
		}
		if best == nil || c.links[id].streams.most == 1 || ch.left() > best.left() {
			best = ch
		}
	}
	return best
}

// request gives a link free bytes, as many as the policy says.
func (c *Core) request(id LinkID, stream StreamID, out []Action) []Action {
	if len(c.ledger.free) == 0 {
		return out
	}
	size := c.cfg.Policy.Request(View{c}, id)
	if size <= 0 && len(c.chunks) > 0 {
		return out // with nothing in flight, somebody must go on
	}
	size /= int64(c.links[id].streams.most)
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
		size = min(size, max(1, c.cfg.Window/int64(2*c.linksUp())))
	}
	return c.start(id, stream, c.ledger.take(size, limit), out)
}

// linksUp is how many links have not gone, waiting and banned ones included.
func (c *Core) linksUp() (n int) {
	for i := range c.links {
		if c.links[i].up {
			n++
		}
	}
	return n
}

func (c *Core) start(id LinkID, stream StreamID, r Range, out []Action) []Action {
	if r.Empty() {
		return out
	}
	l := &c.links[id]
	if l.requests == 0 {
		l.lastByte = c.now
	}
	l.asked = true
	l.requests++
	l.pending += r.Len()
	l.assigned += r.Len()
	c.chunks = append(c.chunks, chunk{id: c.nextID, link: id, stream: stream, rng: r, issued: c.now})
	c.nextID++
	return append(out, Action{Kind: Start, Link: id, Stream: stream, Chunk: c.nextID - 1, Range: r})
}

// steal lets thief, which has run out of work, take over the end of the
// youngest request of the link that would finish last (ALGORITHMS, Tail):
// x = r_s*(R - r_v*RTT_s)/(r_s + r_v) bytes, after which both finish together.
func (c *Core) steal(thief LinkID, stream StreamID, out []Action) []Action {
	if c.cfg.NoSteal || !c.sized() {
		return out
	}
	victim := c.cfg.Policy.Victim(View{c}, thief)
	if victim != NoLink && victim != thief && c.links[victim].requests > 0 {
		before := len(out)
		x := c.loot(&c.links[thief], &c.links[victim])
		if out = c.takeOver(thief, stream, victim, x, out); len(out) > before {
			return out
		}
	}
	return c.share(thief, stream, out)
}

// share lets a stream that has run out of work take over half of what another
// stream of its link still has to receive: both are as fast.
func (c *Core) share(id LinkID, stream StreamID, out []Action) []Action {
	l := &c.links[id]
	if l.streams.most == 1 || l.requests == 0 {
		return out
	}
	ch := c.tail(id)
	ahead := int64(l.est.rate * l.rtt.Seconds() / float64(l.streams.most))
	if x := (ch.left() - ahead) / 2; ch.stream != stream && x >= 2*c.cfg.minRequest() {
		return c.takeOver(id, stream, id, x, out)
	}
	return out
}

// takeOver moves the last x bytes of one of the victim's requests to a stream of
// thief, or the whole of it where little would remain.
func (c *Core) takeOver(thief LinkID, stream StreamID, victim LinkID, x int64, out []Action) []Action {
	ch := c.tail(victim)
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
	}
	l.cutBefore = c.nextID
	ch.rng.End = stolen.Off
	if ch.left() == 0 { // do not wait for the end of what is complete
		out = append(out, Action{Kind: Cancel, Link: victim, Chunk: ch.id})
		c.end(c.find(ch.id))
	} else {
		out = append(out, Action{Kind: Shrink, Link: victim, Chunk: ch.id, Range: ch.rng})
	}
	return c.start(thief, stream, stolen, out)
}

// patience is how long a link may take for the first byte of a request before
// an idle one steps in. It doubles each time that happens.
func (l *link) patience(rtt Time) Time {
	return max(Second, 4*max(l.rtt, rtt)) << min(l.robbed, 8)
}

// loot is how many bytes thief should take over from victim; 0 for none.
func (c *Core) loot(thief, victim *link) int64 {
	// What thief still has to receive delays it, but not below a round trip;
	// where its own last request was cut short, a new connection comes first.
	delay := thief.rtt.Seconds()
	if thief.cutBefore > 0 {
		delay *= reconnectRTTs
	}
	if thief.est.rate > 0 {
		delay = max(delay, float64(thief.pending)/thief.est.rate)
	}
	rest := float64(victim.pending)
	rs, rv := thief.est.rate, victim.est.rate
	if thief.robbed > 0 {
		return 0 // its own requests were taken over because it did not answer
	}
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
	if x >= c.cfg.minRequest() && float64(x) >= rv*worthRTTs*thief.rtt.Seconds() {
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
		wake = min(wake, c.now+max(rateWindow/2/Time(l.streams.most), 5*Millisecond))
		if l.est.rate > 0 && c.sized() && c.cfg.Overlap == 0 {
			if spare := float64(l.pending) - c.runway(l); spare > 0 && l.streams.most == 1 {
				wake = min(wake, c.now+max(Millisecond, FromSeconds(spare/l.est.rate)))
			}
		}
	}
	return wake
}
