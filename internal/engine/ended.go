package engine

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net"
	"net/http"
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
	lost    error         // its link is of no more use, because of this
	bounded int           // how many other requests of its link the server answers, for which it is too busy; 0: it is not
	fails   bool          // so are those over which its server has failed as well
	ends    int64         // the object ends here, before what was asked for, as far as is known; 0: nothing is
}

// ended books what a transfer came to, and does what follows.
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
		o.came(reqs, t, got)
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
	o.work.conclude(reqs, t, got, m.err == nil, end)
	if err := o.fruitless(t, m.err); err != nil {
		o.lose(reqs, t.link, err)
	}
}

// conclude tells the scheduler how a transfer ended. What it got counts, also
// when its link is lost with it.
func (d *download) conclude(reqs context.Context, t *transfer, got int64, finished bool, end diagnosis) {
	d.accountOf(t)
	switch {
	case t.released:
		return
	case t.probe:
		d.probed(t, finished)
	case t == d.single.by:
		d.endSingleStream(reqs, t, finished)
		d.links[t.link].faults.retryAt = d.e.now() + scheduler.Time(end.wait)
	case finished:
		d.step(reqs, scheduler.Input{Kind: scheduler.Finished, Link: t.link, Chunk: t.chunk, Bytes: got})
	case end.ends > 0:
		rtt := d.e.links[t.link].roundTrip(nil)
		d.step(reqs, scheduler.Input{Kind: scheduler.Beyond, Link: t.link, Chunk: t.chunk, Bytes: end.ends, RTT: rtt})
	default:
		wait := scheduler.Time(end.wait)
		if end.lost != nil {
			wait = 3600 * scheduler.Second // no new request before it is down
		}
		d.step(reqs, scheduler.Input{Kind: scheduler.Failed, Link: t.link, Chunk: t.chunk, Bytes: got, Wait: wait, Bounded: end.bounded})
	}
	if end.lost != nil {
		d.lose(reqs, t.link, end.lost)
	}
	if end.fails {
		d.loseFailing(reqs, end.lost)
	}
}

// diagnose says what it means that a transfer ended with err.
func (d *download) diagnose(reqs context.Context, t *transfer, err error) diagnosis {
	var fe *fetch.Error
	stalled := errors.Is(err, fetch.ErrStalled)
	asked, answers := d.otherRequests(t)
	if errors.As(err, &fe) && (fe.Class == fetch.Busy || fe.Status == http.StatusForbidden) {
		d.links[t.link].responses.declined = true
	}
	switch {
	case t.question() && !errors.Is(err, ErrCapped):
		return d.endQuestion(reqs, t, err)
	case t.released:
		d.hearDenial(reqs, t, err)
		d.silence(reqs, t, err)
		return diagnosis{outcome: event.OutcomeCancelled}
	case err == nil:
		return diagnosis{outcome: event.OutcomeDone}
	case d.err != nil:
		return diagnosis{outcome: event.OutcomeCancelled}
	case context.Cause(reqs) != nil:
		d.fail(context.Cause(reqs))
		return diagnosis{outcome: event.OutcomeCancelled}
	case errors.Is(err, errRefused) && t.refusal != nil:
		return d.linkFailed(t, event.OutcomeProtocol, t.refusal, 0)
	case errors.Is(err, errRefused):
		return diagnosis{outcome: event.OutcomeProtocol, retry: true}
	case stalled:
		return d.linkFailed(t, event.OutcomeNetwork, err, 0)
	case d.singleStream && errors.Is(err, ErrChanged):
		if !d.mayForget(t.link) {
			return diagnosis{outcome: event.OutcomeProtocol, lost: d.doubtedOr(err)}
		}
		d.forgetObject()
		return d.linkFailed(t, event.OutcomeProtocol, err, 0)
	case t.probe && classOf(err) != 0:
		return diagnosis{outcome: outcomeOf(classOf(err)), retry: true}
	case errors.Is(err, ErrCapped):
		return d.capped(t)
	case errors.Is(err, errLastDiffers) && d.proof.doubted:
		d.otherObject(reqs, t, err.Error())
		return diagnosis{outcome: event.OutcomeProtocol, retry: true}
	case errors.Is(err, errLastDiffers):
		d.startOver("the object changed since the last run")
		return diagnosis{outcome: event.OutcomeProtocol}
	case errors.Is(err, link.ErrWindow):
		return diagnosis{outcome: event.OutcomeCancelled, retry: true, lost: err}
	case !errors.As(err, &fe):
		d.fail(err)
		return diagnosis{outcome: event.OutcomeStorage}
	case fe.Class == fetch.Canceled: // its link was sent elsewhere
		return diagnosis{outcome: event.OutcomeCancelled, retry: true}
	case fe.Class == fetch.Unsatisfied:
		return d.unsatisfied(reqs, t, fe)
	case fe.Class == fetch.Busy && answers > 0, fe.Status == http.StatusForbidden && d.bounds(t):
		return diagnosis{outcome: outcomeOf(fe.Class), retry: true, wait: backoffFirst, bounded: answers}
	case d.excused(t):
		return diagnosis{outcome: outcomeOf(fe.Class), retry: true, wait: backoffFirst}
	case fe.Status == http.StatusForbidden && d.forbiddenForLoad(t):
		return diagnosis{outcome: event.OutcomeStatus, retry: true, wait: backoff(d.links[t.link].faults.forbidden.all)}
	case fe.Status == http.StatusForbidden && (asked > 0 || d.withdrewLately(t.link)): // it may bound how many there are
		return d.linkFailed(t, event.OutcomeStatus, err, 0)
	case permanent(fe, d.answeredBefore(t.link, fe.Class)):
		return diagnosis{outcome: outcomeOf(fe.Class), lost: err}
	}
	return d.linkFailed(t, outcomeOf(fe.Class), err, fe.RetryAfter)
}

