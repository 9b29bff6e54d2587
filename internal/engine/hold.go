package engine

import (
	"context"
	"slices"
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// hold puts a file off.
func (b *batch) hold(reqs context.Context, f *entry, until scheduler.Time) {
	b.expect(reqs, b.expected+max(1, b.likely(f))) // before the scheduler sees nothing more to do
	b.withdraw(reqs, f)
	f.fate, f.due = held, until
	b.held = append(b.held, f)
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
	b.held = slices.DeleteFunc(b.held, func(f *entry) bool { return f.fate != held })
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
		case now < f.due:
			return false
		case f.site.waits(now):
			f.due = max(f.site.notBefore, now+scheduler.Time(50*time.Millisecond))
			return false
		}
		b.lay(reqs, f)
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
