package papers

import (
	"math"

	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// Means is how a mode does over all cases: geometric means against HAT's, and in
// how many it is the best of all modes.
type Means struct {
	Mode                     string
	Mbps, Per100MB, PerJoule float64
	Fastest, Cheapest, Best  int
	Cases                    int
}

// asGood is by what part figures may differ that count as the same.
const asGood = 0.01

// Means sums up the modes.
func (s *FilesStudy) Means() []Means {
	var out []Means
	for _, mode := range []tuning.Mode{tuning.HAT, tuning.EHT, tuning.LowE} {
		m := Means{Mode: mode.String()}
		for i := range s.Modes {
			if s.Modes[i].Mode == m.Mode {
				s.count(&m, &s.Modes[i])
			}
		}
		for _, mean := range []*float64{&m.Mbps, &m.Per100MB, &m.PerJoule} {
			*mean = math.Exp(*mean / float64(max(1, m.Cases)))
		}
		out = append(out, m)
	}
	return out
}

// count adds a case to a mode's: logarithms, for the time being.
func (s *FilesStudy) count(m *Means, c *FilesCase) {
	var hat *FilesCase
	fastest, cheapest, best := 0.0, math.Inf(1), 0.0
	for i := range s.Modes {
		o := &s.Modes[i]
		if o.Scenario != c.Scenario || o.Set != c.Set {
			continue
		}
		if o.Mode == tuning.HAT.String() {
			hat = o
		}
		fastest, cheapest, best = max(fastest, o.Mbps), min(cheapest, o.Per100MB), max(best, o.PerJoule)
	}
	if hat == nil {
		return
	}
	m.Cases++
	m.Mbps += math.Log(c.Mbps / hat.Mbps)
	m.Per100MB += math.Log(c.Per100MB / hat.Per100MB)
	m.PerJoule += math.Log(c.PerJoule / hat.PerJoule)
	if c.Mbps >= (1-asGood)*fastest {
		m.Fastest++
	}
	if c.Per100MB <= (1+asGood)*cheapest {
		m.Cheapest++
	}
	if c.PerJoule >= (1-asGood)*best {
		m.Best++
	}
}
