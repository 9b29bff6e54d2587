package engine

import (
	"context"
	"slices"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// solosMost bounds how many files are downloaded by themselves at once.
	solosMost = 4
	// deniedSolosMost is that bound for files that a server has denied, while it has served none of them
	// over another link: most get the same answer over the other links.
	deniedSolosMost = 16
)

// solos are the files of a batch that are downloaded by themselves, as Download does, over connections of
// their own.
type solos struct {
	queue   []*file
	running int       // downloads in progress
	engines []*Engine // of those that have ended
}

// queueSolo hands a file over to a download of its own.
func (b *batch) queueSolo(reqs context.Context, f *file) {
	b.solos.queue = append(b.solos.queue, f)
	b.startSolos(reqs)
}

// startSolos begins those downloads that can be begun.
func (b *batch) startSolos(reqs context.Context) {
	a := &b.solos
	for len(a.queue) > 0 && a.running < solosAtOnce(a.queue[0]) && b.err == nil {
		f := a.queue[0]
		a.queue = append(a.queue[:0], a.queue[1:]...)
		e, err := b.soloEngine(f)
		if err = firstError(f.site.dead, err); err != nil {
			b.report(f, Result{Size: -1}, err)
			continue
		}
		begun, now := f.begun, b.e.now()
		f.begun = true
		job := *f.job
		job.Target.Late = job.Target.Rerun
		a.running++
		go func() {
			res, err := e.download(reqs, &job, begun)
			b.background <- func() { b.soloEnded(reqs, f, e, now, res, err) }
		}()
	}
}

// solosAtOnce is how many downloads may be in progress at once to begin that of f.
func solosAtOnce(f *file) int {
	if f.denied == 0 || slices.ContainsFunc(f.site.over, func(o siteOver) bool { return o.refuted > 0 }) {
		return solosMost
	}
	return deniedSolosMost
}

// soloEngine is an Engine for a file.
func (b *batch) soloEngine(f *file) (e *Engine, err error) {
	if n := len(b.solos.engines); n > 0 {
		e = b.solos.engines[n-1]
		b.solos.engines = b.solos.engines[:n-1]
	} else if e, err = New(b.e.cfg, b.e.links); err != nil {
		return nil, err
	}
	e.batch, e.trust, e.load = b.factsFor(f), b.e.trust, b.e.load
	return e, nil
}

// batchFacts are what a batch knows of a file that is downloaded by itself, and of the links.
type batchFacts struct {
	known     bool    // there is a batch: without it, the facts below are zero
	gone      []int64 // how often each link had arrived when it was given up; 0: it was not
	unlikely  linkSet // links over which no answer is to be expected
	failures  int     // answers that the file's server has failed
	disagree  linkSet // links over which several sizes were told
	reached   int64   // up to where bytes of the file were received
	reachedBy linkSet // links over which any were
}

// factsFor are those of a file at present.
func (b *batch) factsFor(f *file) batchFacts {
	facts := batchFacts{
		known: true, gone: make([]int64, len(b.links)),
		failures: f.serverFailures, disagree: f.disagree, reached: f.reached(), reachedBy: f.served,
	}
	for id := range b.links {
		l := &b.links[id]
		if l.lost() && !aboutRanges(l.err) || b.exhausted(f) && f.failedOver.has(l.id) {
			facts.gone[id] = l.seen.arrivals
		}
		told := (f.vote.agree | f.disagree).has(l.id)
		heard := max(l.traffic.lastByte, f.site.over[id].heard, scheduler.Time(b.e.load.over[id].response.Load()))
		if (l.use.banned || l.faults.countedAt > l.traffic.lastByte) && !told && (heard == 0 || b.e.now()-heard >= parkTime) {
			facts.unlikely.add(l.id)
		}
	}
	return facts
}

// soloEnded takes what came of a file that was downloaded by itself from a time on.
func (b *batch) soloEnded(reqs context.Context, f *file, e *Engine, begun scheduler.Time, res Result, err error) {
	b.solos.running--
	b.solos.engines = append(b.solos.engines, e)
	switch s := f.site; {
	case b.err != nil:
	case err == nil && f.denied != 0: // over another link
		s.works()
		b.refuted(reqs, f)
	case !s.answered && named(f, nameError(err)): // all links were asked
		s.dead = err
		b.postponeSite(reqs, s, err)
	case !s.answered && f.denied != 0 && noAnswer(err): // the same, but it may be so for a while only
		s.blamed = b.usable(scheduler.NoLink)
		s.absent = s.blamed
		b.blame(s, &transfer{exchange: exchange{sent: begun}}, err)
		b.postponeSite(reqs, s, err)
	}
	b.report(f, res, err)
	b.startSolos(reqs)
}

// noAnswer says whether a download failed since there was no answer.
func noAnswer(err error) bool {
	switch classOf(err) {
	case fetch.Network, fetch.Refused, fetch.Canceled: // the last after a stall
		return true
	default:
		return false
	}
}

// close closes the connections of those that have ended.
func (a *solos) close() {
	for _, e := range a.engines {
		e.Close()
	}
}
