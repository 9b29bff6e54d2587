package sim

import (
	"fmt"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/terms"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// ackBytes go up for every ackEvery bytes that come down: one bare
	// acknowledgement for two full packets (RFC 5681, 4.2).
	ackBytes, ackEvery = 52, 3000
	// requestBytes is the size of a request, and of a connection's first packets.
	requestBytes = 300
)

// meter is a link's radio.
type meter struct {
	machine energy.Machine
	rest    float64 // of a byte
}

// SetRadios gives the links radios, in the scenario's order, and the scheduler
// their terms. One without a name costs nothing.
func (c *Config) SetRadios(radios []energy.Radio) {
	c.Radios = radios
	c.Terms = make([]scheduler.Terms, len(radios))
	for i, r := range radios {
		c.Terms[i] = terms.Of(r)
	}
}

// receive lets payload bytes cross the radio, evenly, with all that carries them.
func (m *meter) receive(from, to scheduler.Time, payload float64, conns int) {
	m.rest += payload / scenario.Goodput
	bytes := int64(m.rest)
	m.rest -= float64(bytes)
	m.machine.Step(int64(from), 0, 0, conns)
	m.machine.Step(int64(to), bytes, bytes*ackBytes/ackEvery, conns)
}

// send lets a request cross it.
func (m *meter) send(now scheduler.Time, conns int) {
	m.machine.Step(int64(now), 0, 0, conns)
	m.machine.Step(int64(now), 0, requestBytes, conns)
}

// joules is what all radios have spent up to now, beyond idling; below 0 when there
// are none.
func (r *run) joules() float64 {
	if len(r.cfg.Radios) == 0 {
		return -1
	}
	sum := 0.0
	for i := range r.links {
		if l := &r.links[i]; l.meter != nil {
			m := l.meter.machine // a copy: a rehearsal
			m.Step(int64(r.now), 0, 0, l.working())
			sum += m.Energy().Dynamic
		}
	}
	return sum
}

// Energy is what a run's radios spent. All of it is modelled.
type Energy struct {
	Policy         string  `json:"policy"`
	Deadline       float64 `json:"deadline_seconds,omitempty"`
	Joules         float64 `json:"dynamic_joules"` // beyond idling, tails included
	TailJoules     float64 `json:"tail_joules"`    // of them, after the last byte
	JoulesPer100MB float64 `json:"joules_per_100mb"`
	MbpsPerJoule   float64 `json:"mbps_per_joule"`
}

// policyName is the energy policy as --energy names it.
func (c *Config) policyName() string {
	if c.Offload == 0 {
		return c.Energy.String()
	}
	return fmt.Sprintf("%s=%g", c.Energy, c.Offload)
}

// spend sums up what the radios spent until they are all idle.
func (r *run) spend(res *Result) {
	if len(r.cfg.Radios) == 0 {
		return
	}
	e := Energy{Policy: r.cfg.policyName(), Deadline: r.cfg.Deadline}
	for i := range r.links {
		m := r.links[i].meter
		if m == nil {
			continue
		}
		m.machine.Step(int64(r.now), 0, 0, 0)
		before := m.machine.Energy().Dynamic
		m.machine.Step(m.machine.IdleAt(), 0, 0, 0)
		joules := m.machine.Energy().Dynamic
		res.Links[i].Model, res.Links[i].Joules = r.cfg.Radios[i].Name, joules
		e.Joules += joules
		e.TailJoules += joules - before
	}
	e.JoulesPer100MB = e.Joules / (float64(r.cfg.Size) / 100e6)
	if e.Joules > 0 && r.now > 0 {
		e.MbpsPerJoule = float64(r.cfg.Size) * 8 / 1e6 / r.now.Seconds() / e.Joules
	}
	res.Energy = &e
}
