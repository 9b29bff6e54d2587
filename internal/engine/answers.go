package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// ErrChanged says that the object changed while it was being downloaded.
var ErrChanged = errors.New("the object changed while it was being downloaded")

const (
	backoffFirst = 250 * time.Millisecond
	backoffMost  = 10 * time.Second
)

// hear takes a message from a transfer.
func (d *download) hear(reqs context.Context, m message) {
	if m.resp == nil {
		d.ended(reqs, m)
		return
	}
	d.links[m.t.link].answered = true
	v, now := d.judge(reqs, m)
	if !now {
		m.t.parked = true
		d.parked = append(d.parked, m)
		if len(d.parked) == 1 {
			d.parkedAt = d.e.now()
		}
		return
	}
	m.answer <- v
}

// judge decides what to do with a response; now is false when it must wait
// until more is known.
func (d *download) judge(reqs context.Context, m message) (v verdict, now bool) {
	t, resp := m.t, m.resp
	if d.err != nil || t.released {
		return refuse, true
	}
	rtt := d.e.roundTrip(t.link, resp.Conn())
	d.step(reqs, scheduler.Input{Kind: scheduler.Progress, Link: t.link, Chunk: t.chunk, RTT: rtt})
	switch {
	case d.wholeMode:
		return d.judgeWhole(t, resp), true
	case resp.Whole && d.ref == nil:
		return refuse, false
	case resp.Whole:
		d.lose(reqs, t.link, noRanges())
		return refuse, true
	case d.ref == nil && resp.Object.Size < 0:
		// Pieces of an object whose size nobody tells cannot be laid out.
		d.goWhole(nil)
		return refuse, true
	case d.ref == nil:
		if !d.adopt(t, resp, true) {
			return refuse, true
		}
		d.step(reqs, scheduler.Input{Kind: scheduler.Sized, Bytes: resp.Object.Size})
	case !resp.Object.Same(*d.ref):
		d.disagree(reqs, t, resp)
		return refuse, true
	}
	if !d.links[t.link].used {
		d.links[t.link].used = true
		d.changed(t.link, event.LinkUsed, "")
	}
	if t.released { // the object ends before this range
		return refuse, true
	}
	return take, true
}

// noRanges is why a link is left out whose server sends the whole object while
// the others' servers know ranges.
func noRanges() error {
	return &fetch.Error{Class: fetch.Protocol, Err: errors.New("over this link the server ignores ranges")}
}

// adopt makes resp's object the one that all others must agree with.
func (d *download) adopt(t *transfer, resp *fetch.Response, ranges bool) bool {
	id := store.Identity{Size: resp.Object.Size, ETag: resp.Object.ETag, LastModified: resp.Object.LastModified}
	if d.resumed > 0 {
		match := store.SameObject(d.journal, id)
		switch {
		case !ranges:
			d.e.notice(true, "the server does not serve ranges: starting over")
		case match == store.Differs:
			d.e.notice(true, "the object changed since the last run: starting over")
		case match == store.Unproven && !d.job.Target.Continue:
			d.e.notice(true, "nothing shows that the object is still the same: starting over (-c would continue)")
		case id.Size < d.have[len(d.have)-1].End:
			d.fail(fmt.Errorf("%w: %d bytes are there already, the object has %d", ErrChanged, d.have[len(d.have)-1].End, id.Size))
			return false
		default:
			match = store.Same
		}
		if !ranges || match != store.Same {
			d.fail(errStartOver)
			return false
		}
	}
	if err := d.to.begin(id); err != nil {
		d.fail(err)
		return false
	}
	d.ref, d.refLink = &resp.Object, t.link
	d.url = d.job.URL
	d.e.cfg.Bus.Publish(event.ObjectKnown{
		At: d.e.now(), File: d.job.ID, EffectiveURL: redact(resp.EffectiveURL), Size: id.Size,
		Resumed: d.resumed, HTTP: resp.Proto, Ranges: ranges,
	})
	d.refURL, d.refRemote = resp.EffectiveURL, resp.Remote
	return true
}

