package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// errDiffers says that bytes which are there already are others in an answer.
var errDiffers = fmt.Errorf("%w: its bytes differ from those received before", ErrChanged)

// singleStreamTries is how many tries for the whole object a link has at least that was given up because
// its connections ended: the first answer may be that the server is busy. Chosen by hand.
const singleStreamTries = 3

// goSingleStream has the object read as a single stream: from the response m, or, where that is nil, from
// a request that is still to be made over a link. All other transfers are withdrawn. What is there of
// the object is kept, and compared with what comes.
func (d *download) goSingleStream(id scheduler.LinkID, m *message) {
	d.singleStream, d.complete = true, false
	d.single.link, d.single.first = id, m
	for _, t := range d.transfers {
		if m == nil || t != m.t {
			t.released = true
			t.cancel(errReleased)
		}
	}
	d.doubts.responses = nil
	for i := range d.links { // those whose servers serve no ranges may serve the whole
		if l := &d.links[i]; d.mayServeSingleStream(l) {
			if aboutRanges(l.err) {
				l.faults.inRow = 0
			} else { // its connections ended, which may be how its server refuses ranges
				l.faults.inRow = max(0, l.faults.inRow-singleStreamTries)
			}
			l.err = nil
		}
	}
}

// beginSingleStream prepares for the stream, when no other answer is being written any more.
func (d *download) beginSingleStream(reqs context.Context) {
	if d.identified {
		d.single.kept = d.keeps()
	}
	if s := d.to.stream(); s != nil {
		d.single.kept = fromStart(s.Forget(prefix(d.single.kept)))
	}
	d.single.begun = true
	if m := d.single.first; m != nil {
		d.single.first = nil
		if !slices.Contains(d.transfers, m.t) { // it has broken off meanwhile
			return
		}
		d.single.by = m.t
		m.answer <- d.judgeSingleStream(reqs, m.t, m.resp)
	}
}

// keptEnd is where what is kept ends.
func (d *download) keptEnd() int64 {
	if n := len(d.single.kept); n > 0 {
		return d.single.kept[n-1].End
	}
	return 0
}

// prefix is how many bytes sorted ranges hold from the first on without a gap.
func prefix(ranges []scheduler.Range) int64 {
	if len(ranges) > 0 && ranges[0].Off == 0 {
		return ranges[0].End
	}
	return 0
}

// fromStart are the first n bytes.
func fromStart(n int64) []scheduler.Range {
	if n == 0 {
		return nil
	}
	return []scheduler.Range{{End: n}}
}

// trySingleStream reads the object as one stream where no link is left that serves ranges, and says
// whether there is one that may serve the whole.
func (d *download) trySingleStream() bool {
	if d.singleStream || d.err != nil {
		return false
	}
	for i := range d.links {
		if d.mayServeSingleStream(&d.links[i]) {
			d.goSingleStream(scheduler.LinkID(i), nil)
			return true
		}
	}
	return false
}

// mayServeSingleStream says whether a link that is lost may serve the object as a single stream: its server
// has refused ranges, or has sent the whole object for one and then not answered, or has ended the
// connection whenever a range was asked for. That does not count before anything is there, when requests
// for the beginning are made without a range anyway, nor with Config.Tries 1.
func (d *download) mayServeSingleStream(l *linkState) bool {
	if !l.there || !l.lost() || errors.Is(l.err, errNoRanges) || l.responses.wholes > 0 && noAnswer(l.err) {
		return l.there && l.lost()
	}
	return (d.identified || len(d.earlier.have) > 0) && d.e.cfg.Tries != 1 && (fetch.RefusesRange(l.err) || !l.use.taken && l.faults.dropped)
}

// noFirstByte is why a link is given up whose server answers 416 even for the first byte, as it does for
// an empty object.
func noFirstByte(err error) error { return fmt.Errorf("%w: %w", errNoRanges, err) }

// aboutRanges says whether a link was given up for what its server does with ranges.
func aboutRanges(err error) bool { return errors.Is(err, errNoRanges) || fetch.RefusesRange(err) }

