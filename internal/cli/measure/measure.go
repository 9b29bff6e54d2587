// Package measure reads the flags of how power is measured, and files of radio models.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/launch"
	"github.com/mlget/mlget/internal/power"
)

// sysfs is where the kernel describes the machine.
const sysfs = "/sys"

// Options holds the flags of measuring power.
type Options struct {
	Source   string
	Interval time.Duration
	unit     string
	sysfs    string
}

// AddFlags defines the flags.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	o.AddSourceFlag(f)
	o.AddReadingFlags(f)
}

// AddSourceFlag defines the flag that says what power is measured with.
func (o *Options) AddSourceFlag(f *pflag.FlagSet) {
	f.StringVar(&o.Source, "power", power.Auto, "measure power with: "+strings.Join(power.Names(), ", "))
}

// AddReadingFlags defines the flags that say how readings are taken.
func (o *Options) AddReadingFlags(f *pflag.FlagSet) {
	flags.DurationVar(f, &o.Interval, "power-interval", "", time.Second, "time between power readings")
	f.StringVar(&o.unit, "power-unit", string(power.UnitAuto), "`UNIT` of a battery's current: auto, uA, mA")
	f.StringVar(&o.sysfs, "sysfs", sysfs, "`DIR` to read instead of /sys")
}

// Config checks the flags and makes a configuration of them.
func (o *Options) Config(bus *event.Bus, started time.Time) (power.Config, error) {
	unit, err := power.ParseUnit(o.unit)
	if err != nil {
		return power.Config{}, exit.Usagef("--power-unit: %w", err)
	}
	cfg := power.Config{
		Source: o.Source, Sysfs: o.sysfs, Interval: o.Interval, Unit: unit,
		Prefix: os.Getenv("PREFIX"), Launch: launch.Of(os.Args), Started: started, Bus: bus,
	}
	if o.Interval < power.MinInterval {
		return cfg, exit.Usagef("--power-interval: %v is less than %v", o.Interval, power.MinInterval)
	}
	if err := cfg.Check(); err != nil {
		return cfg, exit.Usagef("--power: %w", err)
	}
	return cfg, nil
}

// Here lists this machine's sources of power readings, without any flags.
func Here(ctx context.Context) []power.Finding {
	return power.Survey(ctx, power.Config{Source: power.Auto, Sysfs: sysfs, Prefix: os.Getenv("PREFIX"), Launch: launch.Of(os.Args), Bus: &event.Bus{}})
}

// Models reads a file of models; without a name it returns the built-in ones.
func Models(name string) (energy.Models, error) {
	if name == "" {
		return energy.Models{}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return energy.Models{}, err
	}
	// A byte more than allowed, to detect a file that is too long.
	data, err := io.ReadAll(io.LimitReader(f, energy.MaxModelFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return energy.Models{}, err
	}
	models, err := energy.ParseModels(data)
	if err != nil {
		return energy.Models{}, fmt.Errorf("%s: %w", name, err)
	}
	return *models, nil
}
