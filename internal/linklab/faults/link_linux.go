package faults

import (
	"errors"
	"net/netip"
	"time"

	"github.com/mlget/mlget/internal/linklab/emu"
)

// applyAtGate makes links fail when the gate is reached, and lets the server go
// on. The function that it returns ends the waiting, and says what went wrong.
func (t *trial) applyAtGate() (wait func() error) {
	if t.gate == nil {
		return func() error { return nil }
	}
	over, done := make(chan struct{}), make(chan error, 1)
	go func() {
		select {
		case <-t.gate.Reached():
			p := planOf(LinkFault(t.cell.Kind))
			err := errors.Join(t.impair(p.impair), t.happen(p.steps...))
			t.gate.Open()
			if err == nil {
				err = t.goOn(p, over)
			}
			done <- err
		case <-over:
			done <- nil
		}
	}()
	return func() error {
		close(over)
		return <-done
	}
}

// What steps of a fault are besides events of the laboratory's links, and times to wait.
const (
	reset         = "reset" // the connections over the links
	dropRoutes    = "drop routes"
	restoreRoutes = "restore routes"
)

// plan is what happens to the links that fail.
type plan struct {
	steps  []string // when the download has reached the place
	impair emu.Impairment
	turns  []string // then, twice a second for five seconds, the one and the other
	last   string   // a second after the steps
}

// planOf is that of a fault.
func planOf(f LinkFault) plan {
	at := func(steps ...string) plan { return plan{steps: steps} }
	turns := func(bad, good string) plan { return plan{steps: []string{bad}, turns: []string{good, bad}} }
	impair := func(i emu.Impairment) plan { return plan{impair: i} }
	return map[LinkFault]plan{
		LinkDown:       at("carrier off", "down"),
		LinkUpAgain:    {steps: []string{"down"}, last: "up"},
		BlackHole:      at("down"),
		AddressChanged: at("gone", "300ms", "back"),
		MovesTwice:     at("gone", "300ms", "back", "gone", "300ms", "back"),
		// A socket that is bound to a device needs no route: the kernel then assumes that every
		// host is on its link. A tunnel has no ARP that would fail.
		RouteLost:   at(dropRoutes, "down"),
		RateZero:    at("rate 0.01"),
		Loss:        at("loss 5"),
		Latency:     at("rtt 2000"),
		LinkReset:   at(reset),
		HalfOpen:    at("down", reset, "100ms", "up"), // the resets meet a link that is down
		Flaps:       turns("carrier off", "carrier on"),
		Stutters:    turns("down", "up"),
		Seesaw:      turns("rate 0.05", "rate 20"),
		LossyUp:     impair(emu.Impairment{LoseUp: 0.5}),
		NoNew:       impair(emu.Impairment{LoseNew: true}),
		Unreachable: impair(emu.Impairment{Unreachable: 0.5}),
		MTUHole:     impair(emu.Impairment{MTU: 1200}),
		Deaf:        impair(emu.Impairment{LoseToward: emu.Client}),
		Dumb:        impair(emu.Impairment{LoseToward: emu.Server}),
		Twice:       impair(emu.Impairment{Duplicate: 0.3}),
		Late:        impair(emu.Impairment{Reorder: 0.1}),
		Scrambled:   impair(emu.Impairment{Scramble: 0.002}),
	}[f]
}

// goOn is what happens to the links after the server goes on; over ends it early.
func (t *trial) goOn(p plan, over <-chan struct{}) error {
	const halfTurn, halfTurns = 250 * time.Millisecond, 20
	switch {
	case p.last != "":
		sleep(time.Second, over)
		return t.happen(p.last)
	case len(p.turns) == 0:
		return nil
	}
	for i := 0; i < halfTurns && sleep(halfTurn, over); i++ {
		if err := t.happen(p.turns[i%2]); err != nil {
			return err
		}
	}
	return t.happen(p.turns[0])
}

// sleep waits, and says whether it was not over before.
func sleep(d time.Duration, over <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-over:
		return false
	}
}

// victims are the links that fail.
func (t *trial) victims() []string {
	if t.cell.All {
		return t.lab.Links()
	}
	return []string{victim}
}

// edges are their clients, as the server sees them.
func (t *trial) edges() netip.Prefix {
	if t.cell.All {
		return netip.MustParsePrefix("10.0.0.0/8")
	}
	return firstEdge()
}

// happen makes steps happen to the links that fail, one after the other.
func (t *trial) happen(steps ...string) error {
	for _, step := range steps {
		if wait, err := time.ParseDuration(step); err == nil {
			time.Sleep(wait)
			continue
		}
		if step == reset {
			t.server.Reset(t.edges())
			continue
		}
		for _, name := range t.victims() {
			var err error
			switch step {
			case dropRoutes:
				err = t.lab.DropRoutes(name)
			case restoreRoutes:
				err = t.lab.RestoreRoutes(name)
			default:
				err = t.lab.Event(name + " " + step)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// impair makes the links that fail treat their packets badly.
func (t *trial) impair(i emu.Impairment) error {
	for _, name := range t.victims() {
		if err := t.lab.Impair(name, i); err != nil {
			return err
		}
	}
	return nil
}

// heal ends whatever is wrong.
func (t *trial) heal() error {
	t.server.Heal()
	if t.cell.Family != OfLink {
		return nil
	}
	steps := []string{"carrier on", "up", "back", "rate 20", "loss 0", "rtt 10"}
	if LinkFault(t.cell.Kind) == RouteLost {
		steps = append(steps, restoreRoutes)
	}
	return errors.Join(t.impair(emu.Impairment{}), t.happen(steps...))
}