// judgeSingleStream decides whether a response with the whole object is read, and prepares for that.
func (d *download) judgeSingleStream(reqs context.Context, t *transfer, resp *fetch.Response) bool {
	c := claimOf(&resp.Object)
	if t.single && d.unexpectedPage(message{resp: resp}) && !resp.Secure && d.anotherAnswered(t.link) {
		d.lose(reqs, t.link, aPage())
		return false
	}
	if d.identified {
		v, what := d.known.Judge(c)
		if c.Size >= 0 && c.Size < d.keptEnd() { // there are more bytes of it already
			v, what = identity.Differs, "size"
		}
		unsized := d.known.Size() < 0
		switch v {
		case identity.Differs: // none of its bytes may be mixed with those that are there
			if !d.mayReplaceKnown(t.link) {
				d.lose(reqs, t.link, d.doubtedOr(fmt.Errorf("%w: over this link the server gives another object: %s differs", ErrChanged, what)))
				return false
			}
			d.forgetObject()
			if d.err != nil {
				return false
			}
		case identity.Proven:
			if d.known.Learn(c); unsized && c.Size >= 0 {
				d.sizedBy(t.link)
			}
		case identity.Unproven: // its bytes are compared with those that are there, if there are any
			if unsized && len(d.single.kept) == 0 {
				d.first.link, d.vote.agree = t.link, 0
			}
		}
	}
	if !d.identified {
		if !d.adopt(reqs, t, resp, false) {
			return false
		}
		d.e.notice(!d.e.batch.known, "the server does not serve ranges of this object: one stream over %s", d.e.links[t.link].Name())
	}
	d.markUsed(t.link)
	resp.Shorten(resp.End) // all of it is wanted, though a range was asked for
	t.off, t.reported, t.overlap, t.probe, t.to, t.eager = 0, 0, 0, false, d.place(), d.to.stream() != nil
	t.end.Store(wholeObject)
	if size := max(d.known.Size(), c.Size); size >= 0 {
		t.exact = resp.End < 0
		t.end.Store(size)
	}
	if len(d.single.kept) > 0 {
		t.to = comparingSink{sink: t.to, kept: d.single.kept, differs: errDiffers, again: &t.compared}
	}
	t.progress = d.e.now()
	return true
}

// sizedBy notes which link has told the size, where the first response has told none.
func (d *download) sizedBy(id scheduler.LinkID) {
	d.first.link, d.vote.agree, d.first.at = id, 1<<id, d.e.now()
}

// anotherAnswered says whether there is another link that has answered.
func (d *download) anotherAnswered(id scheduler.LinkID) bool {
	return d.others(id, func(l *linkState) bool { return l.usable() && l.responses.answered }) != 0
}

// mayReplaceKnown says whether an answer that contradicts what is known replaces it: it came over the link of
// the first response, no other link has agreed with that, and no other link is usable.
func (d *download) mayReplaceKnown(id scheduler.LinkID) bool {
	return id == d.first.link && !d.vote.agree.several() && d.others(id, (*linkState).usable) == 0
}

// doubtedOr is why a link is given up whose stream contradicts what is there. It is err, unless only an
// earlier run has left what is there: then, if all links say so, that is of another object.
func (d *download) doubtedOr(err error) error {
	switch {
	case !d.proof.earlierUnproven:
		return err
	case d.known.Foreign():
		return fmt.Errorf("%w: %w", ErrLonger, err)
	}
	return fmt.Errorf("%w: %w", errStartOver, err)
}

// forgetObject gives up what is there, which is of another object.
func (d *download) forgetObject() {
	d.discard(true, nil)
	d.fail(d.to.Restart())
	d.identified, d.known, d.single.kept = false, identity.Known{}, nil
	d.vote.agree, d.vote.believed = 0, false
	for i := range d.links {
		d.links[i].claim.heard, d.links[i].claim.larger = false, false
	}
}

// endSingleStream takes the end of an attempt to read the object as one stream.
func (d *download) endSingleStream(reqs context.Context, t *transfer, finished bool) {
	if !d.identified {
		return
	}
	if finished && d.keptEnd() > t.end.Load() {
		finished = false // there were more bytes of it before
		if d.mayReplaceKnown(t.link) {
			d.forgetObject()
		} else {
			d.lose(reqs, t.link, contradiction("over this link the body ends at byte %d, and there were more", t.end.Load()))
		}
	}
	d.complete = finished
	if got := t.got.Load(); !finished && d.identified && got > 0 {
		read := scheduler.Range{End: got}
		d.single.kept = append([]scheduler.Range{read}, accept.Without(d.single.kept, read)...)
	}
}

