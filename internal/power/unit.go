package power

import (
	"errors"
	"fmt"
	"time"
)

const (
	// leastMicro: a device at work draws more than 20 mA, and never 20 A. So a
	// session whose largest current is below this number was told in mA.
	leastMicro = 20_000
	// enoughReadings is how many readings on battery decide on mA.
	enoughReadings = 5
)

// errUnit says that the unit that was decided on is at odds with what came later.
var errUnit = errors.New("the current's unit is in doubt")

// unitFinder finds out in which unit a battery tells its current. It decides
// once: at the first number that cannot be mA, when the counter of the charge
// settles it, or after enough readings.
type unitFinder struct {
	decided Unit // empty: not yet
	forced  bool
	largest int64
	seen    int
	slope   slope
}

func newUnitFinder(asked Unit) unitFinder {
	if asked == MicroAmps || asked == MilliAmps {
		return unitFinder{decided: asked, forced: true}
	}
	return unitFinder{}
}

// add takes in a reading on battery: the size of the current, as it is told, and
// the charge in microampere-hours, or 0 where it is unknown. The error says that
// the decision looks wrong; it stays, or samples of a session would not compare.
func (f *unitFinder) add(now time.Duration, current, charge int64) error {
	f.largest = max(f.largest, current)
	f.seen++
	f.slope.add(now, current, charge)
	seems := f.slope.unit()
	switch {
	case f.decided == "" && seems != "":
		f.decided = seems
	case f.decided == "" && f.largest >= leastMicro:
		f.decided = MicroAmps
	case f.decided == "" && f.seen >= enoughReadings:
		f.decide()
	case f.forced:
	case f.decided == MilliAmps && f.largest >= leastMicro:
		return fmt.Errorf("%w: %d was taken to be mA; --power-unit tells", errUnit, f.largest)
	case f.decided != "" && seems != "" && seems != f.decided:
		return fmt.Errorf("%w: it was taken to be %s, but the charge falls as if it were %s; --power-unit tells", errUnit, f.decided, seems)
	}
	return nil
}

// decide ends the looking: there will be no more readings.
func (f *unitFinder) decide() {
	if f.decided == "" {
		f.decided = likely(f.largest)
	}
}

// amps gives the amperes of one unit of a current, as far as it is known.
func (f *unitFinder) amps(current int64) float64 {
	unit := f.decided
	if unit == "" {
		unit = likely(max(f.largest, current))
	}
	if unit == MilliAmps {
		return 1e-3
	}
	return 1e-6
}

// likely is the unit in which a device at work would tell its largest current.
func likely(largest int64) Unit {
	if largest < leastMicro {
		return MilliAmps
	}
	return MicroAmps
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
