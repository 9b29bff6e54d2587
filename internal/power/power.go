// Package power reads the device's power from any of its gauges and energy counters that can be
// read, and publishes the readings as events.
//
// All files are below one root, which stands for /sys. Their content is not trusted: a file
// that is absent, unreadable, too large, no regular file or not a number is no reading, and
// nothing worse. Nothing is ever written.
//
// Contract: Start returns at once; one goroutine per Sampler does all the reading, so that a
// gauge that is slow, or never answers, holds up neither the download nor its end. A Sampler's
// methods may be called from any goroutine. Survey reads in goroutines of its own, one for each
// kind of source.
package power

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/launch"
)

// The sources of readings, by the names that they have in flags and reports.
const (
	Auto    = "auto"    // the best that can be read
	None    = "none"    // nothing is measured
	Battery = "battery" // the whole device, while it runs on its battery
	RAPL    = "rapl"    // processor packages of a PC
	HWMon   = "hwmon"   // sensors of a board
	ODPM    = "odpm"    // power rails of a Pixel phone
	Termux  = "termux"  // the battery, asked through Termux:API
	Model   = "model"   // computed from a download's traffic, by internal/modelled: see ErrModel
)

// ErrModel says that Model has nothing to sample: its figures come from the traffic, not from a
// gauge.
var ErrModel = errors.New("model is not measured, but computed from the traffic of a download")

// Unit is the unit of a battery's current_now.
type Unit string

// The units of a battery's current. The kernel's rule is microamperes; not
// every maker of phones knows it.
const (
	UnitAuto  Unit = "auto" // found out from the readings
	MicroAmps Unit = "uA"
	MilliAmps Unit = "mA"
)

// ParseUnit reads a unit as people write it: auto, uA, µA or mA.
func ParseUnit(text string) (Unit, error) {
	switch u := Unit(strings.Replace(text, "µ", "u", 1)); u {
	case UnitAuto, MicroAmps, MilliAmps:
		return u, nil
	}
	return "", fmt.Errorf("%q is none of auto, uA, mA", text)
}

// MinInterval is the shortest interval between readings that can be asked for:
// no gauge is faster, and reading should cost next to nothing.
const MinInterval = 10 * time.Millisecond

// Config says what to sample, and how.
type Config struct {
	Source   string        // Auto, None, or the source that it has to be
	Sysfs    string        // the directory that stands for /sys
	Interval time.Duration // between readings
	Unit     Unit          // of a battery's current
	Prefix   string        // Termux's $PREFIX, below which its programs are; empty: not Termux
	// Launch is how this process was started, and so how Termux's programs are.
	Launch  launch.Launch
	Started time.Time // when the run began, with a monotonic reading
	Bus     *event.Bus
}

// Names lists what Config.Source may be.
func Names() []string {
	names := []string{Auto, None}
	for _, o := range openers() {
		names = append(names, o.name)
	}
	return names
}

// Check reports what is wrong with a configuration; its error is ErrModel or the user's
// mistake.
func (c Config) Check() error {
	switch {
	case c.Source == Model:
		return ErrModel
	case !slices.Contains(Names(), c.Source):
		return fmt.Errorf("there is no source %q; there are %s", c.Source, strings.Join(Names(), ", "))
	case c.Interval < MinInterval:
		return fmt.Errorf("an interval of %v is shorter than %v", c.Interval, MinInterval)
	}
	return nil
}
