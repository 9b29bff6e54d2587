package scheduler

import (
	"math"
	"math/bits"
)

// EnergyMin uses the links that need the least energy for the bytes that are
// left: a link that carries r draws α r + β, so that a Mbit over a set of links
// costs Σ(α r + β)/Σr, and each that is asleep costs its promotion and its tail
// once (ALGORITHMS, min-energy). A link that has been woken has paid; what is
// left of its tail is spent anyway.
//
// Such a sum is never less than with the best link of the set alone. So of
// links whose models say that they draw power, there is mostly one that works,
// and several where they are as good as each other, or a deadline needs them.
//
// What is known decides. While the size is unknown, the link works that is the
// cheapest for a little; to wake another, what the present one carries must have
// been measured or told (bandwidth=). What a sleeping link carries is what was
// told, or was measured before, or what is usual; a gamble on what is usual must
// promise more.
//
// With a deadline, the cheapest links come first, each up to what it can carry
// until then; a link that is needed is woken at once, as what it has to carry
// takes the same energy sooner or later, and later is too late if a rate falls.
// It rests again when the others can do without it. Of what it carries nothing
// is believed that was not told or measured, and for lack of knowledge nobody
// waits for longer than graceful of the deadline's time.
const (
	// alike is how much more energy a set may take that is faster by worthHaste,
	// and worthChange how much less another set must take for a change.
	alike       = 0.01
	worthHaste  = 1.2
	worthChange = 0.02
	// gamble is what part of waking a link must be gained on top where it is not
	// known what it carries, and doubt where that was told, but the present one
	// has been measured for a while: rates wander.
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
	lastPart = 0.2
	leastLap = 2
	// tooNear is a deadline that leaves no time to find anything out: all links
	// work from the beginning.
	tooNear = 6 * Second
	// graceful is what part of the deadline's time may pass with a link asleep
	// that may be needed: less than the slack that a deadline can be met with.
	graceful = 0.01
	// lastResort is what using a backup counts as in mJ: more than any link takes.
	lastResort = 1e9
	// usualRate, in bytes per second, stands for what nobody knows: 20 Mbit/s.
	usualRate = 2.5e6
	// maxCandidates bounds the links among which is chosen.
	maxCandidates = 16
)

// candidate is a link that may be chosen.
type candidate struct {
	id      LinkID
	rate    float64 // bytes per second
	sure    bool    // that was told or measured
	least   float64 // bytes per second that it carries for certain
	tried   bool    // that was measured
	begun   bool    // it has been measured for a while
	perMbit float64 // mJ
	wake    float64 // mJ to wake it
	rise    float64 // seconds that slow start takes more than its bytes would
	promote float64 // seconds that waking takes, during which bytes may cross already
	active  float64 // mW
	delay   float64 // seconds until it carries as much as it can
	room    float64 // bytes
	backup  bool
}

// linkSet is a set of candidates: bit k is the k-th.
type linkSet uint32

// market is the candidates, cheapest first, and what is to be carried.
type market struct {
	n    int
	all  [maxCandidates]candidate
	left float64 // bytes
	time float64 // seconds until the deadline; 0: there is none
	// lastLap is how many seconds before it no link goes to rest any more.
	lastLap float64
}

// carries is what a link carries, in bytes per second, and whether that was told
// or measured.
func (l *link) carries() (rate float64, sure bool) {
	switch {
	case l.pace.settled(l.est.known > 0):
		return l.pace.mean, true
	case l.est.known > 0:
		return max(l.est.known, l.est.rate), true
	case l.terms.Usual > 0:
		return max(l.terms.Usual, l.est.rate), false
	}
	return max(usualRate, l.est.rate), false
}

