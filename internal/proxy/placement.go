package proxy

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// typicalBytes is how much a new tunnel is expected to carry: near the median of
	// what a site's web page has in all (HTTP Archive, 2.6 MB in 2025, from several
	// hosts). It weighs rate against round trips; semi-arbitrary.
	typicalBytes = 1 << 20
	// setUpTrips is how many round trips pass before data comes: TCP's handshake, TLS's
	// handshake, the request.
	setUpTrips = 3
	// failureCost is what a link's failure of late adds to the time that is expected of
	// it: the stall before the next link is tried as well.
	failureCost = 500 * time.Millisecond
	// defaultRate is expected of a link in bytes per second where nothing is known of it
	// nor of any other.
	defaultRate = 1e6
)

// Placement is how tunnels are placed on links.
type Placement string

// The placements.
const (
	Measured   Placement = "measured"    // where the tunnel will be served soonest
	RoundRobin Placement = "round-robin" // on the links by turns, whatever they carry
)

// Energy is when costly links are used.
type Energy struct {
	// Spare says that costly links are used as little as the policy allows.
	Spare bool
	// Share is the part of all bytes that costly links may carry; 0: only what no
	// other link can carry.
	Share float64
}

// state is what placement knows of a link.
type state struct {
	Capacity float64       // bytes per second that it was seen to carry; 0: unknown
	Rates    []float64     // of its tunnels that carry something, bytes per second
	Fresh    int           // tunnels that have not been measured yet
	RTT      time.Duration // of its latest handshakes; 0: unknown
	Failures float64       // to connect, of late: each counts less as time goes on
	Standby  bool          // is used where no other link can be: a backup
	Costly   bool          // is spared by energy policies
	Spent    bool          // has carried all bytes that its cap allows
	Bytes    int64         // that it has carried
}

// order lists the links, by their places in links, on which a new tunnel may be placed:
// first the one that will serve it soonest. Links behind the first are for where it fails.
// turn is the number of tunnels placed before.
func order(links []state, how Placement, energy Energy, turn int) []int {
	var places []int
	for i := range links {
		if !links[i].Spent {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return nil
	}
	if how == RoundRobin {
		n := turn % len(places)
		return slices.Concat(places[n:], places[:n])
	}
	spared := energy.spares(links)
	fallback := expected(links)
	rank := func(i int) int {
		switch l := &links[i]; {
		case l.Standby:
			return 2
		case l.Costly && spared:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(links[a].serves(fallback), links[b].serves(fallback)))
	})
	return places
}

// spares says whether costly links have carried their share.
func (e Energy) spares(links []state) bool {
	if !e.Spare {
		return false
	}
	var all, costly int64
	for i := range links {
		all += links[i].Bytes
		if links[i].Costly {
			costly += links[i].Bytes
		}
	}
	return float64(costly) >= e.Share*float64(all)
}

// expected is the rate that a link of unknown capacity is taken to have: the mean of the
// others'.
func expected(links []state) float64 {
	var sum float64
	n := 0
	for i := range links {
		if links[i].Capacity > 0 {
			sum += links[i].Capacity
			n++
		}
	}
	if n == 0 {
		return defaultRate
	}
	return sum / float64(n)
}

// serves is the time within which the link is expected to serve a new tunnel.
func (l *state) serves(fallback float64) time.Duration {
	capacity := l.Capacity
	if capacity <= 0 {
		capacity = fallback
	}
	rates := slices.Clone(l.Rates)
	for range l.Fresh {
		rates = append(rates, math.Inf(1))
	}
	seconds := typicalBytes / max(1, fairShare(capacity, rates))
	return setUpTrips*l.RTT + time.Duration(l.Failures*float64(failureCost)) + time.Duration(seconds*float64(time.Second))
}

// fairShare is what a link of some capacity gives to one more tunnel where others take
// these rates, max-min fair: none that takes less than its part is cut, and the others
// share the rest evenly with the new one. It sorts rates.
func fairShare(capacity float64, rates []float64) float64 {
	slices.Sort(rates)
	for i, r := range rates {
		share := capacity / float64(len(rates)-i+1)
		if r >= share {
			return share
		}
		capacity -= r
	}
	return capacity
}
