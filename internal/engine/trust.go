package engine

import (
	"context"
	"net/url"
	"slices"
	"sync"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// In clear, the network of one link can answer in a server's place: with a portal's page, or with an
// object that ends early. So the size that one link alone tells is believed only when another link
// agrees, when there is no other to ask, or when no other has answered for parkTime; bytes of another
// link from behind that end outvote it. Once two links have agreed about an object of an origin, both
// are believed there for the rest of the run.

// trust is which links are believed about the objects of each origin. All downloads of a run share it.
type trust struct {
	mu sync.Mutex
	of map[string]linkSet
}

func newTrust() *trust { return &trust{of: map[string]linkSet{}} }

// trustMost bounds the number of origins: a list may lead to any number of them.
const trustMost = 4096

func (t *trust) add(u *url.URL, links linkSet) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key := origin(u); len(t.of) < trustMost || t.of[key] != 0 {
		t.of[key] |= links
	}
}

func (t *trust) has(u *url.URL, id scheduler.LinkID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[origin(u)].has(id)
}

// sizeVote is what links have said of an object's size.
type sizeVote struct {
	agree    linkSet // the links over which the size that is known was told
	believed bool
}

// confirm notes that a link tells the size that is known.
func (v *sizeVote) confirm(id scheduler.LinkID, u *url.URL, t *trust) {
	if v.agree.add(id); v.agree.several() {
		v.believed = true
		t.add(u, v.agree)
	}
}

// sizeBelieved says whether the size that the first response told is believed.
func (d *download) sizeBelieved(now scheduler.Time) bool {
	if !d.identified || d.vote.believed {
		return d.vote.believed
	}
	since := now - d.first.at
	d.vote.believed = d.first.link != scheduler.NoLink && !d.first.disputed && d.e.trust.has(d.job.URL, d.first.link) || !d.awaitsSizes() ||
		since >= d.voteTime()
	return d.vote.believed
}

// voteTime is how long other links have to contradict a size: longer where one of them has answered, if
// only that its server is too busy. (An unexpected page has waited for a busy one before it was taken.)
func (d *download) voteTime() scheduler.Time {
	if d.others(scheduler.NoLink, func(l *linkState) bool {
		return (l.responses.answered || l.responses.declined && !d.first.page || l.claim.larger || d.e.batch.disagree.has(l.id)) && d.mayTellSize(l)
	}) != 0 {
		return d.e.undecidedTime()
	}
	return parkTime
}

// awaitsSizes says whether a link that has been asked may still tell another size, or show
// bytes behind the end that was told.
func (d *download) awaitsSizes() bool {
	return len(d.doubts.responses) > 0 ||
		d.others(scheduler.NoLink, func(l *linkState) bool { return d.mayTellSize(l) || d.questioned(l.id) }) != 0
}

// undecidedTime is how long a link that has answered may take to tell a size: it may stall once.
func (e *Engine) undecidedTime() scheduler.Time {
	return pageTime + scheduler.Time(e.cfg.StallTimeout)
}

// questioned says whether a link is being asked for bytes behind the end.
func (d *download) questioned(id scheduler.LinkID) bool {
	return slices.ContainsFunc(d.transfers, func(t *transfer) bool { return t.question() && t.link == id })
}

// mayTellSize says whether a link may still tell the object's size.
func (d *download) mayTellSize(l *linkState) bool {
	return l.mayStillTell() && !l.claim.heard && !d.vote.agree.has(l.id) && !l.postponed(d.e.now())
}

// hearSize takes what another link tells of the object's size, in a response with the bytes up to end
// (-1: not known), and says whether this attempt goes on: not if the first response is outvoted. A link
// that tells a larger size is asked for a byte from behind the end.
func (d *download) hearSize(reqs context.Context, id scheduler.LinkID, c identity.Claim, end int64) bool {
	size, l := d.known.Size(), &d.links[id]
	if !d.identified || size < 0 || c.Size < 0 && end <= size {
		return true
	}
	l.claim.heard = c.Size <= size
	switch {
	case d.first.page && !d.vote.believed && id != d.first.link && d.first.link != scheduler.NoLink:
		d.outvote() // a portal's page, while another link's server speaks of no such thing
		return false
	case c.Size == size:
		d.vote.confirm(id, d.job.URL, d.e.trust)
	case d.vote.believed || d.vote.agree.has(id) || d.first.link == scheduler.NoLink:
	case c.Size >= 0 && c.Size < size:
	case end > size:
		d.outvote() // what ends has no bytes behind its end
		return false
	case !l.claim.larger:
		l.claim.larger = true
		d.askEnd(reqs, id)
	}
	return true
}

// outvote gives up the link of the first response, and with it what that has told of the object.
func (d *download) outvote() {
	l := &d.links[d.first.link]
	l.err = contradiction("over this link the object has %d bytes, over another one more", d.known.Size())
	d.e.notice(true, "%s: the server's answer was contradicted by another link: starting over", d.e.links[d.first.link].Name())
	d.fail(errOutvoted)
}
