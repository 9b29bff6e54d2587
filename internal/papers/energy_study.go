package papers

import (
	"errors"
	"slices"
	"sync"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// EnergyCases is how many made-up downloads the energy rules have to do.
	EnergyCases = 300
	// worse is how much more than the best a rule may take.
	worse = 1.03
)

// EnergyStudy is what the energy rules come to.
type EnergyStudy struct {
	Chen      []ChenCase
	Shares    []ChenShare
	Shift     []ShiftCase
	Thesis    []ThesisEnergy
	Rivals    []RivalCase
	Deadlines []DeadlineCase
}

// ShiftCase is a download that takes all that the links can carry, with and
// without eMTCP's fixed shift.
type ShiftCase struct {
	Links                        string
	BothSeconds, BothJoules      float64
	ShiftSeconds, ShiftJoules    float64
	MinSeconds, MinJoules        float64 // min-energy
	BothLTEShare, ShiftedLTEPart float64
}

// RivalCase is one made-up download: joules of each way.
type RivalCase struct {
	Seed   uint64
	Size   int64
	Rates  [2]float64 // Mbit/s of WiFi and of the other link
	Model  string     // of the other link's radio
	WiFi   float64
	Other  float64
	Both   float64
	Told   float64 // min-energy that was told the bandwidths
	Untold float64 // and that was not

	// The three ways without the bandwidths, with which Untold is compared.
	BlindWiFi, BlindOther, BlindBoth float64
	Woken                            bool // Untold: the other link carried something
	Blind                            Blind
}

// Best is the least of the three ways without a rule.
func (r *RivalCase) Best() float64 { return min(r.WiFi, r.Other, r.Both) }

// BlindBest is that where the bandwidths are not told.
func (r *RivalCase) BlindBest() float64 { return min(r.BlindWiFi, r.BlindOther, r.BlindBoth) }

// DeadlineCase is one made-up download with a deadline of Factor times what both
// links take.
type DeadlineCase struct {
	Seed       uint64
	Factor     float64
	Both       float64 // seconds
	Seconds    float64
	BothJoules float64
	Joules     float64
}

// Missed says whether the deadline was missed.
func (d *DeadlineCase) Missed() bool { return d.Seconds > float64(d.Factor*d.Both) }

// deadlineFactors are the deadlines, as parts of what both links take without a
// rule: the first is as near as one has to be met.
func deadlineFactors() []float64 { return []float64{1.05, 1.3, 2, 4} }

// StudyEnergy rehearses everything that docs/measured/energy.md tells, with so many
// made-up downloads.
func StudyEnergy(cases int) (*EnergyStudy, error) {
	var s EnergyStudy
	var err error
	if s.Chen, err = ChenCases("3"); err != nil {
		return nil, err
	}
	if s.Shares, err = SweepChen("3"); err != nil {
		return nil, err
	}
	if s.Shift, err = shiftCases(); err != nil {
		return nil, err
	}
	if s.Thesis, err = ThesisEnergies(); err != nil {
		return nil, err
	}
	s.Rivals = make([]RivalCase, cases)
	perSeed := len(deadlineFactors())
	s.Deadlines = make([]DeadlineCase, cases*perSeed)
	errs := make([]error, cases)
	eachOf(cases, func(i int) {
		errs[i] = study(uint64(i), &s.Rivals[i], s.Deadlines[i*perSeed:(i+1)*perSeed])
	})
	return &s, errors.Join(errs...)
}

