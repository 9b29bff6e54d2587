package power

import (
	"context"
	"strings"
	"time"
)

// battery are the gauges of the device's batteries. They tell what the whole
// device draws while it runs on them.
type battery struct {
	batteries []supply
	chargers  []supply
	unit      unitFinder
	held      []heldSample // until the unit of the current is known
	external  bool         // so it was at the last reading
	detail    string
}

// heldSample is a sample with a part in an unknown unit.
type heldSample struct {
	sample
	currentVolts float64 // sum of current times volts
}

func openBattery(_ context.Context, tree folder, cfg Config) (source, error) {
	batteries, chargers, err := findSupplies(tree)
	if err != nil {
		return nil, err
	}
	b := &battery{batteries: batteries, chargers: chargers, unit: newUnitFinder(cfg.Unit)}
	b.detail = b.explain()
	return b, nil
}

// explain says what is read, and sees where the power comes from.
func (b *battery) explain() string {
	var names []string
	what := "power_now"
	var status status
	for _, s := range b.batteries {
		names = append(names, parseWord([]byte(s.name)))
		g, err := s.read()
		if err == nil && g.watts == 0 {
			what = "current_now x voltage_now"
		}
		status = together(status, g.status)
	}
	b.external = b.onExternal(status)
	return "battery " + strings.Join(names, ", ") + ", " + what
}

func (b *battery) describe() description { return description{name: Battery, detail: b.detail} }

// read needs every battery, or the sum would be too low.
func (b *battery) read(_ context.Context, now time.Duration, out []sample) ([]sample, error) {
	h := heldSample{sample: sample{at: now}}
	var status status
	var current, charge int64
	for _, s := range b.batteries {
		g, err := s.read()
		if err != nil {
			return out, err
		}
		status = together(status, g.status)
		h.watts += g.watts
		h.currentVolts += float64(g.current) * g.volts
		if g.current > current {
			current, charge = g.current, g.charge
		}
	}
	b.external = b.onExternal(status)
	h.external = b.external
	switch {
	case h.external:
		if len(b.held) > 0 {
			out = b.flush(out) // or they would come after this one
		}
		return append(out, h.settled(b.unit.amps(current))), nil
	case h.watts == 0 && h.currentVolts == 0:
		return out, errNothing
	case h.currentVolts == 0:
		return append(out, h.sample), nil
	}
	doubt := b.unit.add(now, current, charge)
	b.held = append(b.held, h)
	if b.unit.decided == "" {
		return out, nil
	}
	return b.release(out), doubt
}

// settled is the sample, once a unit of the current is known to be that many
// amperes.
func (h heldSample) settled(amps float64) sample {
	h.watts += h.currentVolts * amps
	return h.sample
}

func (b *battery) release(out []sample) []sample {
	for _, h := range b.held {
		out = append(out, h.settled(b.unit.amps(0)))
	}
	b.held = b.held[:0]
	return out
}

// flush appends what was held back: with no more readings to come, the unit is
// what those tell that there are.
func (b *battery) flush(out []sample) []sample {
	b.unit.decide()
	return b.release(out)
}

// together is the status of several batteries: the device runs on battery when
// one of them is being discharged.
func together(a, b status) status {
	switch {
	case a == discharging || b == discharging:
		return discharging
	case a == fed || b == fed:
		return fed
	}
	return unknown
}

// onExternal says whether the device gets power from elsewhere. Where no battery
// tells, a charger that is online does.
func (b *battery) onExternal(status status) bool {
	if status != unknown {
		return status == fed
	}
	for _, s := range b.chargers {
		if n, err := s.folder.number("online"); err == nil && n > 0 {
			return true
		}
	}
	return false
}

func (b *battery) close() {
	for _, s := range b.batteries {
		s.folder.close()
	}
	for _, s := range b.chargers {
		s.folder.close()
	}
}
