// Package simulate rehearses downloads with a scheduler.Policy, one's own or a built-in
// one, over model links in virtual time: what "mlget simulate" does, for Go programs.
//
// A link has a rate that builds up, wanders and fails as its scenario says, a round-trip
// time, and TCP connections with handshakes, slow start and losses; there are no packets.
// The same Config and a policy that asks no clock give the same Result on every machine.
// A download of 250 MB takes some milliseconds. See docs/simulator.md for what is in the
// model, and how near it is to real links.
//
// Contract: everything is a value; Run may be called from several goroutines at once, each
// with a policy of its own.
package simulate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Config is one download.
type Config struct {
	// Scenario names one of Scenarios, or, where it has several lines, is a scenario itself
	// in the format of docs/linklab.md:
	//
	//	link wlan0,down=82,rtt=16
	//	link rmnet0,down=64,rtt=50,ramp=2.5
	//	at 6s wlan0 down
	Scenario string
	Seed     uint64 // of the links' wandering and losses; 0: 1
	Size     int64  // bytes; 0: 250 MB

	// HTTP2 is HTTP/2 over TLS 1.3; else HTTP/1.1 in clear.
	HTTP2 bool
	// Overlap and Parallelism are as in scheduler.Config.
	Overlap     float64
	Parallelism int
	// NoSteal and NoFailover switch off what goes beyond the thesis's algorithms.
	NoSteal    bool
	NoFailover bool
}

// Result is what came of a download. Times are in seconds from the first packet.
type Result struct {
	Seconds      float64
	BoundSeconds float64 // the fluid bound: the least time in which the links could carry it
	Efficiency   float64 // BoundSeconds / Seconds
	LinkDelta    float64 // seconds between the ends of the first and of the last link
	WastedBytes  int64   // received and thrown away
	Requests     int
	Links        []Link
}

// Link is a link's part of a Result.
type Link struct {
	Name            string
	Bytes           int64 // of the object
	WastedBytes     int64
	FinishedSeconds float64 // its last byte of the object; 0: it carried none
	Requests        int
	Connections     int
}

// ErrNever says that a download did not end within a virtual day.
var ErrNever = errors.New("the download does not end")

// Scenarios are the names of the scenarios that are built in, in alphabetical order.
func Scenarios() []string { return scenario.Names() }

// Text is a built-in scenario as it is written.
func Text(name string) (string, error) { return scenario.Text(name) }

// Run rehearses a download. The policy serves this run alone. Run fails where the
// configuration is wrong, and with ErrNever.
func Run(cfg Config, policy scheduler.Policy) (Result, error) {
	if policy == nil {
		return Result{}, errors.New("simulate: there is no policy")
	}
	s, err := cfg.scenario()
	if err != nil {
		return Result{}, fmt.Errorf("simulate: %w", err)
	}
	c := sim.Default(s, policy.Name())
	c.Policy = policy
	if cfg.Seed != 0 {
		c.Seed = cfg.Seed
	}
	if cfg.Size != 0 {
		c.Size = cfg.Size
	}
	if c.HTTP2 = cfg.HTTP2; c.HTTP2 {
		c.TLSTrips = 1
	}
	c.Overlap, c.Parallelism, c.NoSteal, c.NoFailover = cfg.Overlap, cfg.Parallelism, cfg.NoSteal, cfg.NoFailover
	res, err := sim.RunWithBound(c)
	if err != nil {
		if errors.Is(err, sim.ErrNever) || errors.Is(err, scenario.ErrNever) {
			err = fmt.Errorf("%w: %w", ErrNever, err)
		}
		return Result{}, fmt.Errorf("simulate: %w", err)
	}
	return result(res), nil
}

// scenario is the one that is named, or written out.
func (c *Config) scenario() (scenario.Scenario, error) {
	text, name := c.Scenario, "scenario"
	if !strings.Contains(text, "\n") {
		name = text
		var err error
		if text, err = scenario.Text(name); err != nil {
			return scenario.Scenario{}, err
		}
	}
	return scenario.Parse(name, strings.NewReader(text), nil)
}

func result(r sim.Result) Result {
	out := Result{
		Seconds: r.Seconds, BoundSeconds: r.BoundSeconds, Efficiency: r.Efficiency, LinkDelta: r.LinkDelta,
		WastedBytes: r.WastedBytes, Requests: r.Requests, Links: make([]Link, len(r.Links)),
	}
	for i, l := range r.Links {
		out.Links[i] = Link{
			Name: l.Name, Bytes: l.Bytes, WastedBytes: l.WastedBytes, FinishedSeconds: l.FinishedSeconds,
			Requests: l.Requests, Connections: l.Connections,
		}
	}
	return out
}