// comparingSink is a sink in which some bytes are there already: what is written there has to be the
// same, and is compared instead.
type comparingSink struct {
	sink
	kept    []scheduler.Range // sorted and disjoint
	differs error             // what it means that they are others
	again   *atomic.Int64     // counts the bytes that were compared; nil: nobody does
}

func (c comparingSink) WriteAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		at, some := off+int64(n), p[n:]
		next := slices.IndexFunc(c.kept, func(r scheduler.Range) bool { return at < r.End })
		switch {
		case next < 0:
			_, err = c.sink.WriteAt(some, at)
		case at < c.kept[next].Off:
			some = some[:min(int64(len(some)), c.kept[next].Off-at)]
			_, err = c.sink.WriteAt(some, at)
		default:
			some = some[:min(int64(len(some)), c.kept[next].End-at)]
			if err = c.compare(some, at); c.again != nil {
				c.again.Add(int64(len(some)))
			}
		}
		if err == nil {
			n += len(some)
		}
	}
	return n, err
}

// compare compares p with what is there, piece by piece: of a stream only the last bytes that were handed
// on can still be read.
func (c comparingSink) compare(p []byte, off int64) error {
	there := make([]byte, min(int64(len(p)), accept.Overlap))
	for len(p) > 0 {
		n := min(len(p), len(there))
		switch _, err := c.ReadAt(there[:n], off); {
		case errors.Is(err, store.ErrOutside): // a stream's consumer has had it for long
		case err != nil:
			return err
		case !bytes.Equal(there[:n], p[:n]):
			return c.differs
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// advanceSingleStream begins the stream when no other answer is being written any more, and asks for
// it again, from its first byte on and over the next link, when it has broken off.
func (d *download) advanceSingleStream(reqs context.Context) {
	if !d.single.begun && !slices.ContainsFunc(d.transfers, func(t *transfer) bool { return t.released }) {
		d.beginSingleStream(reqs)
	}
	if d.single.by == nil && d.single.begun && !d.complete && d.err == nil && d.nextLink() && d.links[d.single.link].faults.retryAt <= d.e.now() {
		d.requestSingleStream(reqs)
	}
}

// updateSingleStream takes in what has come of the stream, and what the links' interfaces say.
func (d *download) updateSingleStream(reqs context.Context) {
	if t := d.single.by; t != nil && t.got.Load() != t.reported {
		d.received(reqs, t, t.got.Load())
	}
	if d.complete && d.known.Size() < 0 { // its end has told
		d.known.Learn(identity.Claim{Identity: identity.Identity{Size: d.single.by.got.Load()}})
		d.sizedBy(d.single.by.link)
	}
	d.fail(d.to.stream().failed())
	d.lookForReturns(reqs)
}

// nextLink chooses the link that may be asked first, of those that are usable; one that rests, or a backup
// that was not used, only where there is no other. false: there is none.
func (d *download) nextLink() bool {
	var ids []scheduler.LinkID // by turns
	n := scheduler.LinkID(len(d.links))
	for i := range n {
		if id := (d.single.link + i) % n; d.links[id].usable() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		d.fail(d.allLost())
		return false
	}
	now := d.e.now()
	due := func(id scheduler.LinkID) scheduler.Time {
		l, at := &d.links[id], max(now, d.links[id].faults.retryAt)
		if l.use.resting || !l.use.taken && d.e.links[id].terms.Backup {
			at += scheduler.Never / 2
		}
		return at
	}
	d.single.link = slices.MinFunc(ids, func(a, b scheduler.LinkID) int { return cmp.Compare(due(a), due(b)) })
	return true
}

// firstSingle is the first chunk id of requests for the whole object; the
// scheduler's own end far below.
const firstSingle = scheduler.ChunkID(1) << 30

// requestSingleStream asks for the whole object over the link whose turn it is.
func (d *download) requestSingleStream(reqs context.Context) {
	t := &transfer{request: request{chunk: firstSingle + d.single.requests, link: d.single.link, fileID: d.file, single: true}}
	d.single.requests++
	d.address(t, 0)
	t.end.Store(wholeObject)
	d.single.by = t
	d.launch(reqs, t)
}
