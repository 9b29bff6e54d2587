package proxy

import (
	"math"
	"time"
)

const (
	// sampleTime is how often tunnels are looked at.
	sampleTime = 400 * time.Millisecond
	// capacityWindow is of how many samples with traffic the highest is a link's capacity:
	// half a minute in which it is used.
	capacityWindow = 75
	// quietShare is the part of a link's capacity below which its traffic says nothing of
	// it: the samples are not counted, so that a link which only chats keeps its capacity.
	quietShare = .1
	// failureHalfLife is how long a failure takes to count half.
	failureHalfLife = 10 * time.Second
)

// capacity is what a link can carry, in bytes per second: the most that it carried of late.
// The zero value knows nothing.
type capacity struct {
	window [capacityWindow]float64
	next   int
	known  float64 // from the user, until there are samples
}

// add takes in what all tunnels of the link carried during a sample.
func (c *capacity) add(rate float64) {
	if rate <= 0 || rate < quietShare*c.value() {
		return
	}
	c.window[c.next] = rate
	c.next = (c.next + 1) % capacityWindow
}

// value is the capacity; 0: unknown.
func (c *capacity) value() float64 {
	most := 0.
	for _, rate := range c.window {
		most = max(most, rate)
	}
	return max(most, c.known)
}

// failures counts failures of late. The zero value has seen none.
type failures struct {
	count float64
	at    time.Time
}

// value is the count at a time.
func (f *failures) value(now time.Time) float64 {
	if f.count == 0 {
		return 0
	}
	return f.count * math.Exp2(-float64(now.Sub(f.at))/float64(failureHalfLife))
}

func (f *failures) add(n float64, now time.Time) { f.count, f.at = f.value(now)+n, now }
