package replay

import (
	"fmt"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/pkg/scheduler"
)

// run is a simulated download.
type run struct {
	name string
	cfg  sim.Config
}

// suite is a series of them; the seeds are those of internal/sim's golden files.
type suite struct {
	name string
	runs []run
}

func (s *suite) add(name string, cfg sim.Config) { s.runs = append(s.runs, run{name, cfg}) }

func suites() ([]suite, error) {
	var all []suite
	seeds := func(name string, n uint64, of func(seed uint64) sim.Config) {
		s := suite{name: name}
		for seed := range n {
			s.add(fmt.Sprint(seed), of(seed))
		}
		all = append(all, s)
	}
	for _, policy := range scheduler.Names() {
		seeds("random/"+policy, 100, func(seed uint64) sim.Config {
			cfg := sim.Random(seed)
			cfg.Algorithm = policy
			return cfg
		})
	}
	seeds("wild", 400, func(seed uint64) sim.Config {
		cfg := sim.Wild(seed)
		cfg.Algorithm = "3"
		return cfg
	})
	seeds("files", 400, sim.RandomFiles)
	seeds("rationed", 100, rationed)
	seeds("energy", 60, func(seed uint64) sim.Config {
		cfg := sim.RandomEnergy(seed)
		cfg.Energy, cfg.Deadline = scheduler.EnergyMode(seed%3), float64(seed%2*30)
		return cfg
	})
	seeds("options", 60, options)
	seeds("limited", 60, limited)
	seeds("single", 60, single)
	for _, policy := range scheduler.Names() {
		s := suite{name: "scenario/" + policy}
		for _, name := range scenario.Names() {
			sc, err := scenario.Load(name)
			if err != nil {
				return nil, err
			}
			cfg := sim.Default(sc, policy)
			s.add(name, cfg)
			cfg.HTTP2, cfg.TLSTrips = true, 1
			s.add(name+"-tls", cfg)
		}
		all = append(all, s)
	}
	return all, nil
}

// rationed are downloads over links with caps, backups, deadlines and energy modes.
func rationed(seed uint64) sim.Config {
	cfg := sim.Random(seed)
	cfg.Algorithm = scheduler.Names()[seed%uint64(len(scheduler.Names()))]
	cfg.Energy = scheduler.EnergyMode(seed / 7 % uint64(len(scheduler.EnergyNames())))
	names := energy.Names()
	radios := make([]energy.Radio, len(cfg.Scenario.Links))
	for k := range radios {
		radios[k], _ = energy.Lookup(names[(int(seed)+3*k)%len(names)])
	}
	cfg.SetRadios(radios)
	for k := 1; k < len(radios); k++ { // the first link never fails for good, and may carry everything
		if (int(seed)+k)%5 == 0 {
			cfg.Terms[k].Cap = 1 + cfg.Size/int64(3+k)
		}
	}
	cfg.Terms[int(seed)%len(radios)].Backup = seed%3 == 0
	if seed%4 == 0 {
		cfg.Deadline = float64(1 + seed%50)
	}
	return cfg
}

// options are downloads with what the command line can change about them.
func options(seed uint64) sim.Config {
	cfg := sim.Random(seed)
	cfg.Algorithm = "3"
	switch seed % 6 {
	case 0:
		cfg.Parallelism = 4
	case 1:
		cfg.Overlap = 0.6
	case 2:
		cfg.NoSteal = true
	case 3:
		cfg.NoFailover = true
	case 4:
		cfg.Window, cfg.Consume = 4<<20, 2e6
	case 5:
		for _, l := range cfg.Scenario.Links {
			cfg.Bandwidths = append(cfg.Bandwidths, l.DownMbps*1e6/8)
		}
	}
	return cfg
}

// limited are downloads from servers that bound each connection, and over connections with
// small windows.
func limited(seed uint64) sim.Config {
	cfg := sim.Random(seed)
	cfg.Algorithm = "3"
	if seed%2 == 0 {
		cfg.PerConnection = float64(uint64(100_000) << (seed % 5))
	} else {
		cfg.Receive = 64 << 10 << (seed % 4)
	}
	cfg.Size = min(cfg.Size, 30e6)
	return cfg
}

// single are downloads from servers that end a connection with each response.
func single(seed uint64) sim.Config {
	cfg := sim.Random(seed)
	cfg.Algorithm, cfg.Single, cfg.HTTP2 = "3", true, false
	cfg.Size = min(cfg.Size, 100e6)
	return cfg
}
