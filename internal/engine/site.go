package engine

import (
	"math/bits"
	"net/url"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// oddFrom is after how many files that were not served in ranges a site's other files are downloaded
	// by themselves at once.
	oddFrom = 3
	// deadFrom is how many failures in a row end a site that has never answered.
	deadFrom = 3
	// wholeFrom is after how many whole objects a link is given up over which a site ignores ranges that
	// it serves over others.
	wholeFrom = 3
)

// site is what a batch knows of the scheme, host and port of URLs.
type site struct {
	answered bool
	over     []siteOver // by link
	odds     int        // files that were not served in ranges
	laid     int        // files that are laid out

	failures  int            // in a row
	blamed    linkSet        // over which these came
	absent    linkSet        // of blamed: those over which connections were refused
	notBefore scheduler.Time // when it may be asked again, after a failure or because it has said so
	witness   *transfer      // asks another link about one of its files (witness.go); nil: none does
	askAgain  scheduler.Time // when the next witness may be asked
	dead      error          // why its files are given up; nil: they are not
}

// siteOver is what is known of a site over one link.
type siteOver struct {
	ranges    bool           // it has served a range
	wholes    int            // how often it has ignored a range
	heard     scheduler.Time // when it answered last
	refuted   int            // files in a row that it has denied and that other links had
	untrusted bool           // its certificate was not valid the last time
	bounds    bool           // it has served a file that it had forbidden while there were other requests
	forbids   bool           // it has forbidden such a file again and again
}

func (b *batch) siteOf(u *url.URL) *site {
	name := origin(u)
	s := b.sites[name]
	if s == nil {
		s = &site{over: make([]siteOver, len(b.links))}
		b.sites[name] = s
	}
	return s
}

// odd says whether the site's files are not asked for in ranges any more.
func (s *site) odd() bool { return s.odds >= oddFrom && !s.rangesBut(scheduler.NoLink) }

// waits says whether no further file is laid out now. Of a site that has failed, one at a time is.
func (s *site) waits(now scheduler.Time) bool {
	return now < s.notBefore || s.failures > 0 && s.laid > 0
}

// answer notes that the site has answered over a link, with a range or without.
func (s *site) answer(id scheduler.LinkID, resp *fetch.Response, now scheduler.Time) {
	s.works()
	o := &s.over[id]
	o.heard, o.refuted, o.untrusted = now, 0, false
	switch {
	case resp.Object.Size == 0: // an empty object has no range
	case resp.Whole:
		o.wholes++
	default:
		o.ranges = true
	}
}

// works notes that the site has answered: earlier failures do not count any more.
func (s *site) works() {
	s.answered, s.failures, s.blamed, s.absent = true, 0, 0, 0
}

// noteAnswer notes that the server has answered a request, though not with bytes of the file.
func (b *batch) noteAnswer(t *transfer) {
	b.links[t.link].responses.answered = true
	t.file.site.answered = true
	t.file.site.over[t.link].heard = b.e.now()
}

// history is how it has answered requests for ranges.
func (o *siteOver) history() accept.Ranges {
	switch {
	case o.ranges:
		return accept.RangesServed
	case o.wholes > 0:
		return accept.RangesIgnored
	}
	return accept.RangesUnknown
}

// rangesBut says whether it has served ranges over a link other than id.
func (s *site) rangesBut(id scheduler.LinkID) bool {
	return s.linksBut(id, func(o *siteOver) bool { return o.ranges }) != 0
}

// heardSince says whether it has answered, over whatever link, since a time.
func (s *site) heardSince(at scheduler.Time) bool {
	return s.linksBut(scheduler.NoLink, func(o *siteOver) bool { return o.heard > at }) != 0
}

// linksBut are the links, but for one, over which ok is true of the site.
func (s *site) linksBut(id scheduler.LinkID, ok func(*siteOver) bool) (links linkSet) {
	for i := range s.over {
		if other := scheduler.LinkID(i); other != id && ok(&s.over[i]) {
			links.add(other)
		}
	}
	return links
}

// credible says whether a whole object is believed that came over a link where a range was asked for: it
// may be a portal's page. It is not if the site serves ranges over another link, and where several links
// work, all of them have to have brought whole objects.
func (b *batch) credible(s *site, id scheduler.LinkID, size int64) bool {
	if size == 0 {
		return true // an empty object has no range
	}
	if s.rangesBut(id) {
		return false
	}
	working := b.others(id, func(l *linkState) bool { return l.left() && !l.use.resting && !l.use.banned })
	return working&^s.linksBut(id, func(o *siteOver) bool { return o.wholes > 0 }) == 0
}

// mayWorkElsewhere notes a failure of a class, and says whether it may be said of one link only: there
// is a portal in front of it, or its site has servers of its own for each link.
func (b *batch) mayWorkElsewhere(s *site, id scheduler.LinkID, c fetch.Class) bool {
	switch c {
	case fetch.TLS:
		s.over[id].untrusted = true
		return b.usable(id)&^s.linksBut(id, func(o *siteOver) bool { return o.untrusted }) != 0
	case fetch.Refused:
		return !s.answered && b.usable(id)&^s.absent != 0
	default:
		return false
	}
}

// blame counts a failure of a site, puts its files off, and gives them up when there
// have been too many.
func (b *batch) blame(s *site, t *transfer, err error) {
	now := b.e.now()
	if t.sent < s.notBefore {
		return // it is part of a failure that was counted
	}
	s.failures++
	s.blamed.add(t.link)
	s.notBefore = now + scheduler.Time(backoff(s.failures))
	most := b.e.cfg.Tries
	if !s.answered && (most == 0 || most > deadFrom) {
		most = deadFrom
	}
	each, over := s.answered, s.blamed // whether it has to fail over every link; over which it has
	switch c := classOf(err); {
	case s.answered:
	case c == fetch.TLS: // over all links; it will be so the next time
		most = 1
	case c == fetch.Refused: // where a connection broke off, there is a server
		s.absent.add(t.link)
		most, each, over = min(most, max(2, b.linksLeft())), true, s.absent
	}
	if dns := nameError(err); dns != nil && !s.answered {
		most, each = b.nameTries(t.link, dns), true // the links have name servers of their own
	}
	// A link over which it has not failed may reach a server that answers. Its requests are withdrawn with
	// each failure, so that it hardly has the time for that; but each file is downloaded by itself soon.
	if most > 0 && s.failures >= most && (!each || b.usable(t.link)&^over == 0) {
		s.dead = err
	}
}

// linksLeft is how many links have not been lost.
func (b *batch) linksLeft() int {
	return bits.OnesCount64(uint64(b.others(scheduler.NoLink, (*linkState).left)))
}
