package battery

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// The phone's defaults.
const (
	// DefaultBaseWatts is what a Galaxy S7 draws with its screen on and nothing to
	// do [Skjolden 2019, 7.1].
	DefaultBaseWatts = 0.7
	// DefaultEvery is how often most phones' gauges look.
	DefaultEvery = time.Second
)

// Bounds of what may be asked for.
const (
	minEvery        = 10 * time.Millisecond
	maxEvery        = time.Minute
	minBaseWatts    = 0.1 // less reads like mA where µA are meant
	maxBaseWatts    = 20
	maxNoisePercent = 50
)

// The cell [D].
const (
	capacityAmpHours = 3.0 // a Galaxy S7's
	startCharge      = 0.71
	startVolts       = 3.85
	voltsPerCharge   = 0.6 // how far the voltage falls from full to empty
)

// Resolution of the gauge [D].
const (
	currentStep = 1000 // µA
	voltageStep = 1000 // µV
	chargeStep  = 500  // µAh
)

// Meter says what the phone's radios have drawn: joules since a start of its
// own, up to a time since that start.
type Meter interface {
	Spent() (at time.Duration, joules float64)
}

// Config says what the battery is to be.
type Config struct {
	BaseWatts    float64       // what the phone draws besides its radios; 0 = DefaultBaseWatts
	Every        time.Duration // between two changes of the files; 0 = DefaultEvery
	NoisePercent float64       // standard deviation of the current's error; 0 = none
	Seed         uint64        // of the noise
}

// Complete checks the configuration and fills in defaults.
func (c Config) Complete() (Config, error) {
	if c.BaseWatts == 0 {
		c.BaseWatts = DefaultBaseWatts
	}
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	switch {
	case !(c.BaseWatts >= minBaseWatts && c.BaseWatts <= maxBaseWatts):
		return c, fmt.Errorf("base power %g W: must be within %g..%d W", c.BaseWatts, minBaseWatts, maxBaseWatts)
	case c.Every < minEvery || c.Every > maxEvery:
		return c, fmt.Errorf("gauge %v: must be within %v..%v", c.Every, minEvery, maxEvery)
	case !(c.NoisePercent >= 0 && c.NoisePercent <= maxNoisePercent):
		return c, fmt.Errorf("gauge noise %g %%: must be within 0..%d", c.NoisePercent, maxNoisePercent)
	}
	return c, nil
}

// Battery is a battery that is being discharged.
type Battery struct {
	cfg   Config
	meter Meter
	files files
	rng   *rand.Rand

	drawn float64 // A h
	at    time.Duration
	spent float64 // J, by the meter at that time

	mu    sync.Mutex
	above float64       // W above base that the files show
	since time.Time     // since when
	shown float64       // J above base that they have shown before
	late  time.Duration // the longest time for which they have shown the same

	once sync.Once
	stop chan struct{}
	done chan struct{}
	err  error // of the goroutine, once done is closed
}

// Start makes the tree in dir, which must exist, and begins to update it. The
// files show the base power and what the radios have drawn on average up to now.
func Start(c Config, dir string, meter Meter) (*Battery, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	b := &Battery{
		cfg: c, meter: meter, rng: rand.New(rand.NewPCG(c.Seed, 0x62617474)),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	if b.files, err = makeTree(dir); err != nil {
		return nil, err
	}
	if err := b.update(); err != nil {
		return nil, errors.Join(err, b.files.close())
	}
	go b.run()
	return b, nil
}

// Close ends the updates and gives back the first error of one.
func (b *Battery) Close() error {
	b.once.Do(func() { close(b.stop) })
	<-b.done
	return b.err
}

// run looks at the meter, each time so long after the last look. A ticker would catch
// up after a look that came late, on a busy machine: the mean over a few
// milliseconds would then stand for a whole interval, and the packets that were
// late too would all be in it. Readings were 15 % too high for that.
func (b *Battery) run() {
	defer close(b.done)
	tick := time.NewTimer(b.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			b.err = errors.Join(b.err, b.files.close())
			return
		case <-tick.C:
			if err := b.update(); err != nil && b.err == nil {
				b.err = err
			}
			tick.Reset(b.cfg.Every)
		}
	}
}

// update makes the files show the mean since the last update.
func (b *Battery) update() error {
	at, spent := b.meter.Spent()
	watts := b.cfg.BaseWatts
	over := at - b.at
	if over > 0 {
		watts += max(0, spent-b.spent) / over.Seconds()
	}
	b.at, b.spent = at, spent
	charge := startCharge - b.drawn/capacityAmpHours
	volts := startVolts - voltsPerCharge*(startCharge-charge)
	b.show(watts - b.cfg.BaseWatts)
	amps := watts / volts
	b.drawn += amps * over.Hours()
	return b.files.show(gauge{
		current:  -nearest(amps*1e6*b.error(), currentStep),
		voltage:  nearest(volts*1e6, voltageStep),
		charge:   nearest((startCharge*capacityAmpHours-b.drawn)*1e6, chargeStep),
		capacity: int64(math.Ceil(charge * 100)),
	})
}

// show notes what the files show from now on.
func (b *Battery) show(above float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if !b.since.IsZero() {
		stood := now.Sub(b.since)
		b.shown += b.above * stood.Seconds()
		b.late = max(b.late, stood)
	}
	b.above, b.since = above, now
}

// Shown is what the files have shown until now, in J above the base power: what a
// sampler that misses no reading finds. On a busy machine, on which looks come late, that
// is not quite what was drawn; late is for how long they have shown the same at most.
func (b *Battery) Shown() (joules float64, late time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stood := time.Since(b.since)
	return b.shown + b.above*stood.Seconds(), max(b.late, stood)
}

// error is the factor by which a reading of the current is wrong.
func (b *Battery) error() float64 {
	const most = 4 // standard deviations
	return max(0, 1+b.cfg.NoisePercent/100*max(-most, min(most, b.rng.NormFloat64())))
}

// nearest is the whole number of steps that is nearest to a value.
func nearest(v float64, step int64) int64 { return int64(math.Round(v/float64(step))) * step }
