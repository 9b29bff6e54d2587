package sim

import (
	"math"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/pkg/scheduler"
)

// segment is for how long a rate that changes is held: short against the
// periods in which rates wander (1.9 s and more), long against the cost of
// asking for them.
const segment = 10 * time.Millisecond

// capacity is a link's rate as payload, in pieces during which it is constant.
type capacity struct {
	process scenario.Process
	wanders bool // it changes without an event
	trace   bool
	ramp    scheduler.Time
	loss    float64 // of packets, 0..1

	bps   float64 // in the present piece
	until scheduler.Time
}

// at is the rate in whole bytes of payload per second at now, for a link that
// woke up at since. It holds until c.until, which is past now. Whole bytes,
// because the last bits of a sine differ between machines.
func (c *capacity) at(now, since scheduler.Time) float64 {
	if now < c.until {
		return c.bps
	}
	t := time.Duration(now)
	// The process looks at the middle of a tick, which must not lie before the
	// moment at which the link woke up, nor within the ramp when that is over.
	woke := time.Duration(since) - time.Duration(since)%scenario.Tick
	var bits float64
	if c.wanders || now < since+c.ramp+toTime(2*scenario.Tick) {
		begin := t - t%segment
		c.until = scheduler.Time(begin + segment)
		if c.trace {
			bits = c.process.Bits(begin, begin+segment, woke) / segment.Seconds()
		} else {
			bits = c.process.Rate(begin+segment/2, woke)
		}
	} else {
		c.until = scheduler.Never
		bits = c.process.Rate(t, woke)
	}
	c.bps = math.Round(bits * scenario.Goodput * (1 - c.loss) / 8)
	return c.bps
}

// changed makes the next at look again.
func (c *capacity) changed() { c.until = 0 }
