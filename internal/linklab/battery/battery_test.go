package battery

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// burst is a time in which bytes cross evenly.
type burst struct {
	from, to time.Duration
	bytes    int64
}

// radio is a Meter: a radio over which bursts come, in the bubble's time.
type radio struct {
	begun  time.Time
	bursts []burst

	mu      sync.Mutex
	machine energy.Machine
	at      time.Duration
	sent    int64 // of the first burst that is not over
}

func newRadio(t *testing.T, model string, bursts ...burst) *radio {
	t.Helper()
	m, ok := energy.Lookup(model)
	if !ok {
		t.Fatalf("no model %s", model)
	}
	return &radio{begun: time.Now(), bursts: bursts, machine: energy.NewMachine(m, 0)}
}

func (r *radio) Spent() (time.Duration, float64) {
	e, at := r.energy()
	return at, e.Total()
}

func (r *radio) energy() (energy.Energy, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for now := time.Since(r.begun); r.at < now; {
		if len(r.bursts) == 0 || now <= r.bursts[0].from {
			r.at = now
			r.machine.Step(int64(now), 0, 0, 0)
			break
		}
		b := r.bursts[0]
		r.machine.Step(int64(b.from), 0, 0, 0)
		r.at = min(now, b.to)
		n := int64(float64(b.bytes) * (r.at - b.from).Seconds() / (b.to - b.from).Seconds())
		r.machine.Step(int64(r.at), n-r.sent, 0, 0)
		if r.sent = n; r.at == b.to {
			r.sent, r.bursts = 0, r.bursts[1:]
		}
	}
	return r.machine.Energy(), r.at
}

// reader keeps the battery's files open, as some samplers do.
type reader struct {
	t                *testing.T
	current, voltage *os.File
}

func openReader(t *testing.T, dir string) reader {
	t.Helper()
	r := reader{t: t}
	for name, to := range map[string]**os.File{"current_now": &r.current, "voltage_now": &r.voltage} {
		f, err := os.Open(filepath.Join(dir, classDir, "battery", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() }) // it was only read
		*to = f
	}
	return r
}

