package sim

import (
	"sync"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

func TestExplore(t *testing.T) {
	n := 300
	type res struct{ best, min, unk, both float64; which int }
	out := make([]res, n)
	inParallel(n, func(i int) {
		cfg := RandomEnergy(uint64(i))
		both, err := Run(cfg)
		if err != nil { t.Error(err); return }
		out[i].both = both.Energy.Joules
		out[i].best = both.Energy.Joules
		out[i].which = 2
		for k := range 2 {
			r, err := Run(cfg.alone(k))
			if err != nil { t.Error(err); return }
			if r.Energy.Joules < out[i].best { out[i].best = r.Energy.Joules; out[i].which = k }
		}
		cfg.Energy = scheduler.EnergyMin
		r, err := Run(cfg)
		if err != nil { t.Error(err); return }
		out[i].min = r.Energy.Joules
		u := cfg
		u.Bandwidths = nil
		ru, err := Run(u)
		if err != nil { t.Error(err); return }
		out[i].unk = ru.Energy.Joules
		if r.Energy.Joules > 1.03*out[i].best {
			t.Logf("%d: %.3f vs best %.3f (%d), both %.3f; size %d; %+v %s; %v; %+v", i, out[i].min, out[i].best, out[i].which, out[i].both, cfg.Size, cfg.Scenario.Links, cfg.Radios[1].Name, r.Links, cfg.HTTP2)
		}
	})
	bad, badu := 0, 0
	w := [3]int{}
	for _, o := range out {
		w[o.which]++
		if o.min > 1.03*o.best { bad++ }
		if o.unk > 1.03*o.best { badu++ }
	}
	t.Logf("bad %d of %d; unknown %d; best wifi/lte/both %v", bad, n, badu, w)
}

func TestExploreDeadline(t *testing.T) {
	n := 300
	var mu sync.Mutex
	miss, cases := map[string]int{}, map[string]int{}
	inParallel(n, func(i int) {
		cfg := RandomEnergy(uint64(i))
		if i%2 == 0 { cfg.Bandwidths = nil }
		both, err := Run(cfg)
		if err != nil { t.Error(err); return }
		best := both.Seconds
		for _, f := range []float64{1.05, 1.3, 2, 4} {
			c := cfg
			c.Energy = scheduler.EnergyMin
			c.Deadline = f*best
			r, err := Run(c)
			if err != nil { t.Error(err); return }
			mu.Lock()
			key := "<1"
			if best > 10 { key = ">10" } else if best > 3 { key = "3-10" } else if best > 1 { key = "1-3" }
			cases[key]++
			if r.Seconds > c.Deadline {
				miss[key]++
			if best > 1 {
				t.Logf("%d *%.2f: %.3f s for %.3f (best %.3f, both %.3f); size %d; %+v %s; %+v %v", i, f, r.Seconds, c.Deadline, best, both.Seconds, cfg.Size, cfg.Scenario.Links, cfg.Radios[1].Name, r.Links, cfg.HTTP2)
			}
			}
			mu.Unlock()
		}
	})
	t.Log(miss, cases)
}
