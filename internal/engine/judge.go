package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// A response passes three questions before a byte of it is kept. respond: is it doubtful, as a portal's
// page is? Then it waits until other links have answered (settleDoubts). adopt or fits: is it of the
// object that is known, or, if it is the first, what is the object? enterProof: what shows that, a
// validator or its bytes?

// parkTime is how long a doubtful response waits for the first responses of other links: a portal may be
// in front of one link, whose page is not the object.
const parkTime = 3 * scheduler.Second

// pageTime is the same for a page where the URL promises another kind of file: hardly anything but a
// portal answers so.
const pageTime = 30 * scheduler.Second

// respond implements work.
func (d *download) respond(reqs context.Context, m message) {
	asks := !m.t.probe || m.t.question() && m.resp.Whole
	if d.err == nil && !m.t.released && asks && !d.singleStream && d.doubtful(m) {
		d.doubts.responses = append(d.doubts.responses, m)
		d.startDoubts()
		return
	}
	d.reply(reqs, m)
}

// reply answers a response, unless the object is to be read from it as a single stream: then
// beginSingleStream does, when no other response is being written any more.
func (d *download) reply(reqs context.Context, m message) {
	take := d.judge(reqs, m)
	if d.single.first == nil || d.single.first.t != m.t {
		m.answer <- take
	}
}

// doubtful says whether a first response has to wait for what other links' servers say. It is the whole
// object where a range was asked for, or of another object than what is on disk, or encoded, as a proxy
// of one link may do; or, in clear, its link's server has told that the object ends before the first
// range, as portals' pages do, and no other link's server has told the same size.
func (d *download) doubtful(m message) bool {
	if d.identified {
		return false
	}
	verdict, _ := d.known.Judge(claimOf(&m.resp.Object))
	return d.oddity(m.resp) != nil || verdict == identity.Differs ||
		d.links[m.t.link].claim.size > 0 && !m.resp.Secure && !d.confirmed(m)
}

// confirmed says whether another link's server has told the same size as a response.
func (d *download) confirmed(m message) bool {
	return d.others(m.t.link, func(l *linkState) bool {
		return !l.lost() && l.claim.size > 0 && l.claim.size == m.resp.Object.Size
	}) != 0
}

// startDoubts notes since when there are doubts: a doubtful response, or a 416 that contradicts the
// journal.
func (d *download) startDoubts() {
	if d.doubts.since == 0 {
		d.doubts.since = d.e.now()
	}
}

func (d *download) inDoubt(t *transfer) bool {
	return slices.ContainsFunc(d.doubts.responses, func(m message) bool { return m.t == t })
}

// judge decides whether a response may be read.
func (d *download) judge(reqs context.Context, m message) (take bool) {
	t, resp := m.t, m.resp
	c := claimOf(&resp.Object)
	switch {
	case d.err != nil:
		return false
	case (!t.probe || t.question()) && d.identified && d.tellsSize(resp) && !d.hearSize(reqs, t.link, c, resp.End):
		return false
	case t.question():
		return d.readsBody(t, resp)
	case t.released:
		return false
	}
	t.noteResponse(resp)
	d.measure(reqs, t, resp)
	if d.singleStream {
		return d.judgeSingleStream(reqs, t, resp)
	}
	first := !d.identified
	verdict, what := d.known.Judge(c)
	switch {
	case first && resp.Object.Size < 0: // an object of unknown size cannot be divided into ranges
		d.goSingleStream(t.link, nil)
		return false
	case first && !d.adopt(reqs, t, resp, !resp.Whole), !first && !d.fits(reqs, m, verdict, what):
		return false
	}
	proven := verdict == identity.Proven || first && len(d.earlier.have) == 0 && !d.known.Blind() // the object is what this answer says
	if !d.enterProof(t, c, proven) {
		return false
	}
	t.taken = true
	if t.probe {
		return true
	}
	d.links[t.link].responses.wholes = 0
	d.first.followed = d.first.followed || !first
	d.tellOverlap(reqs)
	if first {
		d.sized(reqs, resp.Object.Size)
	}
	return d.take(reqs, t)
}

