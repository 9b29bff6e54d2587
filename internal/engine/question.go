package engine

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// A question asks another link whether the object ends where one link alone has told: it is a request for
// the byte behind that end. Its response tells a size or, where it does not, is the whole body, which is
// read. While the first response is doubtful, a question is a request for the first byte.

// readMost is up to which size in bytes an object is read over a second link as well, where only the
// body's end tells its size and no link has told a larger one. Chosen by hand: larger than any page.
const readMost = int64(1) << 20

// question says whether a transfer is one.
func (t *transfer) question() bool { return t.probe && t.overlap == 0 }

// ask asks the links that may still tell another size and have no request.
func (d *download) ask(reqs context.Context, now scheduler.Time) {
	if d.err != nil || !d.identified || d.known.Size() < 0 || d.sizeBelieved(now) {
		return
	}
	for i := range d.links {
		if l := &d.links[i]; d.mayTellSize(l) && d.idle(l, now) {
			d.askEnd(reqs, l.id)
		}
	}
}

// askFirst asks the links for the first byte whose first responses are waited for and that have no
// request.
func (d *download) askFirst(reqs context.Context, now scheduler.Time) {
	for i := range d.links {
		l := &d.links[i]
		if l.usable() && !l.responses.answered && !l.use.banned && !l.use.resting && !l.responses.unlikely && d.idle(l, now) {
			d.askEnd(reqs, l.id)
		}
	}
}

// idle says whether a link has no request, and may have one.
func (d *download) idle(l *linkState, now scheduler.Time) bool {
	return now >= max(l.claim.nextQuestion, l.responses.notBefore) &&
		!slices.ContainsFunc(d.transfers, func(t *transfer) bool { return t.link == l.id && (!t.released || t.resp == nil) })
}

// askEnd asks a link what is behind the end.
func (d *download) askEnd(reqs context.Context, id scheduler.LinkID) {
	t := d.newProbe(id)
	t.first, t.off = true, max(0, d.known.Size())
	t.end.Store(t.off + 1)
	d.launch(reqs, t)
}

// readsBody says whether the body of the response to a question is read, as only its end tells the size,
// and prepares for that.
func (d *download) readsBody(t *transfer, resp *fetch.Response) bool {
	size := d.known.Size()
	t.objectKnown = d.identified
	if !d.identified && d.tellsSize(resp) {
		d.links[t.link].claims(resp.Object.Size)
	}
	if !d.identified || d.sizeBelieved(d.e.now()) || !resp.Whole || resp.Object.Size >= 0 || !d.tellsSize(resp) {
		return false
	}
	if size > readMost && !d.links[t.link].claim.larger {
		return false
	}
	t.resp, t.taken, t.progress = resp, true, d.e.now()
	t.off, t.to = 0, countingSink{d.to}
	t.end.Store(size + 1)
	return true
}

// endQuestion takes the end of a question.
func (d *download) endQuestion(reqs context.Context, t *transfer, err error) diagnosis {
	end := diagnosis{outcome: event.OutcomeCancelled}
	withdrawn := classOf(err) == fetch.Canceled && !errors.Is(err, fetch.ErrStalled)
	if withdrawn || d.err != nil || context.Cause(reqs) != nil || d.sizeBelieved(d.e.now()) { // nobody wants to know
		return end
	}
	l := &d.links[t.link]
	switch {
	case errors.Is(err, errRefused): // it was heard
		l.claim.heard = t.objectKnown
	case t.taken && (err == nil || t.got.Load() > d.known.Size()):
		d.hearBody(t)
	default:
		d.hearFailure(reqs, t, err)
	}
	if d.err == nil && d.identified && l.claim.larger && d.known.Size() == 0 && !l.claim.heard {
		d.outvote() // of two links that disagree, the one that tells an empty object is believed less
	}
	return end
}

// hearBody takes what the length of a body tells of the object's size.
func (d *download) hearBody(t *transfer) {
	size, got := d.known.Size(), t.got.Load()
	if d.first.page || got > size { // a portal's page, while another link's server sends something else
		d.outvote()
		return
	}
	d.links[t.link].claim.heard = true // also of a smaller one, which the bytes that are there contradict
	if got == size {
		d.vote.confirm(t.link, d.job.URL, d.e.trust)
	}
}

// hearFailure takes what the failure of a question tells of the object's size.
func (d *download) hearFailure(reqs context.Context, t *transfer, err error) {
	l := &d.links[t.link]
	fe, ok := errors.AsType[*fetch.Error](err)
	beyond := ok && fe.Class == fetch.Unsatisfied && fe.Object != nil
	switch {
	case beyond && !d.identified:
		l.responses.answered = true
		l.claims(fe.Object.Size)
	case beyond && fe.Object.Size >= 0:
		d.hearSize(reqs, t.link, claimOf(fe.Object), 0)
		l.claim.heard = true // also where it has told a larger size: there is nothing behind the end
	case ok && fe.Class != fetch.Canceled && permanent(fe, true) && !fetch.MayRefuseRange(err) && fe.Status != http.StatusForbidden: // which may be a bound on requests
		l.claim.heard = true
		d.lose(reqs, t.link, err)
	default:
		l.claim.questions++
		l.claim.heard = d.e.cfg.Tries > 0 && l.claim.questions >= d.e.cfg.Tries // it will not
		l.claim.nextQuestion = d.e.now() + scheduler.Time(backoff(l.claim.questions))
	}
}

// countingSink is a sink whose bytes are only counted.
type countingSink struct{ sink }

func (countingSink) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (countingSink) stream() *streamSink                    { return nil }
