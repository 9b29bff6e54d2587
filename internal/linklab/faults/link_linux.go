package faults

import (
	"net/netip"
	"time"

	"github.com/mlget/mlget/internal/linklab/emu"
)

// applyAtGate makes links fail when the gate is reached, and lets the server go
// on. The function that it returns ends the waiting, and says what went wrong.
func (b *bench) applyAtGate() (wait func() error) {
	if b.gate == nil {
		return func() error { return nil }
	}
	over, done := make(chan struct{}), make(chan error, 1)
	go func() {
		select {
		case <-b.gate.Reached():
			err := b.apply()
			b.gate.Open()
			if err == nil {
				err = b.goOn(over)
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

// goOn is what happens to the links after the server goes on; over ends it early.
func (b *bench) goOn(over <-chan struct{}) error {
	const halfTurn, halfTurns = 250 * time.Millisecond, 20
	var bad, good string
	switch LinkFault(b.cell.Kind) {
	case LinkUpAgain:
		sleep(time.Second, over)
		return b.events("up")
	case Flaps:
		bad, good = "carrier off", "carrier on"
	case Stutters:
		bad, good = "down", "up"
	case Seesaw:
		bad, good = "rate 0.05", "rate 20"
	default:
		return nil
	}
	for i := 0; i < halfTurns && sleep(halfTurn, over); i++ {
		what := good
		if i%2 == 1 {
			what = bad
		}
		if err := b.events(what); err != nil {
			return err
		}
	}
	return b.events(good)
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
func (b *bench) victims() []string {
	if b.cell.All {
		return b.lab.Links()
	}
	return []string{victim}
}

// edges are their clients, as the server sees them.
func (b *bench) edges() netip.Prefix {
	if b.cell.All {
		return netip.MustParsePrefix("10.0.0.0/8")
	}
	return firstEdge()
}

// events makes things happen to the links that fail, one after the other.
func (b *bench) events(what ...string) error {
	for _, w := range what {
		for _, name := range b.victims() {
			if err := b.lab.Event(name + " " + w); err != nil {
				return err
			}
		}
	}
	return nil
}

// impair makes the links that fail treat their packets badly.
func (b *bench) impair(i emu.Impairment) error {
	for _, name := range b.victims() {
		if err := b.lab.Impair(name, i); err != nil {
			return err
		}
	}
	return nil
}

// apply makes links fail.
func (b *bench) apply() error {
	switch LinkFault(b.cell.Kind) {
	case LinkDown:
		return b.events("carrier off", "down")
	case LinkUpAgain, BlackHole:
		return b.events("down")
	case AddressChanged:
		const between = 300 * time.Millisecond
		if err := b.events("gone"); err != nil {
			return err
		}
		time.Sleep(between)
		return b.events("back")
	case MovesTwice:
		const between = 300 * time.Millisecond
		for range 2 {
			if err := b.events("gone"); err != nil {
				return err
			}
			time.Sleep(between)
			if err := b.events("back"); err != nil {
				return err
			}
		}
	case Flaps:
		return b.events("carrier off")
	case Stutters:
		return b.events("down")
	case Seesaw:
		return b.events("rate 0.05")
	case LossyUp:
		return b.impair(emu.Impairment{LoseUp: 0.5})
	case NoNew:
		return b.impair(emu.Impairment{LoseNew: true})
	case Unreachable:
		return b.impair(emu.Impairment{Unreachable: 0.5})
	case RouteLost:
		// The kernel takes a device that a socket is bound to for one that leads to
		// everybody, and tunnels have no ARP that nobody would answer.
		for _, name := range b.victims() {
			if err := b.lab.DropRoutes(name); err != nil {
				return err
			}
		}
		return b.events("down")
	case RateZero:
		return b.events("rate 0.01")
	case Loss:
		return b.events("loss 5")
	case Latency:
		return b.events("rtt 2000")
	case MTUHole:
		return b.impair(emu.Impairment{MTU: 1200})
	case Deaf:
		return b.impair(emu.Impairment{LoseToward: emu.Client})
	case Dumb:
		return b.impair(emu.Impairment{LoseToward: emu.Server})
	case Twice:
		return b.impair(emu.Impairment{Duplicate: 0.3})
	case Late:
		return b.impair(emu.Impairment{Reorder: 0.1})
	case Scrambled:
		return b.impair(emu.Impairment{Scramble: 0.002})
	case LinkReset:
		b.server.Reset(b.edges())
	case HalfOpen:
		// The resets meet a link that is down; then it is as if nothing had been.
		const lost = 100 * time.Millisecond
		if err := b.events("down"); err != nil {
			return err
		}
		b.server.Reset(b.edges())
		time.Sleep(lost)
		return b.events("up")
	}
	return nil
}

// heal ends whatever is wrong.
func (b *bench) heal() error {
	b.server.Heal()
	if b.cell.Family != OfLink {
		return nil
	}
	if err := b.impair(emu.Impairment{}); err != nil {
		return err
	}
	if err := b.events("carrier on", "up", "back", "rate 20", "loss 0", "rtt 10"); err != nil {
		return err
	}
	if LinkFault(b.cell.Kind) == RouteLost {
		for _, name := range b.victims() {
			if err := b.lab.RestoreRoutes(name); err != nil {
				return err
			}
		}
	}
	return nil
}
