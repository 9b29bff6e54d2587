package scheduler

// A server may limit the rate of each connection (nginx's limit_rate, the pacing of a
// CDN), and one then leaves most of its link idle. It looks like a link that is full, but
// no queue stands before it, and a second connection brings as much again. Both are
// looked for, the cheaper one first, on a link that has one connection, no matter what
// is lost there: a little is asked for over another one. If its handshake had to wait,
// the link is full, and that was all. If not, the new connection stays for as long as it
// takes to see whether it brings more, and then many are tried (see try). Where bytes come
// in bursts a handshake may have waited behind the next of them, and the
// connections themselves have to tell.
//
// A link that builds up its rate is not full for moments either, and a new connection may
// make it begin anew (skjolden, 4.4.3.3): it is left alone until its rate has been level
// for as long as that of such links never is.
const (
	// levelWindow is over how long a rate is measured, but not for less than levelTrips
	// round trips. It has been level when so many windows in a row as levelFirst were not
	// above the least of them by more than levelGrowth; levelMore times as many after each
	// time that it has grown, up to levelMost.
	levelWindow = 250 * Millisecond
	levelTrips  = 4
	levelFirst  = 4
	levelMore   = 4
	levelMost   = 256
	levelGrowth = 1.1
	levelWeight = 0.25
	// A server that sends in bursts is silent for pauseTrips round trips, at least
	// pauseFloor, in between, which a link that is full is not. One that is not longer than
	// pauseMost (nginx counts in seconds) tells as much as a level rate; after a failure two.
	pauseTrips = 3
	pauseFloor = 60 * Millisecond
	pauseMost  = 1200 * Millisecond
	// startedTrips: a connection's slow start is over when it has brought so many times
	// what its rate brings in a round trip.
	startedTrips = 3
	// A round trip that took more than queueTrips of the least one, and queueFloor more
	// than it, has waited in a queue.
	queueTrips = 1.5
	queueFloor = 5 * Millisecond
	// shakeTrips, shakeFloor is how long a handshake is waited for.
	shakeTrips = 4
	shakeFloor = Second
	// Two connections are one more than needed unless they bring pairGain times what one
	// did within pairTrips round trips, at least levelWindow, and the older one has kept
	// pairKeeps of its rate. Where bytes come in bursts it may take pauseMost, and
	// is settled as soon as the new one brings something while the older one pauses, for
	// pairFloor at least: on a link that is full, a lost packet may keep it from its bytes
	// for a round trip with the queue.
	pairGain  = 1.5
	pairKeeps = 0.85
	pairTrips = 6
	pairFloor = 100 * Millisecond
	// levelWorth and pauseWorth are how long what nobody was asked for must last for a
	// level rate to be doubted, and for pauses to be made use of.
	levelWorth = 4 * Second
	pauseWorth = Second
	// exploreTries in vain are enough; the second one comes exploreRest after the first.
	exploreTries = 2
	exploreRest  = 4 * Second
)

// exploring is where a link's exploration stands.
type exploring struct {
	window  countMark // when the present window began; at 0: none has
	windows int       // since the link's slow start was over, or it was last silent
	least   float64   // bytes per second, of the windows that were level
	mean    float64   // bytes per second, of the latest windows
	level   int       // windows in a row
	wanted  int       // how many of them are; 0: levelFirst
	pauses  int
	paused  bool

	step   exploringStep
	chunk  ChunkID // asked for over another connection
	since  Time
	shakes int   // handshakes that the link had made when the step began
	bytes  int64 // and that it had received
	first  int64 // of these, over its first connection
	// The handshake has not told that the link is not full.
	doubtful bool

	failed    int
	restUntil Time
}

type exploringStep uint8

const (
	watching    exploringStep = iota
	handshaking               // a handshake is under way
	pairing                   // two connections are at work
)

// watch looks at what a link with one connection brings.
func (e *exploring) watch(now Time, l *link) {
	s := &l.streams
	if e.step != watching || s.most > 1 || l.est.nMarks == 0 || float64(s.conn[0].brought) < startedTrips*l.est.rate*l.rtt.path().Seconds() {
		e.window.at = 0
		return
	}
	silence := now - l.health.lastByte
	paused := silence > longest(pauseFloor, pauseTrips, l.rtt.path())+l.recordTime()
	switch {
	case paused && !e.paused:
		e.pauses++
	case silence > longest(pauseMost, pauseTrips, l.rtt.path()):
		e.pauses = 0
	}
	e.paused = paused
	switch {
	case e.window.at == 0:
		e.window, e.windows, e.level = l.mark(now), 0, 0
		return
	case now-e.window.at < longest(levelWindow, levelTrips, l.rtt.path()):
		return
	}
	rate := float64(l.load.received-e.window.bytes) / (now - e.window.at).Seconds() // pauses count
	e.window = l.mark(now)
	e.windows++
	w := max(levelWeight, 1/float64(e.windows))
	e.mean = float64((1-w)*e.mean) + float64(w*rate)
	switch {
	case e.windows == 1:
		e.least, e.level, e.wanted = rate, 1, max(levelFirst, e.wanted)
	case rate > levelGrowth*e.least:
		e.least, e.level, e.wanted = rate, 0, min(levelMost, levelMore*e.wanted)
	default:
		e.least = min(e.least, rate)
		e.level++
	}
}

// fail ends an exploration that was in vain.
func (e *exploring) fail(now Time) {
	*e = exploring{failed: e.failed + 1, restUntil: now + exploreRest, wanted: e.wanted}
}

// bursty says whether bytes come in bursts.
func (e *exploring) bursty() bool { return e.pauses > e.failed }

// advice is what a link's exploration asks the Core for.
type advice uint8

