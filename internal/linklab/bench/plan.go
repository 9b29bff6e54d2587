package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// loopback is the name of the unshaped device, and of its scenario.
const loopback = "lo"

// loopbackSize is the size of the body there, in bytes, where none is given.
const loopbackSize = 1e9

// quickLoopback is how often a tool runs over loopback in the quick form, and where processor
// time is compared, at least: a run takes a second, and its time depends on the machine's other work alone.
const quickLoopback = 5

// Options say what is to be run, except for the tools, as a file of results keeps it.
type Options struct {
	Quick        bool     `json:"quick"`
	Scenarios    []string `json:"scenarios"` // built-in ones or files; loopback is one of its own
	Rounds       int      `json:"runs"`      // executions of every tool in every scenario
	Size         int64    `json:"size_bytes"`
	LoopbackSize int64    `json:"loopback_size_bytes"` // of the body over the loopback device
	TLS          bool     `json:"tls"`                 // over TLS too
	Energy       bool     `json:"energy,omitempty"`    // energy is compared, so that slow tools are waited for
	Processor    bool     `json:"processor,omitempty"` // processor time and wake-ups are compared, in processorCells
	// Files are sets of files (see package dataset), each a job of its own, instead
	// of a body of Size; the tools are then those of ParseFilesTool.
	Files []string `json:"files,omitempty"`
	// Against is the SHA-256 of another build of mlget, to which this one is compared in
	// pairs; empty: none.
	Against string `json:"against_sha256,omitempty"`
	Seed    uint64 `json:"seed"`
	// ReceiveBuffer is the largest receive buffer of a connection in bytes, as of an old
	// phone; 0: enough for every link.
	ReceiveBuffer int64 `json:"receive_buffer_bytes,omitempty"`
}

// Config says what is to be run.
type Config struct {
	Options
	Tools []Tool
}

// Job is one execution of a tool. It is also the job's name: no two of a plan
// are equal.
type Job struct {
	Scenario  string    `json:"scenario"`
	Files     string    `json:"files,omitempty"` // the set; empty: one body
	Transport Transport `json:"transport"`
	Tool      string    `json:"tool"`
	Round     int       `json:"round"` // from 0
}

// Plan puts all jobs into their order, which the seed alone decides: round by
// round, in each the scenarios in random order, in each of these every tool
// once, in random order. Loopback comes first, with ordinary scheduling, which
// the emulator takes away from this process later.
func (c Config) Plan() []Job {
	rng := rand.New(rand.NewPCG(c.Seed, 0x626e6368))
	var first, rest []Job
	for round := range max(c.Rounds, c.rounds(loopback)) {
		cells := c.cells(round)
		rng.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		for _, k := range cells {
			tools := c.toolsFor(k.scenario, k.files)
			if c.Against != "" {
				alternate(tools, round)
			} else {
				rng.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
			}
			for _, t := range tools {
				j := Job{k.scenario, k.files, k.transport, t.Name, round}
				if k.scenario == loopback {
					first = append(first, j)
				} else {
					rest = append(rest, j)
				}
			}
		}
	}
	return append(first, rest...)
}

// cell is what tools are compared in.
type cell struct {
	scenario, files string
	transport       Transport
}

// cells are those of a round.
func (c Config) cells(round int) (cells []cell) {
	if c.Processor {
		for _, p := range processorCells() {
			if slices.Contains(c.Scenarios, p.scenario) && round < c.rounds(p.scenario) {
				cells = append(cells, p.cell)
			}
		}
		return cells
	}
	sets := c.Files
	if len(sets) == 0 {
		sets = []string{""}
	}
	for _, s := range c.Scenarios {
		if round >= c.rounds(s) {
			continue
		}
		for _, set := range sets {
			for _, t := range c.transports(s) {
				cells = append(cells, cell{s, set, t})
			}
		}
	}
	return cells
}

// rounds is how often every tool runs in a scenario.
func (c Config) rounds(scenario string) int {
	if (c.Quick || c.Processor) && scenario == loopback {
		return max(c.Rounds, quickLoopback)
	}
	return c.Rounds
}

func (c Config) transports(scenario string) []Transport {
	switch {
	case scenario == loopback:
		return []Transport{Clear, TLS1, TLS2}
	case c.TLS:
		return []Transport{Clear, TLS2}
	}
	return []Transport{Clear}
}