// study does one made-up download in all ways.
func study(seed uint64, rival *RivalCase, deadlines []DeadlineCase) error {
	cfg := sim.RandomEnergy(seed)
	*rival = RivalCase{
		Seed: seed, Size: cfg.Size, Model: cfg.Radios[1].Name,
		Rates: [2]float64{cfg.Scenario.Links[0].DownMbps, cfg.Scenario.Links[1].DownMbps},
	}
	both, err := sim.Run(cfg)
	if err != nil {
		return err
	}
	rival.Both = both.Energy.Joules
	least := cfg
	least.Energy = scheduler.EnergyMin
	untold, plain := least, cfg
	untold.Bandwidths, plain.Bandwidths = nil, nil
	blindBoth, err := sim.Run(plain)
	if err != nil {
		return err
	}
	rival.BlindBoth = blindBoth.Energy.Joules
	for _, way := range []struct {
		cfg sim.Config
		to  *float64
	}{
		{cfg.Alone(0), &rival.WiFi},
		{cfg.Alone(1), &rival.Other},
		{plain.Alone(0), &rival.BlindWiFi},
		{plain.Alone(1), &rival.BlindOther},
		{untold, &rival.Untold},
		{least, &rival.Told},
	} {
		res, err := sim.Run(way.cfg)
		if err != nil {
			return err
		}
		*way.to = res.Energy.Joules
		if way.to == &rival.Untold {
			rival.Woken = res.Links[1].Requests > 0
		}
	}
	if rival.Blind, err = blind(plain, rival.BlindWiFi); err != nil {
		return err
	}
	told := seed%2 == 1
	if !told {
		least, both = untold, blindBoth
	}
	for k, factor := range deadlineFactors() {
		d, c := &deadlines[k], least
		*d = DeadlineCase{Seed: seed, Factor: factor, Both: both.Seconds, BothJoules: both.Energy.Joules}
		c.Deadline = factor * both.Seconds
		res, err := sim.Run(c)
		if err != nil {
			return err
		}
		d.Seconds, d.Joules = res.Seconds, res.Energy.Joules
	}
	return nil
}

// shiftCases are downloads of 250 MB over links of various speed, with models of
// which LTE is the dearer one, at low rates (Huang's) or at all (Chen's).
func shiftCases() ([]ShiftCase, error) {
	var huang []energy.Radio
	for _, name := range [...]string{"wifi", "lte"} {
		r, _ := energy.Lookup(name)
		huang = append(huang, r)
	}
	var out []ShiftCase
	for _, c := range []struct {
		name      string
		wifi, lte float64 // Mbit/s
		radios    []energy.Radio
	}{
		{"Huang's, WiFi 30, LTE 10 Mbit/s", 30, 10, huang},
		{"Huang's, WiFi 10, LTE 10 Mbit/s", 10, 10, huang},
		{"Huang's, WiFi 20, LTE 20 Mbit/s", 20, 20, huang},
		{"Chen's, WiFi 20, LTE 20 Mbit/s", 20, 20, chenRadios()},
		{"Chen's, WiFi 82, LTE 64 Mbit/s", 82, 64, chenRadios()},
	} {
		cfg := sim.Default(scenario.Scenario{Name: c.name, Links: []scenario.Link{
			{Name: "wlan0", DownMbps: c.wifi, RTT: thesisWiFiRTT}, {Name: "rmnet0", DownMbps: c.lte, RTT: thesisLTERTT},
		}}, "3")
		cfg.SetRadios(c.radios)
		row := ShiftCase{Links: c.name}
		for _, mode := range []scheduler.EnergyMode{scheduler.EnergyOff, scheduler.EnergyEMTCP, scheduler.EnergyMin} {
			cfg.Energy = mode
			res, err := sim.Run(cfg)
			if err != nil {
				return nil, err
			}
			share := float64(res.Links[1].Bytes) / float64(res.SizeBytes)
			switch mode {
			case scheduler.EnergyOff:
				row.BothSeconds, row.BothJoules, row.BothLTEShare = res.Seconds, res.Energy.Joules, share
			case scheduler.EnergyEMTCP:
				row.ShiftSeconds, row.ShiftJoules, row.ShiftedLTEPart = res.Seconds, res.Energy.Joules, share
			case scheduler.EnergyMin:
				row.MinSeconds, row.MinJoules = res.Seconds, res.Energy.Joules
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// Worst sorts the rivals by how much more than the best a way of them took, the
// worst first, and says how many took more than 3 %.
func (s *EnergyStudy) Worst(way, best func(*RivalCase) float64) (sorted []RivalCase, beyond int) {
	order := make([]*RivalCase, len(s.Rivals))
	for i := range order {
		order[i] = &s.Rivals[i]
	}
	slices.SortStableFunc(order, func(a, b *RivalCase) int {
		x, y := way(a)/best(a), way(b)/best(b)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, r := range order {
		sorted = append(sorted, *r)
		if way(r) > float64(worse*best(r)) {
			beyond++
		}
	}
	return sorted, beyond
}

// eachOf calls f with 0 to n-1, some of them at once.
func eachOf(n int, f func(int)) {
	const workers = 8
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	all.Wait()
}
