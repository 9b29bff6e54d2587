package engine

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/errno"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// breaksMost is how many failures of the network in a row one file gets within
	// the batch, before it is downloaded by itself.
	breaksMost = 3
	// busyMost is how often a server may ask to come again later for one file, unless
	// Config.Tries is less.
	busyMost = 6
	// besideMost is how often a server may be too busy for one file because of others, or of
	// other parts of it: once for all connections, and then some.
	besideMost = 3 * scheduler.MaxStreams
	// mayBeBoundMost is how often a file that is forbidden while others of its server are
	// asked for is asked for again, within some 4 s: it may be that they were too many.
	mayBeBoundMost = 4
	// boundMost is the same where the server is known to bound requests, and there are no
	// others: it may not have noticed yet that they are over.
	boundMost = 3 * mayBeBoundMost
	// sparedMost is how often a failure of one file may be put down to a server that
	// bounds its connections.
	sparedMost = 2
	// lackedMost is how often a file may wait for descriptors.
	lackedMost = 6
	// aliveTime is for how long a link that has brought bytes is not to blame for a
	// failure.
	aliveTime = 2 * scheduler.Second
)

// diagnose implements work.
func (b *batch) diagnose(reqs context.Context, t *transfer, err error) diagnosis {
	f := t.file
	if t.probe {
		return b.endWitness(reqs, t, err)
	}
	if err != nil && !t.released {
		b.step(reqs, scheduler.Input{Kind: scheduler.Progress, Link: t.link, Chunk: t.chunk, Bytes: t.got.Load()})
	}
	var fe *fetch.Error
	asked, answers := b.otherRequests(t)
	if b.e.load.exceeds(t.url, t.link, b.inFlight(t.link)) {
		asked++ // by files that are downloaded by themselves
	}
	once := b.e.cfg.Tries == 1 // whoever wants that wants no other explanation either
	switch {
	case t.released:
		if b.links[t.link].use.taken { // of one that never answered its files are told what the others say
			b.silence(reqs, t, err)
		}
		return diagnosis{outcome: event.OutcomeCancelled}
	case err == nil:
		return diagnosis{outcome: event.OutcomeDone}
	case errors.Is(err, errThere) && f.state == running:
		b.withdraw(reqs, f)
		f.state, f.remaining = finishing, nil
		return diagnosis{outcome: event.OutcomeCancelled}
	case b.err != nil:
		return diagnosis{outcome: event.OutcomeCancelled}
	case context.Cause(reqs) != nil:
		b.fail(context.Cause(reqs))
		return diagnosis{outcome: event.OutcomeCancelled}
	case f.state != running:
		return diagnosis{outcome: event.OutcomeCancelled}
	case errors.Is(err, errRefused):
		return diagnosis{outcome: event.OutcomeProtocol, retry: true}
	case errors.Is(err, fetch.ErrStalled):
		return b.networkFailed(reqs, t, event.OutcomeNetwork, err)
	case errors.Is(err, ErrCapped):
		return b.capped(t)
	case errors.Is(err, link.ErrWindow):
		return diagnosis{outcome: event.OutcomeCancelled, retry: true, lost: err}
	case errors.Is(err, store.ErrLeft):
		b.goSolo(reqs, f, "")
		return diagnosis{outcome: event.OutcomeCancelled, retry: true}
	case errno.IsScarce(err) && f.noDescriptors < lackedMost:
		f.noDescriptors++
		b.postpone(reqs, f, b.e.now()+scheduler.Time(backoff(f.noDescriptors)))
		return diagnosis{outcome: event.OutcomeStorage, retry: true}
	case !errors.As(err, &fe):
		if full(err) {
			b.fail(noRoom(err)) // none of the others will find room either
		}
		b.giveUp(reqs, f, err)
		return diagnosis{outcome: event.OutcomeStorage}
	case fe.Class == fetch.Canceled: // its link was sent elsewhere
		return diagnosis{outcome: event.OutcomeCancelled, retry: true}
	case fe.Class == fetch.Unsatisfied:
		return b.unsatisfied(reqs, t, fe)
	case fe.Class == fetch.Busy && b.e.cfg.ErrorTries > 0 && f.size < 0 && fe.Failing() && (fe.Status != http.StatusServiceUnavailable || asked == 0 || once):
		return b.serverFailed(reqs, t, fe)
	case f.size >= 0 && (f.site.over[t.link].ignoresRanges() && fetch.MayRefuseRange(err) || !f.site.over[t.link].ranges && fetch.RefusesRange(err)):
		f.site.odds++
		b.goSolo(reqs, f, "the server does not serve ranges of it")
		return diagnosis{outcome: outcomeOf(fe.Class), retry: true}
	case !once && f.overloads < besideMost && asked > 0 && (fe.Class == fetch.Busy || fe.Status == http.StatusForbidden && b.bounds(t)):
		f.overloads++
		return diagnosis{outcome: outcomeOf(fe.Class), retry: true, wait: backoffFirst, bounded: answers}
	case !once && fe.Status == http.StatusForbidden && b.mayBound(t, asked):
		return b.forbidden(reqs, t)
	case !once && f.excused < sparedMost && f.site.over[t.link].heard > 0 && b.onSpareConnection(t):
		f.excused++
		return diagnosis{outcome: outcomeOf(fe.Class), retry: true, wait: backoffFirst}
	case fe.Class == fetch.Busy:
		return b.busy(reqs, t, fe)
	case fe.Class == fetch.TLS && b.trustedElsewhere(f.site, t.link):
		return b.denied(reqs, t, err)
	case fe.Class == fetch.Refused && !f.site.answered && b.usable(t.link)&^f.site.absent != 0:
		f.site.blamed.add(t.link) // the others may have servers of their own
		f.site.absent.add(t.link)
		return b.denied(reqs, t, err)
	case nameError(err) != nil && (!f.site.answered || !named(f, nameError(err))):
		return b.unresolved(reqs, t, err)
	case fe.Temporary() || fe.Class == fetch.DNS || fe.Class == fetch.TLS:
		return b.networkFailed(reqs, t, outcomeOf(fe.Class), err)
	case fe.Class == fetch.Protocol && fe.Status == 0:
		b.goSolo(reqs, f, fe.Error())
		return diagnosis{outcome: event.OutcomeProtocol, retry: true}
	}
	return b.denied(reqs, t, err)
}

