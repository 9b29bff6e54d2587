package engine

import (
	"context"

	"github.com/mlget/mlget/pkg/scheduler"
)

// refutedFrom is how many files in a row a link's server may deny that others had,
// before the link is given up.
const refutedFrom = 3

// denied decides what it means that the server of a link denies a file, for good or
// after many tries. Each link may have a server of its own: it is the file's error
// only if no usable link is left that has not been denied it. Where another one has
// served it, the link is to blame; where none has, a download of its own asks all.
func (b *batch) denied(reqs context.Context, t *transfer, err error) diagnosis {
	f, outcome := t.file, outcomeOf(err)
	f.deny(t.link, err)
	f.served.remove(t.link)
	others := b.usable(t.link)
	switch {
	case others&f.served != 0:
		return b.linkFailed(reqs, t, err)
	case others&^f.denied != 0:
		f.cause = err
		b.goSolo(reqs, f, err.Error())
		return diagnosis{outcome: outcome, retry: true}
	}
	later := f.retryLinks
	later.remove(t.link)
	if (f.retryLinks != 0 && f.askedLater < busyMost || later != 0 && f.askedLater == busyMost) && b.e.cfg.Tries != 1 {
		f.denied &^= f.retryLinks // it may be had where it was to be asked for later
		f.retryLinks = 0
		f.askedLater++
		b.postpone(reqs, f, f.retryLinksAt)
		return diagnosis{outcome: outcome, retry: true}
	}
	b.giveUp(reqs, f, err)
	return diagnosis{outcome: outcome}
}

// deny notes that the server of a link denies the file.
func (f *file) deny(id scheduler.LinkID, err error) {
	f.denied.add(id)
	f.denial = err
}

// refuted notes that a file was had over other links than those whose servers have
// denied it, and gives up a link of which that comes too often.
func (b *batch) refuted(reqs context.Context, f *file) {
	for i := range b.links {
		id := scheduler.LinkID(i)
		if !f.denied.has(id) || b.usable(id) == 0 {
			continue
		}
		if f.site.over[id].refuted++; f.site.over[id].refuted >= refutedFrom && !b.heardElsewhere(f.site, id) {
			b.lose(reqs, id, f.denial)
		}
	}
}

// heardElsewhere says whether a link is of use for other sites.
func (b *batch) heardElsewhere(s *site, id scheduler.LinkID) bool {
	for _, other := range b.sites {
		if other != s && other.over[id].heard > 0 {
			return true
		}
	}
	return false
}

// usable are the links that can still be asked, but for one.
func (b *batch) usable(but scheduler.LinkID) linkSet { return b.others(but, (*linkState).usable) }
