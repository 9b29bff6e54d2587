package scheduler

import "math/bits"

const (
	// batchStreams is how many connections a link begins with where there are many
	// files, as browsers do: a server works on them at the same time.
	batchStreams = 6
	// batchQueued bounds the requests in flight on a connection, unmetQueued while
	// nothing is known of its link.
	batchQueued = 32
	unmetQueued = 4
	// aheadTrips is for how many round trips a connection should have been asked
	// for bytes, at its part of the link's rate, but not for less than aheadFloor.
	// Connections are not alike; what is asked for too early costs nothing before
	// the end of the job.
	aheadTrips = 3
	aheadFloor = 100 * Millisecond
	// starvedTrips: a connection is starved whose requests, as many as there may be,
	// last for less than so many round trips.
	starvedTrips = 1.5
	// While a connection starts slowly it should have been asked for aheadWindows
	// times what it has brought so far, up to aheadGrowth bytes, or aheadUnmet while
	// its link has not been measured.
	aheadWindows = 4
	aheadGrowth  = 64 << 10
	aheadUnmet   = 256 << 10
	// briefTrips: a file of unknown size that takes a connection no longer than so
	// many round trips is never shared out.
	briefTrips = 4
	// movedTrips is how many of the thief's round trips the moving of a request for a
	// file of unknown size must gain.
	movedTrips = 1
	// dryTrips is for how many round trips idle connections wait for what nobody may be
	// asked for yet.
	dryTrips = 5
	// wholePiece is up to how many bytes a piece is asked for as a whole, if that
	// takes a connection no longer than wholeSeconds: what slow ones have in hand at
	// the end has to be taken from them. Up to leastWhole it may take longer.
	wholePiece   = 1 << 20
	wholeSeconds = 2
	leastWhole   = 256 << 10
)

// queue is what a connection has been asked for and has not received.
type queue struct {
	requests int32
	pending  int64 // bytes
}

// table is what a link's connections have been asked for.
type table struct {
	streams [MaxStreams]queue
	blocked uint64 // bit s: there is nothing for stream s now
	helped  int    // what has been taken over for the link; a bound, as two may want the same
}

// hunger says whether a link's connections have all the requests that they may have,
// and yet too little to receive: files are small, and the trip is long.
type hunger struct {
	starved bool // since it was last looked at
	fed     Time // when it last got more connections
}

// deal gives pieces to the connections that are ready for more, one link after the
// other, and lets the idle ones take over what others are too slow with.
func (c *Core) deal(out []Action) []Action {
	b := c.batch
	b.booked = false
	if b.helping = c.dry(); b.stock.empty() && !b.helping {
		return out
	}
	for i := range b.tables {
		b.tables[i].blocked, b.tables[i].helped = 0, 0
	}
	for more := true; more; {
		more = false
		for id := range LinkID(len(c.links)) {
			before := len(out)
			out = c.dealTo(id, out)
			more = more || len(out) > before
		}
	}
	return out
}

// dry says whether there is nothing left to ask for. What has not been asked for
// because nobody knows whether it exists is waited for, but only for as long as it
// takes to learn that.
func (c *Core) dry() bool {
	b := c.batch
	open, _ := lowest(&b.stock.open)
	fresh, _ := lowest(&b.stock.fresh)
	if !b.stock.last() || open < MaxClasses || fresh < MaxClasses {
		b.drySince = Never
		return false
	}
	b.drySince = min(b.drySince, c.now)
	trip := Time(0)
	for i := range c.links {
		trip = max(trip, c.links[i].rtt)
	}
	return b.stock.empty() || c.now-b.drySince > longest(aheadFloor, dryTrips, trip)
}

