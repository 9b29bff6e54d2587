package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/power"
	"github.com/mlget/mlget/pkg/scheduler"
)

// curve is the power of a made-up device over time: level[i] W until ends[i], and
// the first level again after the last of them.
type curve struct {
	ends   []time.Duration
	levels []float64
}

// download is a curve: base W, above W more between two moments, and then tail W
// more for a while.
func download(base, above, tail float64, start, end, asleep time.Duration) curve {
	return curve{[]time.Duration{start, end, asleep}, []float64{base, base + above, base + tail}}
}

func (c curve) at(t time.Duration) float64 {
	for i, end := range c.ends {
		if t < end {
			return c.levels[i]
		}
	}
	return c.levels[0]
}

// joules is the integral of the curve, by its pieces.
func (c curve) joules(from, to time.Duration) (sum float64) {
	begin := time.Duration(math.MinInt64)
	for i, end := range c.ends {
		if a, b := max(begin, from), min(end, to); a < b {
			sum += c.levels[i] * (b - a).Seconds()
		}
		begin = end
	}
	if a := max(begin, from); a < to {
		sum += c.levels[0] * (to - a).Seconds()
	}
	return sum
}

// span is a stretch of time.
type stretch struct{ from, to time.Duration }

func (s stretch) has(t time.Duration) bool { return s.from <= t && t < s.to }

// gaugeKind is what shows a device's power: a file power_now of a battery, or the
// counter of a package.
type gaugeKind struct {
	refresh time.Duration // between two looks
	mean    bool          // it shows the mean since its last look, not the moment
	counter bool
	noise   float64 // standard deviation, share of the value
	step    float64 // W or J: what it rounds to
	frozen  stretch // it does not look
	gone    stretch // its directory is not there
	ignored stretch // a counter: what is drawn meanwhile is not counted
}

func (k gaugeKind) String() string {
	return fmt.Sprintf("%+v", struct {
		Refresh       time.Duration
		Mean, Counter bool
		Noise, Step   float64
	}{k.refresh, k.mean, k.counter, k.noise, k.step})
}

// measured is one run under a made-up device.
type measured struct {
	curve      curve
	gauges     []gaugeKind // of one device each; a second one is a second battery of the same power
	start, end time.Duration
	watched    time.Duration // until when
	interval   time.Duration
	seed       uint64
}

// play runs a sampler over the device in virtual time, as a download does, and gives
// the run's report.
func (m measured) play(t *testing.T) (r Report) {
	t.Helper()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		bus := &event.Bus{}
		sub := bus.Subscribe()
		begun := time.Now()
		quit := make(chan struct{})
		done := make(chan struct{})
		for i, k := range m.gauges {
			rnd := rand.New(rand.NewPCG(m.seed, uint64(i)))
			dev := &fakeDevice{kind: k, curve: m.curve, dir: root, index: i, rnd: rnd}
			dev.phase = time.Duration(rnd.Int64N(int64(k.refresh)))
			dev.write(t, -dev.phase) // a look before the beginning
			go func() {
				defer func() { done <- struct{}{} }()
				dev.run(t, begun, quit)
			}()
		}
		source := power.Battery
		if m.gauges[0].counter {
			source = power.RAPL
		}
		at := func() scheduler.Time { return scheduler.Time(time.Since(begun)) }
		bus.Publish(event.RunStarted{Version: "1", Started: begun, Algorithm: "3", Links: []event.LinkInfo{{Name: "wlan0"}}, Files: 1})
		s := power.Start(power.Config{Source: source, Sysfs: root, Interval: m.interval, Unit: power.UnitAuto, Started: begun, Bus: bus})
		s.Closely(m.start)
		time.Sleep(m.start)
		s.Closely(2 * m.interval)
		bus.Publish(event.FileStarted{At: at(), URL: "http://example.org/a", Output: "a"})
		bus.Publish(event.RequestStarted{At: at(), End: 100e6})
		time.Sleep(m.end - m.start)
		bus.Publish(event.RequestEnded{At: at(), Bytes: 100e6, Outcome: event.OutcomeDone, Sent: scheduler.Time(m.start), FirstByte: scheduler.Time(m.start), LastByte: at()})
		bus.Publish(event.FileEnded{At: at(), Output: "a", Size: 100e6})
		s.Closely(m.watched - m.end)
		time.Sleep(m.watched - m.end)
		s.Stop()
		bus.Publish(event.RunEnded{At: at()})
		bus.Close()
		close(quit)
		for range m.gauges {
			<-done
		}
		var b Builder
		b.Watch(sub)
		r = b.Report()
	})
	return r
}

// truth is what was drawn above base: until the end, and in the tail.
func (m measured) truth() (dynamic, tail float64) {
	n := float64(len(m.gauges))
	base := m.curve.levels[0]
	dynamic = m.curve.joules(m.start, m.end) - base*(m.end-m.start).Seconds()
	tail = m.curve.joules(m.end, m.watched) - base*(m.watched-m.end).Seconds()
	return n * dynamic, n * tail
}

// fakeDevice keeps the files of a gauge up to date.
type fakeDevice struct {
	kind  gaugeKind
	curve curve
	dir   string
	index int
	phase time.Duration // of its looks
	rnd   *rand.Rand
	looks time.Duration // when it looked last
	sum   float64       // J, of a counter
	away  bool
	shown string
}

func (d *fakeDevice) run(t *testing.T, begun time.Time, quit <-chan struct{}) {
	next := d.kind.refresh - d.phase
	for {
		timer := time.NewTimer(next - time.Since(begun))
		select {
		case <-quit:
			timer.Stop()
			return
		case <-timer.C:
		}
		d.write(t, next)
		next += d.kind.refresh
	}
}

func (d *fakeDevice) home() string {
	if d.kind.counter {
		return filepath.Join(d.dir, "class/powercap/intel-rapl:0")
	}
	return filepath.Join(d.dir, fmt.Sprintf("class/power_supply/BAT%d", d.index))
}

func (d *fakeDevice) write(t *testing.T, now time.Duration) {
	if d.kind.gone.has(now) {
		if !d.away {
			_ = os.RemoveAll(d.home())
			d.away = true
		}
		d.sum += d.curve.joules(d.looks, now)
		d.looks = now
		return
	}
	value := d.curve.at(now)
	file := "power_now"
	switch {
	case d.kind.counter:
		if !d.kind.ignored.has(now) {
			d.sum += d.curve.joules(d.looks, now)
		}
		file, value = "energy_uj", d.sum
	case d.kind.mean && now > d.looks:
		value = d.curve.joules(d.looks, now) / (now - d.looks).Seconds()
	}
	d.looks = now
	if !d.kind.counter {
		value *= 1 + d.kind.noise*d.rnd.NormFloat64()
	}
	if d.kind.step > 0 {
		value = math.Round(value/d.kind.step) * d.kind.step
	}
	text := fmt.Sprint(int64(math.Round(value * 1e6)))
	if d.kind.frozen.has(now) || text == d.shown && !d.away {
		return
	}
	d.away, d.shown = false, text
	files := map[string]string{"type": "Battery", "status": "Discharging"}
	if d.kind.counter {
		files = map[string]string{"name": "package-0", "max_energy_range_uj": "262143328850"}
	}
	files[file] = text
	if err := os.MkdirAll(d.home(), 0o755); err != nil {
		t.Error(err)
	}
	for name, text := range files {
		path := filepath.Join(d.home(), name)
		if name != file {
			if _, err := os.Stat(path); err == nil {
				continue
			}
		}
		if err := os.WriteFile(path+".new", []byte(text+"\n"), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Error(err)
		}
	}
}
