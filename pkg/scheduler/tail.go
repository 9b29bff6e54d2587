package scheduler

const (
	// worthRTTs is how many of the thief's round trips a takeover must gain.
	worthRTTs = 0.5
	// worthIdle is for how many seconds a link must have nothing to do before the end for
	// a takeover to be worth it that gains less: a slow link cannot gain much, but links
	// are to end together (thesis, 5.1: Link Δ). Of one that has shown no rate nobody knows
	// that it would.
	worthIdle = 0.08
	// nowhere is how many times as long as the thief alone a victim must need
	// for what is too small to share to be taken from it whole.
	nowhere = 2
	// helpTries is of how many connections an idle one looks at what they have to do.
	helpTries = 4
	// batchWorth takes the place of worthRTTs where there are many files: more
	// connections are lost to takeovers than to one file's end.
	batchWorth = 1
	ownWorth   = 2
	// answerTrips is after how many round trips of another link a request that has not
	// been answered is taken for late: twice what a handshake and an answer take there.
	answerTrips = 2 * connectRTTs
	// takenMost is how often another link may take over all of a request that was not answered:
	// by then each of two has had it. Chosen by hand.
	takenMost = 2
)

// steal lets a stream that has run out of work take over the end of what would
// be received last: of another link, if the policy names one, or of another
// stream of its own (ALGORITHMS, Tail).
func (c *Core) steal(thief LinkID, stream StreamID, out []Action) []Action {
	if c.cfg.NoSteal {
		return out
	}
	if !c.sized() {
		return c.duplicateUnanswered(thief, stream, out)
	}
	if split := c.split(thief, stream, out); len(split) > len(out) {
		return split
	}
	var own, other eta
	c.etaOf(thief, &own)
	own.trip, own.passed = c.links[thief].rtt.reach().Seconds(), own.duplicated()
	link := c.cfg.Policy.Victim(View{c}, thief)
	if link >= 0 && int(link) < len(c.links) && link != thief {
		c.etaOf(link, &other)
	}
	if c.batch != nil { // where many are at their ends, copies will do
		other.passed = other.duplicated()
	}
	for before, try := len(out), 0; (try < 1 || try < helpTries && !without("help-tries")) && len(out) == before; try++ {
		victim, end := own.latest(stream)
		from := &own
		if s, e := other.latest(noStream); e > end {
			victim, end, from = s, e, &other
		}
		if victim == noStream {
			break
		}
		if try == 0 && own.last[stream] == nil {
			own.rate *= float64(max(1, own.active)) / float64(own.active+1)
		}
		out = c.help(thief, stream, &own, from, victim, end, out)
		from.passed |= 1 << victim
	}
	return out
}

// help lets a stream take over what it should of a victim that would be done at end,
// which may be nothing.
func (c *Core) help(thief LinkID, stream StreamID, own, from *eta, victim StreamID, end float64, out []Action) []Action {
	ch, l := from.last[victim], &c.links[thief]
	if c.batch != nil && !c.mayHelp(thief, stream, ch) {
		return out
	}
	if ch.duplicate != NoChunk {
		return c.relay(thief, stream, own, ch, end, out)
	}
	if from == own && (ch.got == 0 && (l.streams.conn[stream].cut > 0 || ch.moved >= movedMost) || own.fresh&(1<<victim) != 0 && !without("share-guard")) {
		return out // whom nothing has answered since cannot do better, it would go to and fro, and shares are alike
	}
	room := c.most(thief)
	if c.batch != nil && from.late&(1<<victim) != 0 && c.copyRest(thief, stream, own, ch, end, room) {
		return c.hedge(thief, stream, ch, out) // it is silent, but may speak again
	}
	if ch.guess && c.worthMoving(l, own, stream, from, victim, end) && ch.left() <= room {
		return c.move(thief, stream, ch, out)
	}
	if x := min(room, c.stealSize(l, own, stream, from, victim, end)); x > 0 && !ch.guess {
		if ch.link != thief && c.anotherSooner(thief, ch.link, x, own.soonest(l, stream, x)) {
			return out
		}
		return c.takeOver(thief, stream, ch, x, out)
	}
	if from == own && own.wait[victim] == 0 {
		return out // they have the link's rate between them
	}
	if c.copyRest(thief, stream, own, ch, end, room) {
		return c.hedge(thief, stream, ch, out)
	}
	return out
}

// copyRest says whether an idle stream should fetch what is left of ch too.
func (c *Core) copyRest(thief LinkID, stream StreamID, own *eta, ch *chunk, end float64, room int64) bool {
	l, rest := &c.links[thief], ch.left()-ch.over
	return !without("duplicate") && !c.cfg.once() && own.last[stream] == nil && ch.left() <= room && c.worthCopying(l, own, stream, ch, end) &&
		!c.anotherSooner(thief, ch.link, rest, own.soonest(l, stream, rest))
}