// fits says whether a response after the first one is of the same object and in ranges, where verdict
// and what (which validator differs) are how it compares with what is known.
func (d *download) fits(reqs context.Context, m message, verdict identity.Verdict, what string) bool {
	t, resp := m.t, m.resp
	switch {
	case resp.Whole && d.stoppedServingRanges(t.link) && verdict != identity.Differs:
		d.goSingleStream(t.link, &m)
	case resp.Whole && d.links[t.link].use.taken:
		t.refusal = noRanges() // it served them before: it may be one server of several
	case resp.Whole:
		d.lose(reqs, t.link, noRanges())
	case verdict == identity.Differs && d.questioned(t.link):
	case verdict == identity.Differs && d.madePerRequest(t):
		d.goSingleStream(t.link, nil)
	case verdict == identity.Differs:
		d.otherObject(reqs, t, what+" differs")
	case !t.probe && resp.End < min(t.off+t.overlap, t.end.Load()): // it serves too few bytes at once to compare them
		d.goSingleStream(t.link, nil)
	default:
		if verdict == identity.Proven {
			d.known.Learn(claimOf(&resp.Object))
		}
		return true
	}
	return false
}

// stoppedServingRanges notes that a link's server has sent the whole object for a range, and says whether
// the object is read as a single stream from now on: it has done so twice in a row, and no other link
// works that serves ranges.
func (d *download) stoppedServingRanges(id scheduler.LinkID) bool {
	d.links[id].responses.wholes++
	better := d.others(id, func(l *linkState) bool {
		return l.usable() && l.responses.wholes == 0 && l.faults.inRow < failingFrom && (l.use.taken || l.mayAnswer())
	})
	return better == 0 && d.links[id].responses.wholes > 1
}

// failingFrom is after how many failures in a row a link is no longer counted as one that works. Chosen
// by hand: an accident, and the same again.
const failingFrom = 3

// madePerRequest says whether the server seems to make the object anew for each request: the second
// response over the first one's link is of another object. It is believed where nothing would be lost.
func (d *download) madePerRequest(t *transfer) bool {
	return t.link == d.first.link && !t.probe && !d.first.followed && len(d.earlier.have) == 0 && d.e.routes[t.link].current(t.client)
}

// sized tells the scheduler the object's size, and resumes the links that had asked for bytes beyond
// the end.
func (d *download) sized(reqs context.Context, size int64) {
	for id := range d.links {
		if l := &d.links[id]; l.claim.awaited && !l.lost() {
			l.claim.awaited = false
			d.resumeLink(reqs, scheduler.LinkID(id))
		}
	}
	d.step(reqs, scheduler.Input{Kind: scheduler.Sized, Bytes: size})
}

// take begins to use the bytes of a response. false: the object ends before them.
func (o *owner) take(reqs context.Context, t *transfer) bool {
	o.markUsed(t.link)
	o.gather(t, o.endsSoon())
	o.tellShort(reqs, t)
	return !t.released
}

// markUsed notes that a link's bytes are taken.
func (o *owner) markUsed(id scheduler.LinkID) {
	if !o.links[id].use.taken {
		o.links[id].use.taken = true
		o.e.cfg.Bus.Publish(event.LinkChanged{At: o.e.now(), Link: id, State: event.LinkUsed, Reason: o.links[id].use.reason})
	}
}

// noRanges is why a link is given up whose server sends the whole object while those of other links
// serve ranges.
func noRanges() error { return &fetch.Error{Class: fetch.Protocol, Err: errNoRanges} }

// aPage is why a link is given up that seems to have a portal in front of it.
func aPage() error {
	return &fetch.Error{Class: fetch.Protocol, Err: errors.New("over this link there is a page instead of the file")}
}

var errNoRanges = errors.New("over this link the server ignores ranges")

// oddity is why a link is given up if its server is the only one that answers so; nil: nothing is odd.
func (d *download) oddity(resp *fetch.Response) error {
	switch {
	case resp.Whole:
		return noRanges()
	case resp.Object.Size < 0:
		return fmt.Errorf("%w: over this link the server does not tell the object's size", errNoRanges)
	case encodedUnasked(d.job, resp):
		return &fetch.Error{Class: fetch.Protocol, Err: fmt.Errorf("over this link it is encoded as %s", resp.Object.Encoding)}
	}
	return nil
}

// tellsSize says whether a response may tell the object's size: it is no portal's page, and was not
// encoded on the way.
func (d *download) tellsSize(resp *fetch.Response) bool {
	return !encodedUnasked(d.job, resp) && (!resp.Whole || !resp.Page)
}

