package scheduler

import (
	"math/rand/v2"
	"testing"
)

// TestAnEnergyPlanIsAsCheapAsAnySet: over random links that are awake and measured, the chosen set
// takes at most 1 % more than the best of all sets does, each link drawing α r + β while the set
// works (ALGORITHMS, min-energy).
func TestAnEnergyPlanIsAsCheapAsAnySet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		n, left := 2+rnd.IntN(4), 1e6+1e8*rnd.Float64()
		m := newEnergyPlan(0, 0, left, 0, true)
		rates, alpha, beta := make([]float64, n), make([]float64, n), make([]float64, n) // Mbit/s, mW per Mbit/s, mW
		for k := range n {
			rates[k], alpha[k], beta[k] = 1+99*rnd.Float64(), 200*rnd.Float64(), 2000*rnd.Float64()
			radio := Radio{ActiveMW: beta[k], MWPerMbps: alpha[k]}
			rate := rates[k] * 1e6 / 8
			m.add(candidate{rate: rate, least: rate, active: beta[k], perMbit: radio.perMbit(rate)}, LinkID(k), 1e12)
		}
		for k := range n {
			m.sure.put(k, true)
		}
		joules := func(in func(LinkID) bool) float64 { // mJ
			power, rate := 0.0, 0.0
			for k := range n {
				if in(LinkID(k)) {
					power += alpha[k]*rates[k] + beta[k]
					rate += rates[k]
				}
			}
			return power / rate * left * 8 / 1e6
		}
		best := forever
		for set := 1; set < 1<<n; set++ {
			best = min(best, joules(func(l LinkID) bool { return set&(1<<l) != 0 }))
		}
		set, why, known := m.choose()
		chosen := func(l LinkID) bool {
			for k := range n {
				if m.all[k].id == l {
					return set.has(k)
				}
			}
			return false
		}
		if got := joules(chosen); got > 1.0101*best || !known || why != ReasonDear {
			t.Fatalf("set %b takes %.0f mJ, the best %.0f; known %v, %v", set, got, best, known, why)
		}
	}
}
