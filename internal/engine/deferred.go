package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/pkg/scheduler"
)

// postpone puts a file off until a time.
func (b *batch) postpone(reqs context.Context, f *file, until scheduler.Time) {
	b.expect(reqs, b.supply.expected+max(1, b.likely(f))) // before the scheduler sees nothing more to do
	b.withdraw(reqs, f)
	f.state = deferred
	b.deferUntil(f, until)
}

// deferUntil enters a file among those that wait.
func (b *batch) deferUntil(f *file, until scheduler.Time) {
	f.deferredUntil = until
	if !slices.Contains(b.deferred, f) {
		b.deferred = append(b.deferred, f)
	}
}

// postponeRest puts off what of a file no request is bringing, and says whether there are such requests,
// which go on.
func (b *batch) postponeRest(reqs context.Context, f *file, until scheduler.Time) bool {
	var coming []scheduler.Range // addresses
	for _, t := range b.transfers {
		if t.file == f && t.resp != nil && !t.released && !t.duplicate {
			coming = append(coming, scheduler.Range{Off: t.base + t.off, End: t.base + t.end.Load()})
		}
	}
	if f.state != running || f.size < 0 || len(coming) == 0 {
		return false
	}
	slices.SortFunc(coming, func(a, b scheduler.Range) int { return cmp.Compare(a.Off, b.Off) })
	b.expect(reqs, b.supply.expected+max(1, b.likely(f)))
	for _, t := range b.transfers {
		if t.file == f {
			b.count(reqs, t)
		}
	}
	for i := range f.pieces {
		p := &f.pieces[i]
		for _, r := range without(b.core.Missing(p.at, nil), coming) {
			f.remaining = append(f.remaining, scheduler.Range{Off: p.offset(r.Off), End: p.offset(r.End)})
			b.step(reqs, scheduler.Input{Kind: scheduler.Voided, Piece: scheduler.Piece{Range: r}})
		}
	}
	b.deferUntil(f, until)
	return true
}

// without is ranges without the bytes of others. Both are sorted.
func without(ranges, others []scheduler.Range) []scheduler.Range {
	for _, o := range others {
		ranges = accept.Without(ranges, o)
	}
	return ranges
}

// postponeSite puts off the files of a site of which nothing was asked for, because of another one's
// failure, or gives up all of the site's files if the site is given up.
func (b *batch) postponeSite(reqs context.Context, s *site, err error) {
	for _, f := range b.files {
		switch {
		case f.site != s || f.state != running || f.begun && s.dead == nil:
		case s.dead != nil:
			b.giveUp(reqs, f, err)
		default:
			b.postpone(reqs, f, s.notBefore)
		}
	}
	if s.dead == nil {
		return
	}
	for _, f := range b.deferred {
		if f.site == s {
			f.state, f.cause = failed, err
			b.unsettled = append(b.unsettled, f)
		}
	}
	b.deferred = slices.DeleteFunc(b.deferred, func(f *file) bool { return !f.waits() })
}

// resumeDeferred lays out the files whose time has come.
func (b *batch) resumeDeferred(reqs context.Context, now scheduler.Time) {
	due := false
	for _, f := range b.deferred {
		due = due || now >= f.deferredUntil
	}
	if !due {
		return
	}
	b.deferred = slices.DeleteFunc(b.deferred, func(f *file) bool {
		switch {
		case !f.waits(): // it has ended meanwhile
			return true
		case now < f.deferredUntil:
			return false
		case f.site.waits(now):
			f.deferredUntil = max(f.site.notBefore, now+scheduler.Time(50*time.Millisecond))
			return false
		case f.state == running:
			b.layOutRemaining(reqs, f)
		default:
			b.layOut(reqs, f)
		}
		b.unsettled = append(b.unsettled, f) // nothing may have been missing
		return true
	})
}

// giveUp ends a file, when its requests have ended.
func (b *batch) giveUp(reqs context.Context, f *file, err error) {
	b.withdraw(reqs, f)
	f.state, f.cause = failed, err
	b.unsettled = append(b.unsettled, f)
}

// goSolo leaves a file to a download of its own, when its requests have ended.
func (b *batch) goSolo(reqs context.Context, f *file, why string) {
	b.withdraw(reqs, f)
	f.state = solo
	b.unsettled = append(b.unsettled, f)
	if why != "" {
		b.e.notice(false, "%s: %s; it is downloaded by itself", redact(f.job.URL), why)
	}
}