// settleDoubts decides on doubtful responses. When the object is known from another response, they are
// judged by that. When one is no longer doubtful, it is taken. When every link has answered or has had
// its time, the best of them is taken.
func (d *download) settleDoubts(reqs context.Context, now scheduler.Time) {
	d.tellDoubted(reqs)
	d.dropDoubts(reqs)
	if d.doubts.since == 0 || d.err != nil || d.singleStream {
		return
	}
	if d.identified {
		responses := d.doubts.responses
		d.doubts = doubts{}
		for _, m := range responses {
			d.reply(reqs, m)
		}
		return
	}
	d.dropRefuted(reqs)
	d.dropDoubts(reqs) // those of links that are lost
	if i := slices.IndexFunc(d.doubts.responses, func(m message) bool { return !d.doubtful(m) || d.agreesWithWithdrawn(m) }); i >= 0 {
		d.believe(reqs, i)
		return
	}
	if d.waiting(now) {
		d.withdrawBlocking()
		d.askFirst(reqs, now)
		return
	}
	shorter := func(l *linkState) bool { return classOf(l.err) == fetch.Unsatisfied }
	switch best := d.doubts.responses; {
	case len(d.earlier.have) > 0 && d.others(scheduler.NoLink, shorter) != 0:
		d.startOver("the object changed since the last run, it is shorter now")
	case len(best) == 0:
		d.doubts.since = 0
	default:
		at := 0
		for i := range best {
			if d.isBetter(best[i], best[at]) {
				at = i
			}
		}
		d.believe(reqs, at)
	}
}

// dropRefuted gives up the links whose responses are known not to be the object.
func (d *download) dropRefuted(reqs context.Context) {
	d.doubts.responses = slices.DeleteFunc(d.doubts.responses, func(m message) bool {
		if !d.refuted(m) {
			return false
		}
		if d.tellsSize(m.resp) { // it is asked again, when the object is known
			d.links[m.t.link].claims(m.resp.Object.Size)
		}
		why := d.oddity(m.resp)
		if d.unexpectedPage(m) {
			why = aPage()
		}
		d.lose(reqs, m.t.link, why)
		m.answer <- false
		return true
	})
}

// withdrawBlocking withdraws doubtful responses, for a file of a batch, that seem to keep the server from
// answering over another link, because it serves few connections at a time. What they told of the object
// is kept, and of each link one is withdrawn.
func (d *download) withdrawBlocking() {
	if !d.e.batch.known {
		return
	}
	d.doubts.responses = slices.DeleteFunc(d.doubts.responses, func(m message) bool {
		l := &d.links[m.t.link]
		if !l.claim.withdrawn.Nothing() || len(d.earlier.have) > 0 || !m.resp.Whole || !m.resp.InTheWay() {
			return false
		}
		l.claim.withdrawn.Learn(claimOf(&m.resp.Object))
		m.answer <- false
		return true
	})
}

// agreesWithWithdrawn says whether a doubtful response with the whole object agrees with one over another link that
// was withdrawn, or would have to be withdrawn though its link is trusted at this server.
func (d *download) agreesWithWithdrawn(m message) bool {
	if len(d.earlier.have) > 0 || !m.resp.Whole || d.unexpectedPage(m) {
		return false
	}
	return m.resp.InTheWay() && d.e.trust.has(d.job.URL, m.t.link) || d.others(m.t.link, func(l *linkState) bool {
		v, _ := l.claim.withdrawn.Judge(claimOf(&m.resp.Object))
		return !l.lost() && !l.claim.withdrawn.Nothing() && v != identity.Differs
	}) != 0
}

// dropDoubts answers the doubtful responses whose requests were withdrawn. What they tell of the size
// counts, if the object is known.
func (d *download) dropDoubts(reqs context.Context) {
	dropped := d.doubts.responses
	d.doubts.responses = slices.DeleteFunc(slices.Clone(d.doubts.responses), func(m message) bool { return m.t.released })
	for _, m := range dropped {
		if m.t.released {
			d.reply(reqs, m)
		}
	}
}

// tellDoubted tells the scheduler that links with doubtful responses are not silent. Where a link rests
// it is not told: only their silence would wake that link.
func (d *download) tellDoubted(reqs context.Context) {
	for _, m := range d.doubts.responses {
		if !m.t.released && !m.t.probe && !slices.ContainsFunc(d.links, func(l linkState) bool { return l.use.resting }) {
			d.step(reqs, scheduler.Input{Kind: scheduler.Progress, Link: m.t.link, Chunk: m.t.chunk, Held: true})
		}
	}
}

