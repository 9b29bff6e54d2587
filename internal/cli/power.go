package cli

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/power"
)

// sampleOptions is what the flags say of measuring power.
type sampleOptions struct {
	source   string
	interval time.Duration
	unit     string
	sysfs    string
}

func (o *sampleOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.source, "power", power.Auto, "measure power with: "+strings.Join(power.Names(), ", "))
	f.DurationVar(&o.interval, "power-interval", time.Second, "between readings")
	f.StringVar(&o.unit, "power-unit", string(power.UnitAuto), "in which the battery tells its current: auto, uA, mA")
	f.StringVar(&o.sysfs, "sysfs", "/sys", "`DIR` that stands for /sys")
}

// config checks the flags and makes a configuration of them.
func (o *sampleOptions) config(bus *event.Bus, started time.Time) (power.Config, error) {
	unit, err := power.ParseUnit(o.unit)
	if err != nil {
		return power.Config{}, usagef("--power-unit: %w", err)
	}
	cfg := power.Config{
		Source: o.source, Sysfs: o.sysfs, Interval: o.interval, Unit: unit,
		Prefix: os.Getenv("PREFIX"), Started: started, Bus: bus,
	}
	if err := cfg.Check(); err != nil {
		return cfg, usagef("--power: %w", err)
	}
	return cfg, nil
}

// powerOptions is what they say of measuring the power of a download.
type powerOptions struct {
	sampleOptions
	baseline, tail time.Duration
}

func (o *powerOptions) addFlags(f *pflag.FlagSet) {
	o.sampleOptions.addFlags(f)
	f.DurationVar(&o.baseline, "power-baseline", 0, "measure for so long before the first connection")
	f.DurationVar(&o.tail, "tail", 0, "measure for so long after the end; an interrupt ends it")
}

func (o *powerOptions) config(bus *event.Bus, started time.Time) (power.Config, error) {
	if o.baseline < 0 || o.tail < 0 {
		return power.Config{}, usagef("--power-baseline and --tail: a time is negative")
	}
	return o.sampleOptions.config(bus, started)
}

// linger measures for d while nothing is downloaded, and returns how long it did.
func linger(ctx context.Context, sampler *power.Sampler, d time.Duration, say func(important bool, text string), when string) time.Duration {
	if d == 0 {
		return 0
	}
	say(false, "measuring power for "+d.String()+when)
	begun := time.Now()
	sampler.Linger(ctx, d)
	return time.Since(begun)
}
