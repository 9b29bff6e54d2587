package power

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// play is a source that gives one entry of a script after the other, and then the
// last one for ever.
type play struct {
	script []reading
	held   []sample // given when it ends
	what   description
	next   int
	closed bool

	renewed int
}

type reading struct {
	sample
	err error
}

func (p *play) describe() description {
	p.what.name = Battery
	return p.what
}

func (p *play) read(_ context.Context, now time.Duration, out []sample) ([]sample, error) {
	r := p.script[p.next]
	p.next = min(p.next+1, len(p.script)-1)
	if r.err != nil {
		return out, r.err
	}
	r.at = now
	return append(out, r.sample), nil
}

func (p *play) flush(out []sample) []sample { return append(out, p.held...) }
func (p *play) renew()                      { p.renewed++ }
func (p *play) close()                      { p.closed = true }

func watts(values ...float64) (script []reading) {
	for _, w := range values {
		script = append(script, reading{sample: sample{watts: w}})
	}
	return script
}

func joules(values ...float64) (script []reading) {
	for _, j := range values {
		script = append(script, reading{sample: sample{joules: j, counter: true}})
	}
	return script
}

// sampled runs a sampler on a source for d, in time that costs none.
func sampled(t *testing.T, src source, cfg Config, d time.Duration) (powers []event.Power, sources []event.PowerSource, notices []event.Notice) {
	t.Helper()
	for _, e := range events(cfg, d, func(context.Context, Config) (source, error) { return src, nil }) {
		switch e := e.(type) {
		case event.Power:
			powers = append(powers, e)
		case event.PowerSource:
			sources = append(sources, e)
		case event.Notice:
			notices = append(notices, e)
		}
	}
	return powers, sources, notices
}

// events are those of a sampler that runs for d.
func events(cfg Config, d time.Duration, choose func(context.Context, Config) (source, error)) (all []event.Event) {
	sub := cfg.Bus.Subscribe()
	s := start(cfg, choose)
	time.Sleep(d)
	s.Stop()
	cfg.Bus.Close()
	for batch, ok := sub.Next(nil); ok; batch, ok = sub.Next(batch) {
		all = append(all, batch...)
	}
	return all
}

func TestGaugeIsSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &play{script: watts(2, 3, 3, 3, 4, 4), what: description{detail: "a script"}}
		powers, sources, _ := sampled(t, src, config(Battery, ""), 5500*time.Millisecond)
		want := []struct {
			at    time.Duration
			watts float64
		}{{0, 2}, {time.Second, 3}, {3 * time.Second, 3}, {4 * time.Second, 4}, {5500 * time.Millisecond, 4}}
		if len(powers) != len(want) {
			t.Fatalf("%+v", powers)
		}
		for i, p := range powers {
			if p.At != scheduler.Time(want[i].at) || p.Watts != want[i].watts || p.Source != Battery || p.Counter || p.Over != 0 || !p.HasWatts() {
				t.Errorf("reading %d: %+v, want %+v", i, p, want[i])
			}
		}
		if len(sources) != 1 || sources[0] != (event.PowerSource{Source: Battery, Interval: time.Second, Detail: "a script"}) {
			t.Errorf("%+v", sources)
		}
		if !src.closed {
			t.Error("the source is open")
		}
	})
}

// TestConstantGauge: the same number for long is a reading all the same.
func TestConstantGauge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		powers, _, _ := sampled(t, &play{script: watts(2)}, config(Battery, ""), 12*time.Second+time.Millisecond)
		var at []float64
		for _, p := range powers {
			at = append(at, math.Floor(p.At.Seconds()))
		}
		if len(at) != 4 || at[0] != 0 || at[1] != 5 || at[2] != 10 || at[3] != 12 {
			t.Errorf("readings at %v", at)
		}
	})
}

func TestCounterIsSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		powers, _, _ := sampled(t, &play{script: joules(0, 2, 2, 2, 8, 9)}, config(Battery, ""), 4500*time.Millisecond)
		want := []struct {
			at            time.Duration
			watts, joules float64
		}{{0, 0, 0}, {time.Second, 2, 2}, {4 * time.Second, 2, 8}, {4500 * time.Millisecond, 2, 9}}
		if len(powers) != len(want) {
			t.Fatalf("%+v", powers)
		}
		for i, p := range powers {
			if p.At != scheduler.Time(want[i].at) || p.Watts != want[i].watts || p.Joules != want[i].joules || !p.Counter || p.HasWatts() != (i > 0) {
				t.Errorf("reading %d: %+v, want %+v", i, p, want[i])
			}
		}
	})
}

