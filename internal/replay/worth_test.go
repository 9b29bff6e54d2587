//go:build ablation

package replay

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/internal/stats"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

//nolint:gochecknoglobals // flags
var (
	without  = flag.String("without", "", "what to switch off: names with + between those that go together; all: each by itself")
	only     = flag.String("only", "random,wild,files,lists,crowded,limited,single,small", "the suites")
	share    = flag.Int("share", 1, "one of so many runs of a suite")
	worthOut = flag.String("worth", "", "a file to append the figures to")
)

// worthSuites are those over which a heuristic is switched on and off.
func worthSuites(t *testing.T) []suite {
	counts := map[string]uint64{"random": 1000, "wild": 400, "files": 400, "limited": 120, "single": 120, "small": 2000, "remainder": 1000, "lists": 140, "crowded": 96}
	of := map[string]func(uint64) sim.Config{
		"random": func(seed uint64) sim.Config {
			cfg := sim.Random(seed)
			cfg.Algorithm = "3"
			return cfg
		},
		"wild": func(seed uint64) sim.Config {
			cfg := sim.Wild(seed)
			cfg.Algorithm = "3"
			return cfg
		},
		"files": sim.RandomFiles,
		"lists": func(seed uint64) sim.Config {
			sets := []string{"html/600", "image/20", "image/100", "video/24", "html/150", "html", "image"}
			cfg := list(t, []string{"sydney-dual", "austin-dual", "sydney", "austin"}[seed%4], sets[seed/4%7])
			cfg.Batch.Untuned = seed/28%3 == 1
			for i := range cfg.Batch.Files { // other sizes for each round of the sets
				cfg.Batch.Files[i] += cfg.Batch.Files[i] * int64((uint64(i)*7919+seed/28*104_729)%101) / 200
			}
			cfg.Size = cfg.Batch.Bytes()
			return cfg
		},
		"crowded": func(seed uint64) sim.Config {
			cfg := list(t, []string{"sydney", "sydney-dual"}[seed%2], []string{"html/600", "image", "video/16"}[seed/2%3])
			cfg.Seed, cfg.Crowded = seed/6, true
			return cfg
		},
		"limited": limited,
		"single":  single,
		// A little more than what the first links are asked for before the size is known.
		"remainder": func(seed uint64) sim.Config {
			cfg := sim.Random(seed)
			if seed%3 == 0 {
				cfg = sim.Wild(seed)
			}
			cfg.Algorithm, cfg.Size = "3", int64(1+seed%2)<<17+1+int64(seed*97%70_000)
			return cfg
		},
		"small": func(seed uint64) sim.Config {
			cfg := sim.Random(seed)
			cfg.Algorithm, cfg.Size = "3", 4000<<(seed%11)+int64(seed)
			if seed%3 == 0 {
				wild := sim.Wild(seed)
				wild.Algorithm, wild.Size = cfg.Algorithm, cfg.Size
				return wild
			}
			return cfg
		},
	}
	var all []suite
	for _, name := range strings.Split(*only, ",") {
		s := suite{name: name}
		for seed := range counts[name] {
			s.add(fmt.Sprint(seed), of[name](seed))
		}
		all = append(all, s)
	}
	return all
}

// list is a job of a set of files over the links of a scenario, in HAT's mode.
func list(t *testing.T, name, set string) sim.Config {
	t.Helper()
	s, err := scenario.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	files, err := dataset.Parse(set)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Default(s, "3")
	cfg.Batch = &sim.Batch{Name: set, Files: sim.Sizes(files), Tuning: tuning.Config{Mode: tuning.HAT}}
	cfg.Size = cfg.Batch.Bytes()
	return cfg
}

