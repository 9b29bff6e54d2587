package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// hold puts a file off.
func (b *batch) hold(reqs context.Context, f *entry, until scheduler.Time) {
	b.expect(reqs, b.expected+max(1, b.likely(f))) // before the scheduler sees nothing more to do
	b.withdraw(reqs, f)
	f.fate = held
	b.wait(f, until)
}

// wait enters a file among those that wait.
func (b *batch) wait(f *entry, until scheduler.Time) {
	f.due = until
	if !slices.Contains(b.held, f) {
		b.held = append(b.held, f)
	}
}

// putOff puts off what nobody is bringing yet of a file, and says whether there are
// requests for it that are being answered: they go on.
func (b *batch) putOff(reqs context.Context, f *entry, until scheduler.Time) bool {
	var coming []scheduler.Range // addresses
	for _, t := range b.transfers {
		if t.file == f && t.resp != nil && !t.released && !t.duplicate {
			coming = append(coming, scheduler.Range{Off: t.base + t.off, End: t.base + t.end.Load()})
		}
	}
	if f.fate != running || f.size < 0 || len(coming) == 0 {
		return false
	}
	slices.SortFunc(coming, func(a, b scheduler.Range) int { return cmp.Compare(a.Off, b.Off) })
	b.expect(reqs, b.expected+max(1, b.likely(f)))
	for _, t := range b.transfers {
		if t.file == f {
			b.count(reqs, t)
		}
	}
	for i := range f.laid {
		p := &f.laid[i]
		for _, r := range without(b.core.Missing(p.at, nil), coming) {
			f.put = append(f.put, scheduler.Range{Off: p.offset(r.Off), End: p.offset(r.End)})
			b.step(reqs, scheduler.Input{Kind: scheduler.Voided, Piece: scheduler.Piece{Range: r}})
		}
	}
	b.wait(f, until)
	return true
}

// without is what of some ranges lies in none of others. Both are in order.
func without(ranges, others []scheduler.Range) (rest []scheduler.Range) {
	for _, r := range ranges {
		for _, o := range others {
			if o.End <= r.Off || o.Off >= r.End {
				continue
			}
			if o.Off > r.Off {
				rest = append(rest, scheduler.Range{Off: r.Off, End: o.Off})
			}
			r.Off = min(o.End, r.End)
		}
		if !r.Empty() {
			rest = append(rest, r)
		}
	}
	return rest
}

// resume lays out what of a file was put off.
func (b *batch) resume(reqs context.Context, f *entry) {
	for _, r := range f.put {
		b.add(reqs, f, r.Off, r.Len(), false)
	}
	f.put = nil
}

// later puts off, or gives up, those files of a site of which nothing has been asked
// for, because of what came of another one.
func (b *batch) later(reqs context.Context, s *site, err error) {
	for _, f := range b.entries {
		switch {
		case f.site != s || f.fate != running || f.begun && s.dead == nil:
		case s.dead != nil:
			b.giveUp(reqs, f, err)
		default:
			b.hold(reqs, f, s.notBefore)
		}
	}
	if s.dead == nil {
		return
	}
	for _, f := range b.held {
		if f.site == s {
			f.fate, f.why = failed, err
			b.unsettled = append(b.unsettled, f)
		}
	}
	b.held = slices.DeleteFunc(b.held, func(f *entry) bool { return f.fate != held && len(f.put) == 0 })
}

// release lays out the files whose time has come.
func (b *batch) release(reqs context.Context, now scheduler.Time) {
	due := false
	for _, f := range b.held {
		due = due || now >= f.due
	}
	if !due {
		return
	}
	b.held = slices.DeleteFunc(b.held, func(f *entry) bool {
		switch {
		case f.fate != held && len(f.put) == 0: // it has met its end meanwhile
			return true
		case now < f.due:
			return false
		case f.site.waits(now):
			f.due = max(f.site.notBefore, now+scheduler.Time(50*time.Millisecond))
			return false
		case f.fate == running:
			b.resume(reqs, f)
		default:
			b.lay(reqs, f)
		}
		b.unsettled = append(b.unsettled, f) // it may be that nothing was missing
		return true
	})
}

// giveUp ends a file, when its requests have ended.
func (b *batch) giveUp(reqs context.Context, f *entry, err error) {
	b.withdraw(reqs, f)
	f.fate, f.why = failed, err
	b.unsettled = append(b.unsettled, f)
}

// setAside leaves a file to a download of its own, when its requests have ended.
func (b *batch) setAside(reqs context.Context, f *entry, why string) {
	b.withdraw(reqs, f)
	f.fate = aside
	b.unsettled = append(b.unsettled, f)
	if why != "" {
		b.e.notice(false, "%s: %s; it is downloaded by itself", redact(f.job.URL), why)
	}
}
