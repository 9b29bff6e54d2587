package engine

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	backoffFirst = 250 * time.Millisecond
	backoffMost  = 10 * time.Second
	// worthwhile is how many bytes between two failures make them two, and not
	// a row: a server that breaks off after each byte is not worth a connection
	// for every one of them.
	worthwhile = 16 << 10
)

// diagnosis is what a transfer's end means.
type diagnosis struct {
	outcome event.Outcome
	retry   bool          // what is missing will be asked for again, over this link too
	wait    time.Duration // before its link is asked again
	lost    error         // why its link is given up; nil: it is not
	fails   bool          // so are the other links over which the server has failed
	bounded int           // how many other requests of its link the server answers, being too busy for this one; 0: it is not too busy
	ends    int64         // the object ends at this byte, before what was asked for; 0: nothing is known of that
}

// ended takes the end of a transfer: it counts its bytes, diagnoses its error, publishes both and tells
// the scheduler.
func (o *owner) ended(reqs context.Context, m message) {
	t := m.t
	o.transfers = slices.DeleteFunc(o.transfers, func(other *transfer) bool { return other == t })
	t.cancel(errOver)
	t.ended = true
	t.hadCompany = o.e.load.end(t.url, t.link, t.resp != nil, t.endedBefore)
	got, last := t.got.Load(), scheduler.Time(t.lastByte.Load())
	useful := min(got, t.end.Load()-t.off)
	switch {
	case t.released:
		useful, last = min(useful, t.useful), t.reportedAt
	case m.err != nil && t.duplicate:
		useful = 0
	case t.question():
		useful = 0
	default:
		useful -= t.compared.Load()
	}
	vain := t.client.Vain() // of responses before it, too
	vain += t.overlapGot.Load()
	l := &o.links[t.link]
	l.traffic.received += got + vain
	l.traffic.wasted += got + vain - useful
	if !t.released && got > t.reported {
		o.received(reqs, t, got)
	}
	if t.released && t.resp == nil {
		l.faults.withdrewAt = o.e.now()
	}
	end := o.work.diagnose(reqs, t, m.err)
	ended := event.RequestEnded{
		At: o.e.now(), File: t.fileID, Link: t.link, Chunk: t.chunk, Off: t.off,
		Bytes: got + vain, Wasted: got + vain - useful,
		Outcome: end.outcome, Retry: end.retry, Sent: t.sent,
		FirstByte: scheduler.Time(t.firstByte.Load()), LastByte: last,
	}
	if m.err != nil && end.outcome != event.OutcomeDone && end.outcome != event.OutcomeCancelled {
		ended.Error = m.err.Error()
	}
	o.e.cfg.Bus.Publish(ended)
	o.work.conclude(reqs, t, m.err == nil, end)
	o.tellEnd(reqs, t, m.err == nil, end)
	if err := o.fruitless(t, m.err); err != nil {
		o.lose(reqs, t.link, err)
	}
}

// tellEnd tells the scheduler how a transfer ended, and gives its link up if that is the diagnosis. What
// it has received counts even so.
func (o *owner) tellEnd(reqs context.Context, t *transfer, finished bool, end diagnosis) {
	in := scheduler.Input{Kind: scheduler.Failed, Link: t.link, Chunk: t.chunk, Bytes: t.got.Load(), Wait: scheduler.Time(end.wait), Bounded: end.bounded}
	switch {
	case finished:
		in.Kind, in.Wait, in.Bounded = scheduler.Finished, 0, 0
	case end.ends > 0:
		in = scheduler.Input{Kind: scheduler.Beyond, Link: t.link, Chunk: t.chunk, Bytes: end.ends, RTT: o.e.links[t.link].leastRTT(nil)}
	case end.lost != nil:
		in.Wait = 3600 * scheduler.Second // no new request before it is down
	}
	if !t.released && !t.probe {
		o.step(reqs, in)
	}
	if end.lost != nil {
		o.lose(reqs, t.link, end.lost)
	}
}

// blameless is the diagnosis of a transfer that did not fail, or failed for a reason of ours; false: it
// is neither.
func (o *owner) blameless(reqs context.Context, t *transfer, err error) (end diagnosis, ok bool) {
	switch {
	case t.released, err != nil && o.err != nil:
		return diagnosis{outcome: event.OutcomeCancelled}, true
	case err == nil:
		return diagnosis{outcome: event.OutcomeDone}, true
	case context.Cause(reqs) != nil:
		o.fail(context.Cause(reqs))
		return diagnosis{outcome: event.OutcomeCancelled}, true
	case errors.Is(err, fetch.ErrStalled):
		return end, false
	case errors.Is(err, errRefused) && t.refusal == nil:
		return diagnosis{outcome: event.OutcomeProtocol, retry: true}, true
	case errors.Is(err, ErrCapped):
		return o.capped(t), true
	case errors.Is(err, link.ErrWindow):
		return diagnosis{outcome: event.OutcomeCancelled, retry: true, lost: err}, true
	case classOf(err) == fetch.Canceled: // its link was sent elsewhere
		return diagnosis{outcome: event.OutcomeCancelled, retry: true}, true
	}
	return end, false
}

