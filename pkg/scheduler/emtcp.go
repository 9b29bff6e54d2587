package scheduler

// The energy-aware offloading of Chen, Yuan and Muntean ("An energy-aware
// multipath-TCP-based content delivery scheme in heterogeneous wireless
// networks", eMTCP), as a rule for ranges. Theirs watches the states of the two
// interfaces; when the costly one is about to receive while the cheap one is
// idle, it moves 24 % of the queued data to the cheap one, the share at which
// they saw the best efficiency.
//
// Both of its forms are one mode here, since each covers what the other cannot:
//
//   - By state: while a cheap link is idle and not congested, a request of a
//     costly one is 24 % smaller, and the cheap one takes the rest. With both
//     congested, the costly one waits.
//   - The fixed shift: a download that takes all that the links can carry never
//     leaves the cheap one idle. So a costly link carries 24 % less than its
//     share by its rate, as long as the others can carry that: of a file, until
//     the deadline, if there is one; of a stream, as long as its consumer has
//     something in reserve. Of a file it carries its part first and sleeps then,
//     since an active radio costs whether bytes cross it or not; of a stream it
//     is taken back all along.
const (
	// emtcpKeeps is what is left of a costly link's share (chen, V.C).
	emtcpKeeps = 1 - 0.24
	// idleFloor and congestedFloor are the least times for the states
	// (ALGORITHMS: RX within max(2 RTT, 100 ms), congested after max(3 RTT, 1 s)).
	idleFloor      = 100 * Millisecond
	idleRTTs       = 2
	congestedFloor = Second
	congestedRTTs  = 3
	// reserveParts: a stream's consumer has enough in reserve with one of so many
	// parts of the window.
	reserveParts = 4
	// targetPart of the deadline is aimed at.
	targetPart = 0.97
)

// receiving says whether bytes have come over l of late.
func (c *Core) receiving(l *link) bool {
	return l.requests > 0 && l.est.nMarks > 0 && c.now-l.lastByte <= longest(idleFloor, idleRTTs, l.rtt)
}

// congested says whether l is owed bytes and has had none for a while.
func (c *Core) congested(l *link) bool {
	return l.requests > 0 && c.now-l.lastByte > longest(congestedFloor, congestedRTTs, l.rtt)
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
		if !o.duty.pooled || o.terms.Costly {
			continue
		}
		if l.est.capacity() <= 0 || o.est.capacity() <= 0 || l.terms.Radio == (Radio{}) ||
			o.terms.Radio.perMbit(o.est.capacity()) < own {
			return true
		}
	}
	return false
}

// shifted is what is left of a request that a policy has sized.
func (c *Core) shifted(id LinkID, size int64) int64 {
	if !c.costly(id) {
		return size
	}
	idle, congested := false, true
	for i := range c.links {
		if l := &c.links[i]; l.duty.pooled && !l.terms.Costly && c.fit(l) {
			stuck := c.congested(l)
			congested = congested && stuck
			idle = idle || !stuck && !c.receiving(l)
		}
	}
	switch {
	case congested && c.congested(&c.links[id]):
		return 0 // both are: more requests would not help either
	case congested:
		return size
	case idle:
		size = int64(emtcpKeeps * float64(size))
	}
	if part, bounded := c.allowance(id); bounded {
		size = min(size, part)
	}
	return size
}

// allowance is how many bytes a costly link may still be asked for; bounded is false
// where nothing bounds it.
func (c *Core) allowance(id LinkID) (bytes int64, bounded bool) {
	share, cheap := 0.0, 0.0
	for i := range c.links {
		l := &c.links[i]
		if !l.duty.pooled {
			continue
		}
		rate := l.est.capacity()
		if rate <= 0 {
			return 0, false // shares are not known yet
		}
		share += rate
		if !l.terms.Costly {
			cheap += rate
		}
	}
	if share <= 0 || !c.sized() {
		return 0, false
	}
	l := &c.links[id]
	share = float64(emtcpKeeps * (l.est.capacity() / share))
	if c.cfg.Window > 0 {
		// What the consumer has in reserve says whether the links keep up.
		if c.head()-c.drained < c.cfg.Window/reserveParts {
			return 0, false
		}
		total := int64(0)
		for i := range c.links {
			total += c.links[i].assigned
		}
		// So that link/total stays at its share with the request counted in both.
		over := float64(share*float64(total)) - float64(l.assigned)
		return max(0, int64(over/(1-share))), true
	}
	total := float64(c.total())
	bytes = max(0, int64(share*total)-l.assigned)
	if c.cfg.Deadline > 0 {
		rest := float64(c.left()-l.owed()) - float64(bytes)
		if rest > float64(cheap*(float64(targetPart*c.cfg.Deadline.Seconds())-c.now.Seconds())) {
			return 0, false
		}
	}
	return bytes, true
}

// overShare says whether a link has carried what the mode leaves to it.
func (c *Core) overShare(id LinkID) bool {
	if !c.costly(id) {
		return false
	}
	part, bounded := c.allowance(id)
	return bounded && part < c.cfg.minRequest()
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
			c.links[i].duty.chosen = false
		}
	}
}

// head is up to where the object is there from its first byte on.
func (c *Core) head() int64 {
	head := c.ledger.size
	if len(c.ledger.free) > 0 {
		head = c.ledger.free[0].Off
	}
	for i := range c.chunks {
		if ch := &c.chunks[i]; !ch.copy && ch.left() > 0 {
			head = min(head, ch.rng.Off+ch.got)
		}
	}
	return head
}