// market gathers the links that serve.
func (c *Core) market(m *market) (chosen linkSet) {
	m.left = float64(c.left())
	if c.cfg.Deadline > 0 {
		m.lastLap = max(leastLap, float64(lastPart*c.cfg.Deadline.Seconds()))
		m.time = max(1e-3, targetPart*c.cfg.Deadline.Seconds()-c.now.Seconds())
	}
	for i := range c.links {
		l := &c.links[i]
		if !l.duty.pooled || m.n == maxCandidates {
			continue
		}
		k := candidate{id: LinkID(i), room: float64(c.room(LinkID(i))) + float64(l.pending)}
		k.rate, k.sure = l.carries()
		switch k.least = k.rate; {
		case !k.sure:
			k.least = l.est.rate
		case l.pace.settled(true):
			k.least = min(k.least, l.pace.late)
		}
		k.tried, k.begun = l.pace.settled(true), l.pace.windows > 0
		k.perMbit = l.terms.Radio.perMbit(k.rate)
		trip := c.expects(l)
		switch {
		case l.requests > 0: // it is awake
		case l.duty.asked:
			k.wake = l.terms.Radio.wakes(c.now - l.lastByte)
			k.delay = trip.Seconds()
		default:
			k.wake = l.terms.Radio.wakes(Never)
			k.delay = float64(connectRTTs * trip.Seconds())
		}
		if l.pace.windows == 0 {
			k.rise = slowStart(trip, min(m.left, k.rate*trip.Seconds())).Seconds()
			k.delay += k.rise
		}
		if k.active = l.terms.Radio.ActiveMW; k.wake >= l.terms.Radio.PromotionMJ {
			k.promote = l.terms.Radio.PromotionTime.Seconds()
		}
		if k.backup = l.terms.Backup; k.backup {
			k.wake += lastResort
		}
		at := m.n
		for ; at > 0 && m.all[at-1].perMbit > k.perMbit; at-- {
			m.all[at] = m.all[at-1]
		}
		m.all[at] = k
		m.n++
	}
	for k := range m.n {
		if c.links[m.all[k].id].duty.chosen {
			chosen |= 1 << k
		}
	}
	return chosen
}

// expects is the link's round trip. To one that has not been measured, the server
// is as far as over the others, and what stands for an unknown one is added.
func (c *Core) expects(l *link) Time {
	if l.rtt > 0 {
		return l.rtt
	}
	least := Never
	for i := range c.links {
		if rtt := c.links[i].rtt; rtt > 0 {
			least = min(least, rtt)
		}
	}
	if least == Never {
		return unknownTrip
	}
	return least + unknownTrip/2
}

// slowStart is how much longer a connection takes until so many bytes come in a
// round trip than if they did from the beginning: its rounds bring half as much
// each as the next one, all of them what one does at last (RFC 5681, 3.1). With a
// long round trip, a link begins with several: see streams.widen.
func slowStart(trip Time, bytes float64) Time {
	window := float64(initialWindow)
	if trip >= longTrip {
		window *= float64(trip / tripPerStream)
	}
	return Time(max(0, bits.Len64(uint64(bytes/window))-1)) * trip
}

func (s linkSet) has(k int) bool { return s&(1<<k) != 0 }

// energy is what a set takes for the bytes that are left, in mJ, all of it
// working until the end; forever where its caps do not allow them.
func (m *market) energy(s linkSet, left float64) float64 {
	rates, sum, open := m.rate(s), 0.0, false
	for k := range m.n {
		open = open || s.has(k) && m.all[k].room >= left
	}
	if rates <= 0 || !open {
		return forever
	}
	over := 0.0 // bytes beyond caps
	dearest := 0.0
	for k := range m.n {
		if !s.has(k) {
			continue
		}
		a := &m.all[k]
		bytes := left * (a.rate / rates)
		if bytes > a.room {
			over += bytes - a.room
			bytes = a.room
		}
		dearest = max(dearest, a.perMbit)
		sum += a.takes(bytes)
	}
	return sum + float64(float64(over*mbitPerByte)*dearest)
}

