package sim

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/soaktest"
	"github.com/mlget/mlget/pkg/scheduler"
)

func parse(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustRun(t *testing.T, cfg Config) Result {
	t.Helper()
	res, err := RunWithBound(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// payload is a link's payload in bytes per second.
func payload(mbps float64) float64 { return mbps * 1e6 / 8 * scenario.Goodput }

// slowStart is how long a connection needs, from its first byte on, for size
// bytes at r bytes per second: rounds of 10, 20, 40... packets until a round
// fills the link.
func slowStart(size, r, rtt float64) float64 {
	window, t := 14480.0, 0.0
	for window < r*rtt && size > window {
		size -= window
		window *= 2
		t += rtt
	}
	return t + size/r
}

func TestOneConstantLink(t *testing.T) {
	for _, c := range []struct {
		name string
		link string
		mbps float64
		rtt  float64
		size int64
		h2   bool
		tls  int
	}{
		{"small, no slow start to speak of", "link a,down=1,rtt=10", 1, 0.010, 5e6, false, 0},
		{"fast", "link a,down=82,rtt=16", 82, 0.016, 250e6, false, 0},
		{"TLS 1.3", "link a,down=82,rtt=16", 82, 0.016, 50e6, true, 1},
		{"TLS 1.2", "link a,down=82,rtt=100", 82, 0.100, 50e6, true, 2},
		{"long and fat", "link a,down=64,rtt=300", 64, 0.300, 20e6, false, 0},
		{"within the first window", "link a,down=64,rtt=300", 64, 0.300, 10e3, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Default(parse(t, c.link), "single")
			cfg.Size, cfg.HTTP2, cfg.TLSTrips, cfg.Parallelism = c.size, c.h2, c.tls, 1
			res := mustRun(t, cfg)
			d := float64(2+c.tls) * c.rtt
			want := d + slowStart(float64(c.size+2*headerBytes), payload(c.mbps), c.rtt)
			// While rounds are short of the link, the second request may come late.
			if math.Abs(res.Seconds-want) > 0.002*want+c.rtt/2 {
				t.Errorf("%.4f s, want %.4f s", res.Seconds, want)
			}
			if res.WastedBytes != 0 || res.Links[0].Connections != 1 || res.Links[0].Bytes != c.size {
				t.Errorf("%+v", res)
			}
		})
	}
}

// Two links with stealing meet the fluid bound but for what slow start costs,
// which the bound leaves out.
func TestTwoLinksNearTheBound(t *testing.T) {
	for _, c := range []struct{ text, algorithm string }{
		{"link a,down=82,rtt=16\nlink b,down=64,rtt=50", "1"},
		{"link a,down=82,rtt=16\nlink b,down=64,rtt=50", "3"},
		{"link a,down=7.8,rtt=16\nlink b,down=69,rtt=50,ramp=2.5", "1"},
		{"link a,down=7.8,rtt=16\nlink b,down=69,rtt=50,ramp=2.5", "3"},
	} {
		res := mustRun(t, Default(parse(t, c.text), c.algorithm))
		if res.Efficiency < 0.975 || res.Efficiency > 1 {
			t.Errorf("%s with %q: efficiency %.4f", c.algorithm, c.text, res.Efficiency)
		}
		if sum := res.Links[0].Bytes + res.Links[1].Bytes; sum != res.SizeBytes {
			t.Errorf("%d bytes of %d", sum, res.SizeBytes)
		}
	}
}

func TestNaiveIsTheSlowerHalf(t *testing.T) {
	cfg := Default(parse(t, "link a,down=80,rtt=16\nlink b,down=8,rtt=50"), "naive")
	cfg.NoSteal, cfg.NoFailover = true, true
	res := mustRun(t, cfg)
	half := float64(cfg.Size) / 2 / payload(8)
	if math.Abs(res.Seconds-half) > 0.01*half {
		t.Errorf("%.2f s, want about %.2f s", res.Seconds, half)
	}
	if want := half * 0.9; math.Abs(res.LinkDelta-want) > 0.01*half {
		t.Errorf("Link Δ %.2f s, want about %.2f s", res.LinkDelta, want)
	}
}

func TestRampCostsItsArea(t *testing.T) {
	flat := mustRun(t, Default(parse(t, "link a,down=40,rtt=20"), "single"))
	ramp := mustRun(t, Default(parse(t, "link a,down=40,rtt=20,ramp=4,ramp0=0.5"), "single"))
	// Half of the rate at first and on average three quarters over 4 s, less
	// the 40 ms of which nothing comes anyway.
	if got := ramp.Seconds - flat.Seconds; math.Abs(got-1) > 0.06 {
		t.Errorf("a ramp from 0.5 in 4 s costs %.3f s, want 1 s", got)
	}
}

// A connection that loses packets gets what Mathis et al. say, and several get
// several times as much.
func TestLossLimitsAConnection(t *testing.T) {
	mean := func(loss float64, streams int) (seconds float64) {
		const seeds = 10
		cfg := Default(parse(t, fmt.Sprintf("link a,down=300,rtt=50,loss=%g", loss)), "single")
		cfg.Size, cfg.Parallelism = 40e6, streams
		for seed := range uint64(seeds) {
			cfg.Seed = seed
			seconds += mustRun(t, cfg).Seconds / seeds
		}
		return seconds
	}
	for _, p := range []float64{0.2, 0.5, 2} {
		// Losses at random, rather than one in 1/p, leave a tenth more.
		want := 40e6 / (1.1 * 1448 / 0.05 * math.Sqrt(1.5) / math.Sqrt(p/100))
		one := mean(p, 1)
		if math.Abs(one-want) > 0.1*want {
			t.Errorf("loss of %g %%: %.2f s, want about %.2f s", p, one, want)
		}
		if four := mean(p, 4); four > one/3 || four < one/7 {
			t.Errorf("loss of %g %%: %.2f s with one stream, %.2f s with four", p, one, four)
		}
	}
}

// A link that falls silent is left, and what it owed is carried by the other.
func TestFailures(t *testing.T) {
	const links = "link a,down=40,rtt=16\nlink b,down=40,rtt=50\n"
	for _, c := range []struct {
		name, events string
		least        float64 // efficiency
	}{
		{"dies", "at 3s a down", 0.95},
		{"carrier lost", "at 3s a carrier off", 0.95},
		{"comes back", "at 3s a down\nat 6s a up", 0.80},
		{"sags", "at 3s a rate 1", 0.90},
		{"is down at first", "at 0s a down\nat 5s a up", 0.60},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Default(parse(t, links+c.events), "3")
			cfg.Size = 100e6
			res := mustRun(t, cfg)
			if res.Efficiency < c.least {
				t.Errorf("efficiency %.3f, want %.3f: %+v", res.Efficiency, c.least, res)
			}
		})
	}
}