// onSpareConnection says whether t got nothing on a connection that has never brought anything, while
// others of its link have, or may: the server may bound the number of connections. Its failure then
// counts against nobody.
func (o *owner) onSpareConnection(t *transfer) bool {
	l := &o.links[t.link]
	if !l.use.taken || l.conns.delivered&(1<<t.stream) != 0 || t.got.Load() > 0 {
		return false
	}
	return l.conns.delivered != 0 || slices.ContainsFunc(o.transfers, func(other *transfer) bool {
		return other.link == t.link && other.stream != t.stream
	})
}

// otherRequests counts the streams of a request's link on which the same server (of a batch: the same
// site) is asked for something else, and those on which it is answering. A server may bound how many
// requests of a client it answers. A request on the same stream that is being answered has a connection
// of its own.
func (o *owner) otherRequests(t *transfer) (asked, answers int) {
	inFlight, answered := uint64(0), uint64(0)
	for _, other := range o.transfers {
		if other == t || other.link != t.link || other.stream == t.stream && other.resp == nil || t.file != nil && other.file.site != t.file.site {
			continue
		}
		inFlight |= 1 << other.stream
		if other.resp != nil {
			answered |= 1 << other.stream
		}
	}
	return bits.OnesCount64(inFlight), bits.OnesCount64(answered)
}

// withdrawnTime is for how long a server may still count a request that was withdrawn. Chosen by hand.
const withdrawnTime = 30 * scheduler.Second

// withdrewLately says whether an unanswered request over a link was withdrawn a short time ago: its
// server may count it, and forbid others for that.
func (o *owner) withdrewLately(id scheduler.LinkID) bool {
	at := o.links[id].faults.withdrewAt
	return at > 0 && o.e.now()-at < withdrawnTime
}

// inFlight is how many requests there are over a link.
func (o *owner) inFlight(id scheduler.LinkID) (n int) {
	for _, t := range o.transfers {
		if t.link == id {
			n++
		}
	}
	return n
}

// afterTries is an error that has come so often.
func afterTries(err error, times int) error {
	if times == 1 {
		return err
	}
	return fmt.Errorf("%w (after %d tries)", err, times)
}

// countFailure counts a failure against its link, which is given up after so many in a row; 0: never.
// Requests that were sent before the last failure was counted are part of that failure.
func (o *owner) countFailure(t *transfer, err error, tries int) diagnosis {
	outcome, retryAfter := outcomeOf(err), time.Duration(0)
	if fe, ok := errors.AsType[*fetch.Error](err); ok {
		retryAfter = fe.RetryAfter
	}
	l := &o.links[t.link]
	l.responses.notBefore = max(l.responses.notBefore, o.e.now()+scheduler.Time(retryAfter))
	if t.sent < l.faults.countedAt {
		return diagnosis{outcome: outcome, retry: true, wait: max(backoffFirst, retryAfter)}
	}
	l.faults.countedAt = o.e.now()
	if l.faults.gained >= worthwhile && !o.singleStream { // a single stream begins anew: nothing is gained
		l.faults.inRow, o.e.waits = 0, 0
	}
	l.faults.gained = 0
	l.faults.inRow++
	late := o.e.cfg.RetryFor > 0 && l.faults.countedAt >= o.e.cfg.RetryFor
	if late || tries > 0 && l.faults.inRow >= tries {
		return diagnosis{outcome: outcome, lost: afterTries(err, l.faults.inRow)}
	}
	wait := max(backoff(l.faults.inRow), retryAfter)
	o.e.tellWait(o.e.links[t.link].Name(), err, wait, tries-l.faults.inRow)
	return diagnosis{outcome: outcome, retry: true, wait: wait}
}

// longWait is from how long a wait on one is told why, without -v, too.
const longWait = 5 * time.Second

// maxWaits is how many long waits in a row are told without -v. The last notice says that there may
// be more.
const maxWaits = 3

// tellWait tells the user that the next try of a link or a file waits, and why. left is how many tries
// there are after that; below 1: they are not counted.
func (e *Engine) tellWait(what string, why error, wait time.Duration, left int) {
	text := fmt.Sprintf("%s: %v; next try in %.1f s", what, why, wait.Seconds())
	if wait >= longWait {
		e.waits++
	}
	if e.waits == maxWaits && wait >= longWait {
		text += ", and so on"
		if left > 1 {
			text += fmt.Sprintf(", %d times at most (-t)", left)
		}
		text += "; -v tells of each"
	}
	e.notice(wait >= longWait && e.waits <= maxWaits, "%s", text)
}

// backoff is how long to wait after so many failures in a row, with jitter so
// that many clients of one server do not come back together.
func backoff(failures int) time.Duration {
	d := min(backoffMost, backoffFirst<<min(failures-1, 10))
	return d/2 + rand.N(d)
}

// silence counts a request that the scheduler withdrew from a silent link, which it has banned, as a
// failure of the link. Otherwise two silent links would take over from each other for ever.
func (o *owner) silence(reqs context.Context, t *transfer, err error) {
	if o.err != nil || context.Cause(reqs) != nil || !errors.Is(err, fetch.ErrStalled) {
		return
	}
	if end := o.countFailure(t, err, o.e.cfg.Tries); end.lost != nil {
		o.lose(reqs, t.link, end.lost)
	}
}
