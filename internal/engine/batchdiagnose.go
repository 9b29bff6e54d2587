package engine

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"syscall"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/errno"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
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
	// mayBeBoundMost is how often a file is asked for again, within some 4 s, that is forbidden while
	// others of its server are asked for: these may have been too many.
	mayBeBoundMost = 4
	// boundMost is the same where the server is known to bound requests: it may not have noticed yet
	// that the others are over.
	boundMost = 3 * mayBeBoundMost
	// excusedMost is how often a failure of one file may be put down to too many connections.
	excusedMost = 2
	// descriptorTries is how often a file may wait for descriptors.
	descriptorTries = 6
	// aliveTime is for how long a link that has brought bytes is not blamed for a failure.
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
	switch {
	case t.released && b.links[t.link].use.taken: // of one that never answered its files are told what the others say
		b.silence(reqs, t, err)
	case errors.Is(err, errThere) && f.state == running && !t.released:
		b.withdraw(reqs, f)
		f.state, f.remaining = finishing, nil
		return diagnosis{outcome: event.OutcomeCancelled}
	case err != nil && f.state != running:
		return diagnosis{outcome: event.OutcomeCancelled}
	}
	if end, ok := b.blameless(reqs, t, err); ok {
		return end
	}
	fe, foreign := errors.AsType[*fetch.Error](err)
	switch {
	case !foreign:
		return b.diskFailed(reqs, f, err)
	case fe.Class == fetch.Unsatisfied:
		return b.unsatisfied(reqs, t, fe)
	}
	return b.blameFor(reqs, t, fe, err)
}

// diskFailed handles an error of a file's output.
func (b *batch) diskFailed(reqs context.Context, f *file, err error) diagnosis {
	switch {
	case errors.Is(err, store.ErrLeft):
		b.goSolo(reqs, f, "")
		return diagnosis{outcome: event.OutcomeCancelled, retry: true}
	case errno.IsScarce(err) && f.noDescriptors < descriptorTries:
		f.noDescriptors++
		b.finalizer.scarce = true
		b.postpone(reqs, f, b.e.now()+scheduler.Time(backoff(f.noDescriptors)))
		return diagnosis{outcome: event.OutcomeStorage, retry: true}
	case full(err):
		b.fail(noRoom(err)) // none of the others will find room either
	}
	b.giveUp(reqs, f, err)
	return diagnosis{outcome: event.OutcomeStorage}
}

// blameFor is the diagnosis of a request that failed: of its server, its link or its file.
func (b *batch) blameFor(reqs context.Context, t *transfer, fe *fetch.Error, err error) diagnosis {
	f, outcome := t.file, outcomeOf(err)
	failure, answers := b.failureOf(t, err)
	cause := accept.Diagnose(&failure)
	if fe.Status == http.StatusForbidden && cause != accept.MaybeTooMany && f.forbidden.times >= b.boundMost(t) {
		f.site.over[t.link].forbids = !b.bounds(t)
	}
	switch cause {
	case accept.ServerFailed:
		return b.serverFailed(reqs, t, fe)
	case accept.FileWithoutRanges:
		f.site.odds++
		b.goSolo(reqs, f, "the server does not serve ranges of it")
		return diagnosis{outcome: outcome, retry: true}
	case accept.TooManyRequests:
		f.overloads++
		return diagnosis{outcome: outcome, retry: true, wait: backoffFirst, bounded: answers}
	case accept.MaybeTooMany:
		return b.forbidden(reqs, t)
	case accept.TooManyConns:
		f.excused++
		return diagnosis{outcome: outcome, retry: true, wait: backoffFirst}
	case accept.ServerBusy:
		return b.busy(reqs, t, fe)
	case accept.LinkFailed:
		return b.linkFailed(reqs, t, err)
	case accept.ServerSilent, accept.FileBroke, accept.NameUnresolved:
		return b.brokeOff(reqs, t, err, cause)
	case accept.FileOdd:
		b.goSolo(reqs, f, fe.Error())
		return diagnosis{outcome: outcome, retry: true}
	case accept.ServerElsewhere:
		if fe.Class == fetch.Refused {
			f.site.blamed.add(t.link) // the others may have servers of their own
			f.site.absent.add(t.link)
		}
	case accept.FileDenied:
	}
	return b.denied(reqs, t, err)
}

