package scheduler

const (
	// adaptivePart of what a link can still bring is its next request, so that
	// what was taken to be too much can still go to others.
	adaptivePart = 1.0 / 3
	// adaptiveSeconds bounds how long a request lasts.
	adaptiveSeconds = 4
	// aloneSeconds is how long the rest may take a link's only connection that is asked for
	// all of it, where there is no other link. Of one that takes longer something must be
	// left to find out with whether more connections bring more.
	aloneSeconds = 1
	// raggedPart of a link's connections, and raggedTrips at its rate: see ragged.
	raggedPart  = 0.5
	raggedTrips = 0.4
)

// adaptive is guided self-scheduling (Polychronopoulos and Kuck 1987) towards the
// moment at which all links can be done together, round trips included. Early
// requests are a part of what the link can bring until then; the last one is all
// of it, to the byte. A link that could bring nothing before the others are done
// is left idle, which is quicker than to wait for it (ECF, Lim et al., CoNEXT
// 2017; BLEST, Ferlin et al., Networking 2016).
type adaptive struct{}

func (*adaptive) Name() string { return "adaptive" }

func (*adaptive) Request(v View, link LinkID) int64 {
	if v.SumRate() <= 0 {
		return v.First()
	}
	end := v.together()
	share := v.brings(link, end)
	least := float64(v.core.least(&v.core.links[link]))
	if share < max(least, v.ragged(link)) {
		for l := range v.Links() {
			if l != link && v.Usable(l) && v.brings(l, end) > share && !v.late(l) {
				return 0
			}
		}
		return int64(least) // too little to be shared out
	}
	if share < 2*max(least, v.BDP(link)) {
		return int64(share)
	}
	if v.alone(link) && share <= aloneSeconds*v.RateOrMean(link) {
		return int64(share)
	}
	rate := v.Rate(link)
	if rate == 0 {
		return int64(min(adaptivePart*share, float64(v.First())))
	}
	if v.core.links[link].streams.single { // another connection would have to learn again what the link carries
		return int64(share)
	}
	return int64(min(adaptivePart*share, adaptiveSeconds*rate))
}

// evenHanded makes adaptive a policy that asks no connection of a link for more than the
// others, however fast it was of late. What comes behind a lost packet comes at once, and
// looks like a rate. A connection that was asked for too much is cut short at the end, and
// all that is on its way to it was sent in vain; one that is fast asks again sooner.
func (*adaptive) evenHanded() {}

func (*adaptive) Victim(v View, thief LinkID) LinkID { return v.slowest(thief) }

// alone says whether there is but one link, with one connection, or all others rest to save
// energy. One that is away may come back, and would cut the request short, and cost its
// connection.
func (v View) alone(id LinkID) bool {
	if v.core.batch != nil || v.core.links[id].streams.most > 1 {
		return false
	}
	for l := range v.Links() {
		if l != id && !v.core.links[l].duty.resting {
			return false
		}
	}
	return true
}

// brings is how many more bytes a link could have by end, in seconds from now, if
// it were asked for them now; below 0, end is before its first one.
func (v View) brings(l LinkID, end float64) float64 {
	return v.RateOrMean(l) * (end - v.delay(l))
}

// late says whether a link owes bytes and has been silent for longer than bursts
// explain: nobody should wait for it.
func (v View) late(id LinkID) bool {
	l := &v.core.links[id]
	return l.requests > 0 && v.core.now-l.lastByte > max(rateWindow, 2*l.trip())
}

// delay is in how many seconds the first byte of a request would come: after a
// round trip, and after all that the link was asked for before.
func (v View) delay(id LinkID) float64 {
	l := &v.core.links[id]
	trip := max(l.trip(), l.lag.least())
	if l.requests == 0 {
		return float64(v.core.trips(l)) * trip.Seconds()
	}
	return max(trip.Seconds(), float64(l.owed())/v.RateOrMean(id))
}

// together is in how many seconds the usable links can have all that nobody was
// asked for yet, so that all who help end at once: Σ r_i (T - d_i) over those
// whose delay d_i is below T.
func (v View) together() float64 {
	end := forever
	for {
		bytes, rates, latest := float64(v.Free()), 0.0, 0.0
		for l := range v.Links() {
			if v.core.batch != nil && v.late(l) {
				continue // a batch has other work for those who are not
			}
			if d := v.delay(l); v.Usable(l) && d < end {
				rate := v.RateOrMean(l)
				bytes += float64(rate * d)
				rates += rate
				latest = max(latest, d)
			}
		}
		if rates <= 0 {
			return end
		}
		if end = bytes / rates; latest < end {
			return end
		}
	}
}

// ragged is how many bytes a link of several connections that have lost packets does not
// bring in time at the end, when one of them after the other has no more to do, and those
// that are late do not fill the link: a least request for a part of them, but no more than
// what comes in a part of a round trip, and of that what the other links can bring instead.
// Connections that last are none the worse for what is taken from them at the end.
func (v View) ragged(id LinkID) float64 {
	s := &v.core.links[id].streams
	if v.core.batch != nil || s.lasting || s.most == 1 || s.loss.grew.at == 0 {
		return 0
	}
	rate, sum := v.RateOrMean(id), v.SumRate()
	least := raggedPart * float64(s.most) * float64(v.core.cfg.minRequest())
	return min(least, raggedTrips*v.RTT(id).Seconds()*rate*(sum-rate)/sum)
}
