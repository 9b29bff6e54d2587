package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/launch"
	"github.com/mlget/mlget/internal/modelled"
	"github.com/mlget/mlget/internal/power"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// sysfs is where the kernel tells of the machine.
const sysfs = "/sys"

// sampleOptions is what the flags say of measuring power.
type sampleOptions struct {
	source   string
	interval time.Duration
	unit     string
	sysfs    string
}

func (o *sampleOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.source, "power", power.Auto, "measure power with: "+strings.Join(power.Names(), ", "))
	durationVar(f, &o.interval, "power-interval", "", time.Second, "between readings")
	f.StringVar(&o.unit, "power-unit", string(power.UnitAuto), "in which the battery tells its current: auto, uA, mA")
	f.StringVar(&o.sysfs, "sysfs", sysfs, "`DIR` that stands for /sys")
}

// config checks the flags and makes a configuration of them.
func (o *sampleOptions) config(bus *event.Bus, started time.Time) (power.Config, error) {
	unit, err := power.ParseUnit(o.unit)
	if err != nil {
		return power.Config{}, usagef("--power-unit: %w", err)
	}
	cfg := power.Config{
		Source: o.source, Sysfs: o.sysfs, Interval: o.interval, Unit: unit,
		Prefix: os.Getenv("PREFIX"), Launch: launch.Of(os.Args), Started: started, Bus: bus,
	}
	if o.interval < power.MinInterval {
		return cfg, usagef("--power-interval: %v is less than %v", o.interval, power.MinInterval)
	}
	if err := cfg.Check(); err != nil {
		return cfg, usagef("--power: %w", err)
	}
	return cfg, nil
}

// powerHere is what power can be measured with on this machine, without any flags.
func powerHere(ctx context.Context) []power.Finding {
	return power.Survey(ctx, power.Config{Source: power.Auto, Sysfs: sysfs, Prefix: os.Getenv("PREFIX"), Launch: launch.Of(os.Args), Bus: &event.Bus{}})
}

// powerOptions is what they say of the power and the energy of a download.
type powerOptions struct {
	sampleOptions
	baseline, tail time.Duration
	modelFile      string
}

func (o *powerOptions) addFlags(f *pflag.FlagSet) {
	o.sampleOptions.addFlags(f)
	f.Lookup("power").Usage += ", " + power.Model
	durationVar(f, &o.baseline, "power-baseline", "", 0, "measure for so long before the first connection")
	durationVar(f, &o.tail, "tail", "", 0, "measure for so long after the end; an interrupt ends it")
	f.StringVar(&o.modelFile, "energy-model", "", "`FILE` that describes the radios of this device (docs/energy-models.md)")
}

// measurement is how a download's power is measured or modelled.
type measurement struct {
	power  power.Config
	models energy.Models
}

// config checks the flags, and reads the file of models.
func (o *powerOptions) config(bus *event.Bus, started time.Time) (measurement, error) {
	models, err := readModels(o.modelFile)
	if err != nil {
		return measurement{}, fileError{fmt.Errorf("--energy-model: %w", err)}
	}
	if err := onlyOf("--power", append(power.Names(), power.Model), o.source); err != nil {
		return measurement{}, err
	}
	m := measurement{models: models}
	if o.source != power.Model {
		m.power, err = o.sampleOptions.config(bus, started)
		return m, err
	}
	others := o.sampleOptions
	others.source = power.None
	m.power, err = others.config(bus, started)
	m.power.Source = power.Model
	return m, err
}

// readModels reads a file of models; without a name there are those that are
// built in.
func readModels(name string) (energy.Models, error) {
	if name == "" {
		return energy.Models{}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return energy.Models{}, err
	}
	// A byte more than is allowed: so a file that is too long is told from others.
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

// meter adds up what is measured, for the engine.
type meter struct{ power.Meter }

// Spent is what was spent so far.
func (m *meter) Spent() (engine.Spent, bool) {
	s, ok := m.Meter.Spent()
	return engine.Spent(s), ok
}

// meter follows the run of bus until its end, where somebody decides by what is
// measured; else it is nil.
func (o *getOptions) meter(bus *event.Bus) engine.Meter {
	if o.mode != tuning.EHT.String() && o.energy != scheduler.EnergyMin.String() {
		return nil
	}
	m := new(meter)
	go m.Watch(bus.Subscribe())
	return m
}

// sampler publishes power while a download goes on.
type sampler interface {
	Closely(d time.Duration)
	Linger(ctx context.Context, d time.Duration)
	Stop()
}

// start begins to sample, as soon as the run has been told of.
func (m measurement) start(run event.RunStarted) sampler {
	if m.power.Source == power.Model {
		return modelled.Start(modelled.Config{Models: m.models, Interval: m.power.Interval, Run: run, Bus: m.power.Bus})
	}
	return power.Start(m.power)
}

// onset is for how many intervals between readings these are close after the start
// of a download: a gauge that looks as often as it is asked shows a change of the
// power within one of them, and one that tells means shows all of it within two.
const onset = 2

// linger measures for d while nothing is downloaded, and returns how long it did.
func linger(ctx context.Context, s sampler, d time.Duration, say func(important bool, text string), when string) time.Duration {
	if d == 0 {
		return 0
	}
	say(false, "measuring power for "+d.String()+when)
	begun := time.Now()
	s.Closely(d)
	s.Linger(ctx, d)
	return time.Since(begun)
}
