package scheduler

// The constants were chosen by hand over the simulator's suites unless a source is named.
const (
	// worthRTTs is how many of the thief's round trips a takeover must gain.
	worthRTTs = 0.5
	// sentWorth is the same for bytes that a link's server sends in any case, since their request is on
	// its way and their connection goes on: they are fetched twice over the same link. Chosen by hand.
	sentWorth = 4
	// farSlower is how many times as long as the thief alone a victim must need for a rest that
	// is too small to share to be taken from it whole.
	farSlower = 2
	// helpTries is at how many victims an idle connection looks.
	helpTries = 4
	// answerTrips is after how many round trips of another link a request that was not answered
	// is late: twice what a handshake and an answer take there.
	answerTrips = 2 * connectRTTs
	// takenMost is how often another link may take over all of a request that was not answered:
	// by then each of two has had it.
	takenMost = 2
	// movedMost is how often a request that was not answered may be made anew over another
	// connection of its link, lest it go to and fro. At 1 the list html/600 of linklab's sydney
	// takes 0.8 % longer.
	movedMost = 4
	// movedTrips is how many of the thief's round trips the moving of a request for a file of
	// unknown size must gain.
	movedTrips = 1
)

// takeover is how a connection without work can help with a request of another one.
type takeover uint8

const (
	noTakeover    takeover = iota
	takeEnd                // fetch the end of the request, which becomes shorter
	duplicateRest          // fetch all of the rest, too: the first to have it wins
	replaceBoth            // fetch all of the rest in place of the two that are at it
)

// thief is a connection that has run out of work, or soon will, and what it may take over.
type thief struct {
	id     LinkID
	link   *link
	stream StreamID
	flight *flight
	view   View
	cfg    *Config
	own    eta
	other  eta   // of the link that the policy names, if it names one
	room   int64 // bytes that one request may be for
}

// newThief gathers what a connection may take over.
func (v View) newThief(id LinkID, stream StreamID) thief {
	t := thief{id: id, link: &v.core.links[id], stream: stream, flight: &v.core.flight, view: v, cfg: &v.core.cfg, room: v.core.flight.most(id)}
	v.eta(id, &t.own)
	t.own.trip, t.own.passed = t.link.rtt.reach().Seconds(), t.own.duplicated()
	if victim := v.core.cfg.Policy.Victim(v, id); victim >= 0 && int(victim) < len(v.core.links) && victim != id {
		v.eta(victim, &t.other)
	}
	if t.cfg.Batch { // where many are at their ends, copies will do
		t.other.passed = t.other.duplicated()
	}
	return t
}

// victim is the stream that will be done last, on the thief's link or the other one, except those
// that have been tried already.
func (t *thief) victim() (from *eta, victim StreamID, end float64) {
	victim, end = t.own.latest(t.stream)
	if s, e := t.other.latest(noStream); e > end {
		return &t.other, s, e
	}
	return &t.own, victim, end
}

// steal lets a stream that has run out of work take over the end of what would
// be received last: of another link, if the policy names one, or of another
// stream of its own (ALGORITHMS, Tail).
func (a *assignment) steal(id LinkID, stream StreamID, out []Action) []Action {
	if a.cfg.NoSteal {
		return out
	}
	if !a.freeMap.sized {
		return a.flight.duplicateUnanswered(id, stream, out)
	}
	if split := a.flight.split(id, stream, out); len(split) > len(out) {
		return split
	}
	t := a.view.newThief(id, stream)
	for before, try := len(out), 0; (try < 1 || try < helpTries && !without("help-tries")) && len(out) == before; try++ {
		from, victim, end := t.victim()
		if victim == noStream {
			break
		}
		if try == 0 && t.own.last[stream] == nil {
			t.own.rate *= float64(max(1, t.own.active)) / float64(t.own.active+1)
		}
		ch := from.last[victim]
		if a.batch.mayHelp(a.flight, id, stream, ch) {
			switch what, bytes := t.decide(from, victim, end); what {
			case noTakeover:
			case takeEnd:
				out = a.flight.takeOver(id, stream, ch, bytes, out)
			case duplicateRest:
				out = a.flight.duplicate(id, stream, ch, out)
			case replaceBoth:
				out = a.flight.replaceDuplicate(id, stream, ch, out)
			}
		}
		from.passed |= 1 << victim
	}
	return out
}

