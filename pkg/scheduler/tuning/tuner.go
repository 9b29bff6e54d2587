// Package tuning decides how the connections of each link are shared out among
// the files of a batch: how many connections, for which classes of files, and how
// many of them for one file together. It has the modes of Guner and Kosar, HAT,
// EHT and LowE, and a manual one.
//
// It is as pure as the scheduler, and knows no clock: the driver of the scheduler
// steps a Tuner about every 250 ms with what it observed, and tells the Core the
// Plans that come back. The same observations give the same plans on every
// machine. A Tuner is not safe for concurrent use: one goroutine owns it.
//
// Where it deviates from the papers. Their channels carry one file at a time, or a
// few in a row, and are idle for a round trip in between or run on after the
// others are done; so they need many. Here a channel is a connection, on which the
// Core keeps as many requests as it takes never to run dry (their pipelining =
// ceil(BDP/avg), applied anew with each request, so a Plan does not bound it), and
// at the end of the job connections take over one another's rests. Connections
// beyond those that fill the link bring nothing, but for a faster start: ten
// packets each in the first round trip (RFC 6928). So the most that a link can use
// is the number of such windows in its bandwidth-delay product; HAT uses all of
// them, LowE only as many as it takes to fill the link once its connections are up
// to speed, and EHT finds its number in between by trying.
package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// window is what a connection brings in its first round trip, in bytes: ten
	// packets (RFC 6928).
	window = 10 * 1448
	// presumed is what a link is taken to carry before it has shown anything, in
	// bytes of payload per second: 50 Mbit/s.
	presumed = 6e6
	// review is how long a plan is left alone at least.
	review = 3 * scheduler.Second
	// drift is by what factor a link's product must have changed for files to be
	// divided anew, or the histogram must have grown.
	drift = 1.5
	// defaultSampling is EHT's sampling interval in the papers.
	defaultSampling = 5 * scheduler.Second
)

// Config is what a Tuner must know beforehand. The zero value of a field is its
// default.
type Config struct {
	Mode  Mode
	Links int // how many there are

	// Concurrency is how many files may be in progress at once, over all links; 0:
	// any number (Manual: one).
	Concurrency int
	// Parallelism is how many connections of a link serve one file together; 0: as
	// many as the mode finds right (Manual: one).
	Parallelism int
	// Sampling is the longest interval over which EHT measures a number of
	// connections; it takes shorter ones when the job is short. Default 5 s.
	Sampling scheduler.Time
	// Channels, if set, is the number of connections for each of the links, dealt out
	// as EHT would, and nothing is tried: one point of an exhaustive sweep.
	Channels []int
}

// Power is a model of what a link draws while bytes come, for when that is not measured:
// P = Watts + WattsPerMbps * rate + WattsPerConnection * connections.
type Power struct {
	Watts              float64
	WattsPerMbps       float64
	WattsPerConnection float64
}

// DefaultPower is the Galaxy S7's WiFi, as fitted to Skjolden's table 7.10
// (wifi-s7-mean), and PerConnection.
func DefaultPower() Power {
	return Power{Watts: 0.5328, WattsPerMbps: 0.00908, WattsPerConnection: PerConnection}
}

// PerConnection is what a connection at work draws by itself, in watts, beside
// what its bytes do: κ. It is what Guner and Kosar's figures for the VIDEO set
// imply (tradeoffs, section 4: 13 to 61 Mbit/s from 1 connection to 16, and 38 %
// less energy for a byte): power rose by 0.62*61/13 = 2.9, which over a radio of
// 0.533 W + 9.08 mW per Mbit/s leaves 62 mW for each connection [D]. HTML and
// IMAGE would give 160 and 48 mW. Without it the ratio of throughput to energy
// only ever grows with throughput, and EHT would be HAT.
const PerConnection = 0.062

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Mode > Manual:
		return fmt.Errorf("there is no %v", c.Mode)
	case c.Links < 1:
		return fmt.Errorf("%d links: there must be one at least", c.Links)
	case c.Concurrency < 0 || c.Parallelism < 0:
		return fmt.Errorf("concurrency %d, parallelism %d: must not be negative", c.Concurrency, c.Parallelism)
	case c.Parallelism > scheduler.MaxStreams:
		return fmt.Errorf("parallelism %d: a link has %d connections at most", c.Parallelism, scheduler.MaxStreams)
	case c.Channels != nil && len(c.Channels) != c.Links:
		return fmt.Errorf("channels for %d links, and there are %d", len(c.Channels), c.Links)
	case c.Sampling < 0:
		return fmt.Errorf("a sampling interval of %v s", c.Sampling.Seconds())
	}
	for _, n := range c.Channels {
		if n < 1 || n > scheduler.MaxStreams {
			return fmt.Errorf("%d channels: must be within 1 to %d", n, scheduler.MaxStreams)
		}
	}
	return nil
}

