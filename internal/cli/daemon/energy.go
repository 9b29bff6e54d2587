package daemon

import (
	"sync"
	"time"

	"github.com/mlget/mlget/internal/aria2rpc"
	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/metrics"
	"github.com/mlget/mlget/internal/power"
)

// energyMeter measures the device's energy while downloads are active. While all wait it reads
// nothing and wakes nothing. It implements aria2rpc.EnergyMeter.
type energyMeter struct {
	cfg    power.Config
	seen   *metrics.Run // gets the readings; nil: metrics are off
	radios *radios

	mu      sync.Mutex
	active  int // downloads
	stop    func()
	stopped sync.WaitGroup
	sum     aria2rpc.Energy
}

// newEnergyMeter makes a meter that measures power as flags of downloads say. Without a
// measurement, energy is each link's, by its model.
func newEnergyMeter(o *get.Options, seen *metrics.Run) (*energyMeter, error) {
	cfg, models, err := o.Power(time.Now())
	if err != nil {
		return nil, err
	}
	m := &energyMeter{cfg: cfg, seen: seen, radios: &radios{models: models}}
	switch cfg.Source {
	case power.Model:
		m.cfg.Source, m.sum.Source = power.None, power.Model
	case power.None:
		m.sum.Unavailable = "--power none"
	}
	return m, nil
}

// of says whose radios they are, before the first download.
func (m *energyMeter) of(links *get.Shared) { m.radios.links = links }

// reading is the last reading since a sampler was started.
type reading struct {
	event.Power
	known bool
}

// begin says that a download begins.
func (m *energyMeter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active++; m.active > 1 || m.cfg.Source == power.None {
		return
	}
	bus := new(event.Bus)
	cfg := m.cfg
	cfg.Bus = bus
	sub := bus.Subscribe()
	m.stopped.Go(func() {
		var last reading
		for e := range sub.All() {
			m.add(e, &last)
		}
		m.rest(last)
	})
	sampler := power.Start(cfg)
	m.stop = func() {
		sampler.Stop()
		bus.Close()
	}
}

// end says that a download has ended. The last reading may take its time.
func (m *energyMeter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active--; m.active > 0 || m.stop == nil {
		return
	}
	m.stopped.Go(m.stop)
	m.stop = nil
}

// add takes in what a sampler tells. A counter tells joules since it was started; between two
// readings of a gauge there is a straight line, as in the report.
func (m *energyMeter) add(e event.Event, last *reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e := e.(type) {
	case event.PowerSource:
		m.sum.Source, m.sum.Unavailable = e.Source, e.Unavailable
	case event.Power:
		took, had := (e.At - last.At).Seconds(), last.known
		switch {
		case e.External: // what is read is not what the device draws
			*last = reading{}
			m.sum.Watts, m.sum.IsExternal = 0, true
		case had && e.Counter:
			m.sum.Joules += max(0, e.Joules-last.Joules)
			m.sum.Seconds += took
		case had:
			m.sum.Joules += (last.Watts + e.Watts) / 2 * took
			m.sum.Seconds += took
		}
		if !e.External {
			*last = reading{e, true}
			m.sum.Watts, m.sum.IsExternal = 0, false
			if e.HasWatts() {
				m.sum.Watts = e.Watts
			}
		}
		if m.seen != nil {
			e.Joules = m.sum.Joules // of all samplers
			m.seen.Add(e)
		}
	}
}

// rest marks a pause in reading, over which nothing is integrated.
func (m *energyMeter) rest(last reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.Watts = 0
	if m.seen != nil && last.known {
		m.seen.Add(event.Power{At: last.At, Source: last.Source, External: true})
	}
}

// Energy implements aria2rpc.EnergyMeter.
func (m *energyMeter) Energy() aria2rpc.Energy {
	links := m.radios.Energy()
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.sum
	e.Links = links
	if e.Source == power.Model {
		e.Joules, e.Unavailable = 0, ""
		for _, l := range links {
			e.Joules += l.Joules
		}
		if len(links) == 0 {
			e.Unavailable = "there is no model of a link's radio"
		}
	}
	return e
}

// close waits until nothing is read any more. No download is active.
func (m *energyMeter) close() { m.stopped.Wait() }
