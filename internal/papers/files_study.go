package papers

import (
	"errors"
	"fmt"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// phoneBuffer is what a connection of the papers' phone has in flight at most, in
// bytes: over one, their VIDEO set comes with 13 Mbit/s from 290 ms away (tradeoffs,
// section 4).
const phoneBuffer = 471_250

// FilesStudy is what jobs of many files come to in the simulator.
type FilesStudy struct {
	Concurrency []FilesCase
	Parallelism []FilesCase
	LTE         []FilesCase
	Modes       []FilesCase
	Searches    []Search
}

// FilesCase is one job.
type FilesCase struct {
	Scenario    string
	Set         string
	Mode        string
	Concurrency int
	Parallelism int
	Seconds     float64
	Mbps        float64
	OfBound     float64
	Per100MB    float64
	PerJoule    float64
	Delta       float64
	Plan        []int // of each link at the end
}

// Search is EHT's choice, and the best there is.
type Search struct {
	Scenario string
	Set      string
	Buffer   int64
	Best     []int // connections of each link
	Ratio    float64
	Chosen   []int
	Settled  float64 // with what was chosen from the beginning
	Whole    float64 // of the job with its search
}

// OfBest is how near to the best ratio the chosen one is.
func (s *Search) OfBest() float64 { return s.Settled / s.Ratio }

// filesConfig is a job of a set of files over the links of a scenario.
func filesConfig(name, set string, buffer int64, t tuning.Config) (sim.Config, error) {
	s, err := scenario.Load(name)
	if err != nil {
		return sim.Config{}, err
	}
	files, err := dataset.Parse(set)
	if err != nil {
		return sim.Config{}, err
	}
	cfg := sim.Default(s, "3")
	cfg.Batch = &sim.Batch{Name: set, Files: sim.Sizes(files), Tuning: t}
	cfg.Size, cfg.Receive = cfg.Batch.Bytes(), buffer
	radios := make([]energy.Radio, len(s.Links))
	for i, l := range s.Links {
		radios[i], _ = energy.Lookup(l.Power)
	}
	cfg.SetRadios(radios)
	if t.Mode == tuning.LowE && t.Channels == nil {
		cfg.Energy = scheduler.EnergyMin // the least energy is also a matter of links
	}
	return cfg, nil
}

// filesCase runs a job.
func filesCase(name, set string, buffer int64, t tuning.Config) (FilesCase, error) {
	c := FilesCase{Scenario: name, Set: set, Mode: t.Mode.String(), Concurrency: t.Concurrency, Parallelism: t.Parallelism}
	cfg, err := filesConfig(name, set, buffer, t)
	if err != nil {
		return c, err
	}
	res, err := sim.RunWithBound(cfg)
	if err != nil {
		return c, fmt.Errorf("%s of %s, %v: %w", set, name, t.Mode, err)
	}
	c.Seconds, c.OfBound, c.Delta = res.Seconds, res.Efficiency, res.LinkDelta
	c.Mbps = float64(res.SizeBytes) * 8 / 1e6 / res.Seconds
	c.Per100MB, c.PerJoule = res.Energy.JoulesPer100MB, res.Energy.MbpsPerJoule
	c.Plan = lastPlan(&res)
	return c, nil
}

// lastPlan is how many connections each link had by its last plan; 0 for one that was
// left alone.
func lastPlan(r *sim.Result) []int {
	out := make([]int, len(r.Links))
	for _, p := range r.Batch.Changes {
		for i := range r.Links {
			if l := &r.Links[i]; l.Name == p.Link && l.Bytes > 0 {
				out[i] = p.Connections
			}
		}
	}
	return out
}

// task is one job of a study.
type task struct {
	scenario, set string
	buffer        int64
	tuning        tuning.Config
}

// runTasks runs jobs beside one another, and gives them in order.
func runTasks(tasks []task) ([]FilesCase, error) {
	cases, errs := make([]FilesCase, len(tasks)), make([]error, len(tasks))
	eachOf(len(tasks), func(i int) {
		t := &tasks[i]
		cases[i], errs[i] = filesCase(t.scenario, t.set, t.buffer, t.tuning)
	})
	return cases, errors.Join(errs...)
}

// The papers' sets, and what they tried.
func filesSets() []string { return []string{"html", "image", "video"} }
func levels() []int       { return []int{1, 2, 4, 8, 16, 32, 64} }
func streamLevels() []int { return []int{1, 2, 4, 8, 16, 32} }
func filesServers() []string {
	return []string{"sydney", "frankfurt", "austin"}
}

// byHand are jobs with so many files at once, or so many connections for each.
func byHand(scenarios, sets []string, concurrency, parallelism []int) (tasks []task) {
	for _, name := range scenarios {
		for _, set := range sets {
			for _, n := range concurrency {
				for _, p := range parallelism {
					tasks = append(tasks, task{name, set, phoneBuffer, tuning.Config{Mode: tuning.Manual, Concurrency: n, Parallelism: p}})
				}
			}
		}
	}
	return tasks
}

// mixed is the papers' sets together, as in the evaluation of their algorithms.
const mixed = "html+image+video"

// StudyFiles rehearses everything that docs/measured/many-files-sim.md tells. A short study
// leaves most of it out.
func StudyFiles(short bool) (*FilesStudy, error) {
	var s FilesStudy
	var errs [5]error
	one := []int{1}
	servers, sets, searches := filesServers(), append(filesSets(), mixed), searchTasks()
	if short {
		servers, sets, searches = servers[2:], filesSets()[:1], searches[8:9]
	}
	if !short {
		s.Concurrency, errs[0] = runTasks(byHand(servers, filesSets(), levels(), one))
		s.Parallelism, errs[1] = runTasks(byHand([]string{"sydney"}, append(filesSets(), "1gb"), one, streamLevels()))
		s.LTE, errs[2] = runTasks(byHand([]string{"sydney-lte"}, filesSets(), []int{1, 16}, one))
	}
	var tasks []task
	for _, name := range servers {
		for _, links := range []string{"", "-dual"} {
			for _, set := range sets {
				for _, mode := range []tuning.Mode{tuning.HAT, tuning.EHT, tuning.LowE} {
					tasks = append(tasks, task{name + links, set, 0, tuning.Config{Mode: mode}})
				}
			}
		}
	}
	s.Modes, errs[3] = runTasks(tasks)
	s.Searches, errs[4] = runSearches(searches)
	return &s, errors.Join(errs[:]...)
}

// searchTasks are the settings in which EHT has to find the best ratio: with the
// papers' phone, whose buffers make it a question, and without.
func searchTasks() (tasks []task) {
	eht := tuning.Config{Mode: tuning.EHT}
	for _, name := range filesServers() {
		for _, set := range append(filesSets(), mixed) {
			tasks = append(tasks, task{name, set, phoneBuffer, eht})
		}
	}
	return append(tasks,
		task{"sydney-lte", "video", phoneBuffer, eht},
		task{"sydney", "html", 0, eht},
		task{"frankfurt", "video", 0, eht},
		task{"sydney-dual", "html", phoneBuffer, eht},
		task{"sydney-dual", "video", phoneBuffer, eht},
		task{"austin-dual", "image", phoneBuffer, eht},
	)
}

// runSearches runs each job with EHT, and with every number of connections.
func runSearches(tasks []task) ([]Search, error) {
	out, errs := make([]Search, len(tasks)), make([]error, len(tasks))
	eachOf(len(tasks), func(i int) { out[i], errs[i] = searchFor(&tasks[i]) })
	return out, errors.Join(errs...)
}

func searchFor(t *task) (Search, error) {
	s := Search{Scenario: t.scenario, Set: t.set, Buffer: t.buffer}
	own, err := filesCase(t.scenario, t.set, t.buffer, t.tuning)
	if err != nil {
		return s, err
	}
	s.Chosen, s.Whole = own.Plan, own.PerJoule
	fixed := func(n []int) (float64, error) {
		c, err := filesCase(t.scenario, t.set, t.buffer, tuning.Config{Mode: tuning.EHT, Channels: n})
		return c.PerJoule, err
	}
	if s.Settled, err = fixed(s.Chosen); err != nil {
		return s, err
	}
	s.Best, s.Ratio = s.Chosen, s.Settled
	for _, n := range combinations(len(s.Chosen)) {
		ratio, err := fixed(n)
		if err != nil {
			return s, err
		}
		if ratio > s.Ratio {
			s.Best, s.Ratio = n, ratio
		}
	}
	return s, nil
}

// combinations are the numbers of connections of one link or of two.
func combinations(links int) (all [][]int) {
	if links == 1 {
		for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64} {
			all = append(all, []int{n})
		}
		return all
	}
	for a := 1; a <= 7; a++ {
		for b := 1; b <= 7; b++ {
			all = append(all, []int{a, b})
		}
	}
	return all
}
