package engine

import (
	"context"
	"net/url"
	"slices"
	"sync"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/pkg/scheduler"
)

// In clear, the network of one link can answer in a server's place: a portal's page, an
// object that ends early, or none at all. So what one link alone says of an object's size is
// believed only when another link agrees, when no other is to be asked, or when no other has
// answered for parkTime; and bytes of another link from beyond that end outvote it. Once two
// links have agreed about one object of an origin, each is believed there for the rest of
// the run.

// trust is over which links origins are believed, by all downloads of a run.
type trust struct {
	mu sync.Mutex
	of map[string]linkSet
}

func newTrust() *trust { return &trust{of: map[string]linkSet{}} }

// trustMost bounds the origins that are remembered: a list may lead to any number.
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

// sizeBelieved says whether what the first answer said of the object's size is believed.
func (d *download) sizeBelieved(now scheduler.Time) bool {
	if !d.met || d.believed {
		return d.believed
	}
	d.believed = d.refLink != scheduler.NoLink && d.e.trust.has(d.job.URL, d.refLink) ||
		now-d.metAt >= parkTime || !d.awaitsWord()
	return d.believed
}

// awaitsWord says whether a link that has been asked may still tell another size, or show
// bytes behind the end that was told.
func (d *download) awaitsWord() bool {
	for i := range d.links {
		if id := scheduler.LinkID(i); d.mayTell(id) || d.questioned(id) {
			return true
		}
	}
	return len(d.doubts) > 0
}

// questioned says whether a link is being asked for bytes behind the end.
func (d *download) questioned(id scheduler.LinkID) bool {
	return slices.ContainsFunc(d.transfers, func(t *transfer) bool { return t.probe && t.lead == 0 && t.link == id })
}

// mayTell says whether the first answer over a link is to be expected.
func (o *owner) mayTell(id scheduler.LinkID) bool {
	l := &o.links[id]
	return l.there && l.asked && !l.answered && !l.lost && !l.banned && !l.resting && !l.deaf
}

// hearWord takes what another link says of the object's size, in an answer that brings the
// bytes up to end, and says whether the download goes on: not if it was the first one's link
// that lied. One that says that the object is larger is asked for what is behind the end.
func (d *download) hearWord(reqs context.Context, id scheduler.LinkID, c accept.Claim, end int64) bool {
	size := d.known.Size()
	switch {
	case !d.met || c.Size < 0 && (end == 0 || size > 0):
	case c.Size == size:
		d.agree.add(id)
		if d.agree.several() {
			d.believed = true
			d.e.trust.add(d.job.URL, d.agree)
		}
	case d.believed || d.agree.has(id) || d.refLink == scheduler.NoLink || c.Size >= 0 && c.Size < size:
	case end > size || end < 0:
		d.outvote() // what ends has no bytes behind its end, and nothing is sent of what is empty
		return false
	case !d.links[id].asksEnd:
		d.links[id].asksEnd = true
		t := d.newProbe(id)
		t.off = size
		t.end.Store(size + 1)
		d.launch(reqs, t)
	}
	return true
}

// outvote gives up what the first answer said, and its link.
func (d *download) outvote() {
	l := &d.links[d.refLink]
	l.lost, l.err = true, contradiction("over this link the object has %d bytes, over another one more", d.known.Size())
	d.e.notice(true, "%s: the server's answer was contradicted by another link: starting over", d.e.links[d.refLink].name())
	d.fail(errOutvoted)
}
