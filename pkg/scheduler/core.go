// Package scheduler decides which link asks for which bytes of an object, or of
// many files (Config.Batch).
//
// It is pure: it knows no clock, no socket and no goroutine. Whoever drives it,
// an engine over real links or a simulator in virtual time, reports what
// happened as Inputs, each with its time, and carries out the Actions that come
// back. The same inputs give the same actions, on every machine, so that a
// recorded run can be replayed.
//
// A Core is not safe for concurrent use: one goroutine owns it.
package scheduler

const (
	// defaultFirst is the size in bytes of a link's first request. It divides a small file among
	// the links before any has answered, and lasts until slow start shows a rate. largeFirst
	// takes its place in a batch, most of whose files it asks for as a whole; for the only link,
	// which has none to share with; and with Config.Overlap, where the next request is sent after
	// a part of the first, which must last for a round trip (thesis).
	defaultFirst = int64(128) << 10
	largeFirst   = int64(1) << 20
	// leastRequest is the size in bytes below which a request is not worth
	// its round trip (ALGORITHMS, Tail: ~16 KB).
	leastRequest = int64(16) << 10
	// leastPiece takes its place in a batch, at whose end many requests are small: new and rested
	// connections bring one initial window in the first round trip, headers included.
	leastPiece = int64(12) << 10
	// maxQueued bounds the requests in flight on a stream, batchQueued where there are many files, and
	// unmetQueued before anything is known of its link. Chosen by hand.
	maxQueued   = 8
	batchQueued = 32
	unmetQueued = 4
)

// link is the state of one link: a struct for each thing that is known of it.
type link struct {
	health  health
	gives   int64 // bytes that its server gives at once, if it has answered with fewer than asked for; else 0
	rtt     roundTrips
	load    load
	est     estimator
	streams streams
	speeds  speeds
	terms   Terms
	linkUse linkUse
	pace    pace
	scale   radioScale
}

// Core is a run's scheduler: what is missing, and what each link is doing about it.
type Core struct {
	cfg        Config
	freeMap    freeMap
	batch      batch
	flight     flight
	links      linkList
	now        Time
	lastTick   Time // when the last Tick was
	complete   bool
	selection  selection
	assignment assignment
	firstAlone int64 // takes the place of cfg.First if only one link is usable
	power      powerMeter
}

// New makes a Core.
func New(cfg Config) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	firstAlone := cfg.First
	if firstAlone == 0 {
		cfg.First, firstAlone = defaultFirst, largeFirst
		if cfg.Batch || cfg.Overlap > 0 {
			cfg.First = largeFirst
		}
	}
	c := &Core{
		cfg:        cfg,
		firstAlone: firstAlone,
		links:      make(linkList, cfg.Links),
	}
	for i := range c.links {
		c.links[i].health.slowSince = Never
		c.links[i].linkUse.failingSince = Never
		c.links[i].streams = streams{most: cfg.firstStreams(), server: server{tls: cfg.tlsTrips()}}
	}
	c.assignment = newAssignment(c)
	c.flight = newFlight((maxQueued+MaxStreams)*cfg.Links, &c.cfg, c.links, &c.freeMap)
	if cfg.Batch {
		c.batch = batch{plans: make([]Plan, cfg.Links)}
	} else {
		c.freeMap = newFreeMap(cfg.Size, cfg.Have)
	}
	return c, nil
}

// Step takes an input that happened at now, and appends to out what is to be
// done. A LinkUp and a Progress are only booked, and so is what is told of pieces
// and plans: they take effect with the next input of another kind, so that links that
// come up together start together, and nothing is decided before all progress has been
// told. In a batch Finished, Failed and Short are booked as well. Time never runs backwards; an
// input about a chunk that has ended, or a link that does not exist, is ignored.
func (c *Core) Step(now Time, in Input, out []Action) []Action {
	c.now = max(c.now, now)
	c.flight.now = c.now
	switch in.Kind {
	case Sized:
		if !c.cfg.Batch && !c.freeMap.sized && in.Bytes >= 0 {
			size := min(in.Bytes, unsized-1)
			out = c.flight.void(Range{size, c.freeMap.end}, out)
			c.freeMap.resize(size)
			out = c.flight.duplicateRemainder(out)
		}
	case Drained:
		c.assignment.drained = max(c.assignment.drained, in.Bytes)
	case Progress, Finished, Failed:
		if i := c.flight.find(in.Chunk); i >= 0 {
			out = c.flight.received(i, &in, out)
		}
	case Compared:
		c.cfg.compared = max(0, in.Bytes)
	case Beyond:
		if i := c.flight.find(in.Chunk); i >= 0 && !c.cfg.Batch {
			out = c.flight.endBeyond(i, in.RTT, out)
			if !c.freeMap.sized {
				c.flight.endHint = max(c.flight.endHint, in.Bytes)
			}
		}
	case Short:
		if i := c.flight.find(in.Chunk); i >= 0 {
			out = c.flight.clip(i, in.Bytes, out)
		}
	case LinkUp, LinkDown:
		if in.Link >= 0 && int(in.Link) < len(c.links) {
			out = c.upDown(in, out)
		}
	case Spent:
		if in.Link >= 0 && int(in.Link) < len(c.links) {
			l := &c.links[in.Link]
			l.linkUse.spent = max(l.linkUse.spent, min(in.Bytes, unsized))
		}
	case Added, Voided, Expected, Planned:
		if c.cfg.Batch {
			out = c.batch.update(&in, &c.flight, out)
		}
	case Power:
		c.power.take(c.now, in.Watts, in.Wait, c.links)
	case Tick: // time is all that matters here
	}
	if c.complete {
		return out
	}
	if in.Kind == Tick {
		c.measure()
		if !c.cfg.NoFailover {
			out = c.failover(out)
		}
		out = c.giveBack(out)
	}
	if c.decides(in.Kind) {
		c.batch.booked = false
		if c.selection.needed(&c.cfg) {
			out = c.selectLinks(in.Kind, out)
		}
		out = c.assignment.assign(out)
		if in.Kind == Tick {
			out = c.explore(out)
		}
		out = c.flush(c.openAhead(out))
	}
	if len(c.flight.chunks) == 0 && c.freeMap.exhausted() {
		c.complete = true
		out = append(out, Action{Kind: Complete})
	}
	return out
}

