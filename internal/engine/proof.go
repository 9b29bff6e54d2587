package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// errAgain ends an attempt in which answers of several objects have met. Another attempt goes on with
// what is confirmed, without the link or the server that was wrong.
var errAgain = errors.New("answers of several objects")

// proof is what shows that answers are of one object where no validator does: the bytes
// that they have in common. Such answers are asked for from accept.Overlap bytes before their
// range on. What they bring is written, but not claimed (in the journal, in samples, to the
// consumer of a stream) before they are joined with the first one.
type proof struct {
	answers         *accept.Answers // nil: validators prove all there are
	from            []source        // of each of the answers
	overlapping     bool            // requests ask for an overlap
	told            bool            // overlapping, as the scheduler was told
	earlierUnproven bool            // what an earlier run has left is not confirmed yet
	contradicted    bool            // confirmed bytes contradict each other
	failed          int             // probes that brought nothing, in a row
	retry           scheduler.Time  // when the next one may be made
}

// source is where an answer came from.
type source struct {
	t       *transfer // nil: an earlier run, or an earlier attempt
	claim   identity.Claim
	pending bool  // its overlap is still to be compared
	until   int64 // the end of what it has written, with the bytes that do not count
}

// probeMost is up to which size in bytes an object is read again when a probe has shown nothing: that is
// no more than two probes are.
const probeMost = 4 * accept.Overlap

// probesMost is after how many probes in a row without a result the bytes are taken to be impossible to
// compare.
const probesMost = 8

// track begins to keep account of answers. Those so far, which have brought done, are confirmed.
func (d *download) track(done []scheduler.Range) {
	p := &d.proof
	p.overlapping = true
	if p.answers != nil {
		return
	}
	p.answers = new(accept.Answers)
	for _, r := range done {
		p.answers.Has(d.addAnswer(nil, r.Off, identity.Claim{}, true), r.End)
	}
	p.earlierUnproven = len(done) > 0 && d.known.Earlier()
	for _, t := range d.transfers {
		if t.taken && !t.released && !t.probe {
			t.answer = d.addAnswer(t, t.off, identity.Claim{}, true)
		}
	}
}

func (d *download) addAnswer(t *transfer, off int64, c identity.Claim, confirmed bool) accept.ID {
	d.proof.from = append(d.proof.from, source{t: t, claim: c, pending: t != nil && t.overlap > 0})
	return d.proof.answers.Add(off, confirmed)
}

// overlapOf is how many bytes before its range a request asks for, to be compared.
func (d *download) overlapOf(t *transfer) int64 {
	if !d.proof.overlapping || t.single {
		return 0
	}
	return min(accept.Overlap, t.off)
}

// enterProof enters an answer that is being taken; proven says that a validator shows what it is of.
// false: it may not be taken, as its bytes could not be told from those of another one that is not
// confirmed.
func (d *download) enterProof(t *transfer, c identity.Claim, proven bool) bool {
	if !proven && d.proof.answers == nil {
		d.track(d.core.Done(nil))
	}
	if d.proof.answers == nil {
		return true
	}
	for _, other := range d.transfers {
		if other != t && other.answer != 0 && !other.released && other.off < t.end.Load() && t.off < other.end.Load() &&
			(!proven || !d.proof.answers.Confirmed(other.answer)) {
			return false
		}
	}
	p := &d.proof
	if !proven && len(p.from) == 0 && !d.proof.earlierUnproven { // no byte has come of the object that was known
		d.redefine(t, c)
		proven = true
	}
	t.answer = d.addAnswer(t, t.off, c, proven)
	if proven {
		p.earlierUnproven = false
		return true
	}
	// Answers with validators that prove each other are of one object: one of them is compared.
	p.overlapping = t.overlap == 0 || !identity.Proves(c, c)
	for i, s := range p.from[:len(p.from)-1] {
		if s.t != nil && identity.Proves(s.claim, c) {
			p.answers.Unite(accept.ID(i+1), t.answer)
			p.overlapping = p.overlapping && !s.pending
		}
	}
	return true
}

// account brings the answers up to date with what the scheduler knows.
func (d *download) account() {
	for _, t := range d.transfers {
		d.accountOf(t)
	}
}

func (d *download) accountOf(t *transfer) {
	if t.answer == 0 || d.proof.answers == nil {
		return
	}
	s, end := &d.proof.from[t.answer-1], t.end.Load()
	s.pending = s.pending && (!t.ended || t.overlapGot.Load() > 0)
	s.until = max(s.until, t.off+t.got.Load())
	if t.released {
		d.proof.answers.Has(t.answer, t.off+t.useful)
		d.proof.answers.Ends(t.answer, t.off+t.useful)
		return
	}
	d.proof.answers.Ends(t.answer, end)
	d.proof.answers.Has(t.answer, min(end, t.off+t.reported))
}

// has says whether all of r has been received and written.
func (d *download) has(r scheduler.Range) bool { return len(d.core.Missing(r, nil)) == 0 }

