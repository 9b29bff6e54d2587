package scheduler

import (
	"cmp"
	"math"
	"slices"
)

// The constants were chosen by hand over the simulator's suite of lists unless a source is named;
// see docs/scheduler.md.
const (
	// batchStreams is how many connections a link begins with where there are many files, as
	// many as browsers have (six a host): a server works on them at the same time.
	batchStreams = 6
	// batchQueued bounds the requests in flight on a connection, unmetQueued before anything is
	// known of its link.
	batchQueued = 32
	unmetQueued = 4
	// A connection should have been asked for what its share of the link's rate brings in
	// aheadTrips round trips, at least aheadFloor. Connections differ, and what is requested too
	// early costs nothing before the end of the job.
	aheadTrips = 1.5
	aheadFloor = 100 * Millisecond
	// In slow start a connection should have been asked for aheadWindows times what it has brought
	// so far, up to aheadGrowth bytes, or aheadUnmet before its link has been measured.
	aheadWindows = 4
	aheadGrowth  = 64 << 10
	aheadUnmet   = 256 << 10
	// Where a plan gives a far link no more than aheadLone connections, each has to fill the link
	// by itself, and what is measured of its slow start is a round trip late. So it should have
	// been asked for aheadDoubled times what it has brought, which the next two round trips bring,
	// until that is aheadWindows times its usual amount.
	aheadLone    = 2
	aheadDoubled = 2
	// A file of unknown size that takes a connection no longer than briefTrips round trips is not
	// shared out.
	briefTrips = 4
	// movedMost is how often a request that was not answered may be made anew over another
	// connection of its link, lest it go to and fro. At 1 the list html/600 of linklab's sydney
	// takes 0.8 % longer.
	movedMost = 4
	// movedTrips is how many of the thief's round trips the moving of a request for a file of
	// unknown size must gain.
	movedTrips = 1
	// When a job lasts no more than learnTrips round trips, files of unknown size go before those
	// in progress: an answer comes behind all that its connection was asked for before, and what
	// it tells of must still be shared out. It takes learnFirst round trips of an idle connection.
	learnTrips = 6
	learnFirst = 2.5
	// Idle connections wait for dryTrips round trips for bytes that may not be requested yet.
	dryTrips = 5
	// A piece of at most wholePiece bytes is asked for as a whole if that takes a connection no
	// longer than wholeSeconds, since what slow ones have in hand at the end has to be taken from
	// them. A piece of at most leastWhole bytes may take longer.
	wholePiece   = 1 << 20
	wholeSeconds = 2
	leastWhole   = 256 << 10
)

// dealState is what one assignment has found out about a link.
type dealState struct {
	blocked uint64 // bit s: there is nothing for stream s now
	copying uint64 // bit s: stream s fetches a copy; when that loses, its connection is lost
	helped  int    // what has been taken over for the link; a bound, as two may want the same
}

// assignBatch gives pieces to the connections that are ready for more, one link after the
// other, and lets the idle ones take over what others are too slow with.
func (c *Core) assignBatch(out []Action) []Action {
	b := c.batch
	b.booked = false
	longestTrip := Time(0)
	for i := range c.links {
		longestTrip = max(longestTrip, c.links[i].rtt.min)
	}
	if b.helping = b.starved(c.now, longestTrip); b.freeMap.empty() && !b.helping {
		return out
	}
	clear(b.states)
	if c.flight.copied > 0 {
		for i := range c.flight.chunks {
			if ch := &c.flight.chunks[i]; ch.copy {
				b.states[ch.link].copying |= 1 << ch.stream
			}
		}
	}
	b.lasts = forever
	if rate := (View{c}).SumRate(); b.freeMap.last() && rate > 0 {
		b.lasts = float64(c.flight.left()) / rate
	}
	b.asking = !without("sizes-first") && b.lasts < learnTrips*longestTrip.Seconds()
	for more := true; more; {
		more = false
		if b.files > 0 && !without("arrange") {
			b.arrange(c.links)
		}
		for _, id := range b.order {
			before := len(out)
			out = c.assignBatchTo(id, out)
			more = more || len(out) > before
		}
	}
	return out
}

// arrange puts the links in the order in which they are served where files at once are
// bounded: where one more request gets most, or else slow links and the first ones take all
// the places. A link that could not show yet how fast it is goes first.
func (b *batch) arrange(links []link) {
	gets := func(id LinkID) float64 {
		l := &links[id]
		if !l.load.asked {
			return math.MaxFloat64
		}
		return l.est.rate / float64(l.load.requests+1)
	}
	slices.SortFunc(b.order, func(x, y LinkID) int { return cmp.Or(cmp.Compare(gets(y), gets(x)), cmp.Compare(x, y)) })
}

