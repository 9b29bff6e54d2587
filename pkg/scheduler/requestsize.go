package scheduler

// The constants were chosen by hand over the simulator's suite of lists.
const (
	// A file of unknown size that takes a connection no longer than briefTrips round trips is not
	// shared out.
	briefTrips = 4
	// A piece of at most wholePiece bytes is asked for as a whole if that takes a connection no
	// longer than wholeSeconds, since what slow ones have in hand at the end has to be taken from
	// them. A piece of at most leastWhole bytes may take longer.
	wholePiece   = 1 << 20
	wholeSeconds = 2
	leastWhole   = 256 << 10
)

// asker is a connection of a batch that is ready for another request: it says how much of a file
// the connection should ask for.
type asker struct {
	link    *link
	stream  StreamID
	planned bool    // a plan says how many connections the link has
	bounded bool    // a plan bounds how many files may be in progress at once
	rate    float64 // bytes per second that the connection is taken to carry; 0: unknown
	finish  float64 // seconds until all links can have all that is left
}

// asker is a connection as an asker.
func (v View) asker(id LinkID, stream StreamID) asker {
	l := &v.core.links[id]
	return asker{link: l, stream: stream, planned: v.core.batch.planned(id), bounded: v.core.batch.files > 0, rate: v.RateOrMean(id) * l.shareOf(stream), finish: v.finishTime()}
}

// requestSize is how many bytes of a free part a connection should ask for, about as many as the
// policy says; 0: none. It is at least what is worth a request, and at most what one request may be
// for.
func (a *assignment) requestSize(id LinkID, stream StreamID, p *part) int64 {
	size := a.view.emtcp().limit(id, min(unsized, a.cfg.Policy.Request(a.view, id)))
	if size <= 0 && (!a.anyway || len(a.flight.chunks) > 0) {
		return 0
	}
	l := &a.links[id]
	each := int64(0)
	if l.streams.fresh(stream) {
		each = l.equalShare(stream, size, a.view.task())
	}
	if each > 0 {
		size = min(size, each)
	} else {
		size = int64(float64(size) * l.shareOf(stream))
	}
	if !a.freeMap.sized && !a.cfg.Batch {
		size = min(size, a.view.First())
	}
	least := l.atLeast(a.cfg.minRequest())
	size = max(size, least)
	if a.freeMap.guesses.likely(p)-size < least { // a remainder would not be worth a request
		size = p.Len()
	}
	if a.cfg.Batch {
		k := a.view.asker(id, stream)
		size = k.ofFile(size, p, &a.freeMap.guesses)
	}
	size = min(size, p.Len(), a.flight.most(id), a.limit()-p.Off)
	if a.cfg.Window > 0 {
		size = min(size, max(1, a.cfg.Window/int64(2*a.links.up())))
	}
	return size
}

// ofFile is how many bytes of a part of a file the connection should ask for, of which size would be
// its share.
func (a *asker) ofFile(size int64, p *part, guesses *guesses) int64 {
	whole, likely, spare, most := p.Len(), guesses.likely(p), a.spare(), a.wholeMost()
	if spare <= 0 && a.link.load.queues[a.stream].requests > 0 {
		return 0 // another will be there sooner
	}
	if a.planned && !a.bounded && likely > most && !without("plan-brief") {
		size = min(size, most) // a connection that the next plan gives up brings what it was asked for first
	}
	if !without("whole-piece") && whole <= wholePiece && likely <= most && float64(likely) <= spare || p.guess && a.brief(likely) {
		size = whole
	}
	if p.guess && guesses.learnt == 0 && !a.bounded && !without("first-unknown") {
		size = min(size, leastWhole)
	}
	return size
}

// wholeMost is up to how many bytes a piece is asked for as a whole.
func (a *asker) wholeMost() int64 {
	if a.bounded {
		return wholePiece
	}
	return max(leastWhole, int64(float64(a.link.est.rate*a.link.shareOf(a.stream))*wholeSeconds))
}

// brief says whether the connection receives so many bytes no longer than it takes to learn how
// long a file is and to share it out then.
func (a *asker) brief(bytes int64) bool {
	return !without("brief") && float64(bytes) <= briefTrips*a.link.rtt.known().Seconds()*a.rate
}

// spare is how many more bytes the connection would receive, if it were asked for them now, by
// the time at which all links can be done; very many while nobody knows.
func (a *asker) spare() float64 {
	if a.rate <= 0 || a.bounded || without("spare") {
		return float64(unsized)
	}
	l := a.link
	wait := max(l.rtt.known().Seconds()*float64(min(connectRTTs, l.streams.trips(a.stream))), float64(l.load.queues[a.stream].pending)/a.rate)
	return a.rate * (a.finish - wait)
}