// decide says how the thief should help a victim that would be done at end, and with how many
// bytes of its last request.
func (t *thief) decide(from *eta, victim StreamID, end float64) (what takeover, bytes int64) {
	ch, own := from.last[victim], from == &t.own
	switch {
	case ch.duplicate != NoChunk:
		if t.worthReplacing(ch, end) {
			return replaceBoth, 0
		}
		return noTakeover, 0
	case own && ch.got == 0 && (t.link.streams.conn[t.stream].cut > 0 || ch.reissued >= movedMost):
		return noTakeover, 0 // a thief that has not been answered since cannot do better: the request would go to and fro
	case own && t.own.fresh&(1<<victim) != 0 && !without("share-guard"):
		return noTakeover, 0 // shares are alike
	case t.cfg.Batch && from.late&(1<<victim) != 0 && t.mayDuplicate(ch, end):
		return duplicateRest, 0 // it is silent, but may speak again
	case ch.guess && t.worthMoving(from, victim, end) && ch.left() <= t.room:
		return takeEnd, ch.left()
	}
	if x := min(t.room, t.stealSize(from, victim, end)); x > 0 && !ch.guess {
		if ch.link != t.id && t.anotherSooner(ch.link, x, t.own.soonest(t.stream, x)) {
			return noTakeover, 0
		}
		return takeEnd, x
	}
	if own && t.own.wait[victim] == 0 {
		return noTakeover, 0 // they have the link's rate between them
	}
	if t.mayDuplicate(ch, end) {
		return duplicateRest, 0
	}
	return noTakeover, 0
}

// mayDuplicate says whether an idle thief should fetch what is left of ch too.
func (t *thief) mayDuplicate(ch *chunk, end float64) bool {
	rest := ch.left() - ch.over
	return !without("duplicate") && !t.cfg.once() && t.own.last[t.stream] == nil && ch.left() <= t.room && t.worthDuplicating(ch, end) &&
		!t.anotherSooner(ch.link, rest, t.own.soonest(t.stream, rest))
}

// anotherSooner says whether a link other than the thief and the victim would have so many bytes
// before the thief, which needs ours seconds: it will take them when it is done.
func (t *thief) anotherSooner(victim LinkID, bytes int64, ours float64) bool {
	if without("another-sooner") || t.cfg.Policy.Victim(t.view, t.id) == NoLink {
		return false // links do not help one another
	}
	for l := range LinkID(len(t.flight.links)) {
		o := &t.flight.links[l]
		if l == t.id || l == victim || !t.view.Usable(l) || o.load.preempted > 0 || o.est.rate <= 0 {
			continue
		}
		if l < t.id && o.load.requests == 0 {
			continue // it was asked before, and did not want them
		}
		if t.view.delay(l)+float64(bytes)/o.est.rate < ours {
			return true
		}
	}
	return false
}

// stealSize is how many bytes the thief should take over from a victim, which would finish in end
// seconds; 0: none.
func (t *thief) stealSize(from *eta, victim StreamID, end float64) int64 {
	l, own := t.link, &t.own
	if l.load.preempted > 0 || l.est.rate <= 0 && l.est.measured() {
		return 0 // it does not answer itself
	}
	ch, rest := from.last[victim], float64(from.owed[victim])
	rs, rv := own.speed(t.stream), from.speed(victim)
	if rs <= 0 || rv <= 0 { // no rate is known yet
		if !t.unheard(ch) || ch.left() <= t.cfg.most() || t.flight.now < ch.issued+answerTrips*l.rtt.min {
			return 0 // what is small is fetched twice instead, and at once
		}
		// It keeps a little, and with it its connection: it may be the faster one.
		rs, rv = own.mean(t.stream, ch.left()), from.mean(victim, ch.left())
		x := balanced(rest, rs, rv, own.delay(t.stream)-from.wait[victim])
		return int64(min(x, rest-float64(t.cfg.minRequest())))
	}
	worth := worthRTTs * own.trip
	switch server := &l.streams.server; {
	case server.single: // links that take a little from each other in turns gain nothing
		worth = connectRTTs * own.trip
	case from == own && ch.got == 0 && !t.cfg.Batch && (server.lasting || l.load.queues[victim].requests > 1) && !without("sent-worth"):
		worth = sentWorth * own.trip
	}
	if !without("start-mean") && from != own && t.flight.links[ch.link].est.rate <= 0 {
		rv = min(rv, from.mean(victim, from.owed[victim])) // all that is known is how it starts
	}
	x := balanced(rest, rs, rv, own.delay(t.stream)-from.wait[victim])
	if x >= float64(l.atLeast(t.cfg.minRequest())) && end-own.soonest(t.stream, int64(x)) >= worth {
		return int64(x)
	}
	whole := ch.left()
	if alone := own.soonest(t.stream, whole); !without("take-whole") && whole <= t.cfg.most() && end > farSlower*alone && end-alone > worth {
		return whole
	}
	return 0
}