// decides says whether an input is acted upon at once. In a batch the end of a request is only
// booked: many requests end together, and those not yet reported would be taken for late.
func (c *Core) decides(k InputKind) bool {
	switch k {
	case LinkUp, Progress, Added, Voided, Expected, Planned:
		return false
	case Finished, Failed, Short:
		if c.cfg.Batch {
			c.batch.booked = true
			return false
		}
	default:
	}
	return true
}

// measure measures the links' rates, at a Tick, when the progress of all requests has been told.
// Before that a link whose progress is still to come would seem to have received nothing, and its
// bytes would count for the time after.
func (c *Core) measure() {
	for i := range c.links {
		l := &c.links[i]
		if l.load.requests > 0 {
			l.listen(c.now)
			if !c.cfg.Batch && !l.streams.server.single { // whose files end all the time
				l.est.burst.arrived(c.now, l.load.arrived()-l.est.bytes)
			}
			if (l.load.owed() < l.bdp() || !l.pace.settled(false)) && !without("restart-evidence") {
				l.est.restart(c.now)
			}
			rate := l.est.rate
			l.est.observe(c.now, l.load.arrived(), l.rtt.path())
			if l.beginsAgain(c.now) {
				l.est.rate = max(l.est.rate, rate)
			}
			l.pace.observe(c.now, l.rtt.min, l.load.received, l.est.nMarks > 0)
			l.streams.narrow(c.now, l)
		}
	}
	t := (View{c}).task()
	for i := range c.links {
		l := &c.links[i]
		if l.load.requests > 0 && c.cfg.Parallelism == 0 && c.freeMap.sized && !c.batch.planned(LinkID(i)) {
			l.streams.tune(c.now, l, t)
			l.streams.rttShift.watch(c.now, l)
			l.streams.explore.watch(c.now, l)
		}
		l.speeds.observe(c.now, l.rtt.now(), &l.load.queues, l.streams.most, l.streams.refused)
	}
}

// task is what remains to be done. Over TLS each connection has to be worth a handshake, so a
// link's are counted against its own share; in clear they cost a packet or two, and may turn out
// to bring more than that.
func (v View) task() task {
	t := task{left: v.core.flight.left(), free: v.core.freeMap.unasked(), links: v.UsableLinks(), rate: v.SumRate(), sized: v.core.freeMap.sized, batch: v.core.cfg.Batch, secure: v.core.cfg.secure()}
	if t.share = t.left; t.secure {
		t.share /= int64(max(1, t.links))
	}
	return t
}

// forget drops what was learnt of a link that is gone: it may come back on another network.
func (l *link) forget(cfg *Config) {
	l.est.forget()
	l.load.asked, l.rtt, l.load.preempted = false, roundTrips{}, 0
	l.pace = pace{}
	l.linkUse.failingSince = Never
	l.gives = 0
	l.streams = streams{most: cfg.firstStreams(), server: server{tls: cfg.tlsTrips()}, detectors: detectors{loss: loss{reordered: l.streams.loss.reordered}}}
	l.speeds = speeds{}
}

func (c *Core) upDown(in Input, out []Action) []Action {
	l := &c.links[in.Link]
	if in.Kind == LinkDown {
		l.health.goesDown()
		out = c.flight.release(in.Link, out)
		l.forget(&c.cfg)
		if c.batch.planned(in.Link) { // a plan outlives the network
			l.streams.most = StreamID(c.batch.plans[in.Link].Connections())
		}
		return out
	}
	if in.Terms != (Terms{}) && in.Terms.Validate() == nil {
		more := in.Terms.Cap > l.terms.Cap
		l.terms = in.Terms
		c.selection.take(&in.Terms)
		if more && l.linkUse.why == ReasonCapped && !l.capped(c.flight.room(in.Link)) {
			out = l.linkUse.wake(in.Link, Action{Why: ReasonRenewed}, out)
		}
	}
	l.linkUse.failingSince = Never
	if in.Bandwidth > 0 && in.Bandwidth <= maxTerm {
		l.est.known = in.Bandwidth
	}
	if in.RTT > 0 {
		l.rtt.setMin(in.RTT)
	}
	if l.health.banned { // its interface says that it is back: no need to wait
		out = append(out, l.unban(c.now, in.Link))
	}
	l.health.goesUp(c.now, in.Wait)
	return out
}