// anotherSooner says whether a link other than the thief and the victim would
// have so many bytes before the thief, who would in ours seconds: it will take
// them when it is done.
func (c *Core) anotherSooner(thief, victim LinkID, bytes int64, ours float64) bool {
	v := View{c}
	if without("another-sooner") || c.cfg.Policy.Victim(v, thief) == NoLink {
		return false // links do not help one another
	}
	for l := range v.Links() {
		o := &c.links[l]
		if l == thief || l == victim || !c.usable(o) || o.load.preempted > 0 || o.est.rate <= 0 {
			continue
		}
		if l < thief && o.load.requests == 0 {
			continue // it was asked before, and did not want them
		}
		if v.delay(l)+float64(bytes)/o.est.rate < ours {
			return true
		}
	}
	return false
}

// stealSize is how many bytes a stream of thief should take over from a stream victim, which
// would finish in end seconds; 0: none.
func (c *Core) stealSize(thief *link, own *eta, stream StreamID, from *eta, victim StreamID, end float64) int64 {
	if thief.load.preempted > 0 || thief.est.rate <= 0 && thief.est.measured() {
		return 0 // it does not answer itself
	}
	rest := float64(from.owed[victim])
	rs, rv := own.speed(stream), from.speed(victim)
	if rs <= 0 || rv <= 0 { // nobody has shown anything yet
		ch := from.last[victim]
		if !c.unheard(thief, ch) || ch.left() <= c.cfg.most() || c.now < ch.issued+answerTrips*thief.rtt.min {
			return 0 // what is small is fetched twice instead, and at once
		}
		// It keeps a little, and with it its connection: it may be the faster one.
		rs, rv = own.mean(stream, ch.left()), from.mean(victim, ch.left())
		x := balanced(rest, rs, rv, own.delay(thief, stream)-from.wait[victim])
		return int64(min(x, rest-float64(c.cfg.minRequest())))
	}
	worth := worthRTTs * own.trip
	if c.batch != nil {
		worth = batchWorth * own.trip
		if from == own { // its victim loses a connection over the same bottleneck
			worth *= ownWorth
		}
	}
	if !without("start-mean") && c.batch == nil && from != own && c.links[from.last[victim].link].est.rate <= 0 {
		rv = min(rv, from.mean(victim, from.owed[victim])) // all that is known is how it starts
	}
	delay := own.delay(thief, stream)
	x := balanced(rest, rs, rv, delay-from.wait[victim])
	switch {
	case thief.streams.server.single: // links that take a little from each other in turns gain nothing
		worth = connectRTTs * own.trip
	case !without("worth-idle") && c.batch == nil && from != own && own.active <= 1 && end-delay >= worthIdle && thief.est.measured():
		worth = 0
	}
	if x >= float64(c.least(thief)) && end-own.soonest(thief, stream, int64(x)) >= worth {
		return int64(x)
	}
	whole := from.last[victim].left()
	if alone := own.soonest(thief, stream, whole); !without("take-whole") && whole <= c.cfg.most() && end > nowhere*alone && end-alone > worth {
		return whole
	}
	return 0
}

// unheard says whether ch has not been answered, over a link of which nothing has been
// heard, and thief has, though it has shown no rate: all of a small file may have been
// asked of a link that needs seconds for its first byte.
func (c *Core) unheard(thief *link, ch *chunk) bool {
	return !without("unheard") && c.batch == nil && thief.rtt.min > 0 && thief.load.preempted == 0 && c.untouched(ch)
}

// balanced is how many of the rest bytes of a victim a thief should take over so
// that both finish together, when it begins delay seconds after the victim
// (ALGORITHMS, Tail): x = r_s*(R - r_v*RTT_s)/(r_s + r_v).
func balanced(rest, rs, rv, delay float64) float64 {
	return rs * (rest - float64(rv*delay)) / (rs + rv)
}

// takeOver moves the last x bytes of a request to a stream of thief, or the whole
// of it where little would remain.
func (c *Core) takeOver(thief LinkID, stream StreamID, ch *chunk, x int64, out []Action) []Action {
	if rest := ch.left(); x > rest || x > 0 && ch.got == 0 && rest-x < c.cfg.minRequest() && rest <= c.most(thief) {
		x = rest
	}
	if x <= 0 || x == ch.left() && c.toAndFro(thief, ch) {
		return out
	}
	return c.cutOff(thief, stream, ch, x, out)
}

// toAndFro says whether other links have taken over all of a request, before it was answered, as
// often as they may. Each may take itself to be sooner than the one before: two links would take
// what is not to be shared from each other without end, at one instant even.
func (c *Core) toAndFro(thief LinkID, ch *chunk) bool {
	return ch.got == 0 && ch.link != thief && ch.taken >= takenMost
}

// cutOff moves the last x bytes of a request to a stream of thief.
func (c *Core) cutOff(thief LinkID, stream StreamID, ch *chunk, x int64, out []Action) []Action {
	l := &c.links[ch.link]
	stolen := Range{ch.rng.End - x, ch.rng.End}
	if l.est.nMarks == 0 && ch.link != thief {
		l.load.preempted++
	}
	if l.streams.cutShort(ch.stream, c.flight.next); c.batch == nil { // where there are many files next decides
		l.streams.broken |= 1 << ch.stream
	}
	from := *ch
	c.shorten(ch, x)
	out = c.shrunk(c.flight.find(ch.id), out)
	out = c.start(thief, stream, stolen, out)
	if stolen.Off == from.rng.Off {
		c.flight.latest().follows(&from)
	}
	if c.batch != nil {
		c.adopt(c.flight.latest(), &from)
	}
	return out
}
