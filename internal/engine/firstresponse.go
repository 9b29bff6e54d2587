package engine

import (
	"context"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// address implements work.
func (b *batch) address(t *transfer, at int64) {
	p := b.space.find(at)
	f := p.of
	t.file, t.url, t.fileID, t.base = f, f.job.URL, f.job.ID, p.at.Off-p.off
	t.first = f.size < 0 || f.got == 0 && at == t.base
	f.requests++
	b.publishStarted(f)
}

// wantsAnswer implements work.
func (*batch) wantsAnswer(*transfer) bool { return false }

// linkMoved implements work: what is known of sites over the link was learnt over another network.
func (b *batch) linkMoved(id scheduler.LinkID) {
	for _, s := range b.sites {
		s.over[id] = siteOver{}
	}
}

// respond implements work.
func (b *batch) respond(reqs context.Context, m message) {
	m.answer <- b.judge(reqs, m.t, m.resp)
}

// judge decides whether a response may be read.
func (b *batch) judge(reqs context.Context, t *transfer, resp *fetch.Response) (take bool) {
	f := t.file
	if t.probe {
		if resp.Object.Size < 0 && !resp.Page {
			f.disputed(t.link) // if the others' answer is a portal's page
		}
		b.hearWitness(reqs, t, claimOf(&resp.Object), resp.Page)
		return false
	}
	if b.err != nil || t.released || f.state != running {
		return false
	}
	t.noteResponse(resp)
	t.progress = b.e.now()
	b.measure(reqs, t, resp)
	if t.released || f.state != running {
		return false
	}
	if err := f.job.refuses(resp); err != nil {
		b.noteAnswer(t)
		b.giveUp(reqs, f, err)
		return false
	}
	f.site.answer(t.link, resp, t.progress)
	if why := b.unfit(f, t, resp); why != "" {
		if size := resp.Object.Size; f.size >= 0 && size != f.size && (size >= 0 || !resp.Page) {
			f.disputed(t.link)
		}
		if size := resp.Object.Size; size >= 0 && f.size < 0 && f.job.Size <= 0 {
			b.supply.sizes.add(size) // others are likely to be as large
		}
		b.goSolo(reqs, f, why)
		return false
	}
	if resp.Whole && !b.credible(f.site, t.link, resp.Object.Size) {
		b.doubt(reqs, f)
		b.doubtLink(reqs, t.link, f, resp.Page)
		return false
	}
	if f.size < 0 {
		b.firstResponse(reqs, t, resp, !resp.Whole)
	} else {
		f.known.Learn(claimOf(&resp.Object))
		f.vote.confirm(t.link, f.job.URL, b.e.trust)
	}
	if f.served.add(t.link); f.forbidden.times > 0 {
		f.site.over[t.link].bounds = true
	}
	f.denied.remove(t.link)
	return b.take(reqs, t)
}

// unfit is why a file needs a download of its own, as its response cannot be used within the batch; "":
// it can.
func (b *batch) unfit(f *file, t *transfer, resp *fetch.Response) string {
	c := claimOf(&resp.Object)
	verdict, what := f.known.Judge(c)
	var alone identity.Known // what is known after this answer
	alone.Learn(c)
	a := accept.Answer{
		Size: c.Size, Whole: resp.Whole, Blind: alone.Blind(), Encoded: encodedUnasked(f.job, resp) && b.linksLeft() > 1,
		Sized: f.size >= 0, Verdict: verdict, What: what, MayExist: f.mayExist,
		Off: t.off, End: t.end.Load(), Beside: f.requests > 1, Fits: b.space.fits(c.Size),
	}
	why, odd := a.Unfit()
	if odd {
		f.site.odds++
	}
	return why
}

const (
	// doubtTime is how long a file is put off whose first response could be a portal's page, until other
	// links have brought something from the same site, and doubtsMost how often.
	doubtTime  = parkTime / 6
	doubtsMost = 6
)

// doubt puts off a file that a link has brought whole where it was asked for a range. In the end a
// download of its own decides what to believe.
func (b *batch) doubt(reqs context.Context, f *file) {
	if f.doubts++; f.doubts > doubtsMost {
		b.goSolo(reqs, f, "the server has ignored the range asked for")
		return
	}
	b.postpone(reqs, f, b.e.now()+doubtTime)
}

// doubtLink gives up a link over which a site has ignored ranges too often that it serves over others:
// there may be a portal in front of it. Where it sends no page, the others may be the ones that lie,
// unless they are trusted.
func (b *batch) doubtLink(reqs context.Context, id scheduler.LinkID, f *file, page bool) {
	over := f.site.over
	if over[id].wholes < wholeFrom || over[id].ranges || b.e.trust.has(f.job.URL, id) {
		return
	}
	for other := range over {
		if over[other].ranges && scheduler.LinkID(other) != id && (page || f.job.URL.Scheme == "https" || b.e.trust.has(f.job.URL, scheduler.LinkID(other))) {
			err := noRanges()
			if page {
				err = aPage()
			}
			b.lose(reqs, id, err)
		}
	}
}

// firstResponse takes a file's first response, with which all others have to agree.
func (b *batch) firstResponse(reqs context.Context, t *transfer, resp *fetch.Response, ranges bool) {
	f := t.file
	f.known.Learn(claimOf(&resp.Object))
	f.name, f.page = resp.Object.Name, resp.Page
	f.output.id = f.known.Identity()
	f.vote = sizeVote{agree: 1 << t.link, believed: resp.Secure}
	f.witnesses = witnesses{first: t.link, since: b.e.now()}
	b.e.tellEncoding(f.job, resp)
	b.e.publishKnown(f.job.ID, resp, 0, ranges)
	b.sized(reqs, f, resp.Object.Size)
}
