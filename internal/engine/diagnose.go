package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// unresolvedTries is how often a link asks for a name before the first response.
	// A name that nobody resolves is mostly wrong, as wget and curl take it to be.
	unresolvedTries = 2
	// unannouncedTries is how often a link fetches all of an object to an end that its server does not
	// announce: it will not announce it the next time either.
	unannouncedTries = 2
)

// conclude implements work.
func (d *download) conclude(reqs context.Context, t *transfer, finished bool, end diagnosis) {
	d.accountOf(t)
	switch {
	case t.released:
	case t.probe:
		d.probed(t, finished)
	case t == d.single.by:
		d.endSingleStream(reqs, t, finished)
		d.links[t.link].faults.retryAt = d.e.now() + scheduler.Time(end.wait)
	}
	if t == d.single.by && !d.complete { // again
		d.single.by = nil
		d.single.link++
	}
	if end.fails {
		d.loseFailing(reqs, end.lost)
	}
}

// diagnose says what it means that a transfer ended with err.
func (d *download) diagnose(reqs context.Context, t *transfer, err error) diagnosis {
	fe, foreign := errors.AsType[*fetch.Error](err)
	if foreign && (fe.Class == fetch.Busy || fe.Status == http.StatusForbidden) {
		d.links[t.link].responses.declined = true
	}
	if t.question() && !errors.Is(err, ErrCapped) {
		return d.endQuestion(reqs, t, err)
	}
	if t.released {
		d.hear416(reqs, t, err)
		d.silence(reqs, t, err)
	}
	if end, ok := d.blameless(reqs, t, err); ok {
		return end
	}
	switch {
	case t.refusal != nil && errors.Is(err, errRefused):
		return d.linkFailed(t, t.refusal)
	case errors.Is(err, fetch.ErrStalled):
		return d.linkFailed(t, err)
	case d.singleStream && errors.Is(err, ErrChanged):
		if !d.mayReplaceKnown(t.link) {
			return diagnosis{outcome: event.OutcomeProtocol, lost: d.doubtedOr(err)}
		}
		d.forgetObject()
		return d.linkFailed(t, err)
	case t.probe && foreign:
		return diagnosis{outcome: outcomeOf(err), retry: true}
	case errors.Is(err, errLastDiffers) && d.proof.earlierUnproven:
		d.otherObject(reqs, t, err.Error())
		return diagnosis{outcome: event.OutcomeProtocol, retry: true}
	case errors.Is(err, errLastDiffers):
		d.startOver("the object changed since the last run")
		return diagnosis{outcome: event.OutcomeProtocol}
	case !foreign:
		d.fail(err)
		return diagnosis{outcome: event.OutcomeStorage}
	case fe.Class == fetch.Unsatisfied:
		return d.unsatisfied(reqs, t, fe)
	}
	return d.blameFor(t, fe, err)
}

// blameFor is the diagnosis of a request that failed. Each link may reach a server of its own, so a
// failure of the server or of the file counts against the link.
func (d *download) blameFor(t *transfer, fe *fetch.Error, err error) diagnosis {
	l := &d.links[t.link]
	outcome, forbidden := outcomeOf(err), fe.Status == http.StatusForbidden
	others, answers := d.otherRequests(t)
	spare := d.excusable(t)
	failure := accept.Failure{
		Err: err, Others: answers, Bounds: d.bounds(t), Spare: spare, MayBound: !spare && d.mayBound(t),
	}
	switch accept.Diagnose(&failure) {
	case accept.TooManyRequests:
		return diagnosis{outcome: outcome, retry: true, wait: backoffFirst, bounded: answers}
	case accept.TooManyConns:
		d.excuse(t)
		return diagnosis{outcome: outcome, retry: true, wait: backoffFirst}
	case accept.MaybeTooMany:
		d.e.load.countForbidden(&l.faults.forbidden, t.url, t.link, true)
		return diagnosis{outcome: outcome, retry: true, wait: backoff(l.faults.forbidden.all)}
	default:
	}
	if forbidden && l.faults.forbidden.times > 0 { // it stays so
		d.e.load.noteForbids(t.url, t.link)
	}
	mayBound := forbidden && (others > 0 || d.withdrewLately(t.link)) // the number of requests
	if !mayBound && permanent(fe, d.answeredBefore(t.link, fe.Class)) {
		return diagnosis{outcome: outcome, lost: err}
	}
	return d.linkFailed(t, err)
}