// disagree handles a response about another object than the first one's. The
// links may have reached different servers of one site, so all are sent to one
// address, once; a link that still differs is left out: bytes of two objects
// are never mixed.
func (d *download) disagree(reqs context.Context, t *transfer, resp *fetch.Response) {
	if t.link == d.refLink {
		d.fail(fmt.Errorf("%w: size, ETag or time differ from those of the first response", ErrChanged))
		return
	}
	if d.pinned || !d.refRemote.IsValid() || resp.Remote.Addr() == d.refRemote.Addr() {
		d.lose(reqs, t.link, fmt.Errorf("%w: over this link the server gives another object", ErrChanged))
		return
	}
	d.pinned = true
	d.e.notice(true, "%s and %s reach servers that disagree about the object: all links now use %s",
		d.e.links[d.refLink].Net.Name(), d.e.links[t.link].Net.Name(), d.refRemote.Addr())
	d.pin()
}

// pin sends every link but the reference's to the reference's server.
func (d *download) pin() {
	cfg := d.e.cfg.HTTP
	if origin(d.refURL) != origin(d.job.URL) {
		// Reached by a redirect: what was meant for the first host stays there.
		cfg.User, cfg.Credentials = nil, nil
		cfg.Header = cfg.Header.Clone()
		cfg.Header.Del("Authorization")
		cfg.Header.Del("Cookie")
		d.url = d.refURL
	}
	for id, l := range d.e.links {
		l.Net.Pin(d.refURL.Hostname(), []netip.Addr{d.refRemote.Addr()})
		if scheduler.LinkID(id) != d.refLink {
			d.e.reconnect(scheduler.LinkID(id), &cfg)
		}
	}
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// ended books what a transfer came to.
func (d *download) ended(reqs context.Context, m message) {
	t := m.t
	d.transfers = slices.DeleteFunc(d.transfers, func(o *transfer) bool { return o == t })
	t.cancel(errOver)
	l := &d.links[t.link]
	l.answered = true
	got := t.got.Load()
	useful := min(got, t.end.Load()-t.off)
	switch {
	case t.released:
		useful = min(useful, t.told)
	case d.wholeMode && m.err != nil: // it starts again at the first byte
		useful = 0
	}
	l.bytes += got
	l.wasted += got - useful
	outcome, retry := d.settle(reqs, t, got, m.err)
	e := event.RequestEnded{
		At: d.e.now(), File: d.job.ID, Link: t.link, Chunk: t.chunk, Off: t.off, Bytes: got, Wasted: got - useful,
		Outcome: outcome, Retry: retry, Sent: t.sent,
		FirstByte: scheduler.Time(t.firstByte.Load()), LastByte: scheduler.Time(t.lastByte.Load()),
	}
	if m.err != nil && outcome != event.OutcomeDone && outcome != event.OutcomeCancelled {
		e.Error = m.err.Error()
	}
	d.e.cfg.Bus.Publish(e)
}

// settle tells the scheduler how a transfer ended, and says how to name it.
func (d *download) settle(reqs context.Context, t *transfer, got int64, err error) (outcome event.Outcome, retry bool) {
	switch {
	case t.released || d.wholeMode && t != d.wholeBy:
		return event.OutcomeCancelled, false
	case err == nil:
		d.links[t.link].failures = 0
		if t == d.wholeBy {
			d.complete = true
			return event.OutcomeDone, false
		}
		d.step(reqs, scheduler.Input{Kind: scheduler.Finished, Link: t.link, Chunk: t.chunk, Bytes: got})
		return event.OutcomeDone, false
	case errors.Is(err, errRefused) || d.err != nil:
		d.step(reqs, scheduler.Input{Kind: scheduler.Failed, Link: t.link, Chunk: t.chunk, Bytes: got})
		return event.OutcomeProtocol, true
	}
	var fe *fetch.Error
	if !errors.As(err, &fe) {
		if cause := context.Cause(reqs); cause != nil {
			d.fail(cause)
			return event.OutcomeCancelled, false
		}
		d.fail(err)
		return event.OutcomeStorage, false
	}
	switch outcome = outcomeOf(fe); {
	case fe.Class == fetch.Canceled && !errors.Is(err, fetch.ErrStalled):
		d.fail(context.Cause(reqs))
		d.step(reqs, scheduler.Input{Kind: scheduler.Failed, Link: t.link, Chunk: t.chunk, Bytes: got})
		return event.OutcomeCancelled, false
	case fe.Class == fetch.Unsatisfied && d.beyondEnd(reqs, t, fe):
		return event.OutcomeDone, false
	case fe.Class == fetch.Unsatisfied && d.core.Size() < 0 && !d.wholeMode:
		// Behind the end of an object whose size this server does not tell. The
		// other links will; at the first byte, asking for the whole is left.
		if t.off == 0 {
			d.goWhole(nil)
			return outcome, true
		}
		d.step(reqs, scheduler.Input{Kind: scheduler.Failed, Link: t.link, Chunk: t.chunk, Wait: scheduler.Second})
		return outcome, true
	case d.permanent(fe):
		d.lose(reqs, t.link, err)
		return outcome, false
	}
	l := &d.links[t.link]
	l.failures++
	if l.failures >= d.e.cfg.Tries {
		d.lose(reqs, t.link, fmt.Errorf("%w (after %d tries)", err, l.failures))
		return outcome, false
	}
	wait := max(backoff(l.failures), fe.RetryAfter)
	d.e.notice(false, "%s: %v; next try in %.1f s", d.e.links[t.link].Net.Name(), err, wait.Seconds())
	d.step(reqs, scheduler.Input{Kind: scheduler.Failed, Link: t.link, Chunk: t.chunk, Bytes: got, Wait: scheduler.Time(wait)})
	return outcome, true
}

// backoff is how long to wait after so many failures in a row, with jitter so
// that many clients of one server do not come back together.
func backoff(failures int) time.Duration {
	d := min(backoffMost, backoffFirst<<min(failures-1, 10))
	return d/2 + rand.N(d)
}

// beyondEnd handles a 416: a guessed range may lie behind the object's end.
func (d *download) beyondEnd(reqs context.Context, t *transfer, fe *fetch.Error) bool {
	if fe.Object == nil || fe.Object.Size < 0 || fe.Object.Size > t.off {
		return false
	}
	if size := d.core.Size(); size >= 0 {
		return false // the size was known: then the range was within it
	}
	if fe.Object.Size == 0 || fe.Object.Size == d.resumed {
		// Nothing will answer 206 any more: this response is the object.
		whole := &fetch.Response{Object: *fe.Object, EffectiveURL: d.job.URL, Proto: "1.1"}
		if d.ref == nil && !d.adopt(t, whole, true) {
			return true
		}
	}
	d.step(reqs, scheduler.Input{Kind: scheduler.Sized, Bytes: fe.Object.Size})
	return true
}

// permanent says whether an error will come again whatever one does. A refused
// connection is: unless somebody was there before.
func (d *download) permanent(fe *fetch.Error) bool {
	if errors.Is(fe, fetch.ErrStalled) {
		return false
	}
	if fe.Class == fetch.Refused {
		return d.ref == nil
	}
	return !fe.Temporary()
}

func outcomeOf(fe *fetch.Error) event.Outcome {
	switch fe.Class {
	case fetch.Network, fetch.DNS, fetch.Refused:
		return event.OutcomeNetwork
	case fetch.TLS:
		return event.OutcomeTLS
	case fetch.Auth, fetch.Status, fetch.Busy, fetch.Unsatisfied:
		return event.OutcomeStatus
	case fetch.Protocol:
		return event.OutcomeProtocol
	case fetch.Canceled:
		return event.OutcomeCancelled
	}
	return event.OutcomeNetwork
}

// lose takes a link out of the download for good.
func (d *download) lose(reqs context.Context, id scheduler.LinkID, err error) {
	l := &d.links[id]
	if l.lost {
		return
	}
	l.lost, l.err = true, err
	d.step(reqs, scheduler.Input{Kind: scheduler.LinkDown, Link: id})
	if len(d.links) > 1 {
		d.changed(id, event.LinkLost, err.Error())
	}
}

// checkLost ends the download when no link is left.
func (d *download) checkLost() {
	for i := range d.links {
		if !d.links[i].lost {
			return
		}
	}
	d.fail(d.links[0].err)
}

// watchStalls gives up requests on links that owe bytes and deliver none.
func (d *download) watchStalls(now scheduler.Time) {
	limit := scheduler.Time(d.e.cfg.StallTimeout)
	if limit <= 0 {
		return
	}
	for _, t := range d.transfers {
		if !t.parked && now-max(t.progress, d.links[t.link].lastByte) > limit {
			t.cancel(fetch.ErrStalled)
		}
	}
}