// failureOf is what is known of a failure, and how many other requests of its link the server answers.
func (b *batch) failureOf(t *transfer, err error) (f accept.Failure, answers int) {
	of, s := t.file, t.file.site
	over, since := &s.over[t.link], max(t.sent, b.e.now()-aliveTime)
	others, answers := b.otherRequests(t)
	if b.e.load.exceeds(t.url, t.link, b.inFlight(t.link)) {
		others++ // by files that are downloaded by themselves
	}
	dns := nameError(err)
	return accept.Failure{
		Err: err, Sized: of.size >= 0, OneTry: b.e.cfg.Tries == 1,
		Ranges: over.history(), Others: others, Overloads: of.overloads,
		Bounds: others > 0 && b.bounds(t), MayBound: b.mayBound(t, others),
		Spare:          of.excused < excusedMost && over.heard > 0 && b.onSpareConnection(t),
		CountsFailures: b.e.cfg.ErrorTries > 0, Elsewhere: b.mayWorkElsewhere(s, t.link, classOf(err)),
		Unresolved: dns != nil && (!s.answered || !named(of, dns)),
		LinkWorks:  b.links[t.link].traffic.lastByte >= since, ServerWorks: s.heardSince(since), ResponseCame: t.resp != nil,
	}, answers
}

// bounds says whether a server is known to bound the number of requests, when it forbids a file: it has
// served bytes of the file over the link, or has served another file that it had forbidden before.
func (b *batch) bounds(t *transfer) bool {
	return t.file.served.has(t.link) || t.file.site.over[t.link].bounds
}

// mayBound says whether a server that forbids a file may do so because it bounds the number of requests:
// there are others, or others have brought bytes since this one was sent. When a file stays forbidden,
// its server is taken to forbid files for good, unless it is known to bound requests.
func (b *batch) mayBound(t *transfer, others int) bool {
	times, known := t.file.forbidden.times, b.bounds(t)
	if !known && (t.file.site.over[t.link].forbids || others == 0 && b.links[t.link].traffic.lastByte < t.sent && times == 0 && !b.withdrewLately(t.link)) {
		return false
	}
	return times < b.boundMost(t)
}

// boundMost is how often a file may be forbidden because its server may bound requests.
func (b *batch) boundMost(t *transfer) int {
	if b.bounds(t) {
		return boundMost
	}
	return mayBeBoundMost
}

// forbidden puts a file off whose server may bound the number of requests. The file's own requests are
// withdrawn with it, so only others count as a reason, and of these only what the server serves: files
// that are forbidden themselves would be one another's excuse without end.
func (b *batch) forbidden(reqs context.Context, t *transfer) diagnosis {
	f, now := t.file, b.e.now()
	others := b.e.load.exceeds(t.url, t.link, b.inFlight(t.link)) || slices.ContainsFunc(b.transfers, func(other *transfer) bool {
		return other.link == t.link && other.file != f && other.file.site == f.site && other.got.Load() > 0
	})
	b.e.load.countForbidden(&f.forbidden, t.url, t.link, others)
	b.noteAnswer(t)
	b.postpone(reqs, f, now+scheduler.Time(backoff(min(f.forbidden.all, mayBeBoundMost))))
	return diagnosis{outcome: event.OutcomeStatus, retry: true, wait: backoffFirst}
}