// dealTo lets one of a link's connections ask for something.
func (c *Core) dealTo(id LinkID, out []Action) []Action {
	t := &c.batch.tables[id]
	for c.usable(&c.links[id]) {
		stream, ok := c.next(id)
		if !ok {
			break
		}
		before := len(out)
		if out = c.requestPiece(id, stream, out); len(out) > before {
			break
		}
		if c.batch.helping && t.helped < maxQueued && !c.overShare(id) {
			if out = c.steal(id, stream, out); len(out) > before {
				t.helped++
				break
			}
		}
		t.blocked |= 1 << stream
		if !c.planned(id) {
			t.blocked = ^uint64(0) // nor is there for the others
		}
	}
	return out
}

// next is the link's connection that should send its next request now, the one
// with the least to do if there are several; of idle ones, one that need not connect
// first.
func (c *Core) next(id LinkID) (best StreamID, found bool) {
	l, t := &c.links[id], &c.batch.tables[id]
	least, fewest := 0.0, Time(0)
	for s := range l.streams.most {
		q := &t.streams[s]
		switch {
		case t.blocked&(1<<s) != 0 || !l.streams.served(s):
			continue
		case q.requests == 0:
			if trips := l.streams.trips(s); !found || least > 0 || trips < fewest {
				best, found, least, fewest = s, true, 0, trips
			}
			continue
		case q.requests >= c.depth(id, s):
			if float64(q.pending) < starvedTrips*l.est.rate*l.trip().Seconds()*l.part(s) {
				c.batch.hunger[id].starved = true
			}
			continue
		case float64(q.pending) > c.ahead(l, s):
			continue
		}
		if wait := float64(q.pending+1) / l.part(s); !found || wait < least {
			best, found, least = s, true, wait
		}
	}
	if !found && l.requests == 0 && t.blocked == 0 { // all of them were refused
		for best < MaxStreams-1 && !l.streams.served(best) {
			best++
		}
		found = true
	}
	return best, found
}

// depth is how many requests a connection may have in flight.
func (c *Core) depth(id LinkID, stream StreamID) int32 {
	if l := &c.links[id]; l.est.rate <= 0 && l.est.nSamples == 0 {
		return unmetQueued
	}
	p := &c.batch.plans[id]
	if n := p.Classes[p.class(stream)].Pipelining; n > 0 {
		return int32(min(n, batchQueued))
	}
	return batchQueued
}

// ahead is for how many bytes a connection should have been asked.
func (c *Core) ahead(l *link, stream StreamID) float64 {
	grown := aheadWindows * max(initialWindow, l.streams.opened[stream])
	if l.est.rate <= 0 {
		return float64(min(aheadUnmet, grown))
	}
	n := float64(l.est.rate*longest(aheadFloor, aheadTrips, l.trip()).Seconds()) * l.part(stream)
	if l.speeds.rate[stream] <= 0 {
		n = max(n, float64(min(aheadGrowth, grown)))
	}
	return max(n, initialWindow) // which it brings in a round trip at any time
}

// compare measures the connections of each link.
func (c *Core) compare() {
	for i := range c.links {
		l := &c.links[i]
		l.speeds.observe(c.now, l.rtt, &c.batch.tables[i], l.streams.most)
		if h := &c.batch.hunger[i]; h.starved {
			h.starved = false
			if c.cfg.Parallelism == 0 && !c.planned(LinkID(i)) && c.now-h.fed >= longest(rateWindow, speedTrips, l.rtt) {
				h.fed = c.now
				l.streams.most = min(MaxStreams, 2*l.streams.most)
			}
		}
	}
}

// class is the class of files that a connection is for.
func (p *Plan) class(stream StreamID) Class {
	at := 0
	for k := range Class(MaxClasses) {
		if at += p.Classes[k].Connections; int(stream) < at {
			return k
		}
	}
	return 0
}

// requestPiece lets a connection ask for a piece, or a part of one.
func (c *Core) requestPiece(id LinkID, stream StreamID, out []Action) []Action {
	k, fresh, i := c.pickPiece(id, stream)
	if i < 0 {
		return out
	}
	s := &c.batch.stock
	n := c.cutting(id, stream, &s.shelf(k, fresh).live()[i])
	if n <= 0 {
		return out
	}
	return c.startPart(id, stream, k, s.take(k, fresh, i, n), out)
}

