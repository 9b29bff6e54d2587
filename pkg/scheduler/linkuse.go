package scheduler

import "math"

// A link can be up and well, and yet should not be used: it is a backup, the
// bytes that it may carry are spent, or it costs more energy than it saves. Such
// a link rests. To everything else it is as if it were not there (see usable): no
// policy gives it work, it takes nothing over and copies nothing. But a download
// goes on as long as any link can carry it: when no other serves, the one that
// rests is woken.
const (
	// patience is how long a link that failed, or fell silent, may take to
	// receive something again before it counts as not serving: waking a radio
	// costs seconds of its power.
	patience = Second
	// rationEvery is how often decisions are looked at again.
	rationEvery = 200 * Millisecond
)

// linkUse is whether a link is to work.
type linkUse struct {
	resting bool
	why     Reason // of the last Rest, while resting
	urgent  bool   // it is needed for a deadline
	asked   bool   // it was given work, ever
	pooled  bool   // it serves: those who choose may choose it
	chosen  bool
	spared  bool  // EnergyEMTCP: a cheap link has been idle since this one was last given work
	trouble Time  // since when it has failed or been silent; Never: it is not
	spent   int64 // payload bytes received, waste included
}

// selection is what the choice of links knows beside that.
type selection struct {
	terms bool // a link's terms bound its use, whatever the energy
	next  Time // when to look again
	due   Time // when at the latest, whoever works; 0: never
	moved bool // other links serve than when last chosen
}

func (r *selection) take(t *Terms) { r.terms = r.terms || t.Cap > 0 || t.Backup }

func (r *selection) needed(cfg *Config) bool { return r.terms || cfg.Energy != EnergyOff }

// selectLinks decides which links rest.
func (c *Core) selectLinks(kind InputKind, out []Action) []Action {
	r := &c.selection
	backups := c.pool()
	switch c.cfg.Energy {
	case EnergyEMTCP:
		e := c.emtcp()
		e.shareOut()
	case EnergyMin:
		if r.moved || c.now >= r.next || kind == Sized {
			out = c.choose(out)
		}
		return c.carryOut(backups, out)
	case EnergyOff:
		for i := range c.links {
			c.links[i].linkUse.chosen = c.links[i].linkUse.pooled
		}
	}
	r.moved = false
	r.next = c.now + rationEvery
	return c.carryOut(backups, out)
}

// serves says whether a link could do its part: it is up, may carry more, and has
// not been in trouble for long. One that rests is not tried meanwhile, and so would stay
// in trouble for ever: it may be tried again when its ban is over.
func (l *link) serves(now Time, room int64) bool {
	spent := l.linkUse.resting && l.linkUse.why == ReasonCapped // but for a rest that fits
	troubled := l.linkUse.trouble != Never && now-l.linkUse.trouble >= patience
	return l.health.up && !spent && !l.capped(room) && (!troubled || l.linkUse.resting && now >= l.health.notBefore)
}

// pool finds the links among which may be chosen: those that serve, backups only
// where no other does, or there is a deadline.
func (c *Core) pool() (backups bool) {
	primary := false
	for i := range c.links {
		l := &c.links[i]
		if l.health.up && l.load.requests > 0 && l.silent(c.now) {
			l.linkUse.trouble = min(l.linkUse.trouble, c.now)
		}
		primary = primary || !l.terms.Backup && l.serves(c.now, c.room(LinkID(i)))
	}
	for i := range c.links {
		l := &c.links[i]
		pooled := l.serves(c.now, c.room(LinkID(i))) && (!l.terms.Backup || !primary || c.cfg.pressing())
		c.selection.moved = c.selection.moved || pooled != l.linkUse.pooled
		l.linkUse.pooled = pooled
		backups = backups || pooled && l.terms.Backup
	}
	return backups
}

// carryOut sends links to rest, and wakes others, as was chosen. backups says
// that none but backups serve.
func (c *Core) carryOut(backups bool, out []Action) []Action {
	serves := false
	for i := range c.links {
		serves = serves || c.links[i].linkUse.pooled
	}
	for i := range c.links {
		id, l := LinkID(i), &c.links[i]
		switch d := &l.linkUse; {
		case !l.health.up:
		case l.capped(c.room(id)), serves && d.resting && d.why == ReasonCapped:
			out = c.rest(id, Action{Why: ReasonCapped}, true, out)
		case d.chosen && d.pooled, !serves:
			out = d.wake(id, Action{Why: ReasonNeeded}, out)
		case d.pooled && c.cfg.Energy == EnergyEMTCP:
			out = c.rest(id, Action{Why: ReasonShare}, false, out)
		case d.pooled && c.cfg.Energy == EnergyMin && !d.resting: // more links than candidates
			out = c.rest(id, Action{Why: ReasonDear}, true, out)
		case l.terms.Backup && !backups:
			out = c.rest(id, Action{Why: ReasonBackup}, true, out)
		}
		// Whoever does not serve, and does not rest, is tried again as ever.
	}
	return out
}

// rest sends a link to rest for the reason that a gives. Its requests are
// withdrawn, or left to finish.
func (c *Core) rest(id LinkID, a Action, withdraw bool, out []Action) []Action {
	d := &c.links[id].linkUse
	if d.resting && d.why == a.Why {
		return out
	}
	if withdraw {
		out = c.release(id, out)
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

// room is how many bytes may still be asked for over a link; 0 also where that is
// less than is worth a request.
func (c *Core) room(id LinkID) int64 {
	l := &c.links[id]
	if l.terms.Cap == 0 {
		return math.MaxInt64
	}
	room := l.terms.Cap - l.linkUse.spent - c.flight.owed(id)
	if room <= 0 || room < c.cfg.minRequest() && room < c.left() {
		return 0
	}
	return room
}

// capped says whether a link, which may be asked for room bytes more, has carried all that it may:
// what it has been asked for it may finish.
func (l *link) capped(room int64) bool {
	return l.terms.Cap > 0 && (l.linkUse.spent >= l.terms.Cap || l.load.requests == 0 && room == 0)
}
