package scheduler

// single asks one link for everything: the one with the greatest known
// bandwidth, else the first. Another takes over only when that one is lost
// (skjolden, 4.3.1).
type single struct{ link LinkID }

func (*single) Name() string { return "single" }

func (p *single) Request(v View, link LinkID) int64 {
	switch {
	case p.link == NoLink:
		p.link = link
		for l := range v.Links() {
			if v.Usable(l) && v.Bandwidth(l) > v.Bandwidth(p.link) {
				p.link = l
			}
		}
	case !v.Usable(p.link): // each gets its turn
		for range v.Links() {
			if p.link = (p.link + 1) % v.Links(); v.Usable(p.link) {
				break
			}
		}
	}
	if link != p.link {
		return 0
	}
	return v.Free()
}

func (*single) Victim(View, LinkID) LinkID { return NoLink }

// naive gives each link the same share, and never adjusts it (skjolden, 4.3.2).
// What a lost link leaves behind, or one that only fails, is shared out when the others are
// done.
type naive struct {
	share int64 // bytes each; 0 until the size is known
}

func (*naive) Name() string { return "naive" }

func (p *naive) Request(v View, link LinkID) int64 {
	if n := int64(v.UsableLinks()); p.share == 0 && v.Size() >= 0 && n > 0 {
		p.share = (v.Total() + n - 1) / n
	}
	owed, failing := p.share-v.Assigned(link), v.failing(link)
	for l := range v.Links() {
		if !v.Usable(l) || v.failing(l) {
			continue
		}
		switch done := v.Assigned(l) >= p.share; {
		case !done && owed <= 0:
			return 0
		case done && failing && v.InFlight(l) == 0: // it has nothing else to do
			return 0
		}
	}
	if owed > 0 {
		return owed
	}
	return v.Free()
}

func (*naive) Victim(View, LinkID) LinkID { return NoLink }

// algorithm1 divides a static limit among the links by their throughput:
// size_x = L * r_x/Σr (skjolden, 4.3.3).
type algorithm1 struct {
	limit int64 // bytes
}

func (*algorithm1) Name() string { return "1" }

func (p *algorithm1) Request(v View, link LinkID) int64 {
	if v.SumRate() <= 0 { // equal shares until the first bytes are measured
		return p.limit / int64(max(1, v.UsableLinks()))
	}
	size := int64(staticShare(float64(p.limit), v.RateOrMean(link), v.SumRate()))
	return min(size, v.guided(link, size)) // which may be all that is left, beyond the limit
}

func (*algorithm1) Victim(v View, thief LinkID) LinkID { return v.Slowest(thief) }

// staticShare is Algorithm 1's request size in bytes.
func staticShare(limit, rate, sumRate float64) float64 { return limit * (rate / sumRate) }

// algorithm2 replaces the static limit by one that follows how much of their
// bandwidth the links reach: U = (S/n) * Σr/ΣB, size_x = U * r_x/Σr
// (skjolden, 4.3.4).
type algorithm2 struct{}

func (*algorithm2) Name() string { return "2" }

func (p *algorithm2) Request(v View, link LinkID) int64 {
	if v.SumRate() <= 0 { // equal shares until the first bytes are measured
		return v.First()
	}
	return v.guided(link, int64(dynamicSize(v, link)))
}

func (*algorithm2) Victim(v View, thief LinkID) LinkID { return v.Slowest(thief) }

// unknownSeconds is how long a request lasts at most, at the link's rate, while not all links'
// bandwidths are known and a request that turns out too large can be shared out. docs/simulator.md
// has the figures for 1, 2 and 4 s, and for no limit.
const unknownSeconds = 4

// dynamicSize is Algorithm 2's request size in bytes. ΣB is "the best guess" at first
// (skjolden, 4.3.4), and no good one before the links' rates have stopped growing: taken for
// their bandwidths, what they carry at first gives each link a part of S/n by rates that do
// not last. Until then a request is bounded by its time. Without stealing, or on a link that has
// shown nothing, that is as long as it takes to see whether a rate grows.
func dynamicSize(v View, link LinkID) float64 {
	switch {
	case v.bandwidthsKnown():
		u := dynamicLimit(float64(v.Size()), max(1, v.UsableLinks()), v.SumRate(), v.SumBandwidth())
		return staticShare(u, v.RateOrMean(link), v.SumRate())
	case v.Stealing() && v.Rate(link) > 0:
		return unknownSeconds * v.Rate(link)
	}
	return max(float64(v.First()), v.RateOrMean(link)*paceWindow.Seconds())
}

// dynamicLimit is Algorithm 2's U in bytes: size S in bytes, n links, the sums
// of their rates and bandwidths in bytes per second.
func dynamicLimit(size float64, n int, sumRate, sumBandwidth float64) float64 {
	return size / float64(n) * (sumRate / sumBandwidth)
}

// algorithm3 is Algorithm 2 with the link's BDP as a lower limit, and padding
// above it so that a link at full capacity does not get S/n at once
// (skjolden, 4.3.5).
type algorithm3 struct {
	padding float64 // the thesis's staticFactor, 0 to 1; AutoPadding: by stability
}

const (
	// leastFactor is the staticFactor of the example in skjolden, 4.3.5: that of a link
	// with no history, or an unsteady one.
	leastFactor = 0.3
	// variationWeight is k in f = clamp(1 - k*C_v, 0.3, 1): a link that varies by 17.5 %
	// has the example's factor. Over 1,500 random downloads (docs/simulator.md) 2, 4 and 8
	// are equal with stealing; without it 4 has the least p95.
	variationWeight = 4
)

func (*algorithm3) Name() string { return "3" }

func (p *algorithm3) Request(v View, link LinkID) int64 {
	if v.SumRate() <= 0 {
		return v.First()
	}
	size := dynamicSize(v, link)
	if !v.bandwidthsKnown() { // which is no limit that had to be damped
		return v.guided(link, int64(max(size, v.BDP(link))))
	}
	return v.guided(link, int64(paddedSize(size, v.BDP(link), p.factor(v, link))))
}

// factor is the staticFactor for a link. It is nearer 1 for a link whose throughput has been
// stable, which "has a higher probability of maintaining stability" (skjolden, 4.3.5); the
// formula is ours.
func (p *algorithm3) factor(v View, link LinkID) float64 {
	if p.padding >= 0 {
		return p.padding
	}
	cv, known := v.Variation(link)
	if !known {
		return leastFactor
	}
	return stableFactor(cv)
}

// stableFactor is f = clamp(1 - k*C_v, 0.3, 1) of a coefficient of variation.
func stableFactor(cv float64) float64 {
	return min(1, max(leastFactor, 1-float64(variationWeight*cv)))
}

func (*algorithm3) Victim(v View, thief LinkID) LinkID { return v.Slowest(thief) }

// paddedSize is Algorithm 3's request size in bytes: size as Algorithm 2 gives
// it, the link's BDP, and the factor by which what exceeds the BDP is damped.
func paddedSize(size, bdp, padding float64) float64 {
	if size < bdp {
		return bdp
	}
	return bdp + float64(padding*(size-bdp)) // the conversion forbids a fused multiply-add: all machines agree
}