// compareOverlaps compares the overlaps that have come with what is there, and asks for more where that
// is needed.
func (d *download) compareOverlaps(reqs context.Context, now scheduler.Time) {
	p := &d.proof
	if p.answers == nil || d.err != nil || d.singleStream || !d.identified {
		return
	}
	d.account()
	for i := range p.from {
		s := &p.from[i]
		if !s.pending || s.t.overlapGot.Load() < s.t.overlap && !s.t.ended {
			continue
		}
		// Less than all of it proves nothing, but may show that the object is another one.
		from := s.t.off - s.t.overlap
		if r := (scheduler.Range{Off: from, End: from + min(s.t.overlapGot.Load(), s.t.overlap)}); d.has(r) {
			s.pending = false
			d.compare(reqs, accept.ID(i+1), r)
			s.t.overlapBytes = nil
			if d.err != nil {
				return
			}
		}
	}
	d.replaceFirst()
	d.probe(reqs, now)
}

// replaceFirst lets another answer say what the object is, when the first one and those joined with it
// have ended and have brought too little to be compared.
func (d *download) replaceFirst() {
	a, next, had := d.proof.answers, accept.ID(0), int64(0)
	enough := min(accept.Overlap, d.core.Size())
	if d.to.stream() != nil {
		enough = 1 // its consumer may have got what there is
	}
	for i, s := range d.proof.from {
		id := accept.ID(i + 1)
		switch n := a.Range(id).Len(); {
		case a.Confirmed(id) && (n > 0 && s.t == nil || s.t != nil && !s.t.ended && !s.t.released):
			return
		case a.Confirmed(id):
			had += n
		case next == 0 && n >= enough:
			next = id
		}
	}
	if next == 0 || had >= enough {
		return
	}
	for i := range d.proof.from { // their validators are of an object of which there is nothing
		if s := &d.proof.from[i]; a.Confirmed(accept.ID(i + 1)) {
			s.claim, s.pending = identity.Claim{}, false
		}
	}
	a.Lead(next)
	d.redefine(d.proof.from[next-1].t, d.proof.from[next-1].claim)
	for i, s := range d.proof.from {
		if id := accept.ID(i + 1); a.Confirmed(id) && !a.Range(id).Empty() {
			d.known.Learn(s.claim)
		}
	}
}

// redefine lets an answer say what the object is.
func (d *download) redefine(t *transfer, c identity.Claim) {
	size := d.known.Size()
	d.known = identity.Known{}
	d.known.Sized(size)
	d.known.Learn(c)
	d.first.link, d.first.url, d.first.remote = t.link, t.resp.EffectiveURL, t.resp.Remote
}

// tellOverlap tells the scheduler how many bytes a request asks for beside its range.
func (d *download) tellOverlap(reqs context.Context) {
	if p := &d.proof; p.overlapping != p.told {
		p.told = p.overlapping
		lead := int64(0)
		if p.overlapping {
			lead = accept.Overlap
		}
		d.step(reqs, scheduler.Input{Kind: scheduler.Compared, Bytes: lead})
	}
}

// release hands on to a stream's consumer what is claimable.
func (d *download) release() {
	if s := d.to.stream(); s != nil && d.err == nil {
		s.Release(d.claimableFrom0())
	}
}

// compare compares the overlap of an answer, the bytes of r, with what is there. Where they differ, the
// answer that is not confirmed is of another object.
func (d *download) compare(reqs context.Context, id accept.ID, r scheduler.Range) {
	p, lead := &d.proof, d.proof.from[id-1].t.overlapBytes
	there := make([]byte, r.Len())
	switch _, err := d.to.ReadAt(there, r.Off); {
	case errors.Is(err, store.ErrOutside): // a stream's consumer has had it for long
		return
	case err != nil:
		d.fail(err)
		return
	}
	pending := d.unconfirmed()
	before := p.answers.Unconfirmed()
	differ := p.answers.Join(id, r, d.core.Size(), func(x scheduler.Range) bool {
		return bytes.Equal(there[x.Off-r.Off:x.End-r.Off], lead[x.Off-r.Off:x.End-r.Off])
	})
	if len(differ) > 0 {
		other := id
		if p.answers.Confirmed(id) {
			i := slices.IndexFunc(differ, func(x accept.ID) bool { return !p.answers.Confirmed(x) })
			if i < 0 { // both are confirmed: by a time of change, by an earlier run, or by comparing
				p.contradicted = true
				d.fail(fmt.Errorf("%w: its bytes differ from those received before", ErrChanged))
				return
			}
			other = differ[i]
		}
		d.otherObject(reqs, d.proof.from[other-1].t, "its bytes differ")
		d.fail(errAgain)
		return
	}
	if p.answers.Confirmed(id) {
		p.earlierUnproven = false
	}
	if p.from[id-1].t.probe {
		p.failed++
		if !p.earlierUnproven && p.answers.Unconfirmed() < before {
			p.failed = 0
		}
	}
	for _, other := range pending {
		if p.answers.Confirmed(other) && d.err == nil {
			d.learnConfirmed(reqs, other)
		}
	}
}

