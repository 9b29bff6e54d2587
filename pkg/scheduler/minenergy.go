package scheduler

import "math"

// EnergyMin uses the links that need the least energy for the bytes that are left. A link that
// carries r draws α r + β, so that a Mbit over a set of links costs Σ(α r + β)/Σr, and each that
// is asleep costs its promotion and its tail once (ALGORITHMS, min-energy). A link that is awake
// has paid for its promotion; what is left of its tail is spent in any case.
//
// Such a sum is never less than with the best link of the set alone. So of links whose models say
// that they draw power mostly one works, and several only if they are equally good, or a deadline
// needs them.
//
// While the size is unknown, the link works that is the cheapest for a little. Another is woken
// only if the rate of the present one was measured or told (bandwidth=). The rate of a sleeping
// link is what was told, or measured before, or what is usual; a choice that rests on what is
// usual must promise more.
//
// With a deadline, the cheapest links come first, each with what it can carry until then. A link
// that is needed is woken at once: what it has to carry takes the same energy sooner or later, and
// later is too late if a rate falls. It rests again when the others suffice. Only rates that were
// told or measured count, and no more than gracePart of the deadline's time is spent on measuring.
//
// The shares and times below were chosen by hand; see docs/energy.md.
const (
	// sameEnergy is how much more energy a set may take that is faster by worthFaster,
	// and worthChange how much less another set must take for a change.
	sameEnergy  = 0.01
	worthFaster = 1.2
	worthChange = 0.02
	// gamble is what part of waking a link must be gained on top if its rate is unknown, and
	// doubt if it was told, but the present link has been measured for a while: rates vary.
	gamble = 0.5
	doubt  = 0.15
	// spareToStay and spareToRest are how much more than needed links must be
	// able to carry until the deadline to be trusted with it alone: to go on so,
	// and to let another one rest. spareUntried is that for links of which it is
	// only told what they carry.
	spareToStay  = 0.04
	spareToRest  = 0.15
	spareUntried = 0.5
	// spareToGamble is that for a choice as if there were no deadline.
	spareToGamble = 1
	// Within lastPart of the deadline's time before it, at least leastLap seconds,
	// no link goes to rest: there is little to save, and no time to come back.
	lastPart = 0.3
	leastLap = 3
	// nearDeadline is a deadline that leaves no time to find anything out: all links
	// work from the beginning.
	nearDeadline = 6 * Second
	// gracePart is what part of the deadline's time may pass with a link asleep
	// that may be needed: less than the slack that a deadline can be met with.
	gracePart = 0.01
	// lastResort is what using a backup counts as in mJ: more than any link takes.
	lastResort = 1e9
	// hopedRate, in bytes per second, is what a link may carry of which nothing is
	// known yet: 1 Gbit/s. If its rate has been looked at for a while and does not
	// rise any more, it may still come to hopedGrowth of that.
	hopedRate   = 125e6
	hopedGrowth = 2
	// usualRate, in bytes per second, stands for an unknown rate: 20 Mbit/s.
	usualRate = 2.5e6
	// maxCandidates bounds the links among which is chosen.
	maxCandidates = 16
)

// inTime is the set with the least energy that meets the deadline; all links where none does.
func (m *energyPlan) inTime() linkSet {
	chosen := m.chosen
	stay := m.energyInTime(chosen, spareToStay)
	best, least := m.everyone(), forever
	m.sets(func(s linkSet) {
		spare := spareToRest
		switch {
		case s == chosen:
			spare = spareToStay
		case chosen != 0 && !s.all(m.tried):
			spare = spareUntried
		}
		if e := m.energyInTime(s, spare); e < least*(1-1e-6) {
			best, least = s, e
		}
	})
	switch {
	case m.time < m.lastLap:
		return chosen | best
	case least >= forever && stay < forever:
		return chosen
	case stay < forever && best&^chosen != 0 && least > (1-worthChange)*stay:
		return chosen // a change is not worth it
	}
	return best
}

