package linklab

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mlget/mlget/internal/linklab/battery"
	"github.com/mlget/mlget/internal/linklab/emu"
)

// startBattery makes the phone's battery, if there is a radio that draws from it,
// and the file that describes the radios.
func (l *Lab) startBattery() error {
	if _, radios := l.emu.Radios(); len(radios) == 0 {
		return nil
	}
	text, err := energyModel(l.cfg.Scenario.Links)
	if err == nil {
		l.model = filepath.Join(l.dir, "energy-model.json")
		err = os.WriteFile(l.model, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("radio models: %w", err)
	}
	l.sysfs = filepath.Join(l.dir, "sys")
	if err := os.Mkdir(l.sysfs, 0o755); err != nil {
		return fmt.Errorf("battery: %w", err)
	}
	l.battery, err = battery.Start(l.cfg.Battery, l.sysfs, radioMeter{l.emu})
	return err
}

// radioMeter tells a battery what the radios have spent.
type radioMeter struct{ emu *emu.Emulator }

// Spent is the energy of all radios since the emulator's start, in J.
func (m radioMeter) Spent() (at time.Duration, joules float64) {
	at, radios := m.emu.Radios()
	for i := range radios {
		joules += radios[i].Machine.Energy().Total()
	}
	return at, joules
}

// Sysfs is a directory that looks like the /sys of a phone on its battery, and
// shows what the radios draw. It is empty where no link has a power model.
func (l *Lab) Sysfs() string { return l.sysfs }

// Shown is what the battery's files have shown so far; see battery.Battery. There
// has to be a battery.
func (l *Lab) Shown() (joules float64, late time.Duration) { return l.battery.Shown() }

// EnergyModel is a file that describes the radios of the links, by the links'
// names, as mlget --energy-model reads it. It is empty where no link has a power
// model.
func (l *Lab) EnergyModel() string { return l.model }

// EnergyMeter measures what a lab's radios spend on a command. It belongs to one
// goroutine.
type EnergyMeter struct {
	lab        *Lab
	begin, end snapshot
}

// StartEnergy begins to measure now, just before a command starts. It gives nil,
// of which all methods may be called, where no link has a power model.
func (l *Lab) StartEnergy() *EnergyMeter {
	m := &EnergyMeter{lab: l, begin: l.snapshot()}
	if len(m.begin.radios) == 0 {
		return nil
	}
	m.end = m.begin
	return m
}

// End says that the command has ended now.
func (m *EnergyMeter) End() {
	if m != nil {
		m.end = m.lab.snapshot()
	}
}

const (
	// quietTime is for how long nothing may be under way, beyond a round trip,
	// before it is believed that nothing more will come.
	quietTime = 50 * time.Millisecond
	// longestSettle is how long that is waited for at most.
	longestSettle = 2 * time.Second
)

// Energy is what was spent until tail after the command's end, or UntilIdle; nil
// where no link has a power model. It waits for what the command has left under
// way: the ends of its connections.
func (m *EnergyMeter) Energy(tail time.Duration) *Energy {
	if m == nil {
		return nil
	}
	last := m.end
	if tail != 0 {
		m.settle(tail)
		last = m.lab.snapshot()
	}
	e := newEnergy(m.begin, m.end, last, tail, m.lab.cfg.Battery.BaseWatts)
	return &e
}

// settle waits until the links are quiet, and no longer than the tail.
func (m *EnergyMeter) settle(tail time.Duration) {
	enough, longest := quietTime, longestSettle
	for _, k := range m.lab.cfg.Scenario.Links {
		enough = max(enough, k.RTT+quietTime)
	}
	if tail > 0 {
		longest = min(longest, tail)
	}
	for begin := time.Now(); m.lab.emu.Quiet() < enough && time.Since(begin) < longest; {
		time.Sleep(5 * time.Millisecond)
	}
}

func (l *Lab) snapshot() snapshot {
	s := snapshot{stats: l.emu.Stats()}
	s.at, s.radios = l.emu.Radios()
	return s
}