// full says whether an error means that there is no room for any file. That there is less than one
// file takes says nothing about smaller ones.
func full(err error) bool {
	if se, ok := errors.AsType[*store.Error](err); ok && se.Op == store.Reserving {
		return false
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// brokeOff handles a failure of the network that is not the link's: the server's, if it is silent or
// its name does not resolve, and else the file's. Each link has name servers of its own: what one of
// them cannot resolve is asked of all by a download of its own.
func (b *batch) brokeOff(reqs context.Context, t *transfer, err error, cause accept.Cause) diagnosis {
	f := t.file
	if f.gained >= worthwhile {
		f.breaks = 0
	}
	f.gained = 0
	f.breaks++
	tries, dns := f.breaks, nameError(err)
	if cause == accept.ServerSilent || cause == accept.NameUnresolved && named(f, dns) {
		b.blame(f.site, t, err)
		b.postponeSite(reqs, f.site, err)
		tries = max(tries, f.site.failures) // for whichever of its files
	}
	switch {
	case f.state != running:
	case cause == accept.NameUnresolved && tries >= b.nameTries(t.link, dns):
		return b.denied(reqs, t, err)
	case cause != accept.NameUnresolved && f.breaks >= breaksMost:
		b.goSolo(reqs, f, err.Error())
	default:
		b.postpone(reqs, f, b.e.now()+scheduler.Time(backoff(f.breaks)))
	}
	return diagnosis{outcome: outcomeOf(err), retry: f.state != failed}
}

// dropsRanges says whether a server may refuse ranges by ending the connection: it has served none, and
// there is no other link to ask. It is then asked without a range.
func (b *batch) dropsRanges(t *transfer, err error) bool {
	return t.file.state == running && t.file.size >= 0 && b.e.cfg.Tries != 1 && !t.file.site.over[t.link].ranges && fetch.MayRefuseRange(err) &&
		b.others(t.link, func(l *linkState) bool { return l.usable() && !l.use.banned }) == 0
}

// linkFailed counts a failure against its link. It becomes the file's error if no link is left.
func (b *batch) linkFailed(reqs context.Context, t *transfer, err error) diagnosis {
	end := b.countFailure(t, err, b.e.cfg.Tries)
	t.file.lastFailure = firstError(end.lost, err)
	if end.lost != nil && b.dropsRanges(t, err) {
		b.goSolo(reqs, t.file, "the server does not serve ranges of it")
		end.retry, end.lost, end.wait = true, nil, 0
	}
	return end
}

// serverFailed handles an answer that the server has failed, before the file's first byte. A file may
// have Config.ErrorTries of them.
func (b *batch) serverFailed(reqs context.Context, t *transfer, fe *fetch.Error) diagnosis {
	f, now := t.file, b.e.now()
	b.noteAnswer(t)
	f.serverFailures++
	f.failedOver.add(t.link)
	if b.exhausted(f) {
		f.denied |= f.failedOver
		return b.denied(reqs, t, afterTries(fe, f.serverFailures))
	}
	wait := backoff(f.serverFailures)
	b.e.tellWait(redact(f.job.URL), fe, wait, 0)
	b.postpone(reqs, f, now+scheduler.Time(wait))
	return diagnosis{outcome: outcomeOf(fe), retry: true}
}

// exhausted says whether a file's server has failed as often as it may.
func (b *batch) exhausted(f *file) bool {
	return b.e.cfg.ErrorTries > 0 && f.serverFailures >= b.e.cfg.ErrorTries
}

// busy handles an answer that asks to come again later. The file is put off, and with it its site's
// other files if the answer says for how long; but where the file may be had over another link, the
// answer counts against this link alone.
func (b *batch) busy(reqs context.Context, t *transfer, fe *fetch.Error) diagnosis {
	f, now := t.file, b.e.now()
	b.noteAnswer(t)
	others := b.usable(t.link)
	if fe.RetryAfter > 0 {
		f.retryLinks.add(t.link)
		f.retryLinksAt = max(f.retryLinksAt, now+scheduler.Time(fe.RetryAfter))
	}
	switch waits := fe.RetryAfter > 0 && others&^f.denied != 0; { // it may hold for this link only
	case others&f.served != 0, waits && !b.heardElsewhere(f.site, t.link):
		f.deny(t.link, fe)
		return b.linkFailed(reqs, t, fe)
	case waits:
		return b.denied(reqs, t, fe)
	}
	f.askedLater++
	most := busyMost
	if n := b.e.cfg.Tries; n > 0 {
		most = min(most, n)
	}
	if f.askedLater >= most {
		return b.denied(reqs, t, afterTries(fe, f.askedLater))
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
func (b *batch) conclude(_ context.Context, t *transfer, finished bool, _ diagnosis) {
	f := t.file
	if t.probe {
		return
	}
	f.requests--
	if finished && !t.released {
		f.gained += t.got.Load()
		f.lastFailure = nil
	}
	b.unsettled = append(b.unsettled, f)
}
