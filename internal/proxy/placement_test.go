package proxy

import (
	"math"
	"slices"
	"testing"
	"time"
)

const mbit = 1e6 / 8

func TestFairShare(t *testing.T) {
	for _, c := range []struct {
		name     string
		capacity float64
		rates    []float64
		want     float64
	}{
		{"an idle link is all the tunnel's", 100, nil, 100},
		{"one that wants all leaves half", 100, []float64{100}, 50},
		{"those that wait for a measurement want all", 100, []float64{math.Inf(1), math.Inf(1), math.Inf(1)}, 25},
		{"a slow server takes no more than it takes", 100, []float64{10}, 90},
		{"slow ones and one that wants all", 100, []float64{90, 5, 5}, 45},
		{"many slow ones", 100, []float64{20, 20, 20, 20}, 20},
		{"more than the capacity was measured", 100, []float64{80, 80}, 100. / 3},
	} {
		if got := fairShare(c.capacity, c.rates); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTunnelsFollowCapacity: tunnels that all want as much as they get are dealt out by
// D'Hondt's rule, which is what maximises the smallest share: of eight over 82 and
// 50 Mbit/s five and three, over 60 and 10 seven and one.
func TestTunnelsFollowCapacity(t *testing.T) {
	for _, c := range []struct{ first, second, want float64 }{{82, 50, 5}, {60, 10, 7}, {50, 50, 4}} {
		links := []state{{Capacity: c.first * mbit}, {Capacity: c.second * mbit}}
		for turn := range 8 {
			links[order(links, Measured, Energy{}, turn)[0]].Fresh++
		}
		if links[0].Fresh != int(c.want) {
			t.Errorf("%v and %v Mbit/s: %d and %d tunnels, want %v on the first", c.first, c.second, links[0].Fresh, links[1].Fresh, c.want)
		}
	}
}

func TestOrder(t *testing.T) {
	fast := state{Capacity: 80 * mbit, RTT: 20 * time.Millisecond}
	slow := state{Capacity: 8 * mbit, RTT: 20 * time.Millisecond}
	with := func(s state, change func(*state)) state { change(&s); return s }
	for _, c := range []struct {
		name   string
		links  []state
		energy Energy
		want   []int
	}{
		{"the faster link", []state{slow, fast}, Energy{}, []int{1, 0}},
		{"equal links in their order", []state{fast, fast}, Energy{}, []int{0, 1}},
		{"the nearer of two that are as fast", []state{with(fast, func(s *state) { s.RTT = 300 * time.Millisecond }), fast}, Energy{}, []int{1, 0}},
		{"a busy link leaves less", []state{with(fast, func(s *state) {
			s.Rates = slices.Repeat([]float64{4 * mbit}, 20)
		}), slow}, Energy{}, []int{1, 0}},
		{"a link that fails", []state{with(fast, func(s *state) { s.Failures = 3 }), slow}, Energy{}, []int{1, 0}},
		{"a failure long ago", []state{with(fast, func(s *state) { s.Failures = .01 }), slow}, Energy{}, []int{0, 1}},
		{"an unknown link is like the others", []state{with(fast, func(s *state) { s.Fresh = 1 }), {}}, Energy{}, []int{1, 0}},
		{"a backup comes last", []state{with(fast, func(s *state) { s.Standby = true }), slow}, Energy{}, []int{1, 0}},
		{"a cap that is spent", []state{with(fast, func(s *state) { s.Spent = true }), slow}, Energy{}, []int{1}},
		{"all caps spent", []state{{Spent: true}}, Energy{}, nil},
		{"no policy of energy", []state{with(fast, func(s *state) { s.Costly = true }), slow}, Energy{}, []int{0, 1}},
		{"a costly link is spared", []state{with(fast, func(s *state) { s.Costly = true }), slow}, Energy{Spare: true}, []int{1, 0}},
		{"a costly link before a backup", []state{with(fast, func(s *state) { s.Costly = true }), with(fast, func(s *state) { s.Standby = true })}, Energy{Spare: true}, []int{0, 1}},
		{"a costly link below its share", []state{
			with(fast, func(s *state) { s.Costly, s.Bytes = true, 20 }), with(slow, func(s *state) { s.Bytes = 80 }),
		}, Energy{Spare: true, Share: .24}, []int{0, 1}},
		{"a costly link above its share", []state{
			with(fast, func(s *state) { s.Costly, s.Bytes = true, 30 }), with(slow, func(s *state) { s.Bytes = 70 }),
		}, Energy{Spare: true, Share: .24}, []int{1, 0}},
	} {
		if got := order(c.links, Measured, c.energy, 0); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRoundRobinPassesOverSpentLinks(t *testing.T) {
	links := []state{{Capacity: 1}, {Spent: true}, {Capacity: 1000, Failures: 9}}
	var got []int
	for turn := range 4 {
		got = append(got, order(links, RoundRobin, Energy{}, turn)[0])
	}
	if !slices.Equal(got, []int{0, 2, 0, 2}) {
		t.Errorf("links %v, want by turns", got)
	}
}