// LinkView is what is known of a link.
type LinkView struct {
	Up        bool
	Rate      float64        // bytes per second now; 0: unknown
	Bandwidth float64        // the most of late, in bytes per second; 0: unknown
	RTT       scheduler.Time // the least; 0: unknown
	Trip      scheduler.Time // of the data that comes, queues included; 0: unknown
	Streams   int            // connections with requests in flight
	Power     Power          // what it draws, by its model; the zero value: DefaultPower
}

// Observation is what the driver sees.
type Observation struct {
	Links    []LinkView
	Left     [scheduler.MaxClasses]int64 // bytes still to come
	Files    [scheduler.MaxClasses]int   // files that are not complete
	Received [scheduler.MaxClasses]int64 // bytes so far
	// Joules are what the device was measured to have spent above its base power until
	// SpentAt; below 0: that is not measured. Every is how far apart the readings are; 0:
	// whoever asks has one.
	Joules  float64
	SpentAt scheduler.Time
	Every   scheduler.Time
}

// Change is a plan that a link should go by from now on.
type Change struct {
	Link scheduler.LinkID
	Plan scheduler.Plan
	Why  string // for people, and short
	// Watts are what was drawn in the sampling interval on which EHT went by for it;
	// 0: it went by none. Measured: they were, and not modelled.
	Watts    float64
	Measured bool
}

// Tuner chooses plans.
type Tuner struct {
	cfg     Config
	sizes   sizes
	part    partition
	parted  int64 // files in the histogram when it was divided
	links   []link
	now     scheduler.Time
	meter   meter
	search  search
	balance balance
	classes [scheduler.MaxClasses]bucket // at present
	kinds   int                          // how many of them there are
}

// link is a link's plan, and what it was made of.
type link struct {
	up      bool
	told    bool // plan has been told
	plan    scheduler.Plan
	since   scheduler.Time // when it was
	carried scheduler.Time // when it was first seen to carry something; 0: not yet
	n       int            // HAT: connections
	folded  bool           // HAT: some were given up, as data waited for the link
	climb   climb
	fill    fill
	settled bool // LowE: it has the plan that fill led to
}

// New makes a Tuner.
func New(cfg Config) (*Tuner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Sampling == 0 {
		cfg.Sampling = defaultSampling
	}
	return &Tuner{cfg: cfg, links: make([]link, cfg.Links)}, nil
}

// Size tells that a file has so many bytes.
func (t *Tuner) Size(bytes int64) { t.sizes.add(bytes) }

// Class is the class of a file of so many bytes, -1 if they are unknown, by the
// present partition. Files of unknown size count as of the mean.
func (t *Tuner) Class(bytes int64) scheduler.Class {
	if bytes < 0 {
		return t.part.class(t.sizes.all.mean())
	}
	return t.part.class(float64(bytes))
}

// Step looks at what there is at now, and appends the plans that are to change.
// The first Step should come before the first file is asked for.
func (t *Tuner) Step(now scheduler.Time, seen Observation, out []Change) []Change {
	o := &seen
	passed := now - t.now
	t.now = max(t.now, now)
	for i := range t.links {
		l, v := &t.links[i], o.view(i)
		if v.Up && !l.up {
			*l = link{}
		}
		l.up = v.Up
	}
	t.meter.step(passed, o, t.links)
	if t.cfg.Mode == Manual {
		return t.manual(out)
	}
	t.divide(o)
	t.sort(o)
	switch {
	case t.cfg.Channels != nil:
		out = t.fixed(out)
	case t.cfg.Mode == EHT:
		out = t.efficient(o, out)
	case t.cfg.Mode == LowE:
		out = t.lowest(o, out)
	default:
		out = t.highest(o, out)
	}
	return t.rebalance(o, out)
}

