package engine

import (
	"fmt"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// inherit takes over from an attempt that has ended with errAgain what is confirmed, and which links were
// given up. It returns the ranges that need not be fetched again.
func (d *download) inherit(before *download) []scheduler.Range {
	for i := range d.links {
		b := &before.links[i]
		// What was said of the object of which nothing is left says nothing of the next one.
		if b.lost() && b.seen.arrivals == d.links[i].seen.arrivals && (before.identified || !aboutRanges(b.err)) {
			d.links[i].err = b.err
		}
		d.links[i].url = before.links[i].url
		d.links[i].traffic.received, d.links[i].traffic.wasted = before.links[i].traffic.received, before.links[i].traffic.wasted
		d.links[i].traffic.inherited = before.links[i].traffic.received - before.links[i].traffic.wasted
		d.links[i].use.taken = before.links[i].use.taken
	}
	if !before.identified {
		return nil
	}
	d.earlier.last = before.earlier.last
	d.known, d.identified, d.first.at, d.name = before.known, true, before.first.at, before.name
	d.vote.agree, d.vote.believed = before.vote.agree, before.vote.believed
	d.first.link, d.first.url, d.first.remote = before.first.link, before.first.url, before.first.remote
	kept := before.keeps()
	if s := d.to.stream(); s != nil {
		kept = fromStart(s.Forget(prefix(kept)))
	}
	d.earlier.have = nil // it is no earlier run's
	return kept
}

// keeps are the ranges that are confirmed and that no unconfirmed answer has written over.
func (d *download) keeps() []scheduler.Range {
	kept := d.claimable()
	if d.proof.answers == nil {
		return kept
	}
	for i, s := range d.proof.from {
		if !d.proof.answers.Confirmed(accept.ID(i+1)) && s.t != nil {
			kept = accept.Without(kept, scheduler.Range{Off: s.t.off, End: s.until})
		}
	}
	return kept
}

// discard tells observers how many bytes of this attempt, published as useful, are not: all of them, or
// all but kept.
func (d *download) discard(all bool, kept []scheduler.Range) {
	lost := make([]int64, len(d.links))
	for i := range d.links {
		if l := &d.links[i]; all {
			lost[i] = l.traffic.received - l.traffic.wasted - l.traffic.inherited
		}
	}
	for i, s := range d.proof.from {
		if all || s.t == nil {
			continue
		}
		r := d.proof.answers.Range(accept.ID(i + 1))
		lost[s.t.link] += r.Len()
		for _, k := range kept {
			lost[s.t.link] -= max(0, min(r.End, k.End)-max(r.Off, k.Off))
		}
	}
	for i, n := range lost {
		if n > 0 {
			d.links[i].traffic.wasted += n
			d.e.cfg.Bus.Publish(event.BytesDiscarded{At: d.e.now(), File: d.job.ID, Link: scheduler.LinkID(i), Bytes: n})
		}
	}
}

// contradiction is the error of an answer that contradicts itself or earlier ones.
func contradiction(format string, args ...any) error {
	return &fetch.Error{Class: fetch.Protocol, Err: fmt.Errorf("%w: "+format, append([]any{ErrChanged}, args...)...)}
}
