package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// ErrChanged says that the object changed while it was being downloaded.
var ErrChanged = errors.New("the object changed while it was being downloaded")

// ErrLonger says that what another tool left, and Target.Continue would go on with,
// is longer than the object.
var ErrLonger = errors.New("what is there is no part of the object")

func identityOf(resp *fetch.Response) store.Identity {
	o := resp.Object
	return store.Identity{Size: o.Size, ETag: o.ETag, LastModified: o.LastModified, Encoding: o.Encoding}
}

// adopt makes resp's object the one that all others must agree with, unless what
// is there already is of another.
func (d *download) adopt(t *transfer, resp *fetch.Response, ranges bool) bool {
	if err := d.job.directory(resp); err != nil {
		d.fail(err)
		return false
	}
	id := identityOf(resp)
	if len(d.have) > 0 {
		match := store.SameObject(d.journal, id)
		switch {
		case ranges && match != store.Differs && id.Size < d.have[len(d.have)-1].End:
			d.fail(fmt.Errorf("%w: %d bytes are there already, the object has %d", ErrLonger, d.have[len(d.have)-1].End, id.Size))
			return false
		case !ranges && !d.lacksNothing(id.Size):
			d.startOver("the server does not serve ranges")
			return false
		case match == store.Differs:
			d.startOver("the object changed since the last run")
			return false
		case match == store.Unproven && !d.job.Target.Continue && !covers(d.have, id.Size): // else nothing is mixed
			d.startOver("nothing shows that the object is still the same (-c would continue)")
			return false
		}
	}
	if err := d.to.begin(id); err != nil {
		d.fail(err)
		return false
	}
	d.e.tellEncoding(d.job, resp)
	ref := resp.Object
	d.ref, d.refLink, d.refURL, d.refRemote = &ref, t.link, resp.EffectiveURL, resp.Remote
	d.known(resp, id.Size, ranges)
	return true
}

// lacksNothing says whether every byte of an object of a size is there already, and none is
// asked for again: then no matter what its server can do.
func (d *download) lacksNothing(size int64) bool { return len(d.have) > 0 && d.resumed == size }

// known tells what the object is.
func (d *download) known(resp *fetch.Response, size int64, ranges bool) {
	d.e.cfg.Bus.Publish(event.ObjectKnown{
		At: d.e.now(), File: d.job.ID, EffectiveURL: redact(resp.EffectiveURL), Size: size,
		Resumed: d.resumed, HTTP: resp.Proto, Ranges: ranges,
	})
}

// tellEncoding tells of the object's encoding, if it has one that no name tells of,
// for nothing decodes it. Each is told of once, and no more of them than there are in
// earnest.
func (e *Engine) tellEncoding(job *Job, resp *fetch.Response) {
	const most = 8
	encoding := resp.Object.Encoding
	if !encodedUnasked(job, resp) || len(e.encodings) == most || slices.Contains(e.encodings, encoding) {
		return
	}
	e.encodings = append(e.encodings, encoding)
	e.notice(true, "the server sends it encoded as %s: saved as it is", encoding)
}

// encodedUnasked says whether a response is of an object that is encoded, though no name
// tells of that: its server may have it so, or somebody on the way has made it so.
func encodedUnasked(job *Job, resp *fetch.Response) bool {
	if resp.Object.Encoding == "" {
		return false
	}
	names := []string{job.wish(), job.URL.Path, job.URL.RawQuery, resp.EffectiveURL.Path}
	return !slices.ContainsFunc(names, resp.Object.Evident)
}

// startOver ends this attempt, because what is there is of no use.
func (d *download) startOver(why string) {
	d.e.notice(true, "%s: starting over", why)
	d.fail(errStartOver)
}

// disagree handles a response about another object than the first one's. The
// links may have reached different servers of one site, so this one is sent to
// the first one's address, once; if it still differs it is left out, or, on the
// first one's own link, the object has changed: bytes of two objects are never
// mixed.
func (d *download) disagree(reqs context.Context, t *transfer, resp *fetch.Response) {
	r := d.e.routes[t.link]
	if !r.current(t.client) {
		return // it answered before its link was sent elsewhere
	}
	if r.pinned || !d.refRemote.IsValid() || resp.Remote.Addr() == d.refRemote.Addr() {
		d.differs(reqs, t)
		return
	}
	first, name := "another link", d.e.links[t.link].name()
	if d.refLink != scheduler.NoLink {
		first = d.e.links[d.refLink].name()
	}
	d.e.notice(true, "over %s and %s servers answer that disagree about the object: %s now uses %s",
		first, name, name, d.refRemote.Addr())
	cfg := d.e.cfg.HTTP
	if origin(d.refURL) != origin(d.job.URL) {
		// A redirect led there: it is asked for directly, and what was meant
		// for the first host alone stays there.
		cfg.User, cfg.Credentials = nil, nil
		cfg.Header = cfg.Header.Clone()
		maps.DeleteFunc(cfg.Header, func(name string, _ []string) bool { return fetch.Private(name) })
		d.links[t.link].url = d.refURL
	}
	r.lead(fetch.Hostname(d.refURL), d.refRemote.Addr(), &cfg)
}

// differs gives up on a link, or on the download, for another object is served.
func (d *download) differs(reqs context.Context, t *transfer) {
	if t.link == d.refLink {
		d.fail(fmt.Errorf("%w: size, ETag, time or encoding differ from those of the first response", ErrChanged))
		return
	}
	d.lose(reqs, t.link, fmt.Errorf("%w: over this link the server gives another object", ErrChanged))
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
