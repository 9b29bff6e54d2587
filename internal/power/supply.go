package power

import (
	"errors"
	"slices"
	"strings"
)

const (
	supplyDir = "class/power_supply"
	// maxCurrent is the largest number that is believed of a current: 100 A in µA.
	maxCurrent = 100_000_000
	// maxVolts is the highest voltage that is believed of a battery.
	maxVolts = 100
)

// Reasons why a battery gives nothing.
var (
	errVoltage = errors.New("not a voltage")
	errNothing = errors.New("0 while it runs on battery")
	errResting = errors.New("neither charged nor discharged")
)

// supply is a battery, or what charges it.
type supply struct {
	folder folder
	name   string
	power  string // its file; empty: there is none
	charge string
}

// look finds the files that a battery has, so that no reading looks for others.
func (s *supply) look() {
	if s.folder.has("power_now") {
		s.power = "power_now"
	}
	for _, name := range []string{"charge_now", "charge_counter"} {
		if s.folder.has(name) {
			s.charge = name
		}
	}
}

// capacity is that of the largest battery, in Ah, as far as reported; 0: none is. The kernel's
// unit is µAh; a phone that reports currents in mA reports mAh.
func capacity(batteries []supply) (ampHours float64) {
	for _, s := range batteries {
		for _, name := range []string{"charge_full", "charge_full_design"} {
			n, err := s.folder.number(name)
			if err != nil || n <= 0 {
				continue
			}
			full := float64(n) / 1e6
			if n < leastCharge {
				full = float64(n) / 1e3
			}
			ampHours = max(ampHours, full)
			break
		}
	}
	return ampHours
}

// gauges is a reading of a battery: its power, or the factors of that.
type gauges struct {
	status  status
	watts   float64 // of power_now; 0: none
	current int64   // size of current_now, in a unit that is another's to find out
	volts   float64
	charge  int64 // microampere-hours; 0: unknown
}

// shown is the number that tells the power, or the factor of it that changes most.
func (g gauges) shown() int64 {
	if g.watts != 0 {
		return int64(g.watts * 1e6)
	}
	return g.current
}

// status is the direction of a battery's current, as reported. The current's sign is of no use:
// three conventions are in use.
type status int

const (
	unknown status = iota
	discharging
	fed // charging, full, or not charging although it could
)

func parseStatus(word string) status {
	switch strings.ToLower(word) {
	case "discharging":
		return discharging
	case "charging", "full", "not charging":
		return fed
	}
	return unknown
}

// read takes a reading of a battery. The error of one that tells no power now, and has
// nothing else to tell, is errResting; its status holds all the same.
func (s supply) read() (gauges, error) {
	g := gauges{status: parseStatus(s.folder.word("status"))}
	if s.power != "" {
		n, err := s.folder.number(s.power)
		switch {
		case err == nil && n != 0 && size(n) <= maxWatts*1e6:
			g.watts = size(n) / 1e6
			return g, nil
		case err == nil && n == 0 && !s.folder.has("current_now"):
			return g, errResting
		}
	}
	current, err := s.folder.number("current_now")
	if err != nil {
		return g, err
	}
	if g.current = int64(size(current)); g.current > maxCurrent {
		return g, because("current_now", errImplausible)
	}
	told, err := s.folder.number("voltage_now")
	if err != nil {
		return g, err
	}
	if g.volts = volts(told); g.volts == 0 {
		return g, because("voltage_now", errVoltage)
	}
	if s.charge != "" {
		if n, err := s.folder.number(s.charge); err == nil {
			g.charge = max(n, 0)
		}
	}
	return g, nil
}

// size is a number without its sign.
func size(n int64) float64 { return max(float64(n), -float64(n)) }

// volts reads a voltage in µV or in mV; 0 if it is neither.
func volts(told int64) float64 {
	switch {
	case told >= 1e6 && told <= maxVolts*1e6:
		return float64(told) / 1e6
	case told >= 1e3 && told <= 2e4:
		return float64(told) / 1e3
	}
	return 0
}

// findSupplies gives the batteries that together are the device's, and what can
// charge them. The batteries of mice and pens (scope Device) are neither.
func findSupplies(tree folder) (batteries, chargers []supply, err error) {
	var found, resting []supply
	names, err := tree.list(supplyDir)
	slices.SortStableFunc(names, func(a, b string) int { return ownRank(a) - ownRank(b) })
	for _, name := range names {
		dir, failure := tree.folder(supplyDir + "/" + name)
		if failure != nil {
			err = failure
			continue
		}
		s := supply{folder: dir, name: name}
		kind := dir.word("type")
		switch {
		case dir.word("scope") == "Device":
			dir.close()
		case kind == "Battery" || ownRank(name) < others:
			s.look()
			found = append(found, s)
		default:
			chargers = append(chargers, s)
		}
	}
	for _, s := range found {
		// On a PC several batteries add up. On a phone several entries are views
		// of the same cell: the first that can be read will do.
		if len(batteries) > 0 && (ownRank(s.name) > 0 || ownRank(batteries[0].name) > 0) {
			s.folder.close()
			continue
		}
		_, failure := s.read()
		switch {
		case failure == nil:
			batteries = append(batteries, s)
			continue
		case errors.Is(failure, errResting) && ownRank(s.name) == 0:
			resting = append(resting, s)
		default:
			s.folder.close()
		}
		err = because(s.name, failure)
	}
	switch {
	case len(batteries) > 0 && ownRank(batteries[0].name) == 0:
		// One that rests may take over from another before the end.
		return append(batteries, resting...), chargers, nil
	case len(batteries) > 0:
		closeAll(resting)
		return batteries, chargers, nil
	}
	closeAll(resting)
	closeAll(chargers)
	return nil, nil, err
}

func closeAll(supplies []supply) {
	for _, s := range supplies {
		s.folder.close()
	}
}

// others is the rank of a name that says nothing.
const others = 5

// ownRank orders the names that a device's own battery goes by: the least is
// the best.
func ownRank(name string) int {
	switch {
	case strings.HasPrefix(name, "BAT"):
		return 0
	case name == "battery":
		return 1
	case name == "Battery":
		return 2
	case name == "main-battery":
		return 3
	case name == "bms":
		return 4
	}
	return others
}
