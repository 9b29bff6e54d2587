package power

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxChannel is the highest number of a chip's channel that is looked for.
const maxChannel = 16

// maxCores is how many more amd_energy may have: its cores' come before its sockets'.
const maxCores = 1024

// maxSensors bounds how many sensors add up.
const maxSensors = 64

// errPart is why existing sensors do not count.
var errPart = errors.New("only sensors of a part, such as a graphics card or a charger")

// hwmon are sensors of power on a board: INA219, INA3221 and the like, or a
// power supply that tells what it gives.
type hwmon struct {
	sensors
	detail string
	total  bool // what is read is the whole device, by its label
}

func openHWMon(_ context.Context, tree folder, _ Config) (source, error) {
	var found sensors
	supplies, _ := tree.list(supplyDir) // these are not hwmon's
	entries, reason := tree.list("class/hwmon")
	for _, entry := range entries {
		for _, at := range []string{"", "/device"} { // older drivers have their files one below
			chip, err := tree.folder("class/hwmon/" + entry + at)
			if err != nil {
				if at == "" {
					reason = err
				}
				continue
			}
			here, err := chipSensors(chip, supplies)
			if err != nil {
				reason = because(entry, err)
			}
			if len(here) == 0 {
				chip.close()
				continue
			}
			found = append(found, here...)
			break
		}
	}
	return chooseSensors(found, reason)
}

// chooseSensors takes the sensors that measure the whole board, by their labels; else all.
// Counters and gauges do not add up: if there are both, gauges are taken, also of sensors that
// have a counter besides.
func chooseSensors(found sensors, reason error) (source, error) {
	isTotal := func(s *sensor) bool { return totalLabel(s.label) }
	isGauge := func(s *sensor) bool { return s.energy == "" }
	h := &hwmon{sensors: found}
	if h.total = slices.ContainsFunc(found, isTotal); h.total {
		h.sensors = keep(h.sensors, isTotal)
	}
	if slices.ContainsFunc(h.sensors, isGauge) {
		for _, s := range h.sensors {
			if s.power != "" {
				s.energy = ""
			}
		}
		h.sensors = keep(h.sensors, isGauge)
	}
	h.sensors = h.sensors[:min(len(h.sensors), maxSensors)]
	for _, s := range found {
		if !sharesFolder(h.sensors, s) {
			s.folder.close()
		}
	}
	if len(h.sensors) == 0 {
		return nil, reason
	}
	labels := make([]string, len(h.sensors))
	for i, s := range h.sensors {
		labels[i] = s.label
	}
	h.detail = "sensors " + strings.Join(labels[:min(len(labels), 4)], ", ")
	if n := len(labels) - 4; n > 0 {
		h.detail += fmt.Sprintf(" and %d more", n)
	}
	return h, nil
}

