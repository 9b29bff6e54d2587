package papers

import (
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"

	"github.com/mlget/mlget/internal/sim"
)

// ThesisEnergy is a scenario of the thesis's table 7.10: its fastest single link,
// and Algorithm 3. Joules are of the whole device until the last byte ("Main ∫").
type ThesisEnergy struct {
	Scenario string
	Group    int // as 7.4.3 divides them: 1 fast links alike, 2 one slow link
	Paper    EnergyRivals
	Sim      EnergyRivals
	Apart    EnergyRivals // without what both links cost together
}

// EnergyRivals is a single link against both.
type EnergyRivals struct {
	SingleSeconds float64
	SingleJoules  float64
	BothSeconds   float64
	BothJoules    float64
}

// Factor is how much more energy both links take.
func (r *EnergyRivals) Factor() float64 { return r.BothJoules / r.SingleJoules }

// Rate is figure 7.12's: the time gained against the energy it takes, 0.5 where
// both links take half the time and the same energy.
func (r *EnergyRivals) Rate() float64 {
	return (r.BothSeconds / r.BothJoules) / (r.SingleSeconds / r.SingleJoules)
}

// thesisScenario is one of the thesis's, with table 7.10's figures. The
// low-speed scenario has no LTE download of its own: the high-speed one's stands
// for it, as in 7.4.3.
type thesisScenario struct {
	name      string
	group     int
	wifi, lte scenario.Link
	single    int // which link alone is the faster one
	paper     EnergyRivals
}

func thesisScenarios() []thesisScenario {
	wifi := func(mbps, vary float64) scenario.Link {
		return scenario.Link{Name: "wlan0", DownMbps: mbps, RTT: thesisWiFiRTT, Vary: vary}
	}
	lte := func(mbps, vary float64, ramp time.Duration) scenario.Link {
		return scenario.Link{Name: "rmnet0", DownMbps: mbps, RTT: thesisLTERTT, Ramp: ramp, Vary: vary}
	}
	return []thesisScenario{
		{"High-Speed (S7)", 1, wifi(82, 0), lte(64, 0, thesisRamp), 0, EnergyRivals{26.25, 50.20, 16.55, 62.13}},
		{"AlwaysOnline", 1, wifi(59, 0.2), lte(98, 0.5, 4*time.Second), 1, EnergyRivals{28.16, 53.15, 14.94, 55.75}},
		{"Low-Speed", 2, wifi(7.8, 0), lte(64, 0, thesisRamp), 1, EnergyRivals{33.79, 66.83, 29.33, 77.48}},
		{"TechnoWLAN stationary", 2, wifi(15.9, 0.3), lte(84, 0.2, thesisRamp), 1, EnergyRivals{24.86, 56.47, 22.18, 67.63}},
		{"TechnoWLAN moving", 2, wifi(16, 0.6), lte(69, 0.2, thesisRamp), 1, EnergyRivals{33.32, 62.99, 27.29, 68.94}},
	}
}

// ThesisEnergies rehearses table 7.10's best rivals with the S7's mean models.
func ThesisEnergies() ([]ThesisEnergy, error) {
	phone := energy.GalaxyS7()
	var radios []energy.Radio
	for _, name := range [...]string{"wifi-s7-mean", "lte-s7-mean"} {
		r, _ := energy.Lookup(name)
		radios = append(radios, r)
	}
	var out []ThesisEnergy
	for _, s := range thesisScenarios() {
		cfg := sim.Default(scenario.Scenario{Name: s.name, Links: []scenario.Link{s.wifi, s.lte}}, "3")
		cfg.Size = thesisSize
		cfg.SetRadios(radios)
		both, err := sim.Run(cfg)
		if err != nil {
			return nil, err
		}
		single, err := sim.Run(cfg.Alone(s.single))
		if err != nil {
			return nil, err
		}
		rivals := EnergyRivals{
			SingleSeconds: single.Seconds, SingleJoules: untilLastByte(&single),
			BothSeconds: both.Seconds, BothJoules: untilLastByte(&both),
		}
		apart := rivals
		rivals.BothJoules += phone.TogetherJoules(both.Links[0].Bytes, both.Links[1].Bytes)
		out = append(out, ThesisEnergy{Scenario: s.name, Group: s.group, Paper: s.paper, Sim: rivals, Apart: apart})
	}
	return out, nil
}

// untilLastByte is what the radios, each by itself, and the rest of the S7 take until
// the last byte, in J.
func untilLastByte(r *sim.Result) float64 {
	phone := energy.GalaxyS7()
	return r.Energy.Joules - r.Energy.TailJoules + float64(phone.BaseWatts*r.Seconds)
}
