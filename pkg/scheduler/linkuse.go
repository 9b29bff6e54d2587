package scheduler

import "math"

// A link that is up and works may still be left unused: it is a backup, its cap is spent, or it
// costs more energy than it saves. Such a link rests, and counts as not usable (see usable): no
// policy gives it work, and it takes over and copies nothing. But a download goes on as long as
// any link can carry it: a resting link is woken when no other serves.
const (
	// failingMost is how long a link that failed, or fell silent, may take to receive something
	// again before it counts as not serving, since to wake a radio costs seconds of its power.
	// Chosen by hand.
	failingMost = Second
	// selectEvery is the time between two looks at the choice. Chosen by hand.
	selectEvery = 200 * Millisecond
)

// linkUse is whether a link is to work.
type linkUse struct {
	resting      bool
	why          Reason // of the last Rest, while resting
	urgent       bool   // it is needed for a deadline
	asked        bool   // it was given work, ever
	eligible     bool   // it serves, and the choice of links may choose it
	chosen       bool
	cheapIdle    bool  // EnergyEMTCP: a cheap link has been idle since this one was last given work
	failingSince Time  // since when it has failed or been silent; Never: it is not
	spent        int64 // payload bytes received, waste included
}

// selection is the state of the choice of links.
type selection struct {
	terms   bool // a link's terms bound its use, whatever the energy
	next    Time // when to look again
	due     Time // when at the latest, whichever links work; 0: never
	changed bool // other links serve than when last chosen
}

func (r *selection) take(t *Terms) { r.terms = r.terms || t.Cap > 0 || t.Backup }

func (r *selection) needed(cfg *Config) bool { return r.terms || cfg.Energy != EnergyOff }

// selectLinks decides which links rest.
func (c *Core) selectLinks(kind InputKind, out []Action) []Action {
	r := &c.selection
	backups := c.pool()
	switch c.cfg.Energy {
	case EnergyEMTCP:
		e := (View{c}).emtcp()
		e.choose()
	case EnergyMin:
		if r.changed || c.now >= r.next || kind == Sized {
			out = c.chooseLinks(out)
		}
		return c.applyChoice(backups, out)
	case EnergyOff:
		for i := range c.links {
			c.links[i].linkUse.chosen = c.links[i].linkUse.eligible
		}
	}
	r.changed = false
	r.next = c.now + selectEvery
	return c.applyChoice(backups, out)
}

// serves says whether a link can carry bytes, room of them at most: it is up, and has not been
// failing for long. A resting link is not tried meanwhile, and so would be failing for ever: it
// may serve again when its ban is over.
func (l *link) serves(now Time, room int64) bool {
	spent := l.linkUse.resting && l.linkUse.why == ReasonCapped // but for a rest that fits
	failing := l.linkUse.failingSince != Never && now-l.linkUse.failingSince >= failingMost
	return l.health.up && !spent && !l.capped(room) && (!failing || l.linkUse.resting && now >= l.health.notBefore)
}

// pool finds the eligible links: those that serve, backups only where no other does, or for a
// deadline. backups says that one of them is a backup.
func (c *Core) pool() (backups bool) {
	primary := false
	for i := range c.links {
		l := &c.links[i]
		if l.health.up && l.load.requests > 0 && l.silent(c.now) {
			l.linkUse.failingSince = min(l.linkUse.failingSince, c.now)
		}
		primary = primary || !l.terms.Backup && l.serves(c.now, c.flight.room(LinkID(i)))
	}
	for i := range c.links {
		l := &c.links[i]
		eligible := l.serves(c.now, c.flight.room(LinkID(i))) && (!l.terms.Backup || !primary || c.cfg.urgent())
		c.selection.changed = c.selection.changed || eligible != l.linkUse.eligible
		l.linkUse.eligible = eligible
		backups = backups || eligible && l.terms.Backup
	}
	return backups
}

// applyChoice sends links to rest, and wakes others, as was chosen. backups says
// that none but backups serve.
func (c *Core) applyChoice(backups bool, out []Action) []Action {
	serves := false
	for i := range c.links {
		serves = serves || c.links[i].linkUse.eligible
	}
	for i := range c.links {
		id, l := LinkID(i), &c.links[i]
		switch d := &l.linkUse; {
		case !l.health.up:
		case l.capped(c.flight.room(id)), serves && d.resting && d.why == ReasonCapped:
			out = c.flight.rest(id, Action{Why: ReasonCapped}, true, out)
		case d.chosen && d.eligible, !serves:
			out = d.wake(id, Action{Why: ReasonNeeded}, out)
		case d.eligible && c.cfg.Energy == EnergyEMTCP:
			out = c.flight.rest(id, Action{Why: ReasonShare}, false, out)
		case d.eligible && c.cfg.Energy == EnergyMin && !d.resting: // more links than candidates
			out = c.flight.rest(id, Action{Why: ReasonDear}, true, out)
		case l.terms.Backup && !backups:
			out = c.flight.rest(id, Action{Why: ReasonBackup}, true, out)
		}
		// A link that neither serves nor rests is tried again as usual.
	}
	return out
}

// rest sends a link to rest for the reason that a gives. Its requests are
// withdrawn, or left to finish.
func (f *flight) rest(id LinkID, a Action, withdraw bool, out []Action) []Action {
	d := &f.links[id].linkUse
	if d.resting && d.why == a.Why {
		return out
	}
	if withdraw {
		out = f.release(id, out)
	}
	d.resting, d.why, d.urgent = true, a.Why, false
	a.Kind, a.Link = Rest, id
	return append(out, a)
}

// wake lets the link, whose id is given, work again for the reason that a gives.
func (u *linkUse) wake(id LinkID, a Action, out []Action) []Action {
	if !u.resting {
		return out
	}
	u.resting, u.why = false, NoReason
	a.Kind, a.Link = Wake, id
	return append(out, a)
}

// room is how many bytes may still be asked for over a link; 0 where that is less than is worth a
// request.
func (f *flight) room(id LinkID) int64 {
	l := &f.links[id]
	if l.terms.Cap == 0 {
		return math.MaxInt64
	}
	room := l.terms.Cap - l.linkUse.spent - f.owed(id)
	if room <= 0 || room < f.cfg.minRequest() && room < f.left() {
		return 0
	}
	return room
}

// capped says whether a link, which may be asked for room bytes more, has carried all that it may:
// what it has been asked for it may finish.
func (l *link) capped(room int64) bool {
	return l.terms.Cap > 0 && (l.linkUse.spent >= l.terms.Cap || l.load.requests == 0 && room == 0)
}