func number(t *testing.T, f *os.File) int64 {
	t.Helper()
	var buf [64]byte
	n, _ := f.ReadAt(buf[:], 0) // its error is the end of the file
	v, err := strconv.ParseInt(strings.TrimSpace(string(buf[:n])), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// watts is what the battery says now.
func (r reader) watts() float64 {
	return -float64(number(r.t, r.current)) * float64(number(r.t, r.voltage)) / 1e12
}

// TestIntegral holds what a sampler makes of the files against what the radio
// has spent: a download of 15 s with a pause, and its tail.
func TestIntegral(t *testing.T) {
	for _, tc := range []struct {
		every  time.Duration
		noise  float64
		within float64
	}{
		{time.Second, 0, 0.05},
		{100 * time.Millisecond, 0, 0.02},
		{time.Second, 2, 0.05},
		{100 * time.Millisecond, 2, 0.02},
	} {
		for phase := range 5 {
			synctest.Test(t, func(t *testing.T) {
				r := newRadio(t, "lte-s7-mean",
					burst{3300 * time.Millisecond, 10 * time.Second, 60e6}, burst{12 * time.Second, 18400 * time.Millisecond, 55e6})
				dir := t.TempDir()
				b, err := Start(Config{Every: tc.every, NoisePercent: tc.noise, Seed: uint64(phase)}, dir, r)
				if err != nil {
					t.Fatal(err)
				}
				// The sampler begins when it likes, but keeps to its interval.
				time.Sleep(tc.every * time.Duration(2*phase+1) / 10)
				read := openReader(t, dir)
				var samples []energy.Sample
				const span = 33 * time.Second
				for range span/tc.every + 1 {
					samples = append(samples, energy.Sample{At: int64(time.Since(r.begun)), Watts: read.watts()})
					time.Sleep(tc.every)
				}
				first, last := samples[0].At, samples[len(samples)-1].At
				total, covered := energy.Integrate(samples, first, last)
				got := total - DefaultBaseWatts*float64(last-first)/1e9
				e, _ := r.energy()
				if want := e.Dynamic; math.Abs(got/want-1) > tc.within || covered != 1 {
					t.Errorf("%v, noise %g %%, phase %d: %.3f J, want %.3f", tc.every, tc.noise, phase, got, want)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestReadings: each is the mean since the one before, in steps of the gauge, and
// nothing moves in between. All of them together are what was drawn.
func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRadio(t, "lte", burst{2500 * time.Millisecond, 4500 * time.Millisecond, 10e6})
		dir := t.TempDir()
		b, err := Start(Config{BaseWatts: 1}, dir, r)
		if err != nil {
			t.Fatal(err)
		}
		read := openReader(t, dir)
		last := 0.0
		for n := range 30 {
			time.Sleep(time.Millisecond)
			shown := read.watts()
			spent, at := r.energy()
			mean := 1.0
			if n > 0 { // since the millisecond after the last update
				mean += spent.Total() - last
			}
			last = spent.Total()
			if current := number(t, read.current); current >= 0 || current%currentStep != 0 {
				t.Errorf("a current of %d µA", current)
			}
			// A reading is a millisecond behind, in which the radio may begin or end.
			if math.Abs(shown-mean) > 0.01 {
				t.Errorf("at %v: %g W, want %g", at, shown, mean)
			}
			time.Sleep(998 * time.Millisecond)
			if again := read.watts(); again != shown {
				t.Errorf("%g W became %g W between two updates", shown, again)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		volts := float64(number(t, read.voltage)) / 1e6
		if volts >= startVolts || volts < startVolts-0.05 {
			t.Errorf("the voltage is %g V", volts)
		}
		e, at := r.energy()
		want := e.Total() + at.Seconds()
		drawn := startCharge*capacityAmpHours*1e6 - float64(number(t, openFile(t, dir, "charge_counter")))
		const step = chargeStep * 3.6e-3 * startVolts // J
		if j := drawn * 3.6e-3 * startVolts; math.Abs(j-want) > step/2+0.01*want {
			t.Errorf("the charge fell by %g J, want %g", j, want)
		}
		if c := number(t, openFile(t, dir, "capacity")); c != 71 {
			t.Errorf("capacity %d %%", c)
		}
		if err := errors.Join(b.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
}

func openFile(t *testing.T, dir, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, classDir, "battery", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // it was only read
	return f
}

// TestNoiseRepeats: the same seed, the same readings.
func TestNoiseRepeats(t *testing.T) {
	run := func(seed uint64) (readings []float64) {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			b, err := Start(Config{NoisePercent: 3, Seed: seed}, dir, newRadio(t, "wifi"))
			if err != nil {
				t.Fatal(err)
			}
			read := openReader(t, dir)
			time.Sleep(time.Millisecond)
			for range 200 {
				readings = append(readings, read.watts())
				time.Sleep(time.Second)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		return readings
	}
	a := run(1)
	if !slices.Equal(a, run(1)) || slices.Equal(a, run(2)) {
		t.Error("the noise does not hang on the seed")
	}
	base := 0.7 + 1.9e-3
	if mean, sigma := stats.Median(a), stats.Sigma(a); math.Abs(mean/base-1) > 0.01 || sigma < 0.02*base || sigma > 0.04*base {
		t.Errorf("%g ± %g W", mean, sigma)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{
		{BaseWatts: -1},
		{BaseWatts: math.NaN()},
		{BaseWatts: 21},
		{Every: time.Millisecond},
		{Every: time.Hour},
		{NoisePercent: -1},
		{NoisePercent: math.NaN()},
		{NoisePercent: 51},
	} {
		if b, err := Start(c, t.TempDir(), nil); err == nil {
			t.Errorf("%+v: %v", c, b)
		}
	}
	if _, err := Start(Config{}, filepath.Join(t.TempDir(), "none\x00"), nil); err == nil {
		t.Error("a directory that cannot be made was made")
	}
}

// lateMeter plays a busy machine: some looks come late, and so do the packets,
// several at once.
type lateMeter struct {
	begun time.Time
	rng   *rand.Rand
}

const lump = 70 * time.Millisecond

func (m *lateMeter) Spent() (time.Duration, float64) {
	if m.rng.IntN(3) == 0 {
		time.Sleep(time.Duration(m.rng.IntN(int(90 * time.Millisecond))))
	}
	at := time.Since(m.begun)
	return at, 3 * at.Truncate(lump).Seconds() // 3 W
}

// TestLateLooks: looks that come late make readings uneven, not wrong: what the
// files have shown adds up to what was drawn.
func TestLateLooks(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			m := &lateMeter{begun: time.Now(), rng: rand.New(rand.NewPCG(seed, 1))}
			b, err := Start(Config{Every: 100 * time.Millisecond}, dir, m)
			if err != nil {
				t.Fatal(err)
			}
			r := openReader(t, dir)
			time.Sleep(time.Second)
			const seconds = 30
			shown, most := 0.0, 0.0
			for range seconds * 1000 {
				time.Sleep(time.Millisecond)
				w := r.watts() - DefaultBaseWatts
				most = max(most, w)
				shown += w * 1e-3
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if joules, late := b.Shown(); math.Abs(joules-shown-3) > 1 || late < 100*time.Millisecond || late > 190*time.Millisecond {
				t.Errorf("seed %d: it says that it has shown %.2f J, for %v at most; they were %.2f", seed, joules, late, shown)
			}
			if want := 3.0 * seconds; math.Abs(shown/want-1) > 0.03 {
				t.Errorf("seed %d: %.2f J were shown, %.2f drawn", seed, shown, want)
			}
			// An interval, of 100 ms at least, has at most a lump more than its own.
			if limit := 3.0 * (1 + lump.Seconds()/0.1); most > limit+0.1 {
				t.Errorf("seed %d: up to %.2f W were shown, of %.2f", seed, most, limit)
			}
		})
	}
}
