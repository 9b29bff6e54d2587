package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// witnessPause is how long a link is not asked again that could not be reached.
	witnessPause = 200 * scheduler.Millisecond
	// witnessTime is after what time without an answer another link is asked as well.
	witnessTime = 500 * scheduler.Millisecond
)

// The files of a batch are mostly asked for over one link each, so that no other link contradicts what
// its network says of a file's size (see trust.go). So for one file of an origin another link, the
// witness, is asked for a byte. Until it has agreed, complete files of that origin wait.

// witnesses is over which links a file's size was told, and asked for.
type witnesses struct {
	first scheduler.LinkID // over which it was told first
	asked linkSet          // that were asked, or are being asked
	retry linkSet          // of asked: those that have failed and may be asked again
	since scheduler.Time   // when it was told first
	busy  int              // answers of others that asked to come again later
}

// disputed notes that a link's server tells another size than others do.
func (f *file) disputed(id scheduler.LinkID) {
	f.disagree |= f.vote.agree
	f.disagree.add(id)
}

// believes says whether a file's size is believed. If not, other links are asked, and the file waits.
func (b *batch) believes(reqs context.Context, f *file) bool {
	v := &f.vote
	v.believed = v.believed || b.e.trust.has(f.job.URL, f.witnesses.first) || b.uncontested(reqs, f)
	if !v.believed && !slices.Contains(b.unconfirmed, f) {
		b.unconfirmed = append(b.unconfirmed, f)
	}
	return v.believed
}

// uncontested says whether there is no other link to ask about a file's size. Otherwise one is being
// asked, or will be.
func (b *batch) uncontested(reqs context.Context, f *file) bool {
	w, now := &f.witnesses, b.e.now()
	if t := f.site.witness; t != nil && now-t.sent < witnessTime || now < f.site.askAgain {
		return false
	}
	ids := b.witnessLinks(f)
	if len(ids) == 0 && w.retry != 0 && now-w.since < b.voteTime(f) { // while another one is silent
		w.asked &^= w.retry
		w.retry = 0
		ids = b.witnessLinks(f)
	}
	if len(ids) == 0 { // those that are being asked may yet answer
		return !slices.ContainsFunc(b.transfers, func(t *transfer) bool { return t.probe && (t.file == f || t == f.site.witness) })
	}
	t := b.newProbe(ids[0], f.job.ID, f.job.URL)
	t.file, t.first = f, true
	t.end.Store(1)
	f.site.witness = t
	w.asked.add(ids[0])
	b.launch(reqs, t)
	return false
}

// witnessLinks are the links to ask about a file that have not been, the nearest first.
func (b *batch) witnessLinks(f *file) []scheduler.LinkID {
	return b.nearest(func(l *linkState) bool {
		return l.id != f.witnesses.first && !f.witnesses.asked.has(l.id) && l.usable() && !l.use.resting
	})
}

// hearWitness takes what another link's server tells of a file, and whether it is a page: a portal's page
// may have the size of a file by chance.
func (b *batch) hearWitness(reqs context.Context, t *transfer, c identity.Claim, page bool) {
	f := t.file
	if f.vote.believed || b.err != nil {
		return
	}
	v, _ := f.known.Judge(c)
	switch {
	case f.state != running:
	case c.Size < 0:
		b.goSolo(reqs, f, "over another link the server does not tell its size")
	case page != f.page:
		f.disputed(t.link)
		b.goSolo(reqs, f, "over one link there is a page, over another one there is none")
	case v == identity.Differs && c.Size != f.size:
		f.disputed(t.link)
		b.goSolo(reqs, f, "over another link the server tells another size")
	default:
		f.vote.confirm(t.link, f.job.URL, b.e.trust)
	}
}

// endWitness takes the end of a request to a witness.
func (b *batch) endWitness(reqs context.Context, t *transfer, err error) diagnosis {
	if fe, ok := errors.AsType[*fetch.Error](err); ok && fe.Class == fetch.Unsatisfied && fe.Object != nil {
		b.hearWitness(reqs, t, claimOf(fe.Object), t.file.page)
	}
	f, now := t.file, b.e.now()
	if f.site.witness == t {
		f.site.witness = nil
	}
	switch c := classOf(err); c {
	case fetch.Network, fetch.DNS, fetch.Refused, fetch.Busy, fetch.Protocol: // it may answer the next time
		f.witnesses.retry.add(t.link)
		pause := witnessPause
		if c == fetch.Busy {
			f.witnesses.busy++
			f.site.over[t.link].heard = now
			pause = scheduler.Time(backoff(f.witnesses.busy))
		}
		if now-f.witnesses.since < b.voteTime(f) && len(b.witnessLinks(f)) == 0 {
			f.site.askAgain = now + pause
		}
	case fetch.Status, fetch.Auth:
		if f.state == running && !f.vote.believed && b.err == nil {
			b.goSolo(reqs, f, "over another link the server denies it")
		}
	default:
	}
	b.unsettled = append(b.unsettled, b.takeUnconfirmed(f.site)...)
	return diagnosis{outcome: event.OutcomeCancelled}
}

// takeUnconfirmed are the files of a site that wait to be believed.
func (b *batch) takeUnconfirmed(s *site) (files []*file) {
	b.unconfirmed = slices.DeleteFunc(b.unconfirmed, func(f *file) bool {
		if f.site == s {
			files = append(files, f)
		}
		return f.site == s
	})
	return files
}

// voteTime is how long other links have to contradict a file's size: longer where the file's site has
// answered over one of them, if only that it is too busy.
func (b *batch) voteTime(f *file) scheduler.Time {
	if b.others(f.witnesses.first, func(l *linkState) bool { return l.usable() && !l.use.resting && f.site.over[l.id].heard > 0 }) != 0 {
		return b.e.undecidedTime()
	}
	return parkTime
}

// watchVotes believes the sizes that no link has contradicted in time, and has other links asked when
// that is due.
func (b *batch) watchVotes(now scheduler.Time) {
	b.unconfirmed = slices.DeleteFunc(b.unconfirmed, func(f *file) bool {
		if f.vote.believed { // since it was last looked at
			b.unsettled = append(b.unsettled, f)
		}
		return f.vote.believed
	})
	for _, f := range b.unconfirmed {
		switch t := f.site.witness; {
		case now-f.witnesses.since >= b.voteTime(f):
			f.vote.believed = true
			if b.voteTime(f) == parkTime { // no other link answers: the origin's other files need not wait
				b.e.trust.add(f.job.URL, 1<<f.witnesses.first)
			}
			if t != nil {
				t.cancel(fetch.ErrStalled)
			}
			b.unsettled = append(b.unsettled, f)
		case t == nil && now >= f.site.askAgain, t != nil && now-t.sent >= witnessTime:
			b.unsettled = append(b.unsettled, f)
		}
	}
}
