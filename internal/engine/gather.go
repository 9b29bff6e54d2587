package engine

import (
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// gatherTime is for how long packets are gathered before they wake anybody:
	// short beside a round trip of a mobile link, long beside the time between two
	// packets. Meanwhile Linux acknowledges every second packet, since it does not
	// know that the reader waits on purpose: twice as many as to one who reads at once.
	gatherTime = 10 * time.Millisecond
	// gatherMost bounds that in bytes: larger blocks cost no less per byte.
	gatherMost = 256 << 10
	// gatherPatience is how long no byte may have been seen before the few that may
	// be there are looked at: a link that slows down must not seem silent.
	gatherPatience = 50 * scheduler.Millisecond
)

// gatherAll says how many bytes each transfer should wait for, and lets those
// look that have got nothing for a while.
func (o *owner) gatherAll(now scheduler.Time) {
	clear(o.reading)
	for _, t := range o.transfers {
		if t.probe {
			continue
		}
		o.reading[t.link] = max(o.reading[t.link], int(t.stream)+1)
	}
	for _, t := range o.transfers {
		switch {
		case t.resp == nil || t.released:
		case now-t.progress < gatherPatience:
			o.gather(t)
		default:
			t.resp.Gather(1)
		}
	}
}

// gather says how many bytes a transfer should wait for, from its link's rate and
// the connections that it was read on at the last look. The consumer of a stream
// waits for every byte, and who limits a rate has slept already.
func (o *owner) gather(t *transfer) {
	if !t.eager && !o.e.limited(t.link) {
		t.resp.Gather(gatherBytes(o.core.Rate(t.link), o.reading[t.link], &o.links[t.link].uplink))
	}
}

// gatherBytes is how many bytes are worth a wake-up on each of a link's connections, at
// its rate in bytes per second; 1 while it is to be read at once.
func gatherBytes(rate float64, connections int, up *uplink) int64 {
	if up.hurries() {
		return 1
	}
	return int64(min(rate/float64(max(1, connections))*gatherTime.Seconds(), gatherMost))
}
