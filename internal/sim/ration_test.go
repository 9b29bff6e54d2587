package sim

import (
	"testing"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/soaktest"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Whatever happens to the links, a download that would end without a rule ends
// with one: with every algorithm, policy, role and cap.
func TestNothingHangsForARule(t *testing.T) {
	n := soaktest.Cases(20, 100, 2000)
	names := energy.Names()
	inParallel(n, func(i int) {
		cfg := Random(uint64(i))
		cfg.Algorithm = scheduler.Names()[i%len(scheduler.Names())]
		cfg.Energy = scheduler.EnergyMode(i / 7 % len(scheduler.EnergyNames()))
		radios := make([]energy.Radio, len(cfg.Scenario.Links))
		for k := range radios {
			radios[k], _ = energy.Lookup(names[(i+3*k)%len(names)])
		}
		cfg.SetRadios(radios)
		// The first link never fails for good, so it may carry everything.
		for k := 1; k < len(radios); k++ {
			if (i+k)%5 == 0 {
				cfg.Terms[k].Cap = 1 + cfg.Size/int64(3+k)
			}
		}
		cfg.Terms[i%len(radios)].Backup = i%3 == 0
		if i%4 == 0 {
			cfg.Deadline = float64(1 + i%50)
		}
		bound, err := cfg.Bound()
		if err != nil {
			t.Errorf("seed %d: %v", i, err)
			return
		}
		res, err := Run(cfg)
		if err == nil {
			err = check(cfg, res, bound)
		}
		if err != nil {
			t.Errorf("seed %d, %s, %s: %v", i, cfg.Algorithm, cfg.Energy, err)
		}
		for k, l := range res.Links {
			// What is on the wire when a request is withdrawn still comes.
			if most := cfg.Terms[k].Cap; most > 0 && l.Bytes > most {
				t.Errorf("seed %d: %s carried %d bytes, and may carry %d", i, l.Name, l.Bytes, most)
			}
		}
	})
}

// The same configuration gives the same steps when they are replayed, energy and
// all.
func TestRationedRunsReplay(t *testing.T) {
	for i := range 12 {
		cfg := RandomEnergy(uint64(i))
		cfg.Size = min(cfg.Size, 50e6)
		var rec recorder
		cfg.Observer, cfg.Energy = &rec, scheduler.EnergyMode(i%3)
		cfg.Deadline = float64(i % 2 * 30)
		if _, err := Run(cfg); err != nil {
			t.Fatal(err)
		}
		policy, err := scheduler.NewPolicy(cfg.Algorithm, cfg.StaticLimit, cfg.Padding)
		if err != nil {
			t.Fatal(err)
		}
		if err := scheduler.Replay(cfg.scheduler(policy), rec.steps); err != nil {
			t.Errorf("seed %d: %v", i, err)
		}
	}
}

func TestABackupRestsInGoodTimes(t *testing.T) {
	for text, used := range map[string]bool{
		"link a,down=40,rtt=20\nlink b,down=40,rtt=50":                           false,
		"link a,down=40,rtt=20\nlink b,down=40,rtt=50\nat 2s a down":             true,
		"link a,down=40,rtt=20\nlink b,down=40,rtt=50\nat 2s a down\nat 5s a up": true,
	} {
		for _, algorithm := range scheduler.Names() {
			cfg := Default(parse(t, text), algorithm)
			cfg.Size = 30e6
			cfg.Terms = []scheduler.Terms{{}, {Backup: true}}
			res, err := Run(cfg)
			if err != nil {
				t.Errorf("%s: %v", algorithm, err)
				continue
			}
			if got := res.Links[1].Requests > 0; got != used {
				t.Errorf("%s with %q: the backup brought %d bytes", algorithm, text, res.Links[1].Bytes)
			}
		}
	}
}