// probePiece lets a banned link ask for up to so many bytes.
func (c *Core) probePiece(id LinkID, size int64, out []Action) []Action {
	k, fresh, i := c.pickPiece(id, 0)
	if i < 0 || size <= 0 {
		return out
	}
	s := &c.batch.stock
	return c.startPart(id, 0, k, s.take(k, fresh, i, min(size, s.shelf(k, fresh).live()[i].Len())), out)
}

// startPart asks for a part that was taken.
func (c *Core) startPart(id LinkID, stream StreamID, k Class, p part, out []Action) []Action {
	out = c.start(id, stream, p.Range, out)
	ch := &c.chunks[len(c.chunks)-1]
	ch.slot, ch.class, ch.piece, ch.guess = p.slot, k, p.piece, p.guess
	c.doubt(ch, p.Len()-c.batch.stock.likely(&p))
	return out
}

// cutting is how many bytes of a free part a connection should ask for.
func (c *Core) cutting(id LinkID, stream StreamID, p *part) int64 {
	size := c.shifted(id, c.cfg.Policy.Request(View{c}, id))
	if size <= 0 && len(c.chunks) > 0 {
		return 0 // with nothing in flight, somebody must go on
	}
	whole, likely := p.Len(), c.batch.stock.likely(p)
	spare := c.spare(id, stream)
	if spare <= 0 && c.batch.tables[id].streams[stream].requests > 0 {
		return 0 // another will be there sooner
	}
	size = max(int64(float64(size)*c.links[id].part(stream)), c.cfg.minRequest())
	switch most := c.handy(id, stream); {
	case likely-size < c.cfg.minRequest(), whole <= wholePiece && likely <= most && float64(likely) <= spare, p.guess && c.brief(id, stream, likely):
		size = whole
	}
	if p.guess && c.batch.stock.typicalCount == 0 && c.batch.files == 0 {
		size = min(size, leastWhole)
	}
	return min(size, whole, c.room(id))
}

// handy is up to how many bytes a piece is asked for as a whole.
func (c *Core) handy(id LinkID, stream StreamID) int64 {
	if c.batch.files > 0 {
		return wholePiece
	}
	l := &c.links[id]
	return max(leastWhole, int64(l.est.rate*l.part(stream)*wholeSeconds))
}

// brief says whether a connection needs no longer for so many bytes than it takes
// to learn how long a file is and to share it out then.
func (c *Core) brief(id LinkID, stream StreamID, bytes int64) bool {
	l := &c.links[id]
	return float64(bytes) <= briefTrips*l.trip().Seconds()*(View{c}).RateOrMean(id)*l.part(stream)
}

// spare is how many more bytes a connection would have, if it were asked for them
// now, by the time at which all links can have all that is left; very many while
// nobody knows.
func (c *Core) spare(id LinkID, stream StreamID) float64 {
	v := View{c}
	rate := v.RateOrMean(id) * c.links[id].part(stream)
	if rate <= 0 || c.batch.files > 0 {
		return float64(unsized)
	}
	wait := max(c.links[id].trip().Seconds(), float64(c.batch.tables[id].streams[stream].pending)/rate)
	return rate * (v.together() - wait)
}

// pickPiece is the free part that a connection should ask for next: its place on a
// shelf, below 0 where there is none. Files in progress come first.
func (c *Core) pickPiece(id LinkID, stream StreamID) (k Class, fresh bool, i int) {
	s := &c.batch.stock
	if !c.planned(id) {
		if k, i = lowest(&s.open); k < MaxClasses {
			return k, false, i
		}
		if k, _ = lowest(&s.fresh); k < MaxClasses && c.mayBegin(&s.fresh[k].live()[0]) {
			return k, true, 0
		}
		return 0, false, -1
	}
	k = c.batch.plans[id].class(stream)
	tried := uint(0)
	for {
		if fresh, i = c.pickOf(id, stream, k); i >= 0 {
			return k, fresh, i
		}
		// The class with the most left comes next.
		tried |= 1 << k
		most := int64(0)
		for o := range Class(MaxClasses) {
			if left := s.open[o].bytes + s.fresh[o].bytes; tried&(1<<o) == 0 && left > most {
				k, most = o, left
			}
		}
		if most == 0 {
			break
		}
	}
	if k, i = lowest(&s.open); k < MaxClasses && c.batch.files == 0 && s.last() {
		return k, false, i // at the end all help, whoever is at it already
	}
	return 0, false, -1
}

