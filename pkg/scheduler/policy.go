package scheduler

import (
	"fmt"
	"math"
)

// Policy decides how many bytes a link asks for, and which link an idle link helps.
// It sees the run through a View, and no bookkeeping is its task: whatever it
// answers, no byte is lost, fetched twice or left out, and while a link works
// the Core sees to it that bytes are requested.
//
// A Policy may keep state of its own, but must be deterministic: it uses neither a
// clock nor random numbers. A Policy serves one Core.
type Policy interface {
	// Name is the name under which NewPolicy gives the policy.
	Name() string
	// Request is how many bytes link should ask for next. The Core calls it
	// when the link is ready for another request, and near the end to learn
	// whether there will be one, usable or not; it clips the answer to what is
	// left. 0 or less means nothing for now.
	Request(v View, link LinkID) int64
	// Victim is the link from whose requests thief, which has run out of
	// work, should take over a part; NoLink for none.
	Victim(v View, thief LinkID) LinkID
}

// AutoPadding as Algorithm 3's staticFactor makes it follow how steady each link is
// (skjolden, 4.3.5: "Ideally, this factor can be dynamic").
const AutoPadding = -1.0

// builtIn makes a policy with Algorithm 1's upper limit in bytes and Algorithm 3's staticFactor.
type builtIn struct {
	name string
	make func(staticLimit int64, padding float64) Policy
}

// builtIns are the policies of this package, in the order in which they are listed.
func builtIns() []builtIn {
	return []builtIn{
		{"single", func(int64, float64) Policy { return &single{link: NoLink} }},
		{"naive", func(int64, float64) Policy { return &naive{} }},
		{"1", func(limit int64, _ float64) Policy { return &algorithm1{limit: limit} }},
		{"2", func(int64, float64) Policy { return &algorithm2{} }},
		{"3", func(_ int64, padding float64) Policy { return &algorithm3{padding: padding} }},
	}
}

// Names are the names that NewPolicy takes.
func Names() (names []string) {
	for _, b := range builtIns() {
		names = append(names, b.name)
	}
	return names
}

// NewPolicy gives the policy of that name: single, naive, or the thesis's
// Algorithm 1, 2 or 3. staticLimit is Algorithm 1's upper limit in bytes,
// padding Algorithm 3's staticFactor, 0 to 1, or AutoPadding.
func NewPolicy(name string, staticLimit int64, padding float64) (Policy, error) {
	for _, b := range builtIns() {
		if b.name == name {
			return b.make(staticLimit, padding), nil
		}
	}
	return nil, fmt.Errorf("unknown algorithm %q", name)
}

// View is what a Policy may know of a run: rates in bytes per second, sizes in
// bytes. It is valid only during the call that it is given to.
type View struct{ core *Core }

// Links is how many links the run has; their ids are 0 to Links()-1.
func (v View) Links() LinkID { return LinkID(len(v.core.links)) }

// Usable says whether a link may be given work: it is up, not banned, not
// waiting after a failure, does not rest, and would not come too late.
func (v View) Usable(l LinkID) bool { return v.usable(&v.core.links[l]) }

// UsableLinks is how many links are usable.
func (v View) UsableLinks() (n int) {
	for l := range v.Links() {
		if v.Usable(l) {
			n++
		}
	}
	return n
}

// Rate is the link's present throughput, summed over its requests in flight;
// 0 until it has been measured.
func (v View) Rate(l LinkID) float64 { return v.core.links[l].est.rate }

// SumRate is the sum of the usable links' rates. A link that has not been
// measured yet counts as the mean of those that have.
func (v View) SumRate() float64 { return v.sum(View.Rate) }

// SumBandwidth is the sum of the usable links' bandwidths, unknown ones counted
// as the mean of the known.
func (v View) SumBandwidth() float64 { return v.sum(View.Bandwidth) }

// sum adds what of gives for the usable links; 0 counts as the others' mean.
func (v View) sum(of func(View, LinkID) float64) float64 {
	sum, n, unknown := 0.0, 0, 0
	for l := range v.Links() {
		if !v.Usable(l) {
			continue
		}
		if x := of(v, l); x > 0 {
			sum += x
			n++
		} else {
			unknown++
		}
	}
	if n == 0 {
		return 0
	}
	return sum + float64(float64(unknown)*(sum/float64(n)))
}