// unconfirmed are the answers that are not joined with the first.
func (d *download) unconfirmed() (ids []accept.ID) {
	for i := range d.proof.from {
		if id := accept.ID(i + 1); !d.proof.answers.Confirmed(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// learnConfirmed learns the validators of an answer that was confirmed, unless they contradict others that
// were learnt meanwhile.
func (d *download) learnConfirmed(reqs context.Context, id accept.ID) {
	s := &d.proof.from[id-1]
	if s.t == nil {
		return
	}
	if v, what := d.known.Judge(s.claim); v == identity.Differs {
		d.otherObject(reqs, s.t, what+" differs")
		d.fail(errAgain)
		return
	}
	d.known.Learn(s.claim)
	if !d.known.Blind() {
		d.proof.overlapping = false // until an answer comes that it does not prove
	}
}

// probe asks again for the bytes around a place where answers meet that were asked for without an
// overlap; and for the last bytes of what an earlier run has left, if no answer of this run has been
// compared with them. Where that has no result, one link is asked for the whole object.
func (d *download) probe(reqs context.Context, now scheduler.Time) {
	p := &d.proof
	if now < p.retry || slices.ContainsFunc(d.transfers, func(t *transfer) bool { return t.probe }) {
		return
	}
	seams := p.answers.Seams(d.core.Size(), func(r scheduler.Range) bool {
		return d.has(r) && !slices.ContainsFunc(p.from, func(s source) bool { // the overlap will do
			return s.pending && s.t.off > r.Off && s.t.off < r.End
		})
	})
	if d.complete && p.earlierUnproven && len(seams) == 0 && !slices.ContainsFunc(p.from, func(s source) bool { return s.pending }) {
		size := d.core.Size()
		seams = append(seams, scheduler.Range{Off: max(0, size-accept.Overlap), End: size})
	}
	if d.complete && len(seams) == 0 && !d.proven() && !slices.ContainsFunc(p.from, func(s source) bool { return s.pending }) {
		seams = append(seams, scheduler.Range{}) // nothing can be compared
		p.failed = probesMost
	}
	if len(seams) == 0 {
		return
	}
	links := d.probeLinks()
	if len(links) == 0 {
		if d.complete {
			d.fail(d.noneLeft())
		}
		return
	}
	id := links[p.failed%len(links)]
	if p.failed >= probesMost || p.failed > 0 && d.core.Size() <= probeMost {
		d.goSingleStream(id, nil) // one answer is of one object
		return
	}
	r := seams[0]
	t := d.newProbe(id)
	t.off, t.overlap = r.End, r.Len()
	t.end.Store(r.End)
	d.launch(reqs, t)
}

// newProbe is a request over a link of which the scheduler knows nothing. As long as it
// has work for the link it goes over a connection of its own.
func (d *download) newProbe(id scheduler.LinkID) *transfer {
	u := d.job.URL
	if other := d.links[id].url; other != nil {
		u = other
	}
	t := d.owner.newProbe(id, d.file, u)
	if d.complete {
		t.stream = 0
	}
	return t
}

// probeLinks are the links to ask for bytes to compare, the nearest first: those that have answered and
// are not banned, or, when everything is there, all that are usable.
func (d *download) probeLinks() []scheduler.LinkID {
	return d.nearest(func(l *linkState) bool {
		return l.usable() && (l.responses.answered && !l.use.banned || d.complete)
	})
}

// probed takes the end of a probe.
func (d *download) probed(t *transfer, finished bool) {
	switch {
	case t.question():
		return
	case finished && t.answer != 0 && t.overlapGot.Load() == t.overlap: // compare tells what it was worth
		return
	}
	d.proof.failed++
	d.proof.retry = d.e.now() + scheduler.Time(backoff(d.proof.failed))
}

// claimable are the ranges that are there and known to be of the object.
func (d *download) claimable() []scheduler.Range {
	done := d.core.Done(nil)
	if d.proof.answers == nil {
		return done
	}
	d.account()
	return d.proof.answers.Claimable(done)
}

// unclaimed is how many bytes are there that are not claimable.
func (d *download) unclaimed() int64 {
	if d.proof.answers == nil {
		return 0
	}
	d.account()
	return d.proof.answers.Unconfirmed()
}

// claimableFrom0 is the byte up to which a stream may be handed on.
func (d *download) claimableFrom0() int64 {
	if d.known.Size() >= 0 && !d.sizeBelieved(d.e.now()) {
		return 0
	}
	switch {
	case d.singleStream && !d.single.begun: // beginSingleStream may forget what is there
		return 0
	case d.singleStream:
		return math.MaxInt64
	case d.proof.answers == nil:
		return d.core.Prefix()
	}
	return prefix(d.claimable())
}

// proven says whether all bytes that are there are of the object.
func (d *download) proven() bool {
	p := &d.proof
	return p.answers == nil || p.answers.AllConfirmed() && !p.earlierUnproven
}
