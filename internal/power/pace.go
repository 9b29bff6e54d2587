package power

import (
	"slices"
	"time"
)

const (
	// minPaces is how many times between two changes tell how often a gauge looks.
	minPaces = 4
	// maxPaces is how many of the last ones are kept.
	maxPaces = 32
)

// pace is how often one gauge looks, which its own numbers tell. In a sum of several
// gauges the quick ones hide the slow ones.
type pace struct {
	value int64
	at    time.Duration // when it had changed last
	gaps  []time.Duration
	seen  int // changes, and the first reading
}

// add takes in a reading.
func (p *pace) add(now time.Duration, value int64) {
	if p.seen > 0 && value == p.value {
		return
	}
	if p.seen > 1 { // the first reading is no change
		if len(p.gaps) == maxPaces {
			p.gaps = slices.Delete(p.gaps, 0, 1)
		}
		p.gaps = append(p.gaps, now-p.at)
	}
	p.value, p.at = value, now
	p.seen++
}

// refresh is the time between two changes of which a quarter are no longer; 0: there
// are too few. Numbers that happen to be equal make some of them longer than the
// gauge's own, and none shorter.
func (p *pace) refresh() time.Duration {
	if len(p.gaps) < minPaces {
		return 0
	}
	sorted := slices.Clone(p.gaps)
	slices.Sort(sorted)
	return sorted[(len(sorted)-1)/4]
}