// excusable says whether a failure is put down to too many connections: this one has brought nothing,
// and others of its link are served. Where it is not known that they are, each stream is excused once.
func (d *download) excusable(t *transfer) bool {
	return d.onSpareConnection(t) && (d.othersServed(t) || d.links[t.link].conns.excused&(1<<t.stream) == 0)
}

// excuse notes that a failure was excused.
func (d *download) excuse(t *transfer) {
	if !d.othersServed(t) {
		d.links[t.link].conns.excused |= 1 << t.stream
	}
}

// othersServed says whether other connections of a request's link bring something, or have done so
// shortly before it was made.
func (d *download) othersServed(t *transfer) bool {
	for s, last := range d.links[t.link].conns.lastByte {
		if scheduler.StreamID(s) != t.stream && last > 0 && last > t.sent-aliveTime {
			return true
		}
	}
	_, answers := d.otherRequests(t)
	return answers > 0
}

// bounds says whether a server serves other connections of a link, or did so a moment ago: when it
// forbids a request, these may be too many.
func (d *download) bounds(t *transfer) bool {
	asked, answers := d.otherRequests(t)
	last := d.links[t.link].traffic.lastByte
	return answers > 0 || asked > 0 && last > 0 && d.e.now()-last < aliveTime
}

// mayBound says whether a file of a batch may be forbidden because others are asked for. When it stays
// forbidden, it is taken to be so for good.
func (d *download) mayBound(t *transfer) bool {
	return d.e.batch.known && d.e.cfg.Tries != 1 && d.links[t.link].faults.forbidden.times < mayBeBoundMost &&
		(t.hadCompany || d.e.load.exceeds(t.url, t.link, d.inFlight(t.link)))
}

// answeredBefore says whether a failure of class c contradicts an earlier answer: a server that has
// answered is there for all links, but each link has name servers of its own.
func (d *download) answeredBefore(id scheduler.LinkID, c fetch.Class) bool {
	if c == fetch.DNS {
		return d.links[id].responses.answered
	}
	return d.identified
}

// tries is after how many failures in a row, the last of them err, a link is given up; 0: never.
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
func (d *download) linkFailed(t *transfer, err error) diagnosis {
	l := &d.links[t.link]
	l.faults.dropped = l.faults.dropped || fetch.MayRefuseRange(err)
	fe, answered := errors.AsType[*fetch.Error](err)
	if l.faults.serverFailed = !d.identified && answered && fe.Failing(); l.faults.serverFailed && t.sent >= l.faults.countedAt {
		if d.failures++; d.e.cfg.ErrorTries > 0 && d.failures >= d.e.cfg.ErrorTries {
			return diagnosis{outcome: outcomeOf(err), lost: afterTries(err, d.failures), fails: true}
		}
	}
	return d.countFailure(t, err, d.tries(err))
}

// loseFailing gives up the links whose servers have failed as well, so that they are not asked again.
func (d *download) loseFailing(reqs context.Context, err error) {
	for i := range d.links {
		id := scheduler.LinkID(i)
		inFlight := slices.ContainsFunc(d.transfers, func(t *transfer) bool { return t.link == id })
		if d.links[i].faults.serverFailed && !inFlight {
			d.lose(reqs, id, err)
		}
	}
}

// hear416 takes what a 416 tells of the object's size in answer to a request that was withdrawn.
func (d *download) hear416(reqs context.Context, t *transfer, err error) {
	fe, ok := errors.AsType[*fetch.Error](err)
	if d.err == nil && ok && fe.Class == fetch.Unsatisfied && fe.Object != nil {
		d.links[t.link].responses.answered = true
		d.hearSize(reqs, t.link, claimOf(fe.Object), 0)
	}
}

// unsatisfied handles a 416 (RFC 9110, 15.5.17). Before the size is known, a range may be asked for that
// lies behind the end. What the 416 says of the size is noted, but a response with bytes has to confirm
// it, as links may reach different objects: until then the link waits. Where all bytes are there
// already, no such response will come.
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
		d.startDoubts()
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
