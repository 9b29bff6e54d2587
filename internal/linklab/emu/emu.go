// Package emu plays links: it takes IP packets from one end of a link and
// hands them to the other when a real link would have done so.
//
// An Emulator runs two goroutines for each direction of each link, one that
// takes packets in and one that hands them out, and one for the timed events.
// Its methods may be called from any goroutine. Close ends all of them.
//
// Departures are computed, not waited for: a packet leaves at the time at
// which the last one had left, or at which it came in, plus its size over the
// rate. A timer that fires late makes a packet late, but never costs rate.
package emu

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// Port is one end of a link. Read and Write move one whole IP packet; Read
// fails for good once the port is closed.
type Port = io.ReadWriteCloser

// ClientPort is the client's end: a device that can lose its carrier, and vanish.
type ClientPort interface {
	Port
	SetCarrier(on bool) error
	// Leave takes the device away. Until Return, Read waits and what is
	// written is lost.
	Leave() error
	// Return makes another device of the same name, with other addresses.
	Return() ([]netip.Addr, error)
}

// Ends are the two ends of a link, and the client's addresses on it: packets
// from any other source do not pass, as with real providers.
type Ends struct {
	Client ClientPort
	Server Port
	Addrs  []netip.Addr
}

// Config is what an Emulator plays. The scenario must be complete, and there
// must be one Ends for each of its links. The Emulator closes the ports.
type Config struct {
	Scenario scenario.Scenario
	Seed     uint64
	Ends     []Ends
}

// Emulator is a set of links being played.
type Emulator struct {
	clock clock
	sc    scenario.Scenario
	links []*link
	done  chan struct{}
	wg    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	err    error // the first that a timed event met
}

// Start begins to move packets.
func Start(c Config) (*Emulator, error) {
	if len(c.Ends) != len(c.Scenario.Links) {
		return nil, fmt.Errorf("emulator: %d links but %d pairs of ports", len(c.Scenario.Links), len(c.Ends))
	}
	e := &Emulator{sc: c.Scenario, done: make(chan struct{})}
	e.clock.started = make(chan struct{})
	e.clock.begun = time.Now()
	for i, l := range c.Scenario.Links {
		e.links = append(e.links, newLink(&e.clock, c, i, l))
	}
	for _, ev := range e.sc.Events {
		if ev.At > 0 {
			break // they are in order of time
		}
		if err := e.apply(ev, true); err != nil {
			return nil, fmt.Errorf("event at the start: %w", err)
		}
	}
	for _, l := range e.links {
		e.wg.Go(func() { l.take(&l.up, l.ends.Client) })
		e.wg.Go(func() { l.take(&l.down, l.ends.Server) })
		e.wg.Go(func() { l.give(&l.up, l.ends.Server, e.done) })
		e.wg.Go(func() { l.give(&l.down, l.ends.Client, e.done) })
	}
	e.wg.Go(e.playEvents)
	return e, nil
}

// newLink makes the state of one link.
func newLink(clk *clock, c Config, i int, l scenario.Link) *link {
	k := &link{
		clock: clk, name: l.Name, ends: c.Ends[i],
		loss: l.LossPercent / 100, delay: l.RTT / 2,
	}
	k.addrs.Store(&c.Ends[i].Addrs)
	k.down = newPipe(scenario.NewProcess(c.Scenario, i, c.Seed), l.Queue, rand.NewPCG(c.Seed, uint64(2*i+100)))
	k.up = newPipe(scenario.ConstantProcess(l.UpMbps), l.Queue, rand.NewPCG(c.Seed, uint64(2*i+101)))
	if k.radio = newRadio(clk, l); k.radio != nil {
		k.down.radio, k.up.radio = k.radio, k.radio
		k.up.uplink = true
	}
	return k
}

// Apply makes an event happen now, whatever its time says.
func (e *Emulator) Apply(ev scenario.Event) error {
	ev.At = 0
	if err := e.sc.CheckEvent(ev); err != nil {
		return err
	}
	return e.apply(ev, false)
}

// apply makes an event happen; a rate that was planned is in the link's
// process already.
func (e *Emulator) apply(ev scenario.Event, planned bool) error {
	for _, l := range e.links {
		if l.name == ev.Link {
			return l.apply(ev, planned)
		}
	}
	return nil // checked before
}

// playEvents applies the scenario's events at their times.
func (e *Emulator) playEvents() {
	select {
	case <-e.clock.started:
	case <-e.done:
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for _, ev := range e.sc.Events {
		if ev.At == 0 {
			continue // it happened at the start
		}
		timer.Reset(ev.At - e.clock.now())
		select {
		case <-timer.C:
		case <-e.done:
			return
		}
		if err := e.apply(ev, true); err != nil {
			e.mu.Lock()
			if e.err == nil {
				e.err = fmt.Errorf("event at %v: %w", ev.At, err)
			}
			e.mu.Unlock()
		}
	}
}

// Elapsed is the time since the client's first packet, 0 before it.
func (e *Emulator) Elapsed() time.Duration { return e.clock.now() }

// Stats counts what each link has carried, in the scenario's order.
func (e *Emulator) Stats() []LinkStats {
	out := make([]LinkStats, 0, len(e.links))
	for _, l := range e.links {
		l.mu.Lock()
		out = append(out, LinkStats{Name: l.name, Down: l.down.stats, Up: l.up.stats})
		l.mu.Unlock()
	}
	return out
}

// Close closes the ports, waits for all goroutines and returns the first error
// of a timed event. Packets on their way are lost. It may be called again.
func (e *Emulator) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.done)
		for _, l := range e.links {
			if err := errors.Join(l.ends.Client.Close(), l.ends.Server.Close()); err != nil && e.err == nil {
				e.err = err
			}
		}
	}
	e.mu.Unlock()
	e.wg.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// clock counts from the client's first packet.
type clock struct {
	begun   time.Time // when the emulator started
	once    sync.Once
	epoch   time.Time // valid once started is closed
	started chan struct{}
}

// start begins the count, the first time that it is called.
func (c *clock) start() {
	c.once.Do(func() {
		c.epoch = time.Now()
		close(c.started)
	})
}

// sinceBegun is the time since the emulator's start at a time of the clock,
// which must have been started.
func (c *clock) sinceBegun(t time.Duration) time.Duration { return c.epoch.Sub(c.begun) + t }

func (c *clock) now() time.Duration {
	select {
	case <-c.started:
		return time.Since(c.epoch)
	default:
		return 0
	}
}
