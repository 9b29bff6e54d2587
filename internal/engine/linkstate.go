package engine

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// linkState is what an owner knows of a link.
type linkState struct {
	id    scheduler.LinkID
	there bool     // it has joined the run, and was not given up before this download
	err   error    // why it is lost: it is not used any more; nil: it is not lost
	url   *url.URL // what to ask for instead of the job's URL; nil: that. Of a download only

	use       linkUse
	quota     linkQuota
	responses responses
	claim     sizeClaim
	faults    linkFaults
	conns     linkConns
	traffic   traffic
	seen      seen
	uplink    uplink
}

// linkUse is what a link is used for.
type linkUse struct {
	taken   bool   // bytes of it were taken
	banned  bool   // the scheduler has banned it: too slow, or silent
	resting bool   // the scheduler gives it no work
	reason  string // why it works, or rests
}

// linkQuota is how a link's allowance of bytes stands, as the scheduler was told.
type linkQuota struct {
	exhausted bool  // the link rests since nothing is left
	cap       int64 // bytes
	noted     int64 // spent of cap when last looked up
	spent     int64 // of cap, as the scheduler knows it
}

// responses is what is known of how a link's server answers.
type responses struct {
	asked     bool           // a request was made
	answered  bool           // a response has come
	declined  bool           // an answer has come that the server is too busy, or forbids the object
	unlikely  bool           // no response is to be expected
	notBefore scheduler.Time // the server has asked for no request before then
	wholes    int            // responses in a row with the whole object where a range was asked for
}

// sizeClaim is what a link's server has said of the object's size; of a download only.
type sizeClaim struct {
	heard        bool           // it has told a size
	larger       bool           // it has told a larger size than another link's server
	size         int64          // bytes, as told by a 416 or by a response that was not taken; 0: none was told
	withdrawn    identity.Known // what a response told that was withdrawn in favour of other links
	awaited      bool           // the link has asked for bytes beyond the end, and waits until the size is known
	questions    int            // that were not answered; see question.go
	nextQuestion scheduler.Time // when another one may be asked
}

// linkFaults are the failures that count against a link.
type linkFaults struct {
	inRow        int            // failures without worthwhile bytes between them
	gained       int64          // bytes since the last failure
	countedAt    scheduler.Time // when the last failure was counted
	serverFailed bool           // the last failure was its server's, before a file's first byte
	retryAt      scheduler.Time // when a single stream may be asked for again
	dropped      bool           // a connection ended, which may be how its server refuses ranges
	fruitless    int            // requests in a row that brought next to nothing
	forbidden    forbidden      // answers that forbid a file while its server was asked for others
	withdrewAt   scheduler.Time // when an unanswered request was last withdrawn; 0: never
}

// linkConns is what is known of a link's connections: bit s of a set is stream s.
type linkConns struct {
	busy       uint64 // that had requests in flight when last looked; of a batch only
	opened     uint64 // that were connected early and have had no request since
	openedAt   scheduler.Time
	delivered  uint64                               // that have brought bytes
	excused    uint64                               // of which a failure was put down to too many connections
	lastByte   [scheduler.MaxStreams]scheduler.Time // when each brought its last byte
	windows    [scheduler.MaxStreams]int64          // receive window in bytes, when last looked; 0: not known
	asked      [scheduler.MaxStreams]scheduler.Time // when each was last asked for signs of loss
	dataRTT    scheduler.Time                       // round trip of the data, queues included: the mean of the connections
	handshakes int64                                // that the scheduler knows of
}

// traffic is what has come over a link.
type traffic struct {
	received  int64 // bytes, of requests that have ended
	wasted    int64 // of received: those of no use
	inherited int64 // useful bytes received before this attempt began
	reordered int64 // packets that came out of order
	lastByte  scheduler.Time
}

// seen are a Link's counters of arrivals and returns when last looked at.
type seen struct{ returns, arrivals int64 }

// claims notes what a link's server says of the object's size, if it does (-1: it does not).
func (l *linkState) claims(size int64) {
	if size >= 0 {
		l.claim.size = size
	}
}

// mayAnswer says whether the first response over a link is still to be expected.
func (l *linkState) mayAnswer() bool {
	return l.mayStillTell() && !l.lost() && !l.use.banned && !l.responses.answered
}

// mayStillTell says whether a link that has been asked may still tell something of the object, even if
// its server serves no ranges. A banned link may: it is slow, or may have been silent for a short time.
func (l *linkState) mayStillTell() bool {
	return l.there && l.responses.asked && (!l.lost() || aboutRanges(l.err)) && !l.use.resting && !l.quota.exhausted && !l.responses.unlikely
}

// postponed says whether a link's server has asked for a pause that is longer than other links wait.
func (l *linkState) postponed(now scheduler.Time) bool { return l.responses.notBefore >= now+parkTime }

// lost says whether a link was given up.
func (l *linkState) lost() bool { return l.err != nil }

// left says whether a link has not been lost.
func (l *linkState) left() bool { return l.there && !l.lost() }

// usable says whether requests may be made over a link.
func (l *linkState) usable() bool { return l.left() && !l.quota.exhausted }

// others are the links of which ok is true, but for one; NoLink: for none.
func (o *owner) others(but scheduler.LinkID, ok func(*linkState) bool) (s linkSet) {
	for i := range o.links {
		if l := &o.links[i]; l.id != but && ok(l) {
			s.add(l.id)
		}
	}
	return s
}

// nearest are the links of which ok is true, by their round trips, and those behind them that are
// banned.
func (o *owner) nearest(ok func(*linkState) bool) (ids []scheduler.LinkID) {
	for i := range o.links {
		if l := &o.links[i]; ok(l) {
			ids = append(ids, l.id)
		}
	}
	distance := func(id scheduler.LinkID) scheduler.Time {
		if o.links[id].use.banned {
			return scheduler.Never
		}
		return cmp.Or(o.core.Link(id).RTT, scheduler.Never-1)
	}
	slices.SortStableFunc(ids, func(a, b scheduler.LinkID) int { return cmp.Compare(distance(a), distance(b)) })
	return ids
}

// linkSet is a set of links, of which there are fewer than 64; bit i is link i.
type linkSet uint64

func (s *linkSet) add(id scheduler.LinkID)     { *s |= 1 << id }
func (s *linkSet) remove(id scheduler.LinkID)  { *s &^= 1 << id }
func (s linkSet) has(id scheduler.LinkID) bool { return s&(1<<id) != 0 }

// several says whether there are at least two.
func (s linkSet) several() bool { return s&(s-1) != 0 }
