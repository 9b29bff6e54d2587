package faults

import (
	"time"
)

// applyAtGate makes the link fail when the gate is reached, and lets the server go
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
			if err == nil && LinkFault(b.cell.Kind) == LinkUpAgain {
				select {
				case <-time.After(time.Second):
				case <-over:
				}
				err = b.lab.Event(victim + " up")
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

// events makes things happen to the first link, one after the other.
func (b *bench) events(what ...string) error {
	for _, w := range what {
		if err := b.lab.Event(victim + " " + w); err != nil {
			return err
		}
	}
	return nil
}

// apply makes the link fail.
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
	case RouteLost:
		// The kernel takes a device that a socket is bound to for one that leads to
		// everybody, and tunnels have no ARP that nobody would answer.
		if err := b.lab.DropRoutes(victim); err != nil {
			return err
		}
		return b.events("down")
	case RateZero:
		return b.events("rate 0.01")
	case Loss:
		return b.events("loss 5")
	case Latency:
		return b.events("rtt 2000")
	case LinkReset:
		b.server.Reset(firstEdge())
	case HalfOpen:
		// The resets meet a link that is down; then it is as if nothing had been.
		const lost = 100 * time.Millisecond
		if err := b.events("down"); err != nil {
			return err
		}
		b.server.Reset(firstEdge())
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
	if err := b.events("carrier on", "up", "back", "rate 20", "loss 0", "rtt 10"); err != nil {
		return err
	}
	if LinkFault(b.cell.Kind) == RouteLost {
		return b.lab.RestoreRoutes(victim)
	}
	return nil
}
