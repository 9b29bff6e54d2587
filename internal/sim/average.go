package sim

import "github.com/mlget/mlget/pkg/scheduler"

// averaging is the thesis's Algorithm 1, 2 or 3 with the throughput that its
// client went by: each link's average since its first byte ("current average
// throughput", skjolden, 4.3.3), which holds a slow beginning against a link
// for a long time. The scheduler's own policies of those names go by what a
// link does now. It never steals.
type averaging struct {
	run       *run
	algorithm string
	limit     float64 // bytes, Algorithm 1
	padding   float64 // Algorithm 3's staticFactor
}

// Name is the algorithm's.
func (a *averaging) Name() string { return a.algorithm }

// Victim is nobody.
func (*averaging) Victim(scheduler.View, scheduler.LinkID) scheduler.LinkID { return scheduler.NoLink }

// Request is the size by the formulas of 4.3.3 to 4.3.5, from averages.
func (a *averaging) Request(v scheduler.View, link scheduler.LinkID) int64 {
	r, sum, bandwidth := a.rate(v, link), 0.0, 0.0
	for l := range v.Links() {
		sum += a.rate(v, l)
		bandwidth += v.Bandwidth(l)
	}
	if r == 0 || sum == 0 || bandwidth == 0 || v.Size() < 0 {
		return v.First() // equal shares until the first bytes are measured
	}
	if a.algorithm == "1" {
		return int64(a.limit * (r / sum))
	}
	upper := float64(v.Size()) / float64(v.Links()) * (sum / bandwidth)
	size := float64(upper * (r / sum))
	bdp := float64(v.BDP(link))
	switch {
	case a.algorithm == "2":
		return int64(size)
	case size < bdp:
		return int64(bdp)
	}
	return int64(bdp + float64(a.padding*float64(size-bdp)))
}

// rate is the link's average since its first byte, in bytes per second.
func (a *averaging) rate(v scheduler.View, link scheduler.LinkID) float64 {
	first := a.run.links[link].firstHeard
	if first == 0 || a.run.now <= first {
		return 0
	}
	return float64(v.Assigned(link)-v.InFlight(link)) / (a.run.now - first).Seconds()
}