// view is what is known of a link; nothing where the observation is too short.
func (o *Observation) view(i int) LinkView {
	if i >= len(o.Links) {
		return LinkView{}
	}
	return o.Links[i]
}

func (o *Observation) left() (n int64) {
	for _, b := range o.Left {
		n += b
	}
	return n
}

func (o *Observation) received() (n int64) {
	for _, b := range o.Received {
		n += b
	}
	return n
}

// bandwidth is what the link is known or presumed to carry, in bytes per second.
func (v *LinkView) bandwidth() float64 {
	if b := max(v.Bandwidth, v.Rate); b > 0 {
		return b
	}
	return presumed
}

// product is the link's bandwidth-delay product in bytes; 0 while its round trip
// is unknown.
func (v *LinkView) product() float64 { return float64(v.bandwidth() * v.RTT.Seconds()) }

// queues says whether data waits for the link: its connections could send more than it
// carries.
func (v *LinkView) queues() bool { return v.RTT > 0 && float64(v.Trip) >= waits*float64(v.RTT) }

// useful is how many connections a link can use at most: one for each first window
// in its bandwidth-delay product.
func useful(product float64) int {
	return max(1, min(scheduler.MaxStreams, ceil(product, window)))
}

// divide divides the files into classes, anew when that has become another thing.
// The classes are the same for all links, as a file is not given to a link
// beforehand: by the largest product.
func (t *Tuner) divide(o *Observation) {
	bdp := 0.0
	for i := range t.links {
		if v := o.view(i); v.Up && v.RTT > 0 && v.Bandwidth > 0 {
			bdp = max(bdp, v.product())
		}
	}
	if bdp == 0 || t.sizes.all.files == 0 {
		return
	}
	grown := float64(t.sizes.all.files) >= drift*float64(t.parted)
	if !grown && bdp < drift*t.part.bdp && t.part.bdp < drift*bdp {
		return
	}
	t.part = divide(&t.sizes, bdp)
	t.parted = t.sizes.all.files
}

// sort sets the classes that there are: those of the files whose size is known,
// and those for which files were taken before, by another partition.
func (t *Tuner) sort(o *Observation) {
	t.classes = t.part.classes
	if t.part.bdp == 0 {
		t.classes[small] = t.sizes.all
	}
	t.kinds = 0
	for i := range t.classes {
		c := &t.classes[i]
		if c.files == 0 && o.Files[i] > 0 {
			*c = bucket{files: int64(o.Files[i]), bytes: max(0, o.Left[i]) + o.Received[i]}
		}
		if c.files > 0 {
			t.kinds++
		}
	}
	if t.kinds == 0 {
		t.kinds, t.classes[small].files = 1, 1
	}
}

// propose gives a link a plan, unless it has it.
func (t *Tuner) propose(id int, plan scheduler.Plan, why string, out []Change) []Change {
	l := &t.links[id]
	if plan.Files = t.cfg.Concurrency; t.cfg.Mode == Manual {
		plan.Files = max(1, plan.Files)
	}
	if !l.up || l.told && l.plan == plan {
		return out
	}
	l.told, l.plan, l.since = true, plan, t.now
	c := Change{Link: scheduler.LinkID(id), Plan: plan, Why: why}
	if s := &t.search; t.cfg.Mode == EHT && s.last.n > 0 {
		c.Watts, c.Measured = s.last.power, s.measured
	}
	return append(out, c)
}

// plan is the plan of so many connections for each class, and how many of them
// serve one file together.
func (t *Tuner) plan(connections, parallelism [scheduler.MaxClasses]int) (p scheduler.Plan) {
	for i, n := range connections {
		if n == 0 {
			continue
		}
		p.Classes[i] = scheduler.Share{Connections: n, Parallelism: max(1, min(n, parallelism[i]))}
		if t.cfg.Parallelism > 0 {
			p.Classes[i].Parallelism = t.cfg.Parallelism
		}
	}
	return p
}