// RateOrMean is the link's rate, or, while it has none, the mean of the others'.
func (v View) RateOrMean(l LinkID) float64 {
	if r := v.Rate(l); r > 0 {
		return r
	}
	return v.SumRate() / float64(max(1, v.UsableLinks()))
}

// Bandwidth is the most that the link has shown it can carry of late, or what
// the user said that it can; 0 while nothing is known.
func (v View) Bandwidth(l LinkID) float64 { return v.core.links[l].est.capacity() }

// BandwidthKnown says whether Bandwidth is what the link can carry: the user said so, or its
// rate has stopped growing. A rate that still grows, as in slow start or while a phone's
// network adds carriers, is no more than a lower bound.
func (v View) BandwidthKnown(l LinkID) bool {
	k := &v.core.links[l]
	return k.est.known > 0 || k.pace.settled(false)
}

// bandwidthsKnown says whether all usable links' bandwidths are known.
func (v View) bandwidthsKnown() bool {
	for l := range v.Links() {
		if v.Usable(l) && !v.BandwidthKnown(l) {
			return false
		}
	}
	return true
}

// Variation is the coefficient of variation of the link's rates of late, their standard
// deviation over their mean; known is false until there have been enough of them.
func (v View) Variation(l LinkID) (cv float64, known bool) {
	e := &v.core.links[l].est
	return e.variation, e.history
}

// RTT is the least round-trip time seen on the link; 0 while unknown.
func (v View) RTT(l LinkID) Time { return v.core.links[l].rtt.min }

// BDP is the link's bandwidth-delay product in bytes.
func (v View) BDP(l LinkID) float64 { return float64(v.Bandwidth(l) * v.RTT(l).Seconds()) }

// InFlight is how many bytes the link was asked for and has not delivered.
func (v View) InFlight(l LinkID) int64 { return v.core.links[l].load.owed() }

// Assigned is how many bytes the link has delivered or was asked for, in all.
func (v View) Assigned(l LinkID) int64 { return v.core.links[l].load.assigned }

// Size is the object's size; -1 while unknown. Of a batch it is as in Core.Size.
func (v View) Size() int64 { return v.core.Size() }

// Total is how many bytes were missing when the run began; -1 while unknown.
func (v View) Total() int64 {
	if !v.core.freeMap.sized {
		return -1
	}
	return v.core.flight.total()
}

// failing says whether a link's latest request failed, and nothing has come since.
func (v View) failing(l LinkID) bool { return v.core.links[l].linkUse.failingSince != Never }

// First is the size in bytes of a link's first request, when nothing is known; more where
// there is no other to share with.
func (v View) First() int64 {
	if v.UsableLinks() <= 1 {
		return v.core.firstAlone
	}
	return v.core.cfg.First
}

// Free is how many bytes no link has been asked for, including those of a batch that are still to
// be Added.
func (v View) Free() int64 { return v.core.freeMap.unasked() }

// Left is how many bytes have not been received.
func (v View) Left() int64 { return v.core.flight.left() }

// Stealing says whether the run may go beyond the thesis at its end.
func (v View) Stealing() bool { return !v.core.cfg.NoSteal }

// EndgameLimit is the most bytes that link should be asked for near the end of the object,
// so that all links finish together: what Algorithms 1, 2 and 3 put on top of the thesis's
// formulas. math.MaxInt64 where there is no limit: nothing has been measured, or the run
// may not go beyond the thesis.
func (v View) EndgameLimit(link LinkID) int64 { return v.guided(link, math.MaxInt64) }

// Slowest is the link, other than thief, that will be the last to have what it was asked for: the
// one that Algorithms 1, 2 and 3 have an idle link help. NoLink: there is none.
func (v View) Slowest(thief LinkID) LinkID {
	victim, latest := NoLink, -1.0
	for l := range v.Links() {
		if l == thief || v.InFlight(l) == 0 {
			continue
		}
		var o eta
		v.eta(l, &o)
		if _, end := o.latest(noStream); end > latest {
			victim, latest = l, end
		}
	}
	return victim
}
