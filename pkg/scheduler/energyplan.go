package scheduler

import (
	"math"
	"math/bits"
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

// energyPlan is the candidates, cheapest first, and what is to be carried.
type energyPlan struct {
	n      int
	all    [maxCandidates]candidate
	chosen linkSet // those that were chosen last
	sure   linkSet // those whose rate was told or measured
	tried  linkSet // those whose rate was measured
	begun  linkSet // those that have been measured for a while
	left   float64 // bytes
	first  float64 // bytes of a first request
	sized  bool    // left is known
	now    Time
	// deadline is when the run should be over; 0: there is none.
	deadline Time
	// time is how many seconds are left until shortly before the deadline, and lastLap how many
	// seconds before that no link goes to rest any more.
	time, lastLap float64
}

// newEnergyPlan is a plan without candidates.
func newEnergyPlan(now, deadline Time, left, first float64, sized bool) energyPlan {
	m := energyPlan{left: left, first: first, sized: sized, now: now, deadline: deadline}
	if deadline > 0 {
		m.lastLap = max(leastLap, float64(lastPart*deadline.Seconds()))
		m.time = max(1e-3, float64(targetPart*deadline.Seconds())-now.Seconds())
	}
	return m
}

// expectedRate is what a link carries, in bytes per second, and whether that was told
// or measured.
func (l *link) expectedRate() (rate float64, sure bool) {
	switch {
	case l.pace.settled(l.est.known > 0):
		return l.pace.mean, true
	case l.est.known > 0:
		return max(l.est.known, l.est.rate), true
	}
	usual := l.terms.Usual
	if usual <= 0 {
		usual = usualRate
	}
	// What is usual for a link at rest is not more than was hoped for when it worked,
	// or two of them would take turns.
	return min(max(usual, l.est.rate), l.bestRate()), false
}

// bestRate is what a link may turn out to carry at most, in bytes per second: as long
// as its rate rises from one look to the next, there is no telling.
func (l *link) bestRate() float64 {
	if l.pace.windows == 0 || l.est.capacity() > float64(growth*l.pace.last) {
		return max(hopedRate, l.est.rate)
	}
	return float64(hopedGrowth * l.pace.last)
}

// energyPlan gathers the links that serve. hopeful takes of those that are chosen the best that
// may come, where it is not known yet what they carry.
func (v View) energyPlan(hopeful bool) energyPlan {
	m := newEnergyPlan(v.core.now, v.core.cfg.Deadline, float64(v.core.flight.left()), float64(v.core.cfg.First), v.core.freeMap.sized)
	nearest := Never
	for i := range v.core.links {
		if rtt := v.core.links[i].rtt.min; rtt > 0 {
			nearest = min(nearest, rtt)
		}
	}
	for i := range v.core.links {
		if l := &v.core.links[i]; l.linkUse.eligible && m.n < maxCandidates {
			m.add(l.candidate(v.core.now, l.expectedTrip(nearest), m.left, hopeful), LinkID(i), float64(v.core.flight.room(LinkID(i)))+float64(l.load.owed()))
		}
	}
	for k := range m.n {
		m.chosen.put(k, v.core.links[m.all[k].id].linkUse.chosen)
		m.sure.put(k, m.all[k].sure)
		m.tried.put(k, m.all[k].tried)
		m.begun.put(k, m.all[k].begun)
	}
	return m
}

// add puts a link in its place among the candidates: it may carry room bytes.
func (m *energyPlan) add(k candidate, id LinkID, room float64) {
	k.id, k.room = id, room
	at := m.n
	for ; at > 0 && m.all[at-1].perMbit > k.perMbit; at-- {
		m.all[at] = m.all[at-1]
	}
	m.all[at] = k
	m.n++
}

// candidate is what a link would carry, and take for that, where its round trip is trip and left
// bytes are to come.
func (l *link) candidate(now, trip Time, left float64, hopeful bool) (k candidate) {
	k.rate, k.sure = l.expectedRate()
	if hopeful && !k.sure && l.linkUse.chosen {
		k.rate = l.bestRate()
	}
	switch k.least = k.rate; {
	case !k.sure:
		k.least = l.est.rate
	case l.pace.settled(true):
		k.least = min(k.least, l.pace.late)
	}
	k.tried, k.begun = l.pace.settled(true), l.pace.windows > 0
	radio := l.radio()
	k.perMbit = radio.perMbit(k.rate)
	switch {
	case l.load.requests > 0: // it is awake
	case l.linkUse.asked:
		k.wake = radio.wakeEnergy(now - l.health.lastByte)
		k.delay = trip.Seconds()
	default:
		k.wake = radio.wakeEnergy(Never)
		k.delay = float64(connectRTTs * trip.Seconds())
	}
	if l.pace.windows == 0 {
		k.rise = slowStart(trip, min(left, k.rate*trip.Seconds())).Seconds()
		k.delay += k.rise
	}
	if k.active = radio.ActiveMW; k.wake >= radio.PromotionMJ {
		k.promote = radio.PromotionTime.Seconds()
	}
	if k.backup = l.terms.Backup; k.backup {
		k.wake += lastResort
	}
	return k
}

// expectedTrip is the link's round trip. To one that has not been measured, the server is as far
// as over the nearest of the others, and what stands for an unknown one is added.
func (l *link) expectedTrip(nearest Time) Time {
	switch {
	case l.rtt.min > 0:
		return l.rtt.min
	case nearest == Never:
		return unknownTrip
	}
	return nearest + unknownTrip/2
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

// all says whether every link of s is in o.
func (s linkSet) all(o linkSet) bool { return s&^o == 0 }

func (s *linkSet) put(k int, in bool) {
	if in {
		*s |= 1 << k
	}
}

// everyone is the set of all candidates.
func (m *energyPlan) everyone() linkSet { return 1<<m.n - 1 }

// energy is what a set takes for the bytes that are left, in mJ, all of it
// working until the end; forever where its caps do not allow them.
func (m *energyPlan) energy(s linkSet, left float64) float64 {
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
		bytes := float64(left * (a.rate / rates))
		if bytes > a.room {
			over += bytes - a.room
			bytes = a.room
		}
		dearest = max(dearest, a.perMbit)
		sum += a.energy(bytes)
	}
	return sum + float64(float64(over*mbitPerByte)*dearest)
}

// energy is what a link takes for so many bytes, in mJ.
func (a *candidate) energy(bytes float64) float64 {
	awake := a.rise
	if a.rate > 0 {
		awake += bytes / a.rate
	}
	return float64(float64(bytes*mbitPerByte)*a.perMbit) + a.wake +
		float64(a.active*(a.rise-min(a.promote, awake)))
}

// energyInTime is what a set takes when its cheapest link carries all that it can until
// the deadline, the next one all that it can, and so on; forever where they
// cannot, with so much to spare.
func (m *energyPlan) energyInTime(s linkSet, spare float64) float64 {
	sum, rest := 0.0, m.left
	for k := range m.n {
		if !s.has(k) || rest <= 0 {
			continue
		}
		a := &m.all[k]
		bytes := min(rest, a.room, float64(a.least*max(0, m.time-a.delay))/(1+spare))
		if bytes > 0 {
			sum += a.energy(bytes)
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
func (m *energyPlan) sets(yield func(linkSet)) {
	for k := range m.n {
		yield(1 << k)
		if k > 0 {
			yield(1<<(k+1) - 1)
		}
	}
}

// cheapest is the set with the least energy for so many bytes; of those that are
// as good, the fastest.
func (m *energyPlan) cheapest(left float64) linkSet {
	best, least := m.everyone(), math.Inf(1)
	m.sets(func(s linkSet) {
		if e := m.energy(s, left); e < least {
			best, least = s, e
		}
	})
	faster := best
	m.sets(func(s linkSet) {
		if m.energy(s, left) <= (1+sameEnergy)*least && m.rate(s) > max(m.rate(faster), worthFaster*m.rate(best)) {
			faster = s
		}
	})
	return faster
}

// rate is what a set carries, in bytes per second.
func (m *energyPlan) rate(s linkSet) (sum float64) {
	for k := range m.n {
		if s.has(k) {
			sum += m.all[k].rate
		}
	}
	return sum
}

// deadlineIsFar says whether the deadline is so far away that some link, going by what it
// was measured to carry, needs less than half of the time.
func (m *energyPlan) deadlineIsFar() bool {
	for k := range m.n {
		if m.tried.has(k) && m.energyInTime(1<<k, spareToGamble) < forever {
			return true
		}
	}
	return false
}
