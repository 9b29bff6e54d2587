package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/term"
)

// energyLine is the run's energy, for people, with its line end; empty if unknown or if there
// is nothing to report.
func energyLine(r Report) string {
	e := r.Energy
	if e == nil {
		return ""
	}
	var s strings.Builder
	if e.Modelled {
		fmt.Fprintf(&s, "modelled: %s J dynamic (%s)", decimals(e.DynamicJoules, 1), term.Printable(modelsOf(r)))
	} else {
		if r.Power == nil { // from a report that mlget did not write
			return ""
		}
		joules := decimals(e.DynamicJoules, 1)
		if !r.Power.BaseMeasured && (joules == "0.0" || joules == "-0.0") {
			return "" // it came and went between two readings
		}
		fmt.Fprintf(&s, "energy: %s J dynamic (%s, %s, %d samples%s)",
			joules, term.Printable(r.Power.Source), pace(r.Power.IntervalSeconds), r.Power.Samples, slowGauge(r))
	}
	if e.Partial {
		fmt.Fprintf(&s, ", partial: only %s %% of the time was measured", decimals(100*e.Covered, 0))
	}
	fmt.Fprintf(&s, ", %s J per 100 MB", decimals(e.JoulesPer100MB, 1))
	if e.TailSeconds > 0 || e.Modelled && e.TailJoules > 0 {
		fmt.Fprintf(&s, ", tail %s J", decimals(e.TailJoules, 1))
		if e.TailCut {
			s.WriteString(" and more: it was cut")
		}
	}
	if e.Utilisation > 0 {
		fmt.Fprintf(&s, ", %.0f %% of full load", 100*e.Utilisation)
	}
	switch {
	case e.NotMeasured != "":
		s.WriteString("; not measured: " + term.Printable(e.NotMeasured))
	case e.Modelled:
	case !r.Power.BaseMeasured:
		s.WriteString("; at least: the base was not measured (--power-baseline)")
	case e.DynamicJoules < 0:
		s.WriteString("; the base was too high: the device drew more before the start than after it")
	}
	s.WriteByte('\n')
	return s.String()
}

// slowGauge is the uncertainty of a figure that comes from a gauge slower than the interval
// of readings.
func slowGauge(r Report) string {
	p, e := r.Power, r.Energy
	slow := energy.Summary{Refresh: p.RefreshSeconds}
	if !slow.Slow(int64(p.IntervalSeconds*1e9)) || e.LowJoules == nil || e.HighJoules == nil {
		return ""
	}
	return fmt.Sprintf("; the gauge looks every %.2g s only: %s to %s J",
		p.RefreshSeconds, decimals(*e.LowJoules, 1), decimals(*e.HighJoules, 1))
}

// modelsOf names the models of the links that carried bytes, and says if none of them is of
// this device.
func modelsOf(r Report) string {
	names := make(map[string]bool)
	generic := true
	for _, l := range r.Links {
		if m, ok := r.Energy.PerLink[l.Name]; ok && m.DynamicJoules > 0 {
			names[m.Model] = true
			generic = generic && m.generic()
		}
	}
	text := strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	if generic && text != "" {
		text += ": generic radios"
	}
	return text
}

// generic says whether the model is a technology's default, not one that the user chose.
func (e LinkEnergy) generic() bool {
	switch e.Model {
	case "wifi", "lte", "nr", "3g":
		builtIn, _ := energy.Lookup(e.Model)
		return e.Source == builtIn.Source
	}
	return false
}

// pace is how often readings were taken.
func pace(interval float64) string {
	if interval <= 0 {
		return "each as it came"
	}
	if interval <= 1 {
		return fmt.Sprintf("%.3g Hz", 1/interval)
	}
	return fmt.Sprintf("every %.3g s", interval)
}
