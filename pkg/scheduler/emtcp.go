package scheduler

// The energy-aware offloading of Chen, Yuan and Muntean ("An energy-aware
// multipath-TCP-based content delivery scheme in heterogeneous wireless
// networks", eMTCP), as a rule for ranges. Their detector watches the states of
// the two interfaces. When the costly one is about to receive while the cheap
// one is idle, 24 % of the queued data moves to the cheap one, the share at which
// they saw the best efficiency.
//
// In the paper data is pushed, so that a link may be idle while the other one has
// a queue. Here links pull: whoever is idle has been asked already when the next
// one's turn comes, or has taken over what the others have queued, and so is never
// seen idle; and a costly link that is asked for 24 % less asks again 24 % sooner.
// So the states are seen where they arise, and what moves are the costly link's
// turns:
//
//   - A cheap link is idle when it could be asked for more and there is nothing
//     that it could be asked for. That is seen before it takes something over, and
//     holds until the costly link is given work. Till then the costly link of a
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

// keeps is what is left of a costly link's share.
func (c *Config) keeps() float64 {
	if c.Offload == 0 {
		return 1 - offloadShare
	}
	return 1 - c.Offload
}

// congested says whether l is owed bytes and has had none for a while.
func (l *link) congested(now Time) bool {
	return l.load.requests > 0 && l.health.idle(now) > longest(congestedFloor, congestedRTTs, l.rtt.min)
}

// costly says whether the mode takes from a link: one of the costly kind, as long
// as another kind serves that costs less for a Mbit as things are, where it is
// known what they cost. (Huang's LTE takes less than his WiFi from 15 Mbit/s on.)
func (c *Core) costly(id LinkID) bool {
	l := &c.links[id]
	if c.cfg.Energy != EnergyEMTCP || !l.terms.Costly {
		return false
	}
	own := l.terms.Radio.perMbit(l.est.capacity())
	for i := range c.links {
		o := &c.links[i]
		if !o.linkUse.pooled || o.terms.Costly {
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
func (c *Core) share(id LinkID) (share float64, known bool) {
	sum := 0.0
	for i := range c.links {
		l := &c.links[i]
		if !l.linkUse.pooled {
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
	return float64(c.cfg.keeps() * (c.links[id].est.capacity() / sum)), true
}

// shifted is what is left of a request that a policy has sized.
func (c *Core) shifted(id LinkID, size int64) int64 {
	if !c.costly(id) {
		return size
	}
	stuck := c.cheapCongested()
	if stuck && c.links[id].congested(c.now) {
		return 0 // both are: more requests would not help either
	}
	if stuck {
		return size
	}
	return min(size, c.allowance(id))
}

// detect is the state detector (chen, III: SISD): it notes that a link is idle,
// which could be asked for more and has nothing to be asked for.
func (c *Core) detect(id LinkID) {
	if c.cfg.Energy != EnergyEMTCP || c.links[id].terms.Costly || c.links[id].congested(c.now) {
		return
	}
	for i := range c.links {
		if l := &c.links[i]; l.terms.Costly {
			l.linkUse.spared = true
		}
	}
}

// cheapCongested says whether all cheap links are that could be given work.
func (c *Core) cheapCongested() bool {
	for i := range c.links {
		if l := &c.links[i]; l.linkUse.pooled && !l.terms.Costly && l.health.fit(c.now) && !l.congested(c.now) {
			return false
		}
	}
	return true
}

// allowance is how many bytes a costly link may still be given of its share.
func (c *Core) allowance(id LinkID) int64 {
	share, known := c.share(id)
	if !known || !c.sized() {
		return unsized
	}
	l := &c.links[id]
	if c.cfg.Window > 0 {
		// What the consumer has in reserve says whether the links keep up.
		if !l.linkUse.spared || c.cheapCongested() || c.Prefix()-c.drained < c.cfg.Window/reserveParts {
			return unsized
		}
		total := int64(0)
		for i := range c.links {
			total += c.links[i].load.assigned
		}
		return max(0, int64(share*float64(total))-l.load.assigned)
	}
	bytes := max(0, int64(share*float64(c.total()))-l.load.assigned)
	if c.cfg.Deadline > 0 {
		cheap := 0.0
		for i := range c.links {
			if o := &c.links[i]; o.linkUse.pooled && !o.terms.Costly {
				cheap += o.est.capacity()
			}
		}
		rest := float64(c.left()-l.load.owed()) - float64(bytes)
		if rest > float64(cheap*(float64(targetPart*c.cfg.Deadline.Seconds())-c.now.Seconds())) {
			return unsized
		}
	}
	return bytes
}

// overShare says whether a link has carried what the mode leaves to it.
func (c *Core) overShare(id LinkID) bool {
	return c.costly(id) && c.allowance(id) < c.cfg.minRequest()
}

// shareOut chooses all links that serve but the costly ones that have carried
// their share of a file. A stream's are bounded request by request.
func (c *Core) shareOut() {
	c.chooseAll()
	if c.cfg.Window > 0 {
		return
	}
	for i := range c.links {
		if c.overShare(LinkID(i)) {
			c.links[i].linkUse.chosen = false
		}
	}
}