func keep(ss sensors, wanted func(*sensor) bool) (kept sensors) {
	for _, s := range ss {
		if wanted(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// sharesFolder says whether a sensor in use is of the same chip as s.
func sharesFolder(used sensors, s *sensor) bool {
	return slices.ContainsFunc(used, func(u *sensor) bool { return u.folder.root == s.folder.root })
}

// chipSensors finds the sensors of a chip that can be read. Counters are better
// than gauges, and a gauge of power is better than those of its factors.
func chipSensors(chip folder, supplies []string) (found sensors, reason error) {
	name, last := chip.word("name"), maxChannel
	if name == "amd_energy" {
		last += maxCores
	}
	for _, kind := range []func(channel string) (s sensor, label string){
		func(n string) (sensor, string) {
			return sensor{energy: "energy" + n + "_input"}, "energy" + n + "_label"
		},
		func(n string) (sensor, string) { return sensor{power: "power" + n + "_input"}, "power" + n + "_label" },
		func(n string) (sensor, string) {
			return sensor{voltage: "in" + n + "_input", amps: "curr" + n + "_input"}, "in" + n + "_label"
		},
	} {
		for channel := 1; channel <= last; channel++ {
			n := strconv.Itoa(channel)
			s, label := kind(n)
			if !chip.has(s.energy, s.power, s.voltage, s.amps) || !ownRail(chip, name, s, channel) {
				continue
			}
			if gauge := "power" + n + "_input"; s.energy != "" && chip.has(gauge) {
				s.power = gauge
			}
			s.folder = chip
			if err := s.read(0); err != nil {
				reason = err
				continue
			}
			s.counter.seen = false // the first reading of the run begins the sum
			if s.label = chip.word(label); s.label == "" {
				s.label = name + " " + n
			}
			if !coreLabel(s.label) && !lightLabel(s.label) {
				found = append(found, &s)
			}
		}
		if len(found) > 0 && partOnly(name, supplies) {
			return nil, errPart
		}
		if len(found) > 0 {
			return withoutOutputs(found), nil
		}
	}
	return nil, reason
}

// ownRail says whether a channel is a rail of its own. The second counter of an LTC2947
// is not: it counts the first one's energy. Nor are voltage and current beyond an
// INA3221's three rails: in4 to in6 are there its shunts' voltages, in microvolts, and
// curr4 is the sum of its currents. Nor are they on a PMBus where a chip tells the
// voltage that comes in (vin), but of the currents only that which goes out (iout1)
// [Documentation/hwmon/ltc2947.rst, ina3221.rst, pmbus.rst].
func ownRail(chip folder, name string, s sensor, channel int) bool {
	switch {
	case name == "ltc2947" && channel > 1, name == "ina3221" && channel > 3:
		return false
	case s.voltage == "":
		return true
	}
	n := strconv.Itoa(channel)
	voltage, isVoltage := strings.CutPrefix(chip.word("in"+n+"_label"), "v")
	current, isCurrent := strings.CutPrefix(chip.word("curr"+n+"_label"), "i")
	return !isVoltage || !isCurrent || voltage == current
}

// withoutOutputs leaves out what a converter gives where it is known what that takes:
// the one is the other, less the losses. These are the labels that a PMBus has.
func withoutOutputs(chip sensors) sensors {
	isInput := func(s *sensor) bool { return s.label == "pin" || s.label == "vin" }
	if !slices.ContainsFunc(chip, isInput) {
		return chip
	}
	return keep(chip, func(s *sensor) bool {
		return !strings.HasPrefix(s.label, "pout") && !strings.HasPrefix(s.label, "vout")
	})
}

// totalLabel says whether a label is that of the whole device's input, of which
// the others are parts: VDD_IN and POM_5V_IN on Nvidia's boards, "Total System
// Power", "power total".
func totalLabel(label string) bool {
	label = strings.ToLower(label)
	return strings.HasSuffix(label, "_in") || strings.Contains(label, "total")
}

// coreLabel says whether it is that of a core, whose energy is in its socket's.
func coreLabel(label string) bool { return strings.HasPrefix(label, "Ecore") }

// lightLabel says whether it is that of the light which an optical module sends or
// gets: microwatts, and not what the module draws [drivers/net/phy/sfp.c].
func lightLabel(label string) bool { return label == "TX_power" || label == "RX_power" }

// partOnly says whether a chip of that name measures something beside the point:
// a graphics card, a charger, or a battery, which has a source of its own.
func partOnly(name string, supplies []string) bool {
	switch name {
	case "amdgpu", "radeon", "nouveau", "i915", "xe", "nvme":
		return true
	}
	if strings.HasPrefix(name, "ucsi_source_psy") {
		return true
	}
	return slices.ContainsFunc(supplies, func(s string) bool { return strings.ReplaceAll(s, "-", "_") == name || s == name })
}

func (h *hwmon) describe() description { return description{name: HWMon, detail: h.detail} }

func (h *hwmon) read(_ context.Context, now time.Duration, out []sample) ([]sample, error) {
	return h.sensors.read(now, out)
}

func (h *hwmon) flush(out []sample) []sample { return out }