// TestNoReadings: the reason is told, and the last word is that there is none.
func TestNoReadings(t *testing.T) {
	broken := errors.New("current_now: no such device")
	for name, c := range map[string]struct {
		script  []reading
		want    string
		notices int
	}{
		"failures":   {[]reading{{err: broken}}, "battery: current_now: no such device", 1},
		"external":   {[]reading{{sample: sample{watts: 3, external: true}}}, "battery: " + errExternal.Error(), 0},
		"stuck":      {joules(0), "battery: " + errStuck.Error(), 0},
		"nonsense":   {watts(-1, math.NaN(), math.Inf(1), maxWatts+1), "battery: " + errImplausible.Error(), 0},
		"canceled":   {[]reading{{err: context.Canceled}}, "battery: " + errTooShort.Error(), 0},
		"five fault": {twice(broken, errors.New("a"), errors.New("b"), errors.New("c"), errors.New("d"), errors.New("e")), "battery: e", maxNotices},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				powers, sources, notices := sampled(t, &play{script: c.script}, config(Battery, ""), 9*time.Second+time.Millisecond)
				for _, p := range powers {
					if p.HasWatts() {
						t.Errorf("%+v", p)
					}
				}
				if len(sources) != 2 || sources[0].Unavailable != "" || sources[1].Unavailable != c.want || sources[1].Source != Battery {
					t.Errorf("%+v, want %q", sources, c.want)
				}
				if len(notices) != c.notices {
					t.Errorf("%+v", notices)
				}
			})
		})
	}
}

// twice are failures, of which all but the first are met twice: what was gone is opened
// anew and read again at once.
func twice(errs ...error) (script []reading) {
	for _, err := range errs {
		script = append(script, reading{err: err}, reading{err: err})
	}
	return script[1:]
}

// TestSourceReturns: what was readable between failures counts.
func TestSourceReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := reading{err: errors.New("gone")}
		script := append(append([]reading{gone}, watts(2)...), gone, gone)
		script = append(script, watts(3)...)
		powers, sources, notices := sampled(t, &play{script: script}, config(Battery, ""), 4500*time.Millisecond)
		if len(powers) < 2 || powers[0].Watts != 2 || powers[1].Watts != 3 || len(sources) != 1 || len(notices) != 1 {
			t.Errorf("%+v\n%+v\n%+v", powers, sources, notices)
		}
	})
}

func TestHeldSamplesArePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &play{script: []reading{{err: context.Canceled}}, held: []sample{{at: time.Second, watts: 2}, {at: 2 * time.Second, watts: 3}}}
		powers, sources, _ := sampled(t, src, config(Battery, ""), 3*time.Second)
		if len(powers) != 2 || powers[0].Watts != 2 || powers[1].At != scheduler.Time(2*time.Second) || len(sources) != 1 {
			t.Errorf("%+v, %+v", powers, sources)
		}
	})
}

func TestSlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &play{script: watts(1, 2, 3, 4, 5), what: description{least: 5 * time.Second, slow: true}}
		powers, sources, _ := sampled(t, src, config(Battery, ""), 11*time.Second)
		if len(powers) != 3 || sources[0].Interval != 5*time.Second {
			t.Errorf("%+v, %+v", powers, sources)
		}
	})
}

// TestNothingToRead: an automatic choice that finds nothing is no warning; a named source that
// cannot be read is. Nothing waits.
func TestNothingToRead(t *testing.T) {
	for name, warning := range map[string]bool{Auto: false, RAPL: true} {
		synctest.Test(t, func(t *testing.T) {
			cfg := config(name, "")
			sub := cfg.Bus.Subscribe()
			s := start(cfg, func(context.Context, Config) (source, error) { return nil, errNone })
			begun := time.Now()
			s.Linger(context.Background(), time.Hour)
			s.Wait(context.Background())
			s.Stop()
			if waited := time.Since(begun); waited > 0 {
				t.Errorf("%s: it waited %v", name, waited)
			}
			cfg.Bus.Close()
			all, _ := sub.Next(nil)
			if len(all) != 2 {
				t.Fatalf("%+v", all)
			}
			if e, ok := all[0].(event.PowerSource); !ok || e.Source != "" || e.Unavailable != errNone.Error() {
				t.Errorf("%s: %+v", name, all[0])
			}
			if e, ok := all[1].(event.Notice); !ok || e.Warning != warning || !strings.Contains(e.Text, errNone.Error()) {
				t.Errorf("%s: %+v", name, all[1])
			}
		})
	}
}

func TestSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := events(config(None, "/nowhere"), time.Second, choose)
		if len(all) != 1 || all[0].(event.PowerSource).Unavailable != errOff.Error() {
			t.Errorf("%+v", all)
		}
	})
}

func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(Battery, "")
		s := start(cfg, func(context.Context, Config) (source, error) { return &play{script: watts(1)}, nil })
		defer s.Stop()
		begun := time.Now()
		s.Linger(context.Background(), 0)
		s.Linger(context.Background(), 3*time.Second)
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("it waited %v", d)
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		s.Linger(ctx, time.Hour)
		if d := time.Since(begun); d != 4*time.Second {
			t.Errorf("it waited %v", d)
		}
	})
}

// hung is a source whose reading ends when the test says so.
type hung struct {
	play
	release chan struct{}
}

func (h *hung) read(_ context.Context, _ time.Duration, out []sample) ([]sample, error) {
	<-h.release
	return out, nil
}

// TestHungReading: Stop does not wait for ever, and tells why nothing came.
func TestHungReading(t *testing.T) {
	for _, name := range []string{"opening", "first reading"} {
		synctest.Test(t, func(t *testing.T) {
			h := &hung{release: make(chan struct{})}
			cfg := config(Battery, "")
			sub := cfg.Bus.Subscribe()
			s := start(cfg, func(context.Context, Config) (source, error) {
				if name == "opening" {
					<-h.release
				}
				return h, nil
			})
			time.Sleep(10 * time.Second)
			begun := time.Now()
			s.Stop()
			if d := time.Since(begun); d != patience {
				t.Errorf("%s: it waited %v", name, d)
			}
			cfg.Bus.Close()
			close(h.release)
			synctest.Wait()
			all, _ := sub.Next(nil)
			if len(all) == 0 {
				t.Fatalf("%s: no word", name)
			}
			if e, ok := all[len(all)-1].(event.PowerSource); !ok || e.Unavailable != errHangs.Error() || e.Interval != cfg.Interval {
				t.Errorf("%s: %+v", name, all)
			}
		})
	}
}

// TestPlayedTree: a tree that changes below a running sampler.
func TestPlayedTree(t *testing.T) {
	dir := unpack(t, "samsung-ma")
	const battery = "devices/platform/battery/power_supply/battery/"
	synctest.Test(t, func(t *testing.T) {
		cfg := config(Auto, dir)
		sub := cfg.Bus.Subscribe()
		s := Start(cfg)
		for i, current := range []string{"-300", "-350", "-400", "lots", "", "-450", "-500", "-550", "-600"} {
			time.Sleep(time.Second - time.Millisecond)
			write(t, dir, battery+"current_now", current)
			if i == 6 {
				write(t, dir, battery+"status", "Charging")
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		s.Stop()
		cfg.Bus.Close()
		var got []event.Power
		for e := range sub.All() {
			if p, ok := e.(event.Power); ok {
				got = append(got, p)
			}
		}
		want := []float64{0.385, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6} // amperes, at 4 V
		if len(got) != len(want) {
			t.Fatalf("%+v", got)
		}
		for i, p := range got {
			if math.Abs(p.Watts-4*want[i]) > 1e-9 || p.External != (i > 4) {
				t.Errorf("reading %d: %+v, want %v W", i, p, 4*want[i])
			}
		}
	})
}

// TestLostSourceIsReported: one failed reading is not reported; three in a row are.
func TestLostSourceIsReported(t *testing.T) {
	gone := reading{err: errors.New("power_now: no such file or directory")}
	for name, c := range map[string]struct {
		script []reading
		want   string // a warning
	}{
		"one":  {append(watts(2, 3), gone, watts(3)[0]), ""},
		"many": {append(watts(2, 3), gone, gone), "power: battery: no more readings for now: power_now: no such file or directory"},
	} {
		synctest.Test(t, func(t *testing.T) {
			src := &play{script: c.script}
			_, _, notices := sampled(t, src, config(Battery, ""), 9500*time.Millisecond)
			var warned string
			for _, n := range notices {
				if n.Warning {
					warned += n.Text
				}
			}
			if warned != c.want || (src.renewed > 0) != (c.want != "") {
				t.Errorf("%s: %+v, opened anew %d times", name, notices, src.renewed)
			}
		})
	}
}
