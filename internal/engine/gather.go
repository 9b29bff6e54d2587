package engine

import "github.com/mlget/mlget/pkg/scheduler"

const (
	// gatherTime is for how long packets are gathered before they wake anybody:
	// short beside a round trip of a mobile link, long beside the time between two
	// packets. Meanwhile Linux acknowledges every second packet, since it does not
	// know that the reader waits on purpose: twice as many as to one who reads at once.
	gatherTime = 10 * scheduler.Millisecond
	// gatherLong is for how long they are at most, where that is no more than gatherPart of a
	// round trip of the data, so that requests are still made in time. Each wake-up costs the
	// Go runtime four or five context switches, however much there is to read.
	gatherLong = 40 * scheduler.Millisecond
	gatherPart = 1. / 3
	// gatherSpare is how much of the window that the link does not fill may be gathered. What
	// lies in the socket is taken off the window; where it reached the end of that, the sender
	// would stop, and go on by its timers.
	gatherSpare = 1. / 4
	// gatherMost bounds that in bytes: larger blocks cost no less per byte.
	gatherMost = 512 << 10
	// gatherPatience is how long no byte may have been seen before the few that may
	// be there are looked at: a link that slows down must not seem silent.
	gatherPatience = 100 * scheduler.Millisecond
	// gatherMany is from how many connections of a link on the silence of one says nothing of the
	// link, and each may gather for as long as its turn among them takes: of 64 with a file each,
	// most of what had come at once was less than gatherLong's worth. Chosen by hand.
	gatherMany = 8
)

// gatherAll says how many bytes each transfer should wait for, and lets those
// look that have got nothing for a while.
func (o *owner) gatherAll(now scheduler.Time) {
	clear(o.looks.reading)
	for _, t := range o.transfers {
		if t.probe {
			continue
		}
		o.looks.reading[t.link] = max(o.looks.reading[t.link], int(t.stream)+1)
	}
	for _, t := range o.transfers {
		switch {
		case t.resp == nil || t.released:
		case now-t.progress < o.gatherPatience(now, t.link):
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
	if t.eager || o.e.limited(t.link) {
		return
	}
	l := &o.links[t.link]
	rests := l.uplink.rests()
	if t.paced.Store(rests); rests {
		t.resp.Gather(1)
		return
	}
	rate := o.core.Link(t.link).Rate / float64(max(1, o.looks.reading[t.link]))
	long := gatherLong
	if n := o.looks.reading[t.link]; n >= gatherMany {
		long *= scheduler.Time(n)
	}
	t.resp.Gather(gatherBytes(rate, long, l.conns.dataRTT, l.conns.windows[t.stream]))
}

// gatherPatience is for how long no byte may have been seen on a connection of a link: one of
// many is silent for most of a round trip, between what its window lets come.
func (o *owner) gatherPatience(now scheduler.Time, id scheduler.LinkID) scheduler.Time {
	l := &o.links[id]
	if o.looks.reading[id] < gatherMany || now-l.traffic.lastByte >= gatherPatience {
		return gatherPatience
	}
	return max(gatherPatience, l.conns.dataRTT)
}

// gatherBytes is how many bytes are worth a wake-up on a connection of that rate in bytes per
// second, which may gather for long, whose data takes trip for a round, and which lets window bytes be on their way; 0:
// not known.
func gatherBytes(rate float64, long, trip scheduler.Time, window int64) int64 {
	most := rate * min(long.Seconds(), gatherPart*trip.Seconds())
	spare := gatherSpare * (float64(window) - rate*trip.Seconds())
	return int64(min(max(rate*gatherTime.Seconds(), min(most, spare)), gatherMost))
}
