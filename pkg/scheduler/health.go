package scheduler

// health is whether a link may be given work: it is up, does not wait after a failure, and is
// not banned for a silence, or for being slow.
type health struct {
	up        bool
	banned    bool
	probing   bool  // a banned link's small request is under way
	bans      int   // in a row
	notBefore Time  // end of a ban, or of the wait after a failure
	lastByte  Time  // when the last byte came, or the link began to wait for one
	inVain    uint8 // releases in a row for silence, with nothing received
	slowSince Time  // since when its rate is below a limit; Never: it is not
	slowBans  uint8 // how often the dynamic limit has released it, up to doublings
	reconnect reconnectProbe
}

// fit says whether the link could be given work.
func (h *health) fit(now Time) bool { return h.up && !h.banned && now >= h.notBefore }

// idle is for how long nothing has come over the link.
func (h *health) idle(now Time) Time { return now - h.lastByte }

// wait keeps the link out of use for so long at least, as after a failure.
func (h *health) wait(now, wait Time) { h.notBefore = max(h.notBefore, now+min(wait, Never-now)) }

// goesUp notes that the link has come up, to be used after wait, and goesDown that it has gone.
func (h *health) goesUp(now, wait Time) {
	h.up, h.inVain = true, 0
	h.notBefore = now + max(0, min(wait, Never-now))
}

func (h *health) goesDown() { h.up, h.inVain, h.slowBans, h.reconnect = false, 0, 0, reconnectProbe{} }

// ban takes the link out of use, for longer after each ban in a row.
func (h *health) ban(now Time) {
	h.wait(now, banFor(h.bans))
	h.bans++
	h.banned = true
	h.slowSince, h.reconnect = Never, reconnectProbe{}
}

func (h *health) unban(now Time) {
	h.banned, h.probing, h.bans, h.notBefore = false, false, 0, now
}

// below says whether the link's rate, which is below a limit now or not, has been so for longer
// than wait.
func (h *health) below(now Time, slow bool, wait Time) bool {
	if !slow {
		h.slowSince = Never
		return false
	}
	h.slowSince = min(h.slowSince, now)
	return now-h.slowSince > wait && !without("slow-link")
}

// forgive leaves a time out of account in which the process did not run.
func (h *health) forgive(now, gap Time) {
	h.lastByte = min(now, h.lastByte+gap)
	if h.slowSince != Never {
		h.slowSince = min(now, h.slowSince+gap)
	}
}

// banFor is how long a ban lasts after so many in a row.
func banFor(bans int) Time { return min(banMost, banFirst<<min(max(0, bans-bansInRow), 10)) }

// probeLimit is how long a banned link's probe may take: probeFor, and as long as the wait
// before it once bans get longer, since the link may be slow to answer. Every other probe may
// take patientProbe, for a link whose round trips have grown: it would be taken for dead until
// bans get longer; and the last but one before they do may take veryPatient.
func (h *health) probeLimit() Time {
	limit := max(probeFor, banFor(h.bans-1))
	switch {
	case without("patient-probes"):
	case h.bans == bansInRow:
		limit = veryPatient
	case h.bans%2 == 0:
		limit = max(limit, patientProbe)
	}
	return limit
}