// TestWorth prints what times are without a heuristic, over those with it.
func TestWorth(t *testing.T) {
	if *without == "" {
		t.Skip("nothing to switch off")
	}
	all := worthSuites(t)
	for i := range all {
		all[i].runs = all[i].runs[:len(all[i].runs) / *share]
	}
	with, met := runAndWatch(t, all)
	names := strings.Split(*without, ",")
	if *without == "all" {
		names = slices.Sorted(maps.Keys(met))
	}
	out := os.Stdout
	if *worthOut != "" {
		f, err := os.OpenFile(*worthOut, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out = f
	}
	for _, name := range names {
		scheduler.Without(strings.Split(name, "+")...)
		now := maps.Clone(with)
		maps.Copy(now, runAll(t, concerned(all, met, name), 1))
		for i := range all {
			fmt.Fprintf(out, "%s\t%s\t%s\n", name, all[i].name, worth(&all[i], with, now))
		}
	}
}

// runAndWatch makes all runs, one after the other, and notes in which of them each heuristic
// came to a decision.
func runAndWatch(t *testing.T, all []suite) (outcomes map[string]outcome, met map[string]map[string]bool) {
	outcomes, met = map[string]outcome{}, map[string]map[string]bool{}
	for i := range all {
		for _, r := range all[i].runs {
			scheduler.Without()
			name := all[i].name + "/" + r.name
			o, err := simulate(r.cfg)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			outcomes[name] = o
			for heuristic := range scheduler.Hits() {
				if met[heuristic] == nil {
					met[heuristic] = map[string]bool{}
				}
				met[heuristic][name] = true
			}
		}
	}
	return outcomes, met
}

// concerned are the runs in which one of the heuristics that are named, with + between them,
// came to a decision: the others are the same without it.
func concerned(all []suite, met map[string]map[string]bool, names string) []suite {
	var some []suite
	for i := range all {
		s := suite{name: all[i].name}
		for _, r := range all[i].runs {
			for name := range strings.SplitSeq(names, "+") {
				if met[name][s.name+"/"+r.name] {
					s.runs = append(s.runs, r)
					break
				}
			}
		}
		some = append(some, s)
	}
	return some
}

func worth(s *suite, with, now map[string]outcome) string {
	var logs, changed, waste []float64
	for _, r := range s.runs {
		name := s.name + "/" + r.name
		a, b := with[name], now[name]
		l := math.Log(b.seconds / a.seconds)
		logs = append(logs, l)
		if a.hash != b.hash {
			changed = append(changed, l)
			waste = append(waste, float64(b.waste-a.waste)/float64(a.size))
		}
	}
	mean, half := interval(logs)
	here, around := interval(changed)
	slices.Sort(changed)
	q := func(p float64) float64 { return 100 * stats.Quantile(changed, p) }
	wasted, _ := interval(waste)
	return fmt.Sprintf("%+.3f±%.3f\t%d\t%+.2f±%.2f\t%+.2f\t%+.2f\t%+.2f\t%+.1f\t%+.2f",
		100*mean, 100*half, len(changed), 100*here, 100*around, q(0.05), q(0.5), q(0.95), q(1), 100*wasted)
}

// TestMetInRecordings names the recorded runs whose answers change without a heuristic.
func TestMetInRecordings(t *testing.T) {
	if *without == "" {
		t.Skip("nothing to switch off")
	}
	files, err := filepath.Glob(filepath.Join(recordedDir, "*.gz"))
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string][]string{}
	for _, file := range files {
		traces, err := load(file)
		if err != nil {
			t.Fatal(err)
		}
		scheduler.Without()
		if err := rerunAll(traces); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(scheduler.Hits())) {
			scheduler.Without(name)
			for i := range traces {
				was := trace{config: traces[i].config, steps: slices.Clone(traces[i].steps)}
				if d, err := rerun(&was); err != nil || d != "" {
					changed[name] = append(changed[name], strings.TrimSuffix(filepath.Base(file), ".gz"))
					break
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		t.Logf("%s: %d: %s", name, len(changed[name]), strings.Join(changed[name], ", "))
	}
}

func rerunAll(traces []trace) error {
	for i := range traces {
		if _, err := rerun(&traces[i]); err != nil {
			return err
		}
	}
	return nil
}