// believe takes one of the doubtful responses.
func (d *download) believe(reqs context.Context, i int) {
	m := d.doubts.responses[i]
	if m.resp.Whole && !d.allResumed(m.resp.Object.Size) {
		d.goSingleStream(m.t.link, &m)
		return
	}
	d.doubts.responses = slices.Delete(d.doubts.responses, i, i+1)
	d.reply(reqs, m)
}

// isBetter says whether a doubtful response should be taken rather than another one: one with a range;
// no unexpected page; the larger one; one whose link may carry all of it, at a higher rate.
func (d *download) isBetter(m, than message) bool {
	switch {
	case !than.resp.Whole || !m.resp.Whole:
		return than.resp.Whole
	case d.unexpectedPage(m) != d.unexpectedPage(than):
		return d.unexpectedPage(than)
	case !m.resp.Page && !than.resp.Page && atLeast(m) != atLeast(than):
		return atLeast(m) > atLeast(than) // what ends has no bytes behind its end
	}
	a, b := d.e.links[m.t.link], d.e.links[than.t.link]
	if affords := a.allowance.affords(m.resp.Object.Size); affords != b.allowance.affords(than.resp.Object.Size) {
		return affords
	}
	most := func(l *Link) int64 { return cmp.Or(l.terms.Rate, math.MaxInt64) }
	return cmp.Or(cmp.Compare(most(a), most(b)), cmp.Compare(a.terms.Bandwidth, b.terms.Bandwidth)) > 0
}

// atLeast is how many bytes a response with the whole object has at least: one without a length is not
// taken to be empty.
func atLeast(m message) int64 {
	if size := m.resp.Object.Size; size >= 0 {
		return size
	}
	return 1
}

// unexpectedPage says whether a response is a page where the URL promises another kind of file.
func (d *download) unexpectedPage(m message) bool {
	return m.resp.Whole && m.resp.Page && !mayBePage(d.job.URL.Path)
}

// mayBePage says whether a path could be that of a page: its last element has no ending that tells the
// kind of a file, or one that pages have.
func mayBePage(p string) bool {
	switch ext := strings.ToLower(path.Ext(p)); ext {
	case ".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx", ".jsp", ".cgi", ".pl":
		return true
	default:
		return !strings.ContainsFunc(ext, unicode.IsLetter)
	}
}

// refuted says whether a doubtful response is known not to be the object: it is odd, and another size was
// told by a server that was asked for bytes beyond the end.
func (d *download) refuted(m message) bool {
	if d.oddity(m.resp) == nil {
		return false
	}
	size := m.resp.Object.Size
	if size < 0 { // its own server may tell the size in one response and not in the next
		size = cmp.Or(d.links[m.t.link].claim.size, -1)
	}
	return d.others(scheduler.NoLink, func(l *linkState) bool {
		other := l.id != m.t.link
		switch {
		case l.lost():
			return false
		case other && d.e.batch.disagree.has(l.id) && d.unexpectedPage(m): // before, its server has told the size of the file
			return true
		case l.claim.size <= 0:
			return false
		case l.claim.size != size && (size >= 0 || other):
			return true
		}
		return other && m.resp.Whole && len(d.earlier.have) > 0 && !d.allResumed(size) // its server has ranges, which what is there needs
	}) != 0
}

// waiting says whether doubtful responses still wait for a link that has not answered. One that was not
// asked, or is not likely to answer, is waited for only where much is at stake: bytes that are there
// already would be lost, or a portal's page would be taken for the object.
func (d *download) waiting(now scheduler.Time) bool {
	most, grave := parkTime, len(d.earlier.have) > 0
	if len(d.doubts.responses) > 0 && !slices.ContainsFunc(d.doubts.responses, func(m message) bool { return !d.unexpectedPage(m) }) {
		most, grave = pageTime, true
	}
	if now-d.doubts.since >= most {
		return false
	}
	return d.others(scheduler.NoLink, func(l *linkState) bool {
		likely := l.responses.asked && !l.use.resting && !l.responses.unlikely && !l.postponed(now)
		return l.left() && !l.responses.answered && !l.use.banned && (grave || likely)
	}) != 0
}
