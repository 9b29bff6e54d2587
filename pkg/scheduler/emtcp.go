package scheduler

// The energy-aware offloading of Chen, Yuan and Muntean ("An energy-aware
// multipath-TCP-based content delivery scheme in heterogeneous wireless
// networks", eMTCP), as a rule for ranges. Their detector watches the states of
// the two interfaces. When the costly one is about to receive while the cheap
// one is idle, 24 % of the queued data moves to the cheap one, the share at which
// they saw the best efficiency.
//
// In the paper data is pushed, so that a link may be idle while the other one has
// a queue. Here links pull: an idle link has been given work already when the next
// one's turn comes, or has taken over what the others have queued, and so is never
// seen idle; and a costly link that is asked for 24 % less asks again 24 % sooner.
// So the states are seen where they arise, and it is the costly link's turns that
// move:
//
//   - A cheap link is idle when it could take more work and there is none. That is
//     seen before it takes something over, and
//     holds until the costly link is given work. Until then the costly link of a
//     stream (Config.Window) is given no more than its share less 24 %, as long
//     as the consumer has something in reserve.
//   - A cheap link is congested when it owes bytes and none have come for a while.
//     Then the costly link may have all it can carry; with both congested it waits.
//   - A file takes all that the links can carry and never leaves the cheap one
//     idle. So the costly link's share of it is 24 % smaller whatever the state,
//     as long as the others can carry the rest until the deadline. It carries its
//     part first and sleeps then, since an active radio costs whether bytes cross
//     it or not.
const (
	// offloadShare is the default of Config.Offload (chen, V.C, figure 4).
	offloadShare = 0.24
	// congestedFloor is the least time after which a link is congested
	// (ALGORITHMS: max(3 RTT, 1 s)).
	congestedFloor = Second
	congestedRTTs  = 3
	// reserveParts: a stream's consumer has enough in reserve with one of so many
	// parts of the window.
	reserveParts = 4
	// targetPart of the deadline is aimed at.
	targetPart = 0.97
)

// emtcp is a run as EnergyEMTCP sees it; the zero value leaves every request as it is.
type emtcp struct {
	links    []link // nil in other modes
	now      Time
	deadline Time
	keeps    float64 // the part of its share that a costly link keeps
	sized    bool
	total    int64 // bytes to fetch in all
	left     int64 // bytes not received
	window   int64 // Config.Window
	reserve  int64 // bytes that a stream's consumer has before it
	least    int64 // bytes that are worth a request
}

// emtcp gathers what the mode goes by.
func (v View) emtcp() (e emtcp) {
	if v.core.cfg.Energy != EnergyEMTCP {
		return e
	}
	e = emtcp{links: v.core.links, now: v.core.now, deadline: v.core.cfg.Deadline, keeps: 1 - v.core.cfg.Offload, sized: v.core.freeMap.sized, left: v.core.flight.left(), window: v.core.cfg.Window, least: v.core.cfg.minRequest()}
	if v.core.cfg.Offload == 0 {
		e.keeps = 1 - offloadShare
	}
	if e.total = v.core.flight.total(); e.window > 0 {
		e.reserve = v.core.Prefix() - v.core.assignment.drained
	}
	return e
}

// congested says whether l is owed bytes and has had none for a while.
func (l *link) congested(now Time) bool {
	return l.load.requests > 0 && l.health.idle(now) > longest(congestedFloor, congestedRTTs, l.rtt.min)
}

// costly says whether the mode takes from a link: one of the costly kind, as long
// as another kind serves that costs less for a Mbit as things are, where it is
// known what they cost. (Huang's LTE takes less than his WiFi from 15 Mbit/s on.)
func (e *emtcp) costly(l *link) bool {
	if !l.terms.Costly {
		return false
	}
	own := l.terms.Radio.perMbit(l.est.capacity())
	for i := range e.links {
		o := &e.links[i]
		if !o.linkUse.eligible || o.terms.Costly {
			continue
		}
		if l.est.capacity() <= 0 || o.est.capacity() <= 0 || l.terms.Radio == (Radio{}) ||
			o.terms.Radio.perMbit(o.est.capacity()) < own {
			return true
		}
	}
	return false
}

// share is the part that a costly link keeps of all that is received, by the
// rates of those that serve; known is false where some rate is not.
func (e *emtcp) share(costly *link) (share float64, known bool) {
	sum := 0.0
	for i := range e.links {
		l := &e.links[i]
		if !l.linkUse.eligible {
			continue
		}
		rate := l.est.capacity()
		if rate <= 0 {
			return 0, false
		}
		sum += rate
	}
	if sum <= 0 {
		return 0, false
	}
	return float64(e.keeps * (costly.est.capacity() / sum)), true
}

// limit is how much of a request that a policy has sized the mode leaves to a link.
func (e emtcp) limit(id LinkID, size int64) int64 {
	if e.links == nil || !e.costly(&e.links[id]) {
		return size
	}
	l := &e.links[id]
	stuck := e.cheapCongested()
	if stuck && l.congested(e.now) {
		return 0 // both are: more requests would not help either
	}
	if stuck {
		return size
	}
	return min(size, e.allowance(l))
}

// noteIdle is the state detector (chen, III: SISD): it notes that a link is idle,
// which could be asked for more and has nothing to be asked for.
func (e emtcp) noteIdle(id LinkID) {
	if e.links == nil || e.links[id].terms.Costly || e.links[id].congested(e.now) {
		return
	}
	for i := range e.links {
		if l := &e.links[i]; l.terms.Costly {
			l.linkUse.cheapIdle = true
		}
	}
}

// cheapCongested says whether all cheap links are that could be given work.
func (e *emtcp) cheapCongested() bool {
	for i := range e.links {
		if l := &e.links[i]; l.linkUse.eligible && !l.terms.Costly && l.health.fit(e.now) && !l.congested(e.now) {
			return false
		}
	}
	return true
}

// allowance is how many bytes a costly link may still be given of its share.
func (e *emtcp) allowance(l *link) int64 {
	share, known := e.share(l)
	if !known || !e.sized {
		return unsized
	}
	if e.window > 0 {
		// What the consumer has in reserve says whether the links keep up.
		if !l.linkUse.cheapIdle || e.cheapCongested() || e.reserve < e.window/reserveParts {
			return unsized
		}
		total := int64(0)
		for i := range e.links {
			total += e.links[i].load.assigned
		}
		return max(0, int64(share*float64(total))-l.load.assigned)
	}
	bytes := max(0, int64(share*float64(e.total))-l.load.assigned)
	if e.deadline > 0 {
		cheap := 0.0
		for i := range e.links {
			if o := &e.links[i]; o.linkUse.eligible && !o.terms.Costly {
				cheap += o.est.capacity()
			}
		}
		rest := float64(e.left-l.load.owed()) - float64(bytes)
		if rest > float64(cheap*(float64(targetPart*e.deadline.Seconds())-e.now.Seconds())) {
			return unsized
		}
	}
	return bytes
}

// overShare says whether a link has carried what the mode leaves to it.
func (e emtcp) overShare(id LinkID) bool {
	return e.links != nil && e.costly(&e.links[id]) && e.allowance(&e.links[id]) < e.least
}

// choose chooses all links that serve but the costly ones that have carried
// their share of a file. A stream's are bounded request by request.
func (e *emtcp) choose() {
	for i := range e.links {
		use := &e.links[i].linkUse
		use.chosen = use.eligible && (e.window > 0 || !e.overShare(LinkID(i)))
	}
}
