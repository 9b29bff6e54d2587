package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// ErrChanged says that the object changed while it was being downloaded.
var ErrChanged = errors.New("the object changed while it was being downloaded")

// ErrLonger says that what another tool left, and Target.Continue would go on with,
// is longer than the object.
var ErrLonger = errors.New("the existing bytes do not belong to the object")

func claimOf(o *fetch.Object) identity.Claim {
	return identity.Claim{
		Identity: identity.Identity{Size: o.Size, ETag: o.ETag, LastModified: o.LastModified, Encoding: o.Encoding},
		SHA256:   o.SHA256, SHA512: o.SHA512, Recent: o.Recent,
	}
}

// adopt makes the object of the first response the one that all others must agree with, unless what an
// earlier run has left is of another. Where no strong validator shows that this is of the same object,
// its bytes will have to.
func (d *download) adopt(reqs context.Context, t *transfer, resp *fetch.Response, ranges bool) bool {
	c := claimOf(&resp.Object)
	verdict, what := d.known.Judge(c)
	if err := d.misfit(resp, ranges, verdict, what); err != nil {
		d.fail(err)
		return false
	}
	switch {
	case len(d.earlier.have) == 0 || verdict == identity.Proven:
		d.known.Learn(c)
	default: // its validators are learnt when its bytes have been compared
		d.known.Sized(c.Size)
		if !ranges { // all is there, and nothing of this answer will be
			d.proof.earlierUnproven = false
		}
	}
	id := d.known.Identity()
	if err := d.to.Begin(id); err != nil {
		if d.several() && !resp.Secure && d.awaitsSizes() { // it may be no more than a lie about its size
			d.known = identity.Known{}
			d.lose(reqs, t.link, err)
			return false
		}
		d.fail(err)
		return false
	}
	d.e.tellEncoding(d.job, resp)
	d.identified, d.first.at, d.name = true, cmp.Or(d.doubts.since, d.e.now()), resp.Object.Name
	d.first.link, d.first.url, d.first.remote = t.link, resp.EffectiveURL, resp.Remote
	d.vote.believed, d.first.page = resp.Secure || d.job.Part != nil, d.unexpectedPage(message{resp: resp})
	if c.Size >= 0 {
		d.vote.agree.add(t.link)
	}
	if !d.hearEarlier(reqs, t) {
		return false
	}
	if c.Size >= 0 && c.Size < d.e.batch.reached && !d.vote.believed && d.reachedElsewhere(t.link) {
		d.outvote() // what ends has no bytes behind its end
		return false
	}
	d.e.publishKnown(d.job.ID, resp, d.earlier.resumed, ranges)
	return true
}

// misfit is why a first response is not adopted; nil: it is.
func (d *download) misfit(resp *fetch.Response, ranges bool, verdict identity.Verdict, what string) error {
	have, size := d.earlier.have, resp.Object.Size
	if err := d.job.refuses(resp); err != nil {
		return err
	}
	switch {
	case d.job.Part != nil && verdict != identity.Proven:
		return ErrChanged
	case len(have) == 0:
		return nil
	case ranges && verdict != identity.Differs && size < have[len(have)-1].End:
		return fmt.Errorf("%w: %d bytes are there already, the object has %d", ErrLonger, have[len(have)-1].End, size)
	case !ranges && !d.allResumed(size):
		return d.startingOver("the server does not serve ranges")
	case verdict == identity.Differs:
		return d.startingOver("the object changed since the last run (" + what + ")")
	}
	return nil
}

// hearEarlier takes what links have told of the size before the object was known, and says whether this
// attempt goes on.
func (d *download) hearEarlier(reqs context.Context, t *transfer) bool {
	for _, m := range d.doubts.responses { // they may be withdrawn before they are settled
		if m.t != t && d.tellsSize(m.resp) && !d.hearSize(reqs, m.t.link, claimOf(&m.resp.Object), m.resp.End) {
			return false
		}
	}
	for id := range d.links {
		if l := &d.links[id]; max(l.claim.size, l.claim.withdrawn.Size()) > 0 && (!l.lost() || aboutRanges(l.err)) {
			d.hearSize(reqs, scheduler.LinkID(id), identity.Claim{Identity: identity.Identity{Size: max(l.claim.size, l.claim.withdrawn.Size())}}, 0)
		}
	}
	return true
}

// reachedElsewhere says whether a link other than id has brought some of the bytes that the batch had
// received of the file.
func (d *download) reachedElsewhere(id scheduler.LinkID) bool {
	return d.others(id, (*linkState).left)&d.e.batch.reachedBy != 0
}

