package emu

import (
	"fmt"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// radio is the client's radio of a link that has a model. The link's lock
// guards it.
//
// It is driven by whole IP packets at the times computed for them, not at those
// at which a goroutine got round to them: upwards when a packet has left the
// queue, since the client's air comes first on the way; downwards when it is due
// at the client, since there the air comes last. A packet that is lost, or finds
// the queue full or the link down, has never crossed; one that the receiving
// device refuses has.
//
// Connections are counted where the link charges for them: those at work, from the
// first packet that opens one to the first that closes or resets it, whichever
// side sends it, and whether or not it arrives, less the times when they are
// silent.
type radio struct {
	clock   *clock
	model   string
	machine energy.Machine // in ns since the emulator's start
	open    *connections   // nil where they cost nothing
}

// newRadio is the radio of a link; nil if the link names no model.
func newRadio(clk *clock, l scenario.Link) *radio {
	model, ok := energy.Lookup(l.Power)
	if !ok {
		return nil
	}
	r := &radio{clock: clk, model: l.Power}
	if l.PerConnection > 0 {
		model.PerConn += l.PerConnection
		r.model += fmt.Sprintf(", %g mW a connection", l.PerConnection)
		r.open = newConnections()
	}
	r.machine = energy.NewMachine(model, 0)
	return r
}

// cross says that bytes have crossed at a time of the clock. Times that come in
// the wrong order, which those of the two directions may by less than a round
// trip, are taken for the latest.
func (r *radio) cross(at time.Duration, down, up int) {
	if r == nil {
		return
	}
	t := int64(r.clock.sinceBegun(at))
	r.machine.Step(t, 0, 0, r.open.atWork())
	r.machine.Step(t, int64(down), int64(up), r.open.atWork())
}

// see takes note of a packet that may begin, go on with or end a connection, at a
// time of the clock.
func (r *radio) see(at time.Duration, b []byte, fromClient bool) {
	if r == nil || r.open == nil {
		return
	}
	r.work(at, r.open.count(at))
	if key, c := connectionOf(b, fromClient); c != nothing {
		r.work(at, r.open.see(at, key, c))
	}
}

// work says how many connections are at work from a time on.
func (r *radio) work(at time.Duration, n int) {
	if n == r.open.working {
		return
	}
	r.machine.Step(int64(r.clock.sinceBegun(at)), 0, 0, r.open.working) // so many until now
	r.open.working = n
}

// Radio is the client's radio of a link at one moment.
type Radio struct {
	Link  string
	Model string // its name in internal/energy, and what connections add
	// Machine is a copy, whose time counts from the emulator's start, in ns. Step
	// it further to see what the radio will have spent if nothing more crosses.
	Machine energy.Machine
}

// Radios are the radios of those links that have a model, in the scenario's
// order, all of them at the time since the emulator's start that is given back.
func (e *Emulator) Radios() (at time.Duration, radios []Radio) {
	at, now := time.Since(e.clock.begun), e.clock.now()
	for _, l := range e.links {
		if l.radio == nil {
			continue
		}
		l.mu.Lock()
		l.up.advance(now, l.since, l.delay) // what has left has crossed
		l.radio.machine.Step(int64(at), 0, 0, l.radio.open.atWork())
		radios = append(radios, Radio{Link: l.name, Model: l.radio.model, Machine: l.radio.machine})
		l.mu.Unlock()
	}
	return at, radios
}

// Quiet is for how long nothing has been under way on any link; 0 while
// something is.
func (e *Emulator) Quiet() time.Duration {
	now := e.clock.now()
	quiet := time.Since(e.clock.begun)
	for _, l := range e.links {
		l.mu.Lock()
		switch {
		case !l.up.empty(), !l.down.empty():
			quiet = 0
		case l.last > 0:
			quiet = min(quiet, max(0, now-l.last))
		}
		l.mu.Unlock()
	}
	return quiet
}
