package simulate_test

import (
	"fmt"
	"math"

	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/simulate"
)

// halves asks each link for half of its share of what nobody has been asked for, and
// for at least 256 KiB: guided self-scheduling (Polychronopoulos and Kuck 1987).
type halves struct{}

func (halves) Name() string { return "halves" }

func (halves) Request(v scheduler.View, link scheduler.LinkID) int64 {
	if v.SumRate() <= 0 {
		return v.First() // nothing has been measured yet
	}
	share := float64(v.Free()) * v.RateOrMean(link) / v.SumRate()
	return min(max(256<<10, int64(share/2)), v.EndgameLimit(link))
}

func (halves) Victim(v scheduler.View, thief scheduler.LinkID) scheduler.LinkID {
	return v.Slowest(thief)
}

// A policy of one's own beside the built-in ones, over ten scenarios: how often is each
// within 5 % of the best?
func Example() {
	built := func(name string) scheduler.Policy {
		p, _ := scheduler.NewPolicy(name, 4<<20, 0.3) // the names are built in
		return p
	}
	names := []string{"halves", "naive", "1", "2", "3"}
	good := make(map[string]int)
	for _, scenario := range simulate.Scenarios()[:10] {
		seconds, best := make(map[string]float64), math.Inf(1)
		for _, name := range names {
			var policy scheduler.Policy = halves{}
			if name != "halves" {
				policy = built(name)
			}
			res, err := simulate.Run(simulate.Config{Scenario: scenario, Size: 100e6}, policy)
			if err != nil {
				fmt.Println(err)
				return
			}
			seconds[name], best = res.Seconds, min(best, res.Seconds)
		}
		for _, name := range names {
			if seconds[name] <= 1.05*best {
				good[name]++
			}
		}
	}
	for _, name := range names {
		fmt.Printf("%-6s %d\n", name, good[name])
	}
	// Output:
	// halves 10
	// naive  1
	// 1      10
	// 2      10
	// 3      10
}