const (
	noAdvice    advice = iota
	askAnother         // ask for a little over a connection that the link has not used
	giveUpAsked        // withdraw that request: its handshake takes too long
)

// advance takes the exploration of a link on. usable says whether the link may be given work.
func (s *streams) advance(now Time, l *link, t task, usable bool) advice {
	e := &s.explore
	if e.step != pairing && usable && l.mayTry(now, t) && l.rttShifted(now, t) && !without("rtt-shift") {
		s.followRTTShift(now, l)
	}
	handshook := l.rtt.handshakes > e.shakes
	switch e.step {
	case watching:
		switch {
		case !usable:
		case l.mayTry(now, t) && s.queue.tooShort(now, l) && now-l.health.lastByte <= leastWake && !without("short-queue"):
			s.try(now, l.rateSince(s.queue.from, now))
		case s.worthExploring(now, l, t) && !without("pair-trial"):
			return askAnother
		}
	case handshaking:
		switch {
		case handshook && !l.rtt.waited(l.rtt.latest):
			s.most++
			e.begin(pairing, now, l)
		case handshook && e.bursty() && l.speeds.total[0] > e.first:
			s.most++ // it waited behind what came when the pause was over, which tells nothing
			e.begin(pairing, now, l)
			e.doubtful = true
		case handshook:
			e.fail(now)
		case now-e.since > longest(shakeFloor, shakeTrips, l.rtt.path()):
			return giveUpAsked
		}
	case pairing:
		s.judgePair(now, l, t)
	}
	return noAdvice
}

// explore looks whether links would carry more over more connections. It is left alone
// where somebody else has said how many there are, where a reader may be what holds all
// back, and where joules are to be saved: what links carry must be known there.
func (c *Core) explore(out []Action) []Action {
	if c.batch != nil || c.cfg.Parallelism > 0 || c.cfg.Window > 0 || c.cfg.Energy != EnergyOff || !c.sized() {
		return out
	}
	for i := range c.links {
		id, s := LinkID(i), &c.links[i].streams
		switch s.advance(c.now, &c.links[i], c.task(), c.usable(&c.links[i])) {
		case askAnother:
			out = c.askAnother(id, out)
		case giveUpAsked:
			if at := c.flight.find(s.explore.chunk); at >= 0 && c.flight.chunks[at].got == 0 {
				out = c.withdraw(at, out)
			}
			s.explore.fail(c.now)
		case noAdvice:
		}
	}
	return out
}

func (e *exploring) begin(step exploringStep, now Time, l *link) {
	e.step, e.since, e.shakes, e.bytes, e.first, e.doubtful = step, now, l.rtt.handshakes, l.load.received, l.speeds.total[0], false
}

// oneConnection says whether a link has one connection, and nothing is under way that would change that.
func (s *streams) oneConnection() bool { return s.most == 1 && !s.trial.running && s.refused == 0 }

// mayTry says whether more than a link's only connection can be tried at once, and there is
// time enough left to make use of that.
func (l *link) mayTry(now Time, t task) bool {
	s := &l.streams
	return s.oneConnection() && s.trial.failed < exploreTries && now >= s.trial.restUntil && t.outlasts(l.trialWorth())
}

// worthExploring says whether a link looks as if a connection had less than it could
// carry, and there is time enough left to make use of that.
func (s *streams) worthExploring(now Time, l *link, t task) bool {
	e := &s.explore
	if !s.oneConnection() || e.failed >= exploreTries || now < e.restUntil || l.rtt.min == 0 || l.load.requests == 0 {
		return false
	}
	worth := levelWorth
	switch {
	case e.windows == 0 || l.est.known > 0 && e.mean >= float64(pairKeeps*l.est.known):
		return false
	case e.paused && e.bursty(): // now that no byte of its own delays a handshake
		worth = pauseWorth
	case now-l.health.lastByte > leastWake || e.level < e.wanted:
		return false
	}
	return float64(t.free) > float64(t.rate*worth.Seconds())
}

// askAnother asks for a little over a connection that the link has not used.
func (c *Core) askAnother(id LinkID, out []Action) []Action {
	l := &c.links[id]
	stream := l.streams.most
	if l.load.queues[stream].requests > 0 || len(c.ledger.free) == 0 {
		return out
	}
	before := len(out)
	if out = c.start(id, stream, c.ledger.take(min(probeSize, c.most(id)), c.ledger.size), out); len(out) > before {
		l.streams.explore.begin(handshaking, c.now, l)
		l.streams.explore.chunk = c.flight.next - 1
	}
	return out
}

// judgePair ends the time of two connections: there will be many, or one.
func (s *streams) judgePair(now Time, l *link, t task) {
	e := &s.explore
	span := now - e.since
	bursty := e.bursty()
	switch {
	case float64(t.left) < float64(t.rate*(2*firstTrial*l.recordTime().Seconds())): // less than a record for each of many
	case bursty && s.conn[1].brought > 0 && l.load.queues[0].requests > 0 && s.conn[1].heard-s.conn[0].heard > longest(pairFloor, pauseTrips, l.rtt.path())+l.turnTime():
		e.step = watching
		s.try(now, e.mean)
		return
	case s.refused != 0 || l.health.banned || l.est.nMarks == 0:
	case span < longest(levelWindow, pairTrips, l.rtt.path()):
		return
	default:
		rate := float64(l.load.received-e.bytes) / span.Seconds()
		kept := float64(l.speeds.total[0]-e.first) / span.Seconds()
		if rate >= pairGain*e.mean && (!e.doubtful || span >= pauseMost) && (bursty || kept >= pairKeeps*e.mean) {
			e.step = watching // and with more than one connection, for good
			s.try(now, rate)
			return
		}
		if bursty && span < pauseMost {
			return
		}
	}
	s.most = 1
	e.fail(now)
}