// takes is what a link takes for so many bytes, in mJ.
func (a *candidate) takes(bytes float64) float64 {
	awake := a.rise
	if a.rate > 0 {
		awake += bytes / a.rate
	}
	return float64(float64(bytes*mbitPerByte)*a.perMbit) + a.wake +
		float64(a.active*(a.rise-min(a.promote, awake)))
}

// filled is what a set takes when its cheapest link carries all that it can until
// the deadline, the next one all that it can, and so on; forever where they
// cannot, with so much to spare.
func (m *market) filled(s linkSet, spare float64) float64 {
	sum, rest := 0.0, m.left
	for k := range m.n {
		if !s.has(k) || rest <= 0 {
			continue
		}
		a := &m.all[k]
		bytes := min(rest, a.room, float64(a.least*max(0, m.time-a.delay))/(1+spare))
		if bytes > 0 {
			sum += a.takes(bytes)
		}
		rest -= bytes
	}
	if rest > 0 {
		return forever
	}
	return sum
}

// sets calls yield for each set that is worth a look: every link alone, and the
// cheapest two, three and so on.
func (m *market) sets(yield func(linkSet)) {
	for k := range m.n {
		yield(1 << k)
		if k > 0 {
			yield(1<<(k+1) - 1)
		}
	}
}

// cheapest is the set with the least energy for so many bytes; of those that are
// as good, the fastest.
func (m *market) cheapest(left float64) linkSet {
	best, least := linkSet(1)<<m.n-1, math.Inf(1)
	m.sets(func(s linkSet) {
		if e := m.energy(s, left); e < least {
			best, least = s, e
		}
	})
	haste := best
	m.sets(func(s linkSet) {
		if m.energy(s, left) <= (1+alike)*least && m.rate(s) > max(m.rate(haste), worthHaste*m.rate(best)) {
			haste = s
		}
	})
	return haste
}

// rate is what a set carries, in bytes per second.
func (m *market) rate(s linkSet) (sum float64) {
	for k := range m.n {
		if s.has(k) {
			sum += m.all[k].rate
		}
	}
	return sum
}