// starved says whether there is nothing left to ask for. Bytes that have not been requested because
// they may not exist are waited for, but only for as long as it takes to learn that over the link
// with the longest round trip.
func (b *batch) starved(now, longestTrip Time) bool {
	open, _ := lowest(&b.freeMap.open)
	fresh, _ := lowest(&b.freeMap.fresh)
	if !b.freeMap.last() || open < MaxClasses || fresh < MaxClasses {
		b.drySince = Never
		return false
	}
	b.drySince = min(b.drySince, now)
	return b.freeMap.empty() || now-b.drySince > longest(aheadFloor, dryTrips, longestTrip)
}

// assignBatchTo lets one of a link's connections ask for something.
func (c *Core) assignBatchTo(id LinkID, out []Action) []Action {
	l, t := &c.links[id], &c.batch.states[id]
	for c.usable(l) {
		stream, ok := c.batch.next(l, id)
		if !ok {
			break
		}
		before := len(out)
		if out = c.requestPiece(id, stream, 0, out); len(out) > before {
			break
		}
		if c.batch.helping && t.helped < maxQueued && !c.emtcp().overShare(id) {
			if out = c.steal(id, stream, out); len(out) > before {
				t.helped++
				break
			}
		}
		t.blocked |= 1 << stream
		if !c.batch.planned(id) {
			t.blocked = ^uint64(0) // nor is there for the others
		}
	}
	return out
}

// next is the link's connection that should send its next request now, the one
// with the least to do if there are several; of idle ones, one that need not connect
// first.
func (b *batch) next(l *link, id LinkID) (best StreamID, found bool) {
	t, plan := &b.states[id], &b.plans[id]
	least, fewest := 0.0, Time(0)
	for s := range l.streams.most {
		q := &l.load.queues[s]
		switch {
		case (t.blocked|t.copying)&(1<<s) != 0 || !l.streams.served(s):
			continue
		case q.requests == 0:
			if !without("warm-up") && l.load.requests > 0 && l.warmUp(s).Seconds() > b.lasts {
				continue // those at work will be done before it has begun
			}
			if trips := l.streams.trips(s); !found || least > 0 || trips < fewest {
				best, found, least, fewest = s, true, 0, trips
			}
			continue
		case q.requests >= l.pipelining(s, plan):
			continue
		case float64(q.pending) > l.askAhead(s, plan.Connections() > 0):
			continue
		}
		if wait := float64(q.pending+1) / l.shareOf(s); !found || wait < least {
			best, found, least = s, true, wait
		}
	}
	if !found && l.load.requests == 0 && t.blocked == 0 { // all of them were refused
		return l.streams.first(), true
	}
	return best, found
}

// warmUp is how long it takes an idle connection to its first byte, if that is more
// than a round trip.
func (l *link) warmUp(s StreamID) Time {
	if trips := l.streams.trips(s); trips > 1 {
		return trips * l.rtt.known()
	}
	return 0
}

// pipelining is how many requests a connection may have in flight.
func (l *link) pipelining(stream StreamID, plan *Plan) int32 {
	if !l.est.measured() {
		return unmetQueued
	}
	if n := plan.Classes[plan.class(stream)].Pipelining; n > 0 {
		return int32(min(n, batchQueued))
	}
	return batchQueued
}

// askAhead is for how many bytes a connection should have been asked. planned says that a Plan
// says how many connections there are.
func (l *link) askAhead(stream StreamID, planned bool) float64 {
	grown := aheadWindows * max(initialWindow, l.streams.conn[stream].brought)
	if l.est.rate <= 0 {
		return float64(min(aheadUnmet, grown))
	}
	n := float64(l.est.rate*longest(aheadFloor, aheadTrips, l.rtt.known()).Seconds()) * l.shareOf(stream)
	if brought := float64(l.streams.conn[stream].brought); !without("ahead-few") && planned && l.rtt.known() > aheadFloor && l.streams.most <= aheadLone && brought < aheadWindows*n {
		n = max(n, aheadDoubled*brought)
	}
	if l.speeds.rate[stream] <= 0 {
		n = max(n, float64(min(aheadGrowth, grown)))
	}
	return max(n, initialWindow) // which it brings in a round trip at any time
}

// requestPiece lets a connection ask for a piece, or a part of one; a banned link, which is only
// tried, for up to probe bytes.
func (c *Core) requestPiece(id LinkID, stream StreamID, probe int64, out []Action) []Action {
	k, fresh, i := c.batch.pickPiece(&c.flight, id, stream)
	if i < 0 {
		return out
	}
	s := c.batch.freeMap
	p := &s.freeList(k, fresh).live()[i]
	n := min(probe, p.Len())
	if !c.links[id].health.banned {
		n = c.requestSize(id, stream, p)
	}
	if n <= 0 {
		return out
	}
	return c.flight.start(id, stream, s.take(k, fresh, i, n), out)
}
