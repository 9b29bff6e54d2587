package scheduler

// A server may limit the rate of each connection (nginx's limit_rate, the pacing of a CDN), so that
// one connection leaves most of its link idle. Such a link looks full, but no queue stands before
// it, and a second connection brings as much again. Both signs are looked for on a link with one
// connection, the cheaper one first: a little is requested over a second connection. If that
// handshake waited in a queue, the link is full, and the exploration ends. If not, the new
// connection stays until it is clear whether it brings more, and then many are tried (see try).
// Where bytes come in bursts a handshake may have waited behind the next burst, and the
// connections themselves have to tell.
//
// A link that builds up its rate is not full for moments either, and a new connection may make it
// begin anew (skjolden, 4.4.3.3). So it is left alone until its rate has been level for longer
// than the rate of such links ever is.
//
// The constants were chosen by hand over the simulator's suites; see pair-trial in
// docs/scheduler.md.
const (
	// A rate is measured over levelWindow, but not less than a few round trips. It is level
	// when levelFirst windows in a row were not above the least of them by more than growth;
	// levelFirst times as many after each time that it grew, up to levelMost. lateWeight is that
	// of the latest window in the mean.
	levelWindow = 250 * Millisecond
	levelFirst  = 4
	levelMost   = 256
	// A server that sends in bursts is silent for pauseTrips round trips, at least pauseFloor, in
	// between, which a full link is not. A pause not longer than pauseMost (nginx counts in
	// seconds) tells as much as a level rate; after a failed exploration two are needed.
	pauseTrips = 3
	pauseFloor = 60 * Millisecond
	pauseMost  = 1200 * Millisecond
	// startedTrips: slow start is over when a connection has brought so many times what its rate
	// brings in a round trip.
	startedTrips = 3
	// A round trip that took more than queueTrips of the least one, and queueFloor more than it,
	// has waited in a queue.
	queueTrips = 1.5
	queueFloor = 5 * Millisecond
	// A handshake is waited for a few round trips, at least shakeFloor.
	shakeFloor = Second
	// Two connections are worth it if they bring pairGain times what one did, within settleTrips
	// round trips, at least levelWindow, and the older one has kept lessPart of its rate. Where
	// bytes come in bursts it may take pauseMost, and is decided as soon as the new one brings
	// something while the older one pauses, for at least rateWindow: on a full link a lost packet
	// may hold back its bytes for a round trip with the queue.
	pairGain = 1.5
	// An exploration is worth it if the bytes that no link was asked for last levelWorth, or
	// pauseWorth where bytes come in bursts.
	levelWorth = 4 * Second
	pauseWorth = Second
	// No more is tried after exploreTries in vain; the second comes exploreRest after the first.
	exploreTries = 2
	exploreRest  = 4 * Second
)

