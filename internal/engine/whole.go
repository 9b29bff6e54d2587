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
			if !d.pause(ctx) || !d.nextLink() {
				return
			}
			d.requestWhole(reqs, attempt)
			attempt++
		}
		select {
		case m := <-d.tell:
			d.hear(reqs, m)
			if m.resp == nil && m.t == d.wholeBy && !d.complete {
				d.wholeBy = nil // again
				d.wholeLink++
			}
		case <-tick.C:
			if t := d.wholeBy; t.got.Load() != t.told {
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

// pause waits as long as the last failure asks for; false when the download
// ends meanwhile.
func (d *download) pause(ctx context.Context) bool {
	if d.wholeWait <= 0 {
		return true
	}
	timer := time.NewTimer(d.wholeWait)
	defer timer.Stop()
	d.wholeWait = 0
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		d.fail(context.Cause(ctx))
		return false
	}
}

// nextLink moves to a link that is not lost, one that rests only where there is no
// other.
func (d *download) nextLink() bool {
	for i := range 2 * len(d.links) {
		d.wholeLink %= scheduler.LinkID(len(d.links))
		if l := &d.links[d.wholeLink]; l.there && !l.lost && !l.capped && (!l.resting || i >= len(d.links)) {
			return true
		}
		d.wholeLink++
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
