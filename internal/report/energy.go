package report

import (
	"fmt"
	"strings"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/modelled"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Energy is the run's energy. Total, dynamic and tail energy are all measured, or all modelled;
// those of a link, and of TCP, are always modelled.
type Energy struct {
	// Modelled says that nothing was measured: these are the radios alone, by their models,
	// without the rest of the device.
	Modelled bool `json:"modelled"`
	// TotalJoules is DynamicJoules and base power over the run's Seconds.
	TotalJoules float64 `json:"total_joules"`
	// DynamicJoules is the energy above base power within the run's Seconds.
	DynamicJoules float64 `json:"dynamic_joules"`
	// TailJoules is the energy above base power after that: as long as measured (--tail), or,
	// modelled, until the radios are idle.
	TailJoules     float64 `json:"tail_joules"`
	JoulesPer100MB float64 `json:"joules_per_100mb"` // DynamicJoules per 10^8 bytes of payload that counts; 0 without any
	MbpsPerJoule   float64 `json:"mbps_per_joule"`   // ThroughputMbps / DynamicJoules; 0 where that is not more than 0
	// TCPComputationJoules is the work of TCP on the processor, modelled after Wang
	// and Singh (2003) by what the kernel counted, with the constants of a machine
	// of that year or of a file of models; 0: the kernel counted nothing. It is part
	// of no other figure.
	TCPComputationJoules float64 `json:"tcp_computation_joules"`
	// PerLink is each link's radio by its model, by the link's name. Links of whose
	// radio there is no model are left out.
	PerLink map[string]LinkEnergy `json:"per_link"`

	// FullLoadWatts is the device's power under full load, by the file of models (mlget power
	// --stress), and Utilisation the part of it that the run drew on average (skjolden, 7.4.5);
	// left out if unknown, or modelled.
	FullLoadWatts float64 `json:"full_load_watts,omitempty"`
	Utilisation   float64 `json:"utilisation,omitempty"`

	TailSeconds float64 `json:"tail_seconds"` // of TailJoules; 0: not measured, or modelled
	TailCut     bool    `json:"tail_cut"`     // power was not back at base when the watching ended
	Covered     float64 `json:"covered"`      // share of Seconds covered by readings, 0 to 1; the rest goes at the nearest

	// LowJoules and HighJoules are between what DynamicJoules may be, where it was
	// measured: what passes while the gauge does not look, the spread of the base's
	// readings, and what is not covered. nil: modelled.
	LowJoules  *float64 `json:"e_d_joules_low,omitempty"`
	HighJoules *float64 `json:"e_d_joules_high,omitempty"`
	// Partial says that Covered is below 0.9: the figures are of a part of the run, and not to
	// be compared with others.
	Partial bool `json:"partial"`
	// NotMeasured is why these are modelled although power was read; empty: it was not,
	// or they are measured.
	NotMeasured string `json:"not_measured,omitempty"`
}

// LinkEnergy is the energy of one link's radio by its model, above idling.
type LinkEnergy struct {
	Modelled             bool    `json:"modelled"` // true, always
	Model                string  `json:"model"`    // "wifi", "lte", ...
	Source               string  `json:"source"`   // where the model's numbers come from
	DynamicJoules        float64 `json:"dynamic_joules"`
	TailJoules           float64 `json:"tail_joules"` // after the run's last byte, until the radio is idle
	TCPComputationJoules float64 `json:"tcp_computation_joules"`
}

// energyRun is the run as package energy sees it.
func (b *Builder) energyRun(bytes int64) energy.Run {
	run := energy.Run{Bytes: bytes}
	if b.began.hasFrom {
		run.Start = int64(b.began.from)
		run.End = run.Start
	}
	if b.began.seconds() > 0 {
		run.End = int64(b.began.to)
	}
	if b.first.hasFrom {
		run.First = int64(b.first.from)
	}
	return run
}

// reportEnergy fills in power and energy, or why they are missing.
func (b *Builder) reportEnergy(r *Report, bytes int64) {
	run := b.energyRun(bytes)
	var links []modelled.Link
	if b.radios != nil {
		links = b.radios.Links()
	}
	var idle float64
	for _, l := range links {
		idle += l.IdleWatts
	}
	power, summary := b.power.report(run, idle)
	r.Power = power
	if power == nil {
		r.PowerUnavailable = b.power.unavailable()
		if r.PowerUnavailable == "" {
			r.PowerUnavailable = "no reading can be used"
		}
	}
	var why string
	switch {
	case run.End <= run.Start || bytes <= 0:
		why = "nothing was downloaded"
	case power == nil:
		why = r.PowerUnavailable
	case b.power.modelled():
		why = "not measured"
	case b.power.fed(run):
		why = "on external power for a part of the run"
	case summary.TooSlow(int64(b.power.source.Interval), run):
		why = tooSlow(summary, run)
	case summary.Covered <= 0:
		why = "there are too few readings"
	default:
		r.Energy = measuredEnergy(summary)
		r.Energy.FullLoadWatts = round(b.Models.FullLoad)
		r.Energy.Utilisation = round(energy.Utilisation(summary.TotalJoules, b.Models.FullLoad, scheduler.Time(run.End-run.Start).Seconds()))
	}
	if r.Energy == nil && run.End > run.Start && bytes > 0 {
		e, reason := b.modelledEnergy(links, run, idle)
		switch {
		case e == nil:
			why += "; " + reason
		case power != nil && !b.power.modelled():
			e.NotMeasured = why
		}
		r.Energy = e
	}
	if r.Energy == nil {
		r.EnergyUnavailable = why
		return
	}
	r.Energy.addLinks(links)
}

// enough is the share of a run that has to be covered for its joules to count.
const enough = 0.9

// tooSlow is why a run was too short for its gauge.
func tooSlow(s energy.Summary, run energy.Run) string {
	return fmt.Sprintf("the gauge looks every %.2g s only: a run of %.3g s is too short for it, it takes %.2g s",
		s.Refresh, scheduler.Time(run.End-run.Start).Seconds(), s.Needs())
}

func measuredEnergy(s energy.Summary) *Energy {
	low, high := round(s.LowJoules), round(s.HighJoules)
	return &Energy{
		LowJoules:      &low,
		HighJoules:     &high,
		TotalJoules:    round(s.TotalJoules),
		DynamicJoules:  round(s.DynamicJoules),
		TailJoules:     round(s.Tail.Joules),
		TailSeconds:    round(s.Tail.Seconds),
		TailCut:        s.Tail.Cut || !s.TailKnown,
		Partial:        s.Covered < enough,
		JoulesPer100MB: round(s.JoulesPer100MB),
		MbpsPerJoule:   round(s.MbpsPerJoule),
		Covered:        round(s.Covered),
	}
}

// modelledEnergy is the sum of the radios' models; nil, with the reason, where that
// would leave out a link that carried bytes, or where none costs anything.
func (b *Builder) modelledEnergy(links []modelled.Link, run energy.Run, idle float64) (*Energy, string) {
	var dynamic, tail float64
	var missing []string
	for i, l := range links {
		if l.Model == "" && i < len(b.links) && b.links[i].bytes+b.links[i].wasted > 0 {
			missing = append(missing, l.Name)
		}
		dynamic += l.Joules
		tail += l.TailJoules
	}
	switch {
	case len(missing) > 0:
		return nil, "there is no model of the radio of " + strings.Join(missing, ", ")
	case dynamic == 0:
		return nil, "the models charge nothing for its links"
	}
	duration := run.End - run.Start
	return &Energy{
		Modelled:       true,
		TotalJoules:    round(dynamic + idle*scheduler.Time(duration).Seconds()),
		DynamicJoules:  round(dynamic),
		TailJoules:     round(tail),
		JoulesPer100MB: round(energy.JoulesPer100MB(dynamic, run.Bytes)),
		MbpsPerJoule:   round(energy.MbpsPerJoule(dynamic, run.Bytes, duration)),
		Covered:        1,
	}, ""
}

// addLinks adds what the models say of each link.
func (e *Energy) addLinks(links []modelled.Link) {
	e.PerLink = make(map[string]LinkEnergy, len(links))
	var tcp float64
	for _, l := range links {
		tcp += l.TCPJoules
		if l.Model == "" {
			continue
		}
		e.PerLink[l.Name] = LinkEnergy{
			Modelled: true, Model: l.Model, Source: l.Source,
			DynamicJoules: round(l.Joules), TailJoules: round(l.TailJoules), TCPComputationJoules: round(l.TCPJoules),
		}
	}
	e.TCPComputationJoules = round(tcp)
}