// With nothing to fall back on, TCP goes on by itself at its next
// retransmission, or a new connection does.
func TestOnlyLinkPauses(t *testing.T) {
	whole := mustRun(t, Default(parse(t, "link a,down=40,rtt=20"), "single"))
	for _, away := range []time.Duration{time.Second, 10 * time.Second, 100 * time.Second} {
		s := parse(t, "link a,down=40,rtt=20")
		s.Events = []scenario.Event{
			{At: 5 * time.Second, Link: "a", Kind: scenario.Down},
			{At: 5*time.Second + away, Link: "a", Kind: scenario.Up},
		}
		res := mustRun(t, Default(s, "single"))
		lost := res.Seconds - whole.Seconds
		if lost < away.Seconds() || lost > 2.5*away.Seconds()+1 {
			t.Errorf("a pause of %v costs %.2f s", away, lost)
		}
	}
}

// Connections that fall silent together are one failure, not as many as a link may have in a
// row.
func TestOnlyLinkOfManyConnectionsPauses(t *testing.T) {
	cfg := Default(parse(t, "link a,down=40,rtt=20\nat 1s a down\nat 45s a up"), "3")
	cfg.Parallelism = 2 * tries
	mustRun(t, cfg)
}

// A link that was away for a moment off the tick has its whole rate again.
func TestWholeRateAfterAPause(t *testing.T) {
	s := parse(t, "link a,down=40,rtt=20")
	whole := mustRun(t, Default(s, "single"))
	s.Events = []scenario.Event{
		{At: 1000300 * time.Microsecond, Link: "a", Kind: scenario.Down},
		{At: 2000700 * time.Microsecond, Link: "a", Kind: scenario.Up},
	}
	paused := mustRun(t, Default(s, "single"))
	if lost := paused.Seconds - whole.Seconds; lost < 1 || lost > 3 {
		t.Errorf("a pause of a second costs %.2f s", lost)
	}
}