// onSpareConnection says whether t got nothing on a connection that never brought anything,
// while others of its link did, or may: the server may bound how many there are.
// What it answers then counts against nobody.
func (o *owner) onSpareConnection(t *transfer) bool {
	l := &o.links[t.link]
	if !l.use.taken || l.conns.delivered&(1<<t.stream) != 0 || t.got.Load() > 0 {
		return false
	}
	return l.conns.delivered != 0 || slices.ContainsFunc(o.transfers, func(other *transfer) bool {
		return other.link == t.link && other.stream != t.stream
	})
}

// otherRequests is on how many streams of a request's link there are other requests for its server, or
// its site, and on how many of them it answers now. It may bound how many requests of a client it
// does. One of the same stream that is being answered has another connection.
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

// excused says whether a failure counts against nobody: it was needless, and others of
// its link are served, or may be, which is believed once of each stream.
func (d *download) excused(t *transfer) bool {
	if !d.onSpareConnection(t) {
		return false
	}
	l := &d.links[t.link]
	for s, heard := range l.conns.lastByte {
		if scheduler.StreamID(s) != t.stream && heard > 0 && heard > t.sent-aliveTime {
			return true
		}
	}
	if _, answers := d.otherRequests(t); answers > 0 {
		return true
	}
	before := l.conns.excused&(1<<t.stream) != 0
	l.conns.excused |= 1 << t.stream
	return !before
}

// bounds says whether a server that forbids what it serves over other connections of the link,
// now or a moment ago, may do so because there are too many of them.
func (d *download) bounds(t *transfer) bool {
	asked, answers := d.otherRequests(t)
	last := d.links[t.link].traffic.lastByte
	return answers > 0 || asked > 0 && last > 0 && d.e.now()-last < aliveTime
}

// withdrawnTime is for how long a server may be busy with a request that was withdrawn, of which it
// does not know yet.
const withdrawnTime = 30 * scheduler.Second

// withdrewLately says whether a server that forbids what is asked for over a link may do so because of a
// request that was withdrawn.
func (o *owner) withdrewLately(id scheduler.LinkID) bool {
	at := o.links[id].faults.withdrewAt
	return at > 0 && o.e.now()-at < withdrawnTime
}