// bounds says whether a server that forbids a file, while there are other requests, is known to
// bound their number: it has served some of the same file over the link, or another file
// after it had forbidden that.
func (b *batch) bounds(t *transfer) bool {
	return t.file.served.has(t.link) || t.file.site.over[t.link].bounds
}

// mayBound says whether a server that forbids a file may do so since it bounds the number of
// requests: there are so many others, or others brought bytes while it was asked. It is taken
// to forbid files for good when one stays forbidden, unless it is known to bound requests.
func (b *batch) mayBound(t *transfer, others int) bool {
	f, over := t.file, &t.file.site.over[t.link]
	known, most := b.bounds(t), mayBeBoundMost
	if known {
		most = boundMost
	}
	switch {
	case others == 0 && b.links[t.link].traffic.lastByte < t.sent && f.forbidden.times == 0 && !known && !b.withdrewLately(t.link), over.forbids && !known:
		return false
	case f.forbidden.times < most:
		return true
	}
	over.forbids = !known
	return false
}

// forbidden puts a file off whose server may bound its requests. Those of the file itself are
// withdrawn with it: only others make it the same refusal.
func (b *batch) forbidden(reqs context.Context, t *transfer) diagnosis {
	f, now := t.file, b.e.now()
	others := b.e.load.exceeds(t.url, t.link, b.inFlight(t.link)) || slices.ContainsFunc(b.transfers, func(other *transfer) bool {
		return other.link == t.link && other.file != f && other.file.site == f.site
	})
	b.e.load.countForbidden(&f.forbidden, t.url, t.link, others)
	f.site.answered, f.site.over[t.link].heard = true, now
	b.postpone(reqs, f, now+scheduler.Time(backoff(min(f.forbidden.all, mayBeBoundMost))))
	return diagnosis{outcome: event.OutcomeStatus, retry: true, wait: backoffFirst}
}