// exploring is the state of a link's exploration.
type exploring struct {
	rateWatch

	step   exploringStep
	chunk  ChunkID // the request over another connection
	since  Time    // when the step began
	shakes int     // handshakes of the link until then
	bytes  int64   // bytes received until then
	first  int64   // of these, over its first connection
	// doubtful: the handshake does not show that the link is not full.
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

// rateWatch sees whether the rate of a link with one connection is level, or pauses.
type rateWatch struct {
	window  countMark // when the present window began; at 0: none has
	windows int       // since the link's slow start was over, or it was last silent
	least   float64   // bytes per second, of the windows that were level
	mean    float64   // bytes per second, of the latest windows
	level   int       // level windows in a row
	wanted  int       // how many of them are needed; 0: levelFirst
	pauses  int       // seen since the link was last silent for longer
	paused  bool      // at the latest look
}

// watch looks at what a link with one connection brings.
func (e *exploring) watch(now Time, l *link) {
	s := &l.streams
	if e.step != watching || s.most > 1 || l.est.nMarks == 0 || float64(s.conn[0].brought) < startedTrips*l.est.rate*l.rtt.path().Seconds() {
		e.window.at = 0
		return
	}
	e.countPauses(now-l.health.lastByte, l)
	switch {
	case e.window.at == 0:
		e.window, e.windows, e.level = l.mark(now), 0, 0
	case now-e.window.at >= longest(levelWindow, fewTrips, l.rtt.path()):
		rate := float64(l.load.received-e.window.bytes) / (now - e.window.at).Seconds() // pauses count
		e.window = l.mark(now)
		e.add(rate)
	}
}

// countPauses counts the times at which nothing arrives for a while.
func (w *rateWatch) countPauses(silence Time, l *link) {
	paused := silence > longest(pauseFloor, pauseTrips, l.rtt.path())+l.recordTime()
	switch {
	case paused && !w.paused:
		w.pauses++
	case silence > longest(pauseMost, pauseTrips, l.rtt.path()):
		w.pauses = 0
	}
	w.paused = paused
}

// add takes in the rate of a window, in bytes per second.
func (w *rateWatch) add(rate float64) {
	w.windows++
	weight := max(lateWeight, 1/float64(w.windows))
	w.mean = float64((1-weight)*w.mean) + float64(weight*rate)
	switch {
	case w.windows == 1:
		w.least, w.level, w.wanted = rate, 1, max(levelFirst, w.wanted)
	case rate > growth*w.least:
		w.least, w.level, w.wanted = rate, 0, min(levelMost, levelFirst*w.wanted)
	default:
		w.least = min(w.least, rate)
		w.level++
	}
}

// fail ends an exploration that was in vain.
func (e *exploring) fail(now Time) {
	*e = exploring{failed: e.failed + 1, restUntil: now + exploreRest, rateWatch: rateWatch{wanted: e.wanted}}
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
	if e.step != pairing && usable && l.rttShifted(now, t) && l.mayTry(now, t) && !without("rtt-shift") {
		s.followRTTShift(now, l)
	}
	handshook := l.rtt.handshakes > e.shakes
	switch e.step {
	case watching:
		switch {
		case !usable:
		case now-l.health.lastByte <= leastWake && s.queue.tooShort(now, l) && l.mayTry(now, t) && !without("short-queue"):
			s.try(now, l.rateSince(s.queue.from, now))
		case s.worthExploring(now, l, t) && !without("pair-trial"):
			return askAnother
		}
	case handshaking:
		switch {
		case handshook && !l.rtt.queued(l.rtt.latest):
			s.most++
			e.begin(pairing, now, l)
		case handshook && e.bursty() && l.speeds.total[0] > e.first:
			s.most++ // the handshake waited behind the burst that ended the pause, which tells nothing
			e.begin(pairing, now, l)
			e.doubtful = true
		case handshook:
			e.fail(now)
		case now-e.since > longest(shakeFloor, fewTrips, l.rtt.path()):
			return giveUpAsked
		}
	case pairing:
		s.judgePair(now, l, t)
	}
	return noAdvice
}

// explore finds out whether links would carry more over more connections. It does nothing where
// the number of connections is given, where a slow reader may be the bottleneck (Window), and where
// energy is to be saved, for which the links' rates must be known.
func (c *Core) explore(out []Action) []Action {
	if c.cfg.Batch || c.cfg.Parallelism > 0 || c.cfg.Window > 0 || c.cfg.Energy != EnergyOff || !c.freeMap.sized {
		return out
	}
	for i := range c.links {
		id, s := LinkID(i), &c.links[i].streams
		if s.explore.step == watching && !s.maybeMore() {
			continue // most of the time, on every link
		}
		switch s.advance(c.now, &c.links[i], (View{c}).task(), (View{c}).usable(&c.links[i])) {
		case askAnother:
			if before := len(out); c.links[i].load.queues[s.most].requests == 0 {
				if out = c.try(id, s.most, NoLink, out); len(out) > before {
					s.explore.begin(handshaking, c.now, &c.links[i])
					s.explore.chunk = c.flight.next - 1
				}
			}
		case giveUpAsked:
			if at := c.flight.find(s.explore.chunk); at >= 0 && c.flight.chunks[at].got == 0 {
				out = c.flight.withdraw(at, out)
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

// maybeMore says whether a link with one connection shows any sign that it could carry more.
func (s *streams) maybeMore() bool {
	e := &s.explore
	return s.oneConnection() && (e.paused || e.level >= e.wanted || s.rttShift.from.at > 0 || s.queue.from.at > 0 && s.loss.grew.at > 0)
}

// oneConnection says whether a link has one connection, and no trial that would change that.
func (s *streams) oneConnection() bool { return s.most == 1 && !s.trial.running && s.refused == 0 }

// mayTry says whether more than a link's only connection can be tried at once, and there is
// time enough left to make use of that.
func (l *link) mayTry(now Time, t task) bool {
	s := &l.streams
	return s.oneConnection() && s.trial.failed < exploreTries && now >= s.trial.restUntil && t.outlasts(l.trialWorth())
}

// worthExploring says whether a connection seems to get less than its link could carry, and enough
// is left to make use of more.
func (s *streams) worthExploring(now Time, l *link, t task) bool {
	e := &s.explore
	if !s.oneConnection() || e.failed >= exploreTries || now < e.restUntil || l.rtt.min == 0 || l.load.requests == 0 {
		return false
	}
	worth := levelWorth
	switch {
	case e.windows == 0 || l.est.known > 0 && e.mean >= float64(lessPart*l.est.known):
		return false
	case e.paused && e.bursty(): // now that no byte of its own delays a handshake
		worth = pauseWorth
	case now-l.health.lastByte > leastWake || e.level < e.wanted:
		return false
	}
	return float64(t.free) > float64(t.rate*worth.Seconds())
}

// judgePair decides, when two connections have been measured, for many or for one.
func (s *streams) judgePair(now Time, l *link, t task) {
	e := &s.explore
	span := now - e.since
	bursty := e.bursty()
	switch {
	case float64(t.left) < float64(t.rate*(2*firstTrial*l.recordTime().Seconds())): // less than a record for each of many
	case bursty && s.conn[1].brought > 0 && l.load.queues[0].requests > 0 && s.conn[1].heard-s.conn[0].heard > longest(rateWindow, pauseTrips, l.rtt.path())+l.turnTime():
		e.step = watching
		s.try(now, e.mean)
		return
	case s.refused != 0 || l.health.banned || l.est.nMarks == 0:
	case span < longest(levelWindow, settleTrips, l.rtt.path()):
		return
	default:
		rate := float64(l.load.received-e.bytes) / span.Seconds()
		kept := float64(l.speeds.total[0]-e.first) / span.Seconds()
		if rate >= pairGain*e.mean && (!e.doubtful || span >= pauseMost) && (bursty || kept >= lessPart*e.mean) {
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