// forbiddenForLoad says whether a file of a batch may be forbidden since others are asked for. It is
// taken to be forbidden for good when it stays so, as any other then.
func (d *download) forbiddenForLoad(t *transfer) bool {
	l := &d.links[t.link]
	if d.e.ofBatch && d.e.cfg.Tries != 1 && l.faults.forbidden.times < mayBeBoundMost && (t.hadCompany || d.e.load.exceeds(t.url, t.link, d.inFlight(t.link))) {
		d.e.load.countForbidden(&l.faults.forbidden, t.url, t.link, true)
		return true
	}
	if l.faults.forbidden.times > 0 {
		d.e.load.noteForbids(t.url, t.link)
	}
	return false
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

// answeredBefore says whether there was an answer before from where c says that there is
// nothing: a server that was up was up for all links, but each link has name
// servers of its own.
func (d *download) answeredBefore(id scheduler.LinkID, c fetch.Class) bool {
	if c == fetch.DNS {
		return d.links[id].responses.answered
	}
	return d.identified
}

const (
	// unresolvedTries is how often a link asks for a name before the first response.
	// A name that nobody resolves is mostly wrong, as wget and curl take it to be.
	unresolvedTries = 2
	// unannouncedTries is how often a link fetches all of an object whose end its server does
	// not announce: it will not the next time either.
	unannouncedTries = 2
)

// tries is how many failures in a row, the last of them err, lose a link; 0: no
// number does.
func (d *download) tries(err error) int {
	most, few := d.e.cfg.Tries, 0
	var unresolved *net.DNSError
	switch {
	case d.singleStream && errors.Is(err, fetch.ErrUnannounced):
		few = unannouncedTries
	case !d.identified && errors.As(err, &unresolved):
		few = unresolvedTries
	default:
		return most
	}
	if most == 0 {
		return few
	}
	return min(most, few)
}

// linkFailed counts a failure against its link.
func (d *download) linkFailed(t *transfer, outcome event.Outcome, err error, retryAfter time.Duration) diagnosis {
	l := &d.links[t.link]
	l.faults.dropped = l.faults.dropped || fetch.MayRefuseRange(err)
	if l.faults.serverFailed = !d.identified && failing(err); l.faults.serverFailed && t.sent >= l.faults.countedAt {
		if d.failures++; d.e.cfg.ErrorTries > 0 && d.failures >= d.e.cfg.ErrorTries {
			return diagnosis{outcome: outcome, lost: tried(err, d.failures), fails: true}
		}
	}
	return d.countFailure(t, outcome, err, retryAfter, d.tries(err))
}

// failing says whether an error is a server's answer that it has failed.
func failing(err error) bool {
	fe, ok := errors.AsType[*fetch.Error](err)
	return ok && fe.Failing()
}

// tried is an error that has come so often.
func tried(err error, times int) error {
	if times == 1 {
		return err
	}
	return fmt.Errorf("%w (after %d tries)", err, times)
}

// loseFailing takes out the links whose servers have failed, too, and need not be asked again.
func (d *download) loseFailing(reqs context.Context, err error) {
	for i := range d.links {
		id := scheduler.LinkID(i)
		inFlight := slices.ContainsFunc(d.transfers, func(t *transfer) bool { return t.link == id })
		if d.links[i].faults.serverFailed && !inFlight {
			d.lose(reqs, id, err)
		}
	}
}

// countFailure counts a failure against its link, which is lost with so many tries in
// a row; 0: with no number. The requests that were sent before the last one was
// counted fail with it.
func (o *owner) countFailure(t *transfer, outcome event.Outcome, err error, retryAfter time.Duration, tries int) diagnosis {
	l := &o.links[t.link]
	l.responses.notBefore = max(l.responses.notBefore, o.e.now()+scheduler.Time(retryAfter))
	if t.sent < l.faults.countedAt {
		return diagnosis{outcome: outcome, retry: true, wait: max(backoffFirst, retryAfter)}
	}
	l.faults.countedAt = o.e.now()
	if l.faults.gained >= worthwhile && !o.singleStream { // in whole mode everything is lost
		l.faults.inRow, o.e.waits = 0, 0
	}
	l.faults.gained = 0
	l.faults.inRow++
	late := o.e.cfg.RetryFor > 0 && l.faults.countedAt >= o.e.cfg.RetryFor
	if late || tries > 0 && l.faults.inRow >= tries {
		return diagnosis{outcome: outcome, lost: tried(err, l.faults.inRow)}
	}
	wait := max(backoff(l.faults.inRow), retryAfter)
	o.e.tellWait(o.e.links[t.link].Name(), err, wait, tries-l.faults.inRow)
	return diagnosis{outcome: outcome, retry: true, wait: wait}
}

// longWait is from how long a wait on one is told why, without -v, too.
const longWait = 5 * time.Second

// maxWaits is how many long waits in a row are told without -v: the last of them says
// that there will be more.
const maxWaits = 3

// tellWait tells that a link, or a server's file, is waited for, why, and what follows:
// after the next try there are as many as left says; below 1: nobody counts them.
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

// silence counts a request that was withdrawn since its link was silent as a failure of the link:
// else two such links would take over from each other for ever.
func (o *owner) silence(reqs context.Context, t *transfer, err error) {
	if o.err != nil || context.Cause(reqs) != nil || !errors.Is(err, fetch.ErrStalled) {
		return
	}
	if end := o.countFailure(t, event.OutcomeNetwork, err, 0, o.e.cfg.Tries); end.lost != nil {
		o.lose(reqs, t.link, end.lost)
	}
}

// hearDenial takes what a 416 says of the object's size, to a request that was withdrawn.
func (d *download) hearDenial(reqs context.Context, t *transfer, err error) {
	fe, ok := errors.AsType[*fetch.Error](err)
	if d.err == nil && ok && fe.Class == fetch.Unsatisfied && fe.Object != nil {
		d.links[t.link].responses.answered = true
		d.hearSize(reqs, t.link, claimOf(fe.Object), 0)
	}
}

// unsatisfied handles a 416. Where the size is not known yet, a guess may lie
// behind the end: it is for a response with bytes to say where the end is, as
// links may reach different objects; until then the link may find out. Only when
// nothing is missing is there none.
func (d *download) unsatisfied(reqs context.Context, t *transfer, fe *fetch.Error) diagnosis {
	status := diagnosis{outcome: event.OutcomeStatus, lost: fe}
	size := int64(-1)
	if fe.Object != nil {
		size = fe.Object.Size
	}
	switch {
	case d.singleStream:
		return status
	case d.identified:
		switch {
		case size < 0 || !d.hearSize(reqs, t.link, claimOf(fe.Object), 0):
		case size != d.known.Size():
			d.links[t.link].responses.answered = true
			d.otherObject(reqs, t, "size differs")
			return diagnosis{outcome: event.OutcomeStatus}
		}
		return status
	case d.core.Size() >= 0: // as the journal says; the object is shorter now
		d.doubt()
		return status
	case size >= 0 && size < d.earlier.resumed:
		status.lost = fmt.Errorf("%w: %d bytes are there already, the object has %d", ErrLonger, d.earlier.resumed, size)
		return status
	case size >= 0 && size == d.earlier.resumed:
		// Nothing will answer 206 any more: this response is the object.
		d.links[t.link].responses.answered = true
		resp := &fetch.Response{Object: *fe.Object, EffectiveURL: fetch.WithoutUser(d.job.URL), Proto: "1.1"}
		if d.adopt(reqs, t, resp, true) {
			d.sized(reqs, size)
		}
		return diagnosis{outcome: event.OutcomeDone}
	case t.off == 0 && d.several(): // not even a first byte: others may have more of it
		return diagnosis{outcome: event.OutcomeStatus, lost: noFirstByte(fe)}
	case t.off == 0: // ask for the whole
		d.goSingleStream(t.link, nil)
		return diagnosis{outcome: event.OutcomeStatus, retry: true}
	case t.off == d.earlier.resumed && size < 0 && d.canRecheckLast():
		d.fail(errRecheckLast)
		return diagnosis{outcome: event.OutcomeStatus}
	case t.off == d.earlier.resumed: // nothing is missing, or nothing helps
		return status
	}
	l := &d.links[t.link]
	l.responses.answered = true
	l.claims(size)
	switch {
	case slices.ContainsFunc(d.doubts.responses, d.refuted):
		l.claim.awaited = true
		return diagnosis{outcome: event.OutcomeDone, wait: time.Millisecond} // it has to bring all of it
	case size > 0 && size <= t.off:
		return diagnosis{outcome: event.OutcomeDone, ends: size}
	}
	l.claim.awaited = true
	return diagnosis{outcome: event.OutcomeDone, wait: time.Second}
}