// unheard says whether ch has not been answered, over a link of which nothing has been
// heard, and the thief's has, though it has shown no rate: all of a small file may have been
// asked of a link that needs seconds for its first byte.
func (t *thief) unheard(ch *chunk) bool {
	return !without("unheard") && !t.cfg.Batch && t.link.rtt.min > 0 && t.link.load.preempted == 0 && ch.got == 0 && t.flight.links[ch.link].load.received == 0
}

// worthMoving says whether a request for a file of unknown size that was not
// answered should be moved to the thief, since its own will be done only in
// end seconds. It cannot be shared, and costs its connection, so the gain must be
// great.
func (t *thief) worthMoving(from *eta, victim StreamID, end float64) bool {
	ch, own := from.last[victim], from == &t.own
	if t.link.load.preempted > 0 || !t.link.est.measured() || ch.got > 0 || !own && ch.takenOver >= takenMost {
		return false
	}
	alone, trips := t.own.soonest(t.stream, ch.left()-ch.over), float64(movedTrips)
	if own { // the connection that is lost is one of the link's own
		trips = reconnectRTTs
	}
	return end > farSlower*alone && end-alone > trips*t.own.trip && !without("move")
}

// balanced is how many of the rest bytes of a victim a thief should take over so
// that both finish together, when it begins delay seconds after the victim
// (ALGORITHMS, Tail): x = r_s*(R - r_v*RTT_s)/(r_s + r_v).
func balanced(rest, rs, rv, delay float64) float64 {
	return rs * (rest - float64(rv*delay)) / (rs + rv)
}

// takeOver moves the last x bytes of a request to a stream of thief, or the whole
// of it where little would remain.
func (f *flight) takeOver(thief LinkID, stream StreamID, ch *chunk, x int64, out []Action) []Action {
	if rest := ch.left(); x > rest || x > 0 && ch.got == 0 && rest-x < f.cfg.minRequest() && rest <= f.most(thief) {
		x = rest
	}
	if x <= 0 || x == ch.left() && ch.toAndFro(thief) {
		return out
	}
	return f.cutOff(thief, stream, ch, x, out)
}

// toAndFro says whether other links have taken over all of a request, before it was answered, as
// often as they may. Each may take itself to be sooner than the one before: two links would take
// what is not to be shared from each other without end, at one instant even.
func (c *chunk) toAndFro(thief LinkID) bool {
	return c.got == 0 && c.link != thief && c.takenOver >= takenMost
}

// cutOff moves the last x bytes of a request to a stream of thief.
func (f *flight) cutOff(thief LinkID, stream StreamID, ch *chunk, x int64, out []Action) []Action {
	l := &f.links[ch.link]
	stolen := Range{ch.rng.End - x, ch.rng.End}
	if l.est.nMarks == 0 && ch.link != thief {
		l.load.preempted++
	}
	if l.streams.cutShort(ch.stream, f.next); !f.cfg.Batch { // where there are many files next decides
		l.streams.broken |= 1 << ch.stream
	}
	from := *ch
	f.shorten(ch, x)
	out = f.shrunk(f.find(ch.id), out)
	out = f.start(thief, stream, from.part(stolen), out)
	if stolen.Off == from.rng.Off {
		f.latest().follows(&from)
	}
	return out
}