func TestNeverEnds(t *testing.T) {
	_, err := Run(Default(parse(t, "link a,down=40,rtt=20\nat 1s a down"), "single"))
	if !errors.Is(err, ErrNever) {
		t.Errorf("got %v", err)
	}
}

func TestBadConfigs(t *testing.T) {
	good := Default(parse(t, "link a,down=40,rtt=20"), "3")
	for name, spoil := range map[string]func(*Config){
		"no size":        func(c *Config) { c.Size = 0 },
		"huge size":      func(c *Config) { c.Size = 1 << 60 },
		"algorithm":      func(c *Config) { c.Algorithm = "4" },
		"overlap":        func(c *Config) { c.Overlap = 1 },
		"trips":          func(c *Config) { c.TLSTrips = 3 },
		"bandwidth":      func(c *Config) { c.Bandwidths = []float64{math.NaN()} },
		"no links":       func(c *Config) { c.Scenario.Links = nil },
		"a wrong link":   func(c *Config) { c.Scenario.Links = []scenario.Link{{Name: "a"}} },
		"a wrong policy": func(c *Config) { c.Algorithm = "" },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := Run(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSameSeedSameRun(t *testing.T) {
	for seed := range uint64(soaktest.Cases(4, 10, 100)) {
		var results [2]Result
		var steps [2]recorder
		for i := range results {
			cfg := Random(seed)
			cfg.Algorithm, cfg.Observer = "3", &steps[i]
			var err error
			if results[i], err = Run(cfg); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(results[0], results[1]) || !reflect.DeepEqual(steps[0], steps[1]) {
			t.Fatalf("seed %d: %+v and then %+v", seed, results[0], results[1])
		}
	}
}

// recorder keeps the steps of a run.
type recorder struct{ steps []scheduler.Recorded }

func (r *recorder) Step(at scheduler.Time, in *scheduler.Input, actions []scheduler.Action, _ scheduler.Time) {
	r.steps = append(r.steps, scheduler.Recorded{At: at, Input: *in, Actions: slices.Clone(actions)})
}

// A recorded rehearsal replays on a scheduler alone: it is fed like the real one.
func TestRecordReplays(t *testing.T) {
	for _, name := range scheduler.Names() {
		var rec recorder
		cfg := Random(7)
		cfg.Algorithm, cfg.Observer = name, &rec
		if _, err := Run(cfg); err != nil {
			t.Fatal(err)
		}
		policy, err := scheduler.NewPolicy(name, cfg.StaticLimit, cfg.Padding)
		if err != nil {
			t.Fatal(err)
		}
		if err := scheduler.Replay(cfg.scheduler(policy), rec.steps); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Seeds matter where links wander, and only there.
func TestSeeds(t *testing.T) {
	wander := Default(parse(t, "link a,down=40,rtt=20,vary=0.5"), "3")
	steady := Default(parse(t, "link a,down=40,rtt=20"), "3")
	wander.Size, steady.Size = 20e6, 20e6
	w1, s1 := mustRun(t, wander), mustRun(t, steady)
	wander.Seed, steady.Seed = 2, 2
	w2, s2 := mustRun(t, wander), mustRun(t, steady)
	if w1.Seconds == w2.Seconds || s1.Seconds != s2.Seconds {
		t.Errorf("wandering %v, %v; steady %v, %v", w1.Seconds, w2.Seconds, s1.Seconds, s2.Seconds)
	}
}

// Every built-in scenario runs with every policy, within what the bound allows.
func TestBuiltInScenarios(t *testing.T) {
	for _, name := range scenario.Names() {
		s, err := scenario.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, algorithm := range scheduler.Names() {
			cfg := Default(s, algorithm)
			res := mustRun(t, cfg)
			if err := check(cfg, res, res.BoundSeconds); err != nil {
				t.Errorf("%s, %s: %v", name, algorithm, err)
			}
		}
	}
}

func BenchmarkHighSpeed(b *testing.B) {
	s, err := scenario.Load("high-speed")
	if err != nil {
		b.Fatal(err)
	}
	virtual := 0.0
	b.ReportAllocs()
	for b.Loop() {
		res, err := Run(Default(s, "3"))
		if err != nil {
			b.Fatal(err)
		}
		virtual += res.Seconds
	}
	b.ReportMetric(virtual/b.Elapsed().Seconds(), "x-real-time")
}
