package engine

import "github.com/mlget/mlget/pkg/scheduler"

const (
	// gatherTime is for how long packets are gathered before they wake their reader: short beside a round
	// trip of a mobile link, long beside the time between two packets. Meanwhile Linux acknowledges every
	// second packet, as it does for any reader that waits: twice as often as for one that reads at once.
	gatherTime = 10 * scheduler.Millisecond
	// gatherLong is for how long they are gathered at most, and gatherPart for which part of a round trip
	// of the data: requests are made two of them ahead. Each wake-up costs the Go runtime four or five
	// context switches, however much there is to read. For many connections two thirds brought no less
	// CPU (600 files of 130 KB, 290 ms).
	gatherLong       = 40 * scheduler.Millisecond
	gatherPart       = 2. / 3
	gatherPartOfMany = 1. / 3
	// gatherEnd is how long before the end nothing is gathered for longer than gatherTime: what one link takes
	// over from another is decided by what has come. It saves 0.7 and 1.4 % of 50 MB over linklab's high-speed
	// and low-speed; 2 s is no better.
	gatherEnd = scheduler.Second
	// gatherSpare is which part of the window that the link does not fill may be gathered. Bytes in the
	// socket take up the window; if they filled it, the sender would stop, and go on by its timers.
	gatherSpare = 1. / 4
	// gatherMost bounds that in bytes: larger blocks cost no less per byte.
	gatherMost = 512 << 10
	// gatherPatience is after what time without a byte the few that may be there are read: a link that
	// slows down must not seem silent.
	gatherPatience = 100 * scheduler.Millisecond
	// gatherMany is from how many connections of a link on the silence of one tells nothing of the link,
	// and each gathers for longer, as their bytes come by turns: with 64 connections and a file on each,
	// what came at once was mostly less than gatherLong's worth. Chosen by hand.
	gatherMany = 8
)

// gatherAll sets how many bytes each transfer waits for: one that has received nothing for a while reads
// what there is.
func (o *owner) gatherAll(now scheduler.Time) {
	clear(o.looks.reading)
	for _, t := range o.transfers {
		if t.probe {
			continue
		}
		o.looks.reading[t.link] = max(o.looks.reading[t.link], int(t.stream)+1)
	}
	ending := o.endsSoon()
	for _, t := range o.transfers {
		switch {
		case t.resp == nil || t.released:
		case now-t.progress < o.gatherPatience(now, t.link):
			o.gather(t, ending)
		default:
			t.resp.Gather(1)
		}
	}
}

// gather sets how many bytes a transfer waits for, by its link's rate and the number of connections that
// were being read at the last look. Nothing is gathered for the consumer of a stream, which waits for
// every byte, or under a rate limit, whose readers sleep anyway. ending is endsSoon.
func (o *owner) gather(t *transfer, ending bool) {
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
	trip := l.conns.dataRTT
	t.resp.Gather(gatherBytes(rate, gatherFor(o.looks.reading[t.link], trip, ending), trip, l.conns.windows[t.stream]))
}

// endsSoon says whether all that is left should have come within gatherEnd.
func (o *owner) endsSoon() bool {
	rate := 0.
	for id := range o.links {
		rate += o.core.Link(scheduler.LinkID(id)).Rate
	}
	return o.core.Size() >= 0 && float64(o.core.Left()) < rate*gatherEnd.Seconds()
}

// gatherPatience is after what time without a byte a connection of a link is read: one of many is silent
// for most of a round trip, while its window is empty.
func (o *owner) gatherPatience(now scheduler.Time, id scheduler.LinkID) scheduler.Time {
	l := &o.links[id]
	if o.looks.reading[id] < gatherMany || now-l.traffic.lastByte >= gatherPatience {
		return gatherPatience
	}
	return max(gatherPatience, l.conns.dataRTT)
}

// gatherFor is for how long one of so many connections of a link may gather, whose data has a round trip of
// trip; ending says whether the end is near.
func gatherFor(connections int, trip scheduler.Time, ending bool) scheduler.Time {
	switch {
	case ending:
		return gatherTime
	case connections < gatherMany:
		return min(gatherLong, scheduler.Time(gatherPart*float64(trip)))
	}
	return min(scheduler.Time(connections)*gatherLong, scheduler.Time(gatherPartOfMany*float64(trip)))
}

// gatherBytes is how many bytes are worth a wake-up on a connection that has a rate in bytes per second,
// may gather for long, and whose data has a round trip of trip and a window in bytes; 0: not known.
func gatherBytes(rate float64, long, trip scheduler.Time, window int64) int64 {
	most := rate * long.Seconds()
	spare := gatherSpare * (float64(window) - rate*trip.Seconds())
	return int64(min(max(rate*gatherTime.Seconds(), min(most, spare)), gatherMost))
}
