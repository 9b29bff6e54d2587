// Package sim rehearses downloads: it drives a scheduler.Core over model links
// in virtual time, in the way in which the engine drives it over real ones, a
// few thousand times faster than the clock.
//
// A link is a fluid server: a rate that follows its scenario (build-up,
// wandering, events), a round-trip time, and TCP connections that take
// handshakes, start slowly, start again after a pause, slow down at random
// losses, and are lost with what is in flight when a response is cut short.
// There are no packets: all moves in pieces during which rates are constant.
//
// The same Config gives the same Result on every machine: nothing asks a clock,
// dice are seeded, and products are rounded before they are added so that no
// compiler fuses the two. A run is confined to the goroutine that calls Run;
// Run may be called from several at once.
package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Config is one download over the links of a scenario.
type Config struct {
	Scenario scenario.Scenario
	Seed     uint64 // of the links' wandering and losses
	Size     int64  // bytes

	Algorithm string // one of scheduler.Names, or what Policy is called
	// Policy is used instead of Algorithm's, for one run; nil: that of Algorithm.
	Policy      scheduler.Policy
	StaticLimit int64   // bytes, Algorithm 1
	Padding     float64 // Algorithm 3's staticFactor, 0 to 1, or scheduler.AutoPadding
	Overlap     float64 // as in scheduler.Config; 0: just in time
	Parallelism int     // as in scheduler.Config: streams per link; 0: as many as help
	NoSteal     bool
	NoFailover  bool

	// HTTP2 makes requests on a link share its connection side by side, and a
	// shortened one cost no connection. Otherwise they queue on it (HTTP/1.1).
	HTTP2 bool
	// Single makes the server end a connection with each response (Connection: close).
	Single bool
	// TLSTrips is how many round trips the TLS handshake takes: 0 in clear, 1
	// with TLS 1.3, 2 with TLS 1.2.
	TLSTrips int
	// Bandwidths are what is known of the links beforehand, in bytes of payload
	// per second; 0, or a list too short: nothing.
	Bandwidths []float64
	// RampOnConnect makes a link with a ramp build up its rate again at every
	// new connection, as the thesis saw on LTE (skjolden, 4.4.3.3), and not
	// only after a silence, as linklab does.
	RampOnConnect bool
	// Window and Consume make it a stream: who reads it, reads so many bytes per
	// second, and no byte is asked for that is further ahead than Window bytes.
	Window  int64
	Consume float64

	// Radios are those of the links, from which Result.Energy comes, and Terms on
	// what terms the scheduler uses them; SetRadios sets both.
	Radios   []energy.Radio
	Terms    []scheduler.Terms
	Energy   scheduler.EnergyMode
	Offload  float64 // as in scheduler.Config: eMTCP's share
	Deadline float64 // seconds from the first packet on; 0: none

	// Batch makes it a job of many files; Size is then the sum of theirs.
	Batch *Batch
	// Receive is how many bytes a connection has in flight at most, whatever its
	// congestion window: the receiver's buffer; 0: no bound.
	Receive int64
	// PerConnection is how many bytes per second the server sends over a connection at
	// most; 0: no bound.
	PerConnection float64
	// Crowded makes bottlenecks drop packets when the windows of a link's connections
	// are more than it and its buffer hold: see crowd.go. Otherwise a connection has no
	// bound once it has left slow start, and those of a link share it equally.
	Crowded bool

	// Observer is told every step of the scheduler; nil: nobody is.
	Observer Observer
}

// Observer watches the scheduler of one run. Step is an input, the actions that it gave,
// which are valid only during the call, and when the scheduler wants to be asked next.
type Observer interface {
	Step(at scheduler.Time, in *scheduler.Input, actions []scheduler.Action, wake scheduler.Time)
}

// Default is a Config with the program's defaults for everything but the
// scenario and the algorithm.
func Default(s scenario.Scenario, algorithm string) Config {
	return Config{Scenario: s, Algorithm: algorithm, Seed: 1, Size: 250e6, StaticLimit: 4 << 20, Padding: scheduler.AutoPadding}
}

// Result is what came of a run. Times are in seconds from the first packet.
type Result struct {
	Scenario      string  `json:"scenario"`
	Algorithm     string  `json:"algorithm"`
	Seed          uint64  `json:"seed"`
	SizeBytes     int64   `json:"size_bytes"`
	Seconds       float64 `json:"seconds"`
	BoundSeconds  float64 `json:"bound_seconds"`     // the fluid bound; 0: not computed
	Efficiency    float64 `json:"efficiency"`        // bound / seconds
	Reference     float64 `json:"reference_seconds"` // Config.Reference; 0: not computed
	OfReference   float64 `json:"of_reference"`      // reference / seconds
	LinkDelta     float64 `json:"link_delta_seconds"`
	WastedBytes   int64   `json:"wasted_bytes"` // delivered and thrown away
	Requests      int     `json:"requests"`
	SchedulerStep int     `json:"scheduler_steps"`
	Links         []Link  `json:"links"`
	Energy        *Energy `json:"energy,omitempty"`           // modelled; nil without radios
	Consumed      float64 `json:"consumed_seconds,omitempty"` // when a stream's consumer had read all

	Batch *BatchResult `json:"batch,omitempty"` // of a job of many files
}

