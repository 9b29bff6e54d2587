package engine

import (
	"context"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// parkTime is how long a response without ranges waits for other links, whose
// servers may know ranges; a portal in front of one link is no reason to do
// without the others.
const parkTime = scheduler.Second

// decideWhole resolves waiting responses that hold the whole object: when
// another link got a range, their links are of no use; when every link has
// answered, or has had its time, the best of them is read from its first byte.
func (d *download) decideWhole(reqs context.Context, now scheduler.Time) {
	d.parked = slices.DeleteFunc(d.parked, func(m message) bool { return m.t.released })
	if len(d.parked) == 0 || d.err != nil {
		return
	}
	if d.ref != nil {
		for _, m := range d.parked {
			m.t.parked = false
			m.answer <- refuse
			d.lose(reqs, m.t.link, noRanges())
		}
		d.parked = nil
		return
	}
	waiting := false
	for i := range d.links {
		l := &d.links[i]
		waiting = waiting || !l.answered && !l.lost && !l.banned
	}
	if waiting && now-d.parkedAt < parkTime {
		return
	}
	best := d.parked[0]
	for _, m := range d.parked[1:] {
		if d.e.links[m.t.link].Bandwidth > d.e.links[best.t.link].Bandwidth {
			best = m
		}
	}
	d.goWhole(&best)
}

// goWhole makes the download one stream: the one of m, or, where that is nil, of
// a request still to be made. All other transfers are over.
func (d *download) goWhole(m *message) {
	d.wholeMode = true
	for _, t := range d.transfers {
		if m == nil || t != m.t {
			t.released = true
			t.cancel(errReleased)
		}
	}
	d.parked = nil
	if m != nil {
		d.wholeBy = m.t
		m.t.parked = false
		m.answer <- d.judgeWhole(m.t, m.resp)
	}
}

// judgeWhole decides on a response that holds the whole object.
func (d *download) judgeWhole(t *transfer, resp *fetch.Response) verdict {
	if d.ref == nil {
		if !d.adopt(t, resp, false) {
			return refuse
		}
		d.changed(t.link, event.LinkUsed, "")
		d.e.notice(true, "the server does not serve ranges of this object: one stream over %s", d.e.links[t.link].Net.Name())
		return takeWhole
	}
	if !resp.Object.Same(*d.ref) || resp.Object.ETag == "" && resp.Object.LastModified == "" {
		if err := d.to.restart(); err != nil {
			d.fail(err)
			return refuse
		}
		d.ref = nil
		if !d.adopt(t, resp, false) {
			return refuse
		}
	}
	return takeWhole
}

// readWhole reads the object as one stream, again from its first byte over the
// next link when that breaks.
func (d *download) readWhole(ctx, reqs context.Context) {
	tick := time.NewTicker(time.Duration(sampleEvery))
	defer tick.Stop()
	link, attempt := scheduler.LinkID(0), 0
	if d.wholeBy != nil {
		link = d.wholeBy.link
	}
	for d.err == nil && !d.complete {
		if d.wholeBy == nil {
			if !d.pause(ctx, attempt) || !d.nextLink(&link) {
				break
			}
			attempt++
			d.requestWhole(reqs, link, attempt)
		}
		select {
		case m := <-d.tell:
			d.hear(reqs, m)
			if m.resp == nil && m.t == d.wholeBy && !d.complete {
				d.wholeBy = nil // again
				link++
			}
		case <-tick.C:
			if t := d.wholeBy; t.got.Load() != t.told {
				t.told = t.got.Load()
				t.progress = d.e.now()
				d.links[t.link].failures = 0
			}
			d.watchStalls(d.e.now())
			d.sample()
		case <-ctx.Done():
			d.fail(context.Cause(ctx))
		}
		d.checkLost()
	}
	if d.complete && d.ref.Size < 0 {
		d.ref.Size = d.wholeBy.got.Load()
	}
}

// pause waits before another attempt; false when the download ends meanwhile.
func (d *download) pause(ctx context.Context, attempt int) bool {
	if attempt == 0 {
		return true
	}
	select {
	case <-time.After(backoff(attempt)):
		return true
	case <-ctx.Done():
		d.fail(context.Cause(ctx))
		return false
	}
}

// nextLink moves to a link that is not lost.
func (d *download) nextLink(link *scheduler.LinkID) bool {
	for range d.links {
		*link %= scheduler.LinkID(len(d.links))
		if !d.links[*link].lost {
			return true
		}
		*link++
	}
	d.checkLost()
	return false
}

// requestWhole asks for the whole object over a link.
func (d *download) requestWhole(reqs context.Context, link scheduler.LinkID, attempt int) {
	ctx, cancel := context.WithCancelCause(reqs)
	t := &transfer{chunk: scheduler.ChunkID(1<<30 + attempt), link: link, whole: true, cancel: cancel, sent: d.e.now()}
	t.end.Store(wholeObject)
	d.wholeBy = t
	d.launch(ctx, t)
}