// toolsFor are the tools that run in a scenario, for a set of files or for one. With one link
// there are no variants: one of mlget, of curl and of aria2 (with one connection) will do.
func (c Config) toolsFor(scenario, files string) []Tool {
	if c.Processor && files != "" {
		return c.toolsForFiles()
	}
	if scenario != loopback || c.Against != "" {
		return slices.Clone(c.Tools)
	}
	var tools []Tool
	seen := map[Family]bool{}
	for _, t := range c.Tools {
		switch t.Family {
		case Aria2:
			t = Tool{Name: "aria2-1", Family: Aria2, Variant: "1"}
		case Curl:
			t = Tool{Name: "curl", Family: Curl}
		case Mlget:
			t = Tool{Name: "mlget", Family: Mlget}
		case Wget2:
		case Axel, CurlMPTCP, Wget:
			continue
		}
		if !seen[t.Family] {
			seen[t.Family] = true
			tools = append(tools, t)
		}
	}
	return tools
}

// tool is the tool of a job.
func (c Config) tool(j Job) Tool {
	for _, t := range c.toolsFor(j.Scenario, j.Files) {
		if t.Name == j.Tool {
			return t
		}
	}
	return Tool{}
}

// seed is that of a round's links: the same for all tools of the round.
func (c Config) seed(round int) uint64 { return c.Seed + uint64(round) }

// limit is the longest time that the tool of a job with this fluid bound may take.
func (c Config) limit(j Job, bound time.Duration) time.Duration {
	if j.Files != "" { // of which some tools fetch one after the other
		return 40*bound + 60*time.Second
	}
	if c.Energy {
		return 15*bound + 20*time.Second
	}
	if c.Quick {
		return 2*bound + 10*time.Second
	}
	return 4*bound + 20*time.Second
}

// bytes is how many a job's tool has to fetch.
func (c Config) bytes(j Job) int64 {
	if j.Files == "" {
		return c.sizeIn(j.Scenario)
	}
	set, err := dataset.Parse(j.Files)
	if err != nil {
		return 0 // cannot be: the flags and the header were checked
	}
	return set.Bytes()
}

// loopbackLimit is how long a tool may take on the loopback device.
const loopbackLimit = time.Minute

// perJob is what a job takes besides the download: making the links, writing
// the body, hashing it twice.
const perJob = 1500 * time.Millisecond

// loopbackRate is what is assumed for the estimate, in bytes/s, hashing
// included.
const loopbackRate = 500e6

// Estimate is how long the jobs will probably take, and how long at most.
func (c Config) Estimate(jobs []Job) (probable, most time.Duration, err error) {
	scenarios := map[string]scenario.Scenario{}
	for _, j := range jobs {
		if j.Scenario == loopback {
			probable += time.Duration(float64(c.LoopbackSize) / loopbackRate * float64(time.Second))
			most += loopbackLimit
			continue
		}
		s, ok := scenarios[j.Scenario]
		if !ok {
			if s, err = scenario.Load(j.Scenario); err != nil {
				return 0, 0, err
			}
			scenarios[j.Scenario] = s
		}
		bound, err := scenario.Bound(s, c.seed(j.Round), c.bytes(j), j.Transport != Clear)
		if err != nil {
			return 0, 0, fmt.Errorf("scenario %s: %w", j.Scenario, err)
		}
		limit := c.limit(j, bound)
		probable += min(limit, c.guess(s, j, bound)) + perJob
		most += limit + perJob
	}
	return probable, most, nil
}

// guess is a job's probable time over links.
func (c Config) guess(s scenario.Scenario, j Job, bound time.Duration) time.Duration {
	t := c.tool(j)
	if t.Many {
		return t.guessMany(s, j, bound)
	}
	l, single := t.link(s.Links)
	if !single {
		if t.Family == Mlget {
			return bound * 11 / 10
		}
		return bound * 3 / 2
	}
	alone := scenario.Scenario{Links: []scenario.Link{l}}
	for _, e := range s.Events {
		if e.Link == l.Name {
			alone.Events = append(alone.Events, e)
		}
	}
	b, err := scenario.Bound(alone, c.seed(j.Round), c.bytes(j), j.Transport != Clear)
	if err != nil { // its only link dies
		return c.limit(j, bound)
	}
	if l.LossPercent > 0 {
		return 4 * b // one stream cannot fill such a link
	}
	return b * 11 / 10
}