// choose is the set of links that should work, when chosen do, and why the others should not.
// known is false where that hangs on what the chosen ones turn out to carry.
func (m *energyPlan) choose() (set linkSet, why Reason, known bool) {
	those := m.chosen
	if those == 0 {
		those = m.everyone()
	}
	sure := m.sized && those.all(m.sure)
	if m.deadline > 0 {
		if m.sized && m.time > m.lastLap && m.deadlineIsFar() {
			if set = m.worthwhile(); !set.all(m.tried) || m.energyInTime(set, spareToRest) < forever {
				return set, ReasonInTime, true
			}
		}
		if set, urgent := m.forDeadline(sure); urgent {
			return set, ReasonInTime, true
		}
	}
	switch {
	case sure:
		return m.worthwhile(), ReasonDear, true
	case m.sized && m.chosen == 0:
		return m.cheapest(min(m.left, m.first)), ReasonUnmeasured, true
	case m.sized:
		return m.chosen, ReasonUnmeasured, false
	case m.chosen == 0:
		return m.cheapest(float64(leastRequest)), ReasonUnsized, true
	}
	return m.chosen, ReasonUnsized, true
}

// forDeadline is the set of links that a deadline asks for; urgent is false while it
// asks for nothing yet.
func (m *energyPlan) forDeadline(sure bool) (set linkSet, urgent bool) {
	patient := m.now < Time(gracePart*float64(m.deadline))
	switch {
	case m.deadline <= nearDeadline, !m.sized && !patient:
		return m.everyone(), true
	case m.sized && (sure || !patient):
		return m.inTime(), true
	}
	return 0, false
}

// worthwhile is the set with the least energy for what is left, if it is so much
// better than the chosen one that a change is worth it.
func (m *energyPlan) worthwhile() linkSet {
	chosen := m.chosen
	best := m.cheapest(m.left)
	if chosen == 0 || best == chosen {
		return best
	}
	needs, free := worthChange*m.energy(chosen, m.left), true
	for k := range m.n {
		if !best.has(k) || chosen.has(k) {
			continue
		}
		free = free && m.all[k].wake == 0
		switch {
		case !m.sure.has(k):
			needs += float64(gamble * m.all[k].wake)
		case chosen&m.begun != 0:
			needs += float64(doubt * m.all[k].wake)
		}
	}
	if m.energy(chosen, m.left)-m.energy(best, m.left) > needs || free && chosen&^best == 0 {
		return best
	}
	return chosen
}

// chooseLinks chooses the links that work, wakes them, and sends the others to rest.
func (c *Core) chooseLinks(out []Action) []Action {
	m, r := (View{c}).energyPlan(false), &c.selection
	r.changed = false
	r.next = c.now + selectEvery
	late := c.cfg.Deadline > nearDeadline // there is time for a choice
	r.due = 0
	if grace := Time(gracePart * float64(c.cfg.Deadline)); late && c.now < grace {
		r.next, r.due = min(r.next, grace), grace
	} else if c.cfg.Deadline > 0 && !late {
		r.next = Never
	}
	after, why := linkSet(0), NoReason
	if m.n > 0 {
		known := false
		if after, why, known = m.choose(); !known {
			// No measurement is waited for that cannot change anything.
			m = (View{c}).energyPlan(true)
			if after = m.worthwhile(); after != m.chosen {
				why = ReasonDear
			}
		}
	}
	mean := m.energy(m.chosen, m.left) / (m.left * mbitPerByte) // mJ per Mbit
	for i := range c.links {
		c.links[i].linkUse.chosen = false
	}
	for k := range m.n {
		id, a := m.all[k].id, Action{Why: why}
		d := &c.links[id].linkUse
		d.chosen = after.has(k)
		d.urgent = d.chosen && late
		switch {
		case !d.chosen && m.all[k].backup:
			a.Why = ReasonBackup
		case !d.chosen:
		case m.chosen == 0:
			a.Why = ReasonNeeded
		case c.cfg.Deadline > 0:
			a.Why = ReasonDeadline
		default:
			a.Why = ReasonPays
		}
		if a.Why == ReasonPays || a.Why == ReasonDear {
			a.Costs, a.Saves = tradeoff(&m.all[k], m.left, mean)
		}
		if d.chosen {
			out = d.wake(id, a, out)
		} else {
			out = c.flight.rest(id, a, true, out)
		}
	}
	return out
}

// tradeoff sets what a link's waking costs against what it saves for so many
// bytes, in mJ, where a Mbit costs mean so far.
func tradeoff(k *candidate, left, mean float64) (costs, saves int64) {
	if math.IsNaN(mean) || mean >= forever {
		return 0, 0
	}
	return milli(k.wake), milli(float64(left*mbitPerByte) * (mean - k.perMbit))
}

// milli rounds to whole numbers, which all machines agree on.
func milli(x float64) int64 { return int64(math.Round(min(maxTerm, max(-maxTerm, x)))) }
