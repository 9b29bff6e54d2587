package power

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// battery are the gauges of the device's batteries. They tell what the whole
// device draws while it runs on them.
type battery struct {
	batteries []supply
	chargers  []supply
	paces     []pace // of the batteries
	unit      unitFinder
	held      []heldFlow // until the unit of the current is known
	external  bool       // so it was at the last reading
	detail    string
}

func openBattery(_ context.Context, tree folder, cfg Config) (source, error) {
	batteries, chargers, err := findSupplies(tree)
	if err != nil {
		return nil, err
	}
	b := &battery{batteries: batteries, chargers: chargers, paces: make([]pace, len(batteries)), unit: newUnitFinder(cfg.Unit, capacity(batteries))}
	b.detail = b.explain()
	return b, nil
}

// explain says what is read, and sees where the power comes from.
func (b *battery) explain() string {
	var names, how []string
	var status status
	for _, s := range b.batteries {
		names = append(names, parseWord([]byte(s.name)))
		g, err := s.read()
		what := "power_now"
		if err == nil && g.watts == 0 {
			what = "current_now x voltage_now"
		}
		how = append(how, what)
		status = together(status, g.status)
	}
	b.external = b.onExternal(status)
	slices.Sort(how)
	slices.Reverse(how)
	return strings.Join(names, " + ") + ": " + strings.Join(slices.Compact(how), " and ")
}

func (b *battery) describe() description { return description{name: Battery, detail: b.detail} }

// read needs every battery, or the sum would be too low. Power that charges one battery while
// another is being discharged is not drawn by the device.
func (b *battery) read(_ context.Context, now time.Duration, out []sample) ([]sample, error) {
	var drawn, taken flow
	var status status
	for i, s := range b.batteries {
		g, err := s.read() // of one that rests, no flow
		if err != nil && !errors.Is(err, errResting) {
			return out, err
		}
		b.paces[i].add(now, g.shown())
		status = together(status, g.status)
		if g.status == fed {
			taken.add(g)
		} else {
			drawn.add(g)
		}
	}
	b.external = b.onExternal(status)
	switch {
	case b.external:
		if len(b.held) > 0 {
			out = b.flush(out) // or they would come after this one
		}
		drawn.join(taken)
		s := drawn.sample(now, b.unit.amps(drawn.largest, drawn.volts))
		s.external = true
		return append(out, s), nil
	case drawn.watts == 0 && drawn.currentVolts == 0:
		return out, errNothing
	case drawn.currentVolts == 0:
		return append(out, b.timed(drawn.sample(now, 0))), nil
	}
	doubt := b.unit.add(now, drawn.largest, drawn.volts, drawn.charge)
	b.held = append(b.held, heldFlow{now, drawn})
	if b.unit.decided == "" {
		return out, nil
	}
	return b.release(out), doubt
}

// timed is a sample with the pace of the slowest battery.
func (b *battery) timed(s sample) sample {
	for i := range b.paces {
		s.refresh = max(s.refresh, b.paces[i].refresh())
	}
	return s
}

// flow is the current into or out of several batteries.
type flow struct {
	watts        float64 // if reported
	currentVolts float64 // sum of current times volts, for the others
	largest      int64   // of the currents
	volts        float64 // of the battery with that current
	charge       int64   // of the same
}

// heldFlow is a flow that waits for the unit of its currents.
type heldFlow struct {
	at time.Duration
	flow
}

func (f *flow) add(g gauges) {
	f.join(flow{watts: g.watts, currentVolts: float64(g.current) * g.volts, largest: g.current, volts: g.volts, charge: g.charge})
}

func (f *flow) join(g flow) {
	f.watts += g.watts
	f.currentVolts += g.currentVolts
	if g.largest > f.largest {
		f.largest, f.volts, f.charge = g.largest, g.volts, g.charge
	}
}

// sample is the flow, when one unit of the currents is that many amperes.
func (f *flow) sample(at time.Duration, amps float64) sample {
	return sample{at: at, watts: f.watts + f.currentVolts*amps}
}

func (b *battery) release(out []sample) []sample {
	for _, h := range b.held {
		out = append(out, b.timed(h.sample(h.at, b.unit.amps(h.largest, h.volts))))
	}
	b.held = b.held[:0]
	return out
}

// flush appends samples that were held back: with no more readings to come, the unit is decided
// by those that there are.
func (b *battery) flush(out []sample) []sample {
	_ = b.unit.decide() // a warning could not be shown any more
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

func (b *battery) renew() {
	for i := range b.batteries {
		b.batteries[i].folder.renew()
	}
	for i := range b.chargers {
		b.chargers[i].folder.renew()
	}
}

func (b *battery) close() {
	closeAll(b.batteries)
	closeAll(b.chargers)
}
