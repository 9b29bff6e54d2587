package power

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

const (
	// leastMicro: no device draws 20 A, so a current from this number on was told in µA.
	leastMicro = 20_000
	// enoughReadings and enoughTime are of how many readings, over what time, the
	// unit is decided where their sizes have to tell.
	enoughReadings = 5
	enoughTime     = 4 * time.Second

	// restRate and mostRate are the shares of a battery's capacity that a device draws an hour,
	// at least and at most: no phone is empty within two hours at rest, or within half an hour
	// at work [D].
	restRate = 0.5
	mostRate = 2.0
	// usualCapacity is taken where the battery does not tell its own, in Ah: a phone's.
	usualCapacity = 4.0
	// restingWatts is the least that a device draws that runs a program like this [D].
	restingWatts = 0.01
)

// errUnit says that the unit that was decided on is at odds with what came later.
var errUnit = errors.New("the current's unit is in doubt")

// unitFinder finds out in which unit a battery tells its current. It decides
// once: at the first number that cannot be mA, when the counter of the charge
// settles it, or after enough readings by what is plausible.
type unitFinder struct {
	decided  Unit // empty: not yet
	forced   bool
	capacity float64 // Ah, of the battery; 0: unknown
	least    int64
	largest  int64
	volts    float64 // with the largest
	seen     int
	first    time.Duration
	slope    slope
}

func newUnitFinder(asked Unit, capacity float64) unitFinder {
	if asked == MicroAmps || asked == MilliAmps {
		return unitFinder{decided: asked, forced: true}
	}
	return unitFinder{capacity: capacity}
}

// add takes in a reading on battery: the size of the current, as reported, and the charge in
// microampere-hours, or 0 if unknown. The error says that the decision looks wrong; it stays,
// or samples of a session would not compare.
func (f *unitFinder) add(now time.Duration, current int64, volts float64, charge int64) error {
	if f.seen == 0 {
		f.least, f.first = current, now
	}
	f.least = min(f.least, current)
	if current >= f.largest {
		f.largest, f.volts = current, volts
	}
	f.seen++
	f.slope.add(now, current, charge)
	seems := f.slope.unit()
	switch {
	case f.decided == "" && seems != "":
		f.decided = seems
	case f.decided == "" && f.largest >= leastMicro:
		f.decided = MicroAmps
	case f.decided == "" && f.seen >= enoughReadings && now-f.first >= enoughTime:
		return f.decide()
	case f.forced:
	case f.decided == MilliAmps && f.largest >= leastMicro:
		return fmt.Errorf("%w: %d was taken to be mA; set --power-unit", errUnit, f.largest)
	case f.decided != "" && seems != "" && seems != f.decided:
		return fmt.Errorf("%w: it was taken to be %s, but the charge falls as if it were %s; set --power-unit", errUnit, f.decided, seems)
	}
	return nil
}

// decide ends the looking: there will be no more readings. The error says that neither
// unit is plausible, or that both are.
func (f *unitFinder) decide() error {
	if f.decided != "" {
		return nil
	}
	unit, sure := f.likely()
	f.decided = unit
	if sure {
		return nil
	}
	return fmt.Errorf("%w: numbers of %d to %d were taken to be %s; set --power-unit", errUnit, f.least, f.largest, unit)
}

// amps gives the amperes of one unit of a current, as far as it is known.
func (f *unitFinder) amps(current int64, volts float64) float64 {
	unit := f.decided
	if unit == "" {
		g := *f
		if g.seen == 0 {
			g.least = current
		}
		if g.least = min(g.least, current); current >= g.largest {
			g.largest, g.volts = current, volts
		}
		unit, _ = g.likely()
	}
	if unit == MilliAmps {
		return 1e-3
	}
	return 1e-6
}

// likely is the unit in which the currents are plausible for a running device: with the
// battery's capacity they give the time until it is empty, and with the voltage the least power
// that a device needs.
func (f *unitFinder) likely() (unit Unit, sure bool) {
	capacity := cmp.Or(f.capacity, usualCapacity)
	milli := float64(f.least)/1e3 <= restRate*capacity && float64(f.largest)/1e3 <= mostRate*capacity
	micro := f.largest >= leastMicro || float64(f.least)/1e6*f.volts >= restingWatts
	switch {
	case micro && !milli:
		return MicroAmps, true
	case f.largest >= leastMicro:
		return MicroAmps, false
	}
	return MilliAmps, milli && !micro
}

// slope holds a current against the fall of the charge that it causes, from one
// step of the charge's counter to a later one, so that it does not matter how
// coarse those are.
type slope struct {
	at            time.Duration
	current       int64
	charge        int64
	drawn         float64 // current times hours, since the first reading
	steps         int
	stepDrawn     float64 // drawn at the first step
	stepCharge    int64
	lastStepDrawn float64
	lastStep      int64
}

const (
	// leastSteps is how many falls of the charge must have been seen.
	leastSteps = 3
	// leastCharge is the least that is believed to be in microampere-hours.
	leastCharge = 20_000
)

func (s *slope) add(now time.Duration, current, charge int64) {
	if charge < leastCharge { // absent, or in a unit of its own
		return
	}
	if s.charge == 0 {
		s.at, s.current, s.charge = now, current, charge
		return
	}
	s.drawn += float64(s.current) * (now - s.at).Hours()
	if charge < s.charge {
		s.steps++
		if s.steps == 1 {
			s.stepDrawn, s.stepCharge = s.drawn, charge
		}
		s.lastStepDrawn, s.lastStep = s.drawn, charge
	}
	s.at, s.current, s.charge = now, current, charge
}

// unit is the one in which the current explains the fall of the charge; empty:
// neither, or not known yet.
func (s *slope) unit() Unit {
	drawn := s.lastStepDrawn - s.stepDrawn
	if s.steps < leastSteps || drawn <= 0 {
		return ""
	}
	switch ratio := float64(s.stepCharge-s.lastStep) / drawn; { // microamperes to one unit
	case ratio > 0.2 && ratio < 5:
		return MicroAmps
	case ratio > 200 && ratio < 5000:
		return MilliAmps
	}
	return ""
}