// allResumed says whether every byte of an object of a size is there already, and none is asked for
// again: then it does not matter whether the server serves ranges.
func (d *download) allResumed(size int64) bool {
	return len(d.earlier.have) > 0 && d.earlier.resumed == size
}

// publishKnown tells observers what an object is, of which some bytes need not be fetched.
func (e *Engine) publishKnown(file event.FileID, resp *fetch.Response, resumed int64, ranges bool) {
	e.cfg.Bus.Publish(event.ObjectKnown{
		At: e.now(), File: file, EffectiveURL: redact(resp.EffectiveURL), Size: resp.Object.Size,
		Resumed: resumed, HTTP: resp.Proto, Ranges: ranges,
	})
}

// tellEncoding tells the user of the object's encoding, if no name does: it is saved as it is. Each
// encoding is told of once, and at most so many of them.
func (e *Engine) tellEncoding(job *Job, resp *fetch.Response) {
	const most = 8
	encoding := resp.Object.Encoding
	if !encodedUnasked(job, resp) || len(e.encodings) == most || slices.Contains(e.encodings, encoding) {
		return
	}
	e.encodings = append(e.encodings, encoding)
	e.notice(true, "the server sends it encoded as %s: saved as it is", encoding)
}

// encodedUnasked says whether a response is encoded though no name says so: by its server, or on the way.
func encodedUnasked(job *Job, resp *fetch.Response) bool {
	if resp.Object.Encoding == "" {
		return false
	}
	names := []string{job.outputName(), job.URL.Path, job.URL.RawQuery, resp.EffectiveURL.Path}
	return !slices.ContainsFunc(names, resp.Object.Evident)
}

// startOver ends this attempt because what is there is of no use.
func (d *download) startOver(why string) { d.fail(d.startingOver(why)) }

// startingOver tells the user why what is there is of no use.
func (d *download) startingOver(why string) error {
	d.e.notice(true, "%s: starting over", why)
	return errStartOver
}

// otherObject handles an answer of another object than the first response's. The links may have reached
// different servers of one site, so this link is sent to the address of the first response, once; if it
// still differs, it is given up. On the link of the first response the object has changed, unless another
// link may still have it: bytes of two objects are never mixed. What an earlier run has left is of
// another object if all links say so.
func (d *download) otherObject(reqs context.Context, t *transfer, why string) {
	r := d.e.routes[t.link]
	switch {
	case d.proof.earlierUnproven && d.known.Foreign():
		d.lose(reqs, t.link, fmt.Errorf("%w: %s", ErrLonger, why))
		d.fail(d.noneLeft())
	case d.proof.earlierUnproven:
		d.lose(reqs, t.link, fmt.Errorf("%w: over this link %s", errStartOver, why))
		if d.noneLeft() != nil {
			d.startOver("the object changed since the last run (" + why + ")")
		}
	case !r.current(t.client): // it was asked for before its link was sent elsewhere
	case t.link == d.first.link && d.mayUseAnother(t.link): // its network may have begun to lie
		d.lose(reqs, t.link, fmt.Errorf("%w: %s from those of the first response", ErrChanged, why))
	case t.link == d.first.link:
		d.fail(fmt.Errorf("%w: %s from those of the first response", ErrChanged, why))
	case !r.pinned && d.first.remote.IsValid() && t.resp != nil && t.resp.Remote.Addr() != d.first.remote.Addr():
		d.pinLink(r, t.link)
	default:
		d.lose(reqs, t.link, fmt.Errorf("%w: over this link the server gives another object: %s", ErrChanged, why))
	}
}

// mayUseAnother says whether the object may be had over a link other than id, in ranges or as a single
// stream.
func (d *download) mayUseAnother(id scheduler.LinkID) bool {
	return d.others(id, func(l *linkState) bool {
		return l.there && !l.quota.exhausted && (!l.lost() || aboutRanges(l.err))
	}) != 0
}

// pinLink sends a link to the address from which the first answer came.
func (d *download) pinLink(r *route, id scheduler.LinkID) {
	first, name := "another link", d.e.links[id].Name()
	if d.first.link != scheduler.NoLink {
		first = d.e.links[d.first.link].Name()
	}
	d.e.notice(true, "over %s and %s servers answer that disagree about the object: %s now uses %s",
		first, name, name, d.first.remote.Addr())
	cfg := d.e.cfg.HTTP
	if origin(d.first.url) != origin(d.job.URL) {
		// A redirect led there: it is asked for directly, and what was meant
		// for the first host alone stays there.
		if cfg.Named == nil {
			cfg.Named = new(fetch.Origins)
			cfg.Named.Add(d.job.URL)
		}
		d.links[id].url = d.first.url
	}
	r.pin(fetch.Hostname(d.first.url), d.first.remote.Addr(), &cfg)
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
