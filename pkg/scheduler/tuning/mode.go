package tuning

import (
	"fmt"
	"slices"
)

// Mode is how a Tuner chooses.
type Mode uint8

// The modes. The zero value is the default.
const (
	// HAT looks for the highest throughput (guner-kosar, "highest-achievable
	// throughput").
	HAT Mode = iota
	// EHT looks for the most Mbit/s per joule ("energy-aware high throughput").
	EHT
	// LowE looks for the least energy ("lowest-possible energy").
	LowE
	// Manual does what it is told: so many files at once, so many connections for
	// each, and no request before the one before it is answered in full.
	Manual
)

// Names lists the modes as ParseMode takes them.
func Names() []string { return []string{"hat", "eht", "lowe", "manual"} }

// String is the mode's name.
func (m Mode) String() string {
	if names := Names(); int(m) < len(names) {
		return names[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// Title is the mode's name as the papers write it.
func (m Mode) Title() string {
	switch m {
	case HAT:
		return "HAT"
	case EHT:
		return "EHT"
	case LowE:
		return "LowE"
	case Manual:
	}
	return m.String()
}

// ParseMode gives the mode of that name.
func ParseMode(name string) (Mode, error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return HAT, fmt.Errorf("there is no mode %q; there are %v", name, Names())
	}
	return Mode(i), nil
}
