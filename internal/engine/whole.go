package engine

import (
	"context"
	"time"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// goWhole makes the download one stream: the one of m, or, where that is nil, of
// a request still to be made over a link. All other transfers are over.
func (d *download) goWhole(id scheduler.LinkID, m *message) {
	d.whole = true
	d.wholeLink = id
	for _, t := range d.transfers {
		if m == nil || t != m.t {
			t.released = true
			t.cancel(errReleased)
		}
	}
	d.doubts = nil
	if m != nil {
		d.wholeBy = m.t
		m.answer <- d.judgeWhole(m.t, m.resp)
	}
}

// judgeWhole decides on a response that holds the whole object, and prepares for
// reading it.
func (d *download) judgeWhole(t *transfer, resp *fetch.Response) bool {
	if d.ref != nil && (!resp.Object.Same(*d.ref) || resp.Object.ETag == "" && resp.Object.LastModified == "") {
		// Another object, for all that is known: none of its bytes may meet
		// those of the one before.
		if err := d.to.restart(); err != nil {
			d.fail(err)
			return false
		}
		d.ref = nil
	}
	if d.ref == nil {
		if !d.adopt(t, resp, false) {
			return false
		}
		d.e.notice(!d.e.ofMany, "the server does not serve ranges of this object: one stream over %s", d.e.links[t.link].name())
	}
	d.use(t.link)
	t.off, t.told = 0, 0
	t.end.Store(wholeObject)
	if resp.End >= 0 {
		t.end.Store(resp.End)
	}
	t.progress = d.e.now()
	return true
}

// readWhole reads the object as one stream, again from its first byte over the
// next link when that breaks.
func (d *download) readWhole(ctx, reqs context.Context) {
	tick := time.NewTicker(time.Duration(sampleEvery))
	defer tick.Stop()
	for attempt := 0; d.err == nil && !d.complete; {
		if d.wholeBy == nil {
			if !d.nextLink() {
				return
			}
			if d.links[d.wholeLink].due <= d.e.now() {
				d.requestWhole(reqs, attempt)
				attempt++
			}
		}
		select {
		case m := <-d.tell:
			d.hear(reqs, m)
			if m.resp == nil && m.t == d.wholeBy && !d.complete {
				d.wholeBy = nil // again
				d.wholeLink++
			}
		case <-tick.C:
			if t := d.wholeBy; t != nil && t.got.Load() != t.told {
				d.gain(t, t.got.Load())
			}
			d.fail(d.to.failed())
			d.lookForReturns(reqs)
			now := d.e.now()
			d.watchStalls(now)
			d.sampleSometimes(now)
		case <-ctx.Done():
			d.fail(context.Cause(ctx))
		}
		d.fail(d.allLost())
	}
	if d.complete && d.ref.Size < 0 {
		d.ref.Size = d.wholeBy.got.Load()
	}
}

// nextLink moves to the link that may be asked first, of those that are not lost; to one
// that rests only where there is no other. Nobody sends to rest a backup that has joined.
func (d *download) nextLink() bool {
	now, n := d.e.now(), scheduler.LinkID(len(d.links))
	due := func(id scheduler.LinkID) scheduler.Time { return max(now, d.links[id].due) }
	for _, rest := range []bool{false, true} {
		best := scheduler.NoLink
		for i := range n {
			id := (d.wholeLink + i) % n
			l := &d.links[id]
			if !l.there || l.lost || l.capped || rest != (l.resting || !l.used && d.e.links[id].terms.Backup) {
				continue
			}
			if best == scheduler.NoLink || due(id) < due(best) {
				best = id
			}
		}
		if best != scheduler.NoLink {
			d.wholeLink = best
			return true
		}
	}
	d.fail(d.allLost())
	return false
}

// firstWhole is the first chunk id of requests for the whole object; the
// scheduler's own end far below.
const firstWhole = scheduler.ChunkID(1) << 30

// requestWhole asks for the whole object over the link whose turn it is.
func (d *download) requestWhole(reqs context.Context, attempt int) {
	t := &transfer{chunk: firstWhole + scheduler.ChunkID(attempt), link: d.wholeLink, file: d.file, whole: true}
	d.aim(t, 0)
	t.end.Store(wholeObject)
	d.wholeBy = t
	d.launch(reqs, t)
}