// full says whether an error is about room that is used up, for this file and all
// others. That there is less than all of one takes says nothing about smaller ones.
func full(err error) bool {
	if se, ok := errors.AsType[*store.Error](err); ok && se.Op == store.Reserving {
		return false
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// networkFailed handles a failure of the network: the link's, if nothing came over it of
// late, the site's, if it does not answer while the link works, and else the file's.
func (b *batch) networkFailed(reqs context.Context, t *transfer, outcome event.Outcome, err error) diagnosis {
	f, now := t.file, b.e.now()
	since := max(t.sent, now-aliveTime)
	c := classOf(err)
	answers := f.site.heardSince(since)
	there := c == fetch.Refused || c == fetch.TLS || errors.Is(err, fetch.ErrNoHandshake) // somebody is
	works := b.links[t.link].traffic.lastByte >= since || !answers && there
	if !works {
		return b.linkFailed(reqs, t, outcome, err)
	}
	if f.gained >= worthwhile {
		f.breaks = 0
	}
	f.gained = 0
	f.breaks++
	if t.resp == nil && !answers {
		b.blame(f.site, t, err)
		b.postponeSite(reqs, f.site, err)
	}
	switch {
	case f.state != running:
	case f.breaks >= breaksMost:
		b.goSolo(reqs, f, err.Error())
	default:
		b.postpone(reqs, f, now+scheduler.Time(backoff(f.breaks)))
	}
	return diagnosis{outcome: outcome, retry: f.state != failed}
}

// dropsRanges says whether the server of the only link that answers may refuse ranges by ending
// the connection: it has served none, and is to be asked without.
func (b *batch) dropsRanges(t *transfer, err error) bool {
	return t.file.state == running && t.file.size >= 0 && b.e.cfg.Tries != 1 && !t.file.site.over[t.link].ranges && fetch.MayRefuseRange(err) &&
		b.others(t.link, func(l *linkState) bool { return l.usable() && !l.use.banned }) == 0
}

// linkFailed counts a failure against its link. It is what its file is told, should no link be
// left.
func (b *batch) linkFailed(reqs context.Context, t *transfer, outcome event.Outcome, err error) diagnosis {
	var retryAfter time.Duration
	if fe, ok := errors.AsType[*fetch.Error](err); ok {
		retryAfter = fe.RetryAfter
	}
	end := b.countFailure(t, outcome, err, retryAfter, b.e.cfg.Tries)
	t.file.lastFailure = first(end.lost, err)
	if end.lost != nil && b.dropsRanges(t, err) {
		b.goSolo(reqs, t.file, "the server does not serve ranges of it")
		return diagnosis{outcome: outcome, retry: true}
	}
	return end
}

// serverFailed handles an answer that a server has failed, before the file's first byte: of those
// there are few, whatever else the server serves.
func (b *batch) serverFailed(reqs context.Context, t *transfer, fe *fetch.Error) diagnosis {
	f, now := t.file, b.e.now()
	b.links[t.link].responses.answered, f.site.answered = true, true
	f.site.over[t.link].heard = now
	f.serverFailures++
	f.failedOver.add(t.link)
	if b.exhausted(f) {
		f.denied |= f.failedOver
		return b.denied(reqs, t, tried(fe, f.serverFailures))
	}
	wait := backoff(f.serverFailures)
	b.e.tellWait(redact(f.job.URL), fe, wait, 0)
	b.postpone(reqs, f, now+scheduler.Time(wait))
	return diagnosis{outcome: outcomeOf(fe.Class), retry: true}
}

// exhausted says whether a file's server has failed as often as it may.
func (b *batch) exhausted(f *file) bool {
	return b.e.cfg.ErrorTries > 0 && f.serverFailures >= b.e.cfg.ErrorTries
}

// busy puts a file off whose server asks for it, and its site's others if it says
// for how long. What it says over one link holds for the file only when no other link
// has better news of it.
func (b *batch) busy(reqs context.Context, t *transfer, fe *fetch.Error) diagnosis {
	f, now := t.file, b.e.now()
	b.links[t.link].responses.answered, f.site.answered = true, true
	f.site.over[t.link].heard = now
	others := b.usable(t.link)
	if fe.RetryAfter > 0 {
		f.retryLinks.add(t.link)
		f.retryLinksAt = max(f.retryLinksAt, now+scheduler.Time(fe.RetryAfter))
	}
	switch waits := fe.RetryAfter > 0 && others&^f.denied != 0; { // it may be said of one link only
	case others&f.served != 0, waits && !b.heardElsewhere(f.site, t.link):
		f.deny(t.link, fe)
		return b.linkFailed(reqs, t, event.OutcomeStatus, fe)
	case waits:
		return b.denied(reqs, t, fe)
	}
	f.askedLater++
	most := busyMost
	if n := b.e.cfg.Tries; n > 0 {
		most = min(most, n)
	}
	if f.askedLater >= most {
		return b.denied(reqs, t, tried(fe, f.askedLater))
	}
	wait := max(backoff(f.askedLater), fe.RetryAfter)
	if now >= f.site.notBefore { // or it has been told of another file of the site
		b.e.tellWait(redact(f.job.URL), fe, wait, most-f.askedLater)
	}
	if fe.RetryAfter > 0 {
		f.site.notBefore = max(f.site.notBefore, now+scheduler.Time(wait))
		b.postponeSite(reqs, f.site, fe)
	}
	if until := now + scheduler.Time(wait); f.state == running && !b.postponeRest(reqs, f, until) {
		b.postpone(reqs, f, until)
	}
	return diagnosis{outcome: event.OutcomeStatus, retry: true}
}

// unsatisfied handles a 416: the file is empty, or is not what it was taken to be.
func (b *batch) unsatisfied(reqs context.Context, t *transfer, fe *fetch.Error) diagnosis {
	f := t.file
	if f.size < 0 && t.off == 0 && fe.Object != nil && fe.Object.Size == 0 {
		resp := &fetch.Response{Object: *fe.Object, EffectiveURL: fetch.WithoutUser(f.job.URL), Proto: "1.1"}
		f.site.answer(t.link, resp, b.e.now())
		b.firstResponse(reqs, t, resp, true)
		return diagnosis{outcome: event.OutcomeDone}
	}
	b.goSolo(reqs, f, fe.Error())
	return diagnosis{outcome: event.OutcomeStatus, retry: true}
}

// conclude implements work.
func (b *batch) conclude(reqs context.Context, t *transfer, got int64, finished bool, end diagnosis) {
	f := t.file
	if t.probe {
		return
	}
	f.requests--
	switch {
	case t.released:
	case finished:
		f.gained += got
		f.lastFailure = nil
		b.step(reqs, scheduler.Input{Kind: scheduler.Finished, Link: t.link, Chunk: t.chunk, Bytes: got})
	default:
		wait := scheduler.Time(end.wait)
		if end.lost != nil {
			wait = 3600 * scheduler.Second // no new request before it is down
		}
		b.step(reqs, scheduler.Input{Kind: scheduler.Failed, Link: t.link, Chunk: t.chunk, Bytes: got, Wait: wait, Bounded: end.bounded})
	}
	if end.lost != nil {
		b.lose(reqs, t.link, end.lost)
	}
	b.unsettled = append(b.unsettled, f)
}
