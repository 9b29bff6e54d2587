package engine

import (
	"context"
	"slices"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// asidesAtOnce bounds how many files are downloaded by themselves at once.
	asidesAtOnce = 4
	// denialsAtOnce is that bound for files that a server has denied while nothing
	// speaks against it: most bring nothing but the same answer over the other links.
	denialsAtOnce = 16
)

// asides are the files of a batch that are downloaded by themselves, over connections
// of their own, with all that Download knows about servers that are odd.
type asides struct {
	done  chan asideEnd
	queue []*entry
	out   int       // downloads in progress
	idle  []*Engine // of those that have ended
}

// asideEnd is what came of one.
type asideEnd struct {
	f     *entry
	e     *Engine
	begun scheduler.Time
	res   Result
	err   error
}

// leave hands a file over to a download of its own.
func (b *batch) leave(reqs context.Context, f *entry) {
	b.asides.queue = append(b.asides.queue, f)
	b.nextAside(reqs)
}

// nextAside begins those downloads that can be begun.
func (b *batch) nextAside(reqs context.Context) {
	a := &b.asides
	for len(a.queue) > 0 && a.out < asidesLike(a.queue[0]) && b.err == nil {
		f := a.queue[0]
		a.queue = append(a.queue[:0], a.queue[1:]...)
		e, err := b.asideEngine(f)
		if err = first(f.site.dead, err); err != nil {
			b.report(f, Result{Size: -1}, err)
			continue
		}
		begun, now := f.begun, b.e.now()
		f.begun = true
		job := *f.job
		job.failures, job.disagree = f.failing, f.disagree
		job.reached, job.reachedBy = f.reached(), f.served
		job.Target.Late = job.Target.Rerun
		a.out++
		go func() {
			res, err := e.download(reqs, &job, begun)
			a.done <- asideEnd{f, e, now, res, err}
		}()
	}
}

// asidesLike is how many downloads may be in progress at once to begin that of f.
func asidesLike(f *entry) int {
	if f.denied == 0 || slices.ContainsFunc(f.site.over, func(o siteOver) bool { return o.refuted > 0 }) {
		return asidesAtOnce
	}
	return denialsAtOnce
}

// asideEngine is one that knows what the batch has learned of the links for a file.
func (b *batch) asideEngine(f *entry) (e *Engine, err error) {
	if n := len(b.asides.idle); n > 0 {
		e = b.asides.idle[n-1]
		b.asides.idle = b.asides.idle[:n-1]
	} else if e, err = New(b.e.cfg, b.e.links); err != nil {
		return nil, err
	}
	e.ofMany, e.deaf, e.trust, e.crowd = true, 0, b.e.trust, b.e.crowd
	for id := range b.links {
		l := &b.links[id]
		if e.gone[id] = 0; l.lost && !aboutRanges(l.err) || b.exhausted(f) && f.failedBy.has(scheduler.LinkID(id)) {
			e.gone[id] = l.seen.arrivals
		}
		told := (f.word.agree | f.disagree).has(scheduler.LinkID(id))
		heard := max(l.traffic.lastByte, f.site.over[id].heard, b.e.crowd.lastHeard(scheduler.LinkID(id)))
		if (l.banned || l.faults.countedAt > l.traffic.lastByte) && !told && (heard == 0 || b.e.now()-heard >= parkTime) {
			e.deaf.add(scheduler.LinkID(id))
		}
	}
	return e, nil
}

// asideEnded takes what came of a file that was downloaded by itself.
func (b *batch) asideEnded(reqs context.Context, a asideEnd) {
	b.asides.out--
	b.asides.idle = append(b.asides.idle, a.e)
	switch s := a.f.site; {
	case b.err != nil:
	case a.err == nil && a.f.denied != 0: // over another link
		s.there()
		b.refuted(reqs, a.f)
	case !s.answered && named(a.f, nameError(a.err)): // all links were asked
		s.dead = a.err
		b.later(reqs, s, a.err)
	case !s.answered && a.f.denied != 0 && nobody(a.err): // the same, but it may be so for a while only
		s.blamed = b.usable(scheduler.NoLink)
		s.absent = s.blamed
		b.blame(s, &transfer{exchange: exchange{sent: a.begun}}, a.err)
		b.later(reqs, s, a.err)
	}
	b.report(a.f, a.res, a.err)
	b.nextAside(reqs)
}

// nobody says whether a download failed since there was no answer.
func nobody(err error) bool {
	switch classOf(err) {
	case fetch.Network, fetch.Refused, fetch.Canceled: // the last after a stall
		return true
	default:
		return false
	}
}

// close closes the connections of those that have ended.
func (a *asides) close() {
	for _, e := range a.idle {
		e.Close()
	}
}
