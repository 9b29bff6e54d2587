package get

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/measure"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/modelled"
	"github.com/mlget/mlget/internal/power"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// powerOptions holds the flags of a download's power and energy.
type powerOptions struct {
	sample         measure.Options
	policy         string // of --energy
	baseline, tail time.Duration
	modelFile      string
}

func (o *powerOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.policy, "energy", "", "save energy by `POLICY`: off, emtcp, min-energy")
	flags.Detail(f, "energy", "off is the default, for many files with --mode lowe min-energy; emtcp=SHARE moves another part than 0.24.")
	o.sample.AddSourceFlag(f)
	f.Lookup("power").Usage = "measure power with `SOURCE`"
	flags.Detail(f, "power", strings.Join(append(power.Names(), power.Model), ", ")+".")
	flags.DurationVar(f, &o.baseline, "power-baseline", "", 0, "measure power for this time before the start")
	flags.DurationVar(f, &o.tail, "tail", "", 0, "measure power for this time after the end")
	flags.Detail(f, "tail", "An interrupt ends it.")
	f.StringVar(&o.modelFile, "energy-model", "", "`FILE` that describes this device's radios")
	flags.Detail(f, "energy-model", "See docs/energy-models.md.")
}

func (o *powerOptions) addExpertFlags(f *pflag.FlagSet) { o.sample.AddReadingFlags(f) }

// asked says whether anybody wants to know what the download takes.
func (o *powerOptions) asked() bool {
	return o.sample.Source != power.Auto || o.modelFile != "" || o.baseline > 0 || o.tail > 0 || o.policy != "" && o.policy != scheduler.EnergyOff.String()
}

// measurement is how a download's power is measured or modelled.
type measurement struct {
	power  power.Config
	models energy.Models
}

// config checks the flags, and reads the file of models.
func (o *powerOptions) config(bus *event.Bus, started time.Time) (measurement, error) {
	models, err := measure.Models(o.modelFile)
	if err != nil {
		return measurement{}, exit.FileError{Err: fmt.Errorf("--energy-model: %w", err)}
	}
	if err := flags.OnlyOf("--power", append(power.Names(), power.Model), o.sample.Source); err != nil {
		return measurement{}, err
	}
	m := measurement{models: models}
	if o.sample.Source != power.Model {
		m.power, err = o.sample.Config(bus, started)
		return m, err
	}
	others := o.sample
	others.Source = power.None
	m.power, err = others.Config(bus, started)
	m.power.Source = power.Model
	return m, err
}

// Power returns how to measure the power of downloads with these flags, and the models of their
// links' radios. The caller that starts the measurement sets the bus.
func (o *Options) Power(started time.Time) (power.Config, energy.Models, error) {
	m, err := o.power.config(&event.Bus{}, started)
	return m.power, m.models, err
}

// meter adds up what is measured, for the engine.
type meter struct{ power.Meter }

// Spent is the energy spent so far.
func (m *meter) Spent() (engine.Spent, bool) {
	s, ok := m.Meter.Spent()
	return engine.Spent(s), ok
}

// meter adds up the readings of the run of bus for policies that decide by measured energy. For
// others it is nil.
func (o *Options) meter(bus *event.Bus) engine.Meter {
	if o.mode != tuning.EHT.String() && o.power.policy != scheduler.EnergyMin.String() {
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

// start begins to sample, after the event of the run's start.
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
