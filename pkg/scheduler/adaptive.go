package scheduler

// adaptive is guided self-scheduling that knows when a link is not worth asking.
type adaptive struct{}

func (*adaptive) Name() string { return "adaptive" }

func (*adaptive) Request(v View, link LinkID) int64 {
	sum := v.SumRate()
	if sum <= 0 {
		return v.First()
	}
	if !v.pays(link) {
		return 0
	}
	share := float64(v.RateOrMean(link)/sum*float64(v.Left())) - float64(v.InFlight(link))
	least := float64(v.core.cfg.minRequest())
	switch {
	case share >= least:
	case v.InFlight(link) > 0 && v.Free() >= int64(2*least):
		return 0 // the others will do it
	default:
		return int64(2 * least)
	}
	if last := 2 * max(least, v.BDP(link)); share < last {
		return int64(share)
	}
	if v.Rate(link) == 0 {
		return int64(min(share/3, float64(v.First())))
	}
	return int64(min(share/3, 4*v.Rate(link)))
}

func (*adaptive) Victim(v View, thief LinkID) LinkID { return v.slowest(thief) }

// pays says whether link would bring the least request worth making before the
// others had brought all that is left: if not, it is quicker to leave it idle
// (ECF, Lim et al., CoNEXT 2017; BLEST, Ferlin et al., Networking 2016).
func (v View) pays(link LinkID) bool {
	rate := v.RateOrMean(link)
	others := v.SumRate() - rate
	if others <= 0 {
		return true
	}
	l := &v.core.links[link]
	least := float64(v.core.cfg.minRequest())
	mine := max(l.trip().Seconds(), float64(l.pending)/rate) + least/rate
	return mine <= float64(v.Left()-l.pending)/others
}