// lowest is the shelf on which the part with the lowest address is that may be asked
// for, and its place there; MaxClasses when there is none.
func lowest(shelves *[MaxClasses]shelf) (best Class, place int) {
	best, off := MaxClasses, unsized
	for k := range shelves {
		for i, p := range shelves[k].live() {
			if p.Off >= off {
				break
			}
			if !p.dim() {
				best, place, off = Class(k), i, p.Off
				break
			}
		}
	}
	return best, place
}

// mayBegin says whether one may ask for a part of a file that is not in progress.
func (c *Core) mayBegin(p *part) bool {
	b := c.batch
	return b.files == 0 || b.stock.active < b.files || b.stock.find(p.file) != noSlot
}

// pickOf is pickPiece for one class of files: a file that the connection is at already,
// or one that has fewer connections of the link than the plan gives it, or a new
// one.
func (c *Core) pickOf(id LinkID, stream StreamID, k Class) (fresh bool, i int) {
	s := &c.batch.stock
	share, first := max(1, c.batch.plans[id].Classes[k].Parallelism), -1
	for i, p := range s.open[k].live() {
		if p.dim() {
			continue
		}
		at := c.at(p.slot, id)
		if at&(1<<stream) != 0 {
			return false, i
		}
		if first < 0 && bits.OnesCount64(at) < share {
			first = i
		}
	}
	if first < 0 && !s.fresh[k].empty() && c.mayBegin(&s.fresh[k].live()[0]) {
		return true, 0
	}
	return false, first
}

// at is the set of a link's connections that have requests for a file.
func (c *Core) at(slot int32, id LinkID) (streams uint64) {
	for i := range c.chunks {
		if ch := &c.chunks[i]; ch.slot == slot && ch.link == id {
			streams |= 1 << ch.stream
		}
	}
	return streams
}

// worthMoving says whether a request for a file of unknown size that was not
// answered should be moved to a stream of thief, since its own will be done only in
// end seconds. It cannot be shared, and costs its connection, so the gain must be
// great.
func (c *Core) worthMoving(thief *link, own *outlook, stream StreamID, from *outlook, victim StreamID, end float64) bool {
	ch := from.last[victim]
	if thief.robbed > 0 || !thief.est.measured() || ch.got > 0 {
		return false
	}
	alone := own.soonest(thief, stream, ch.left()-ch.over)
	return end > nowhere*alone && end-alone > movedTrips*own.trip
}

// move withdraws a request that was not answered, and makes it anew on a stream of
// another.
func (c *Core) move(thief LinkID, stream StreamID, ch *chunk, out []Action) []Action {
	k, rng, l := ch.class, ch.rng, &c.links[ch.link]
	if l.est.nMarks == 0 && ch.link != thief {
		l.robbed++
	}
	l.streams.cut[ch.stream], l.streams.opened[ch.stream] = c.nextID, 0
	out = append(out, cancel(ch))
	out = c.end(c.find(ch.id), out)
	s := &c.batch.stock
	return c.startPart(thief, stream, k, s.take(k, false, s.open[k].index(rng.Off), rng.Len()), out)
}

// mayHelp says whether a connection may help with ch: where files at once are
// bounded, only as many are at one as the plan says.
func (c *Core) mayHelp(id LinkID, stream StreamID, ch *chunk) bool {
	if c.batch.files == 0 || !c.planned(id) {
		return true
	}
	share := max(1, c.batch.plans[id].Classes[ch.class].Parallelism)
	return bits.OnesCount64(c.at(ch.slot, id)&^(1<<stream)) < share
}
