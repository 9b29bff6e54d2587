package scheduler_test

import (
	"fmt"
	"slices"

	"github.com/mlget/mlget/pkg/scheduler"
)

// quarters asks a link for a quarter of its share of what no link was asked for.
type quarters struct{}

func (quarters) Name() string { return "quarters" }

func (quarters) Request(v scheduler.View, link scheduler.LinkID) int64 {
	if v.SumRate() <= 0 {
		return v.First() // nothing has been measured yet
	}
	return max(64<<10, int64(float64(v.Free())*v.RateOrMean(link)/v.SumRate()/4))
}

func (quarters) Victim(v scheduler.View, thief scheduler.LinkID) scheduler.LinkID {
	return v.Slowest(thief)
}

// A driver carries out the Core's actions and tells it what happens: here over two links of
// 4 and 1 MB/s, each of which serves one request after the other, in virtual time.
func Example() {
	core, err := scheduler.New(scheduler.Config{Links: 2, Policy: quarters{}, Size: 10e6})
	if err != nil {
		fmt.Println(err)
		return
	}
	rates, got, queue := [2]float64{4e6, 1e6}, [2]float64{}, [2][]scheduler.Action{} // bytes per second; of the first request; requests
	acts := core.Step(0, scheduler.Input{Kind: scheduler.LinkUp, Link: 0}, nil)
	acts = core.Step(0, scheduler.Input{Kind: scheduler.LinkUp, Link: 1}, acts)
	acts = core.Step(0, scheduler.Input{Kind: scheduler.Tick}, acts)
	for now, bytes := scheduler.Time(0), [2]float64{}; ; {
		for _, a := range acts {
			at := -1
			if a.Kind == scheduler.Shrink || a.Kind == scheduler.Cancel {
				at = slices.IndexFunc(queue[a.Link], func(r scheduler.Action) bool { return r.Chunk == a.Chunk })
			}
			switch {
			case a.Kind == scheduler.Start:
				queue[a.Link] = append(queue[a.Link], a)
			case a.Kind == scheduler.Complete:
				fmt.Printf("%.1f s: %.1f MB and %.1f MB\n", now.Seconds(), bytes[0]/1e6, bytes[1]/1e6)
				return
			case a.Kind == scheduler.Shrink && at >= 0:
				queue[a.Link][at].Range = a.Range
			case a.Kind == scheduler.Cancel && at >= 0:
				if queue[a.Link] = slices.Delete(queue[a.Link], at, at+1); at == 0 {
					got[a.Link] = 0
				}
			}
		}
		acts, now = acts[:0], now+10*scheduler.Millisecond
		for l, rate := range rates {
			for budget := rate / 100; budget > 0 && len(queue[l]) > 0; {
				in, size := scheduler.Input{Kind: scheduler.Progress, Chunk: queue[l][0].Chunk}, float64(queue[l][0].Range.Len())
				more := min(budget, size-got[l])
				got[l], bytes[l], budget = got[l]+more, bytes[l]+more, budget-more
				if in.Bytes = int64(got[l]); got[l] >= size {
					in.Kind, queue[l], got[l] = scheduler.Finished, queue[l][1:], 0
				}
				acts = core.Step(now, in, acts)
			}
		}
		acts = core.Step(now, scheduler.Input{Kind: scheduler.Tick}, acts)
	}
	// Output:
	// 2.1 s: 7.9 MB and 2.1 MB
}