// Link is a link's part of a Result.
type Link struct {
	Name            string  `json:"name"`
	Bytes           int64   `json:"bytes"` // of the object, waste left out
	WastedBytes     int64   `json:"wasted_bytes"`
	FinishedSeconds float64 `json:"finished_seconds"` // its last byte of the object; 0: it carried none
	Requests        int     `json:"requests"`
	Connections     int     `json:"connections"`
	Bans            int     `json:"bans"`
	Model           string  `json:"radio,omitempty"`
	Joules          float64 `json:"dynamic_joules,omitempty"` // beyond idling, modelled
	Reason          string  `json:"reason,omitempty"`         // why it was last sent to rest or woken
}

// maxDeadline is a day in seconds.
const maxDeadline = 86400

// ErrNever says that a download did not end within a virtual day.
var ErrNever = errors.New("the download does not end")

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Size < 1 || c.Size > 1<<50:
		return fmt.Errorf("size %d: must be within 1 byte to 1 PiB", c.Size)
	case c.TLSTrips < 0 || c.TLSTrips > 2:
		return fmt.Errorf("%d TLS round trips: must be within 0 to 2", c.TLSTrips)
	}
	if math.IsNaN(c.Deadline) || c.Deadline < 0 || c.Deadline > maxDeadline || math.IsNaN(c.Consume) || c.Consume < 0 || c.Window < 0 {
		return fmt.Errorf("deadline %v s, window %d, %v bytes per second: must not be negative, nor beyond a day", c.Deadline, c.Window, c.Consume)
	}
	if c.Receive < 0 || math.IsNaN(c.PerConnection) || c.PerConnection < 0 {
		return fmt.Errorf("a receive buffer of %d bytes, %v bytes per second and connection: must not be negative", c.Receive, c.PerConnection)
	}
	if c.Batch != nil {
		if err := c.Batch.validate(len(c.Scenario.Links)); err != nil {
			return err
		}
		if c.Size != c.Batch.Bytes() {
			return fmt.Errorf("size %d: the files have %d bytes", c.Size, c.Batch.Bytes())
		}
	}
	for i := range c.Terms {
		if err := c.Terms[i].Validate(); err != nil {
			return err
		}
	}
	for _, b := range c.Bandwidths {
		if math.IsNaN(b) || math.IsInf(b, 0) || b < 0 {
			return fmt.Errorf("bandwidth %v: must be a rate", b)
		}
	}
	_, err := c.policy()
	return err
}

// policy is the one that decides.
func (c *Config) policy() (scheduler.Policy, error) {
	if c.Policy != nil {
		return c.Policy, nil
	}
	return scheduler.NewPolicy(c.Algorithm, c.StaticLimit, c.Padding)
}

// Bound is the fluid bound of the configuration in seconds.
func (c *Config) Bound() (float64, error) {
	t, err := scenario.Bound(c.Scenario, c.Seed, c.Size, c.TLSTrips > 0)
	return t.Seconds(), err
}

// Run rehearses one download, up to a virtual day. It fails when the
// configuration is wrong and, with ErrNever, when the download does not end.
func Run(cfg Config) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	var err error
	if cfg.Scenario, err = cfg.Scenario.Complete(); err != nil {
		return Result{}, err
	}
	r, err := newRun(cfg)
	if err != nil {
		return Result{}, err
	}
	err = r.loop(toTime(scenario.MaxAt))
	res := r.result()
	if r.batch != nil && err == nil {
		res.Batch, err = r.batch.result()
	}
	return res, err
}

// RunWithBound is Run, and beside it the bound and, of a single file, the reference.
func RunWithBound(cfg Config) (Result, error) {
	bound, err := cfg.Bound()
	if err != nil {
		return Result{}, err
	}
	reference := 0.0
	if cfg.Batch == nil {
		reference, err = cfg.Reference()
	}
	if err != nil {
		return Result{}, err
	}
	res, err := Run(cfg)
	if err != nil {
		return res, err
	}
	res.hold(bound, reference)
	return res, nil
}

// hold holds the result against the fluid bound and the reference, in seconds.
func (r *Result) hold(bound, reference float64) {
	r.BoundSeconds, r.Efficiency = bound, bound/r.Seconds
	r.Reference, r.OfReference = reference, reference/r.Seconds
}

func toTime(d time.Duration) scheduler.Time { return scheduler.Time(d) }

func (r *run) result() Result {
	res := Result{
		Scenario: r.cfg.Scenario.Name, Algorithm: r.cfg.Algorithm, Seed: r.cfg.Seed, SizeBytes: r.cfg.Size,
		Seconds: r.now.Seconds(), SchedulerStep: r.steps,
	}
	first, last := math.Inf(1), 0.0
	for i := range r.links {
		l := &r.links[i]
		out := l.count
		out.Name = l.name
		if out.Bytes > 0 {
			first, last = min(first, out.FinishedSeconds), max(last, out.FinishedSeconds)
			res.LinkDelta = last - first
		}
		res.WastedBytes += out.WastedBytes
		res.Requests += out.Requests
		res.Links = append(res.Links, out)
	}
	r.spend(&res)
	if r.consumer.perSecond > 0 {
		res.Consumed = r.consumer.lasts(r.now, r.cfg.Size)
	}
	return res
}