// inTime is the set with the least energy that meets the deadline, when chosen is
// the one at work; all links where none does.
func (m *market) inTime(chosen linkSet) linkSet {
	stay := m.filled(chosen, spareToStay)
	best, least := linkSet(1)<<m.n-1, forever
	m.sets(func(s linkSet) {
		spare := spareToRest
		switch {
		case s == chosen:
			spare = spareToStay
		case chosen != 0 && !m.tried(s):
			spare = spareUntried
		}
		if e := m.filled(s, spare); e < least*(1-1e-6) {
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

// far says whether the deadline is so far away that some link, going by what it
// was measured to carry, needs less than half of the time.
func (m *market) far() bool {
	for k := range m.n {
		if m.all[k].tried && m.filled(1<<k, spareToGamble) < forever {
			return true
		}
	}
	return false
}

// tried says whether all of a set's links have been measured.
func (m *market) tried(s linkSet) bool {
	for k := range m.n {
		if s.has(k) && !m.all[k].tried {
			return false
		}
	}
	return true
}

// measured says whether any of a set's links has been measured for a while.
func (m *market) measured(s linkSet) bool {
	for k := range m.n {
		if s.has(k) && m.all[k].begun {
			return true
		}
	}
	return false
}

// pick is the set of links that should work, when chosen do, and why the others
// should not.
func (c *Core) pick(m *market, chosen linkSet) (linkSet, Reason) {
	sure := chosen != 0
	for k := range m.n {
		sure = sure && (m.all[k].sure || !chosen.has(k))
	}
	known := c.sized() && (sure || chosen == 0 && m.allSure())
	if c.cfg.Deadline > 0 {
		if c.sized() && m.time > m.lastLap && m.far() {
			if set := m.change(chosen); !m.tried(set) || m.filled(set, spareToRest) < forever {
				return set, ReasonInTime
			}
		}
		if set, pressed := c.press(m, chosen, known); pressed {
			return set, ReasonInTime
		}
	}
	switch {
	case known:
		return m.change(chosen), ReasonDear
	case c.sized():
		if chosen == 0 {
			chosen = m.cheapest(min(m.left, float64(c.cfg.First)))
		}
		return chosen, ReasonUnmeasured
	}
	if chosen == 0 {
		chosen = m.cheapest(float64(leastRequest))
	}
	return chosen, ReasonUnsized
}

// press is the set of links that a deadline asks for; pressed is false while it
// asks for nothing yet.
func (c *Core) press(m *market, chosen linkSet, known bool) (set linkSet, pressed bool) {
	patient := c.now < Time(graceful*float64(c.cfg.Deadline))
	switch {
	case c.cfg.Deadline <= tooNear, !c.sized() && !patient:
		return 1<<m.n - 1, true
	case c.sized() && (known || !patient):
		return m.inTime(chosen), true
	}
	return 0, false
}

// change is the set with the least energy for what is left, if it is so much
// better than the chosen one that a change is worth it.
func (m *market) change(chosen linkSet) linkSet {
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
		case !m.all[k].sure:
			needs += float64(gamble * m.all[k].wake)
		case m.measured(chosen):
			needs += float64(doubt * m.all[k].wake)
		}
	}
	if m.energy(chosen, m.left)-m.energy(best, m.left) > needs || free && chosen&^best == 0 {
		return best
	}
	return chosen
}

func (m *market) allSure() bool {
	for k := range m.n {
		if !m.all[k].sure {
			return false
		}
	}
	return true
}

// choose chooses the links that work, wakes them, and sends the others to rest.
func (c *Core) choose(out []Action) []Action {
	var m market
	before := c.market(&m)
	r := &c.rations
	r.moved = false
	r.next = c.now + rationEvery
	late := c.cfg.Deadline > tooNear // there is time for a choice
	r.due = 0
	if grace := Time(graceful * float64(c.cfg.Deadline)); late && c.now < grace {
		r.next, r.due = min(r.next, grace), grace
	} else if c.cfg.Deadline > 0 && !late {
		r.next = Never
	}
	after, why := linkSet(0), NoReason
	if m.n > 0 {
		after, why = c.pick(&m, before)
	}
	mean := m.energy(before, m.left) / (m.left * mbitPerByte) // mJ per Mbit
	for i := range c.links {
		c.links[i].duty.chosen = false
	}
	for k := range m.n {
		id, a := m.all[k].id, Action{Why: why}
		d := &c.links[id].duty
		d.chosen = after.has(k)
		d.urgent = d.chosen && late
		switch {
		case !d.chosen && m.all[k].backup:
			a.Why = ReasonBackup
		case !d.chosen:
		case before == 0:
			a.Why = ReasonNeeded
		case c.cfg.Deadline > 0:
			a.Why = ReasonDeadline
		default:
			a.Why = ReasonPays
		}
		if a.Why == ReasonPays || a.Why == ReasonDear {
			a.Costs, a.Saves = bargain(&m.all[k], m.left, mean)
		}
		if d.chosen {
			out = c.wake(id, a, out)
		} else {
			out = c.rest(id, a, true, out)
		}
	}
	return out
}

// bargain sets what a link's waking costs against what it saves for so many
// bytes, in mJ, where a Mbit costs mean so far.
func bargain(k *candidate, left, mean float64) (costs, saves int64) {
	if math.IsNaN(mean) || mean >= forever {
		return 0, 0
	}
	return milli(k.wake), milli(float64(left*mbitPerByte) * (mean - k.perMbit))
}

// milli rounds to whole numbers, which all machines agree on.
func milli(x float64) int64 { return int64(math.Round(min(maxTerm, max(-maxTerm, x)))) }
