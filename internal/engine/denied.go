package engine

import (
	"context"

	"github.com/mlget/mlget/pkg/scheduler"
)

// refutedFrom is after how many files in a row a link is given up whose server has denied them while other
// links had them.
const refutedFrom = 3

// denied is the diagnosis where the server of a link denies a file, for good or after many tries. Each link
// may reach a server of its own. If another link has had bytes of the file, this link has failed. If
// another link has not been asked, the file is downloaded by itself, which asks all. Otherwise it is the
// file's error.
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
		f.denied &^= f.retryLinks // these may serve it when their servers' pause is over
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

// refuted notes that a file was downloaded over other links than those whose servers have denied it, and
// gives up a link to which that has happened too often.
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

// heardElsewhere says whether another site has answered over a link.
func (b *batch) heardElsewhere(s *site, id scheduler.LinkID) bool {
	for _, other := range b.sites {
		if other != s && other.over[id].heard > 0 {
			return true
		}
	}
	return false
}

// usable are the links that can be asked, but for one.
func (b *batch) usable(but scheduler.LinkID) linkSet { return b.others(but, (*linkState).usable) }
