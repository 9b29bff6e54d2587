package get

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/internal/units"
	"github.com/mlget/mlget/pkg/scheduler"
)

// probes says whether nothing is to be fetched but what servers say of files.
func (o *Options) probes() bool { return o.head || o.spider }

// probed is a server's answer about a file over a link.
type probed struct {
	resp *fetch.Response
	err  error
}

// probe asks for each file's header over each link. A file that one link reaches is there.
func (r *run) probe(ctx context.Context) error {
	r.bus.Publish(r.o.runStarted(r.started, r.links, r.task.files()))
	ctx, cancel := r.o.limitTime(ctx, r.started)
	defer cancel()
	nets, terms := networks(r.links, r.measure.models)
	links := r.plans.links(&r.bus, r.started, r.links, nets, terms, 0, 0)
	defer r.plans.close()
	pages := newPages(&r.web, links, r.o.timeout, r.o.tries)
	defer pages.close()
	names := make([]string, len(links)) // in the order of pages
	for i, l := range pages.links {
		names[i] = term.Printable(r.links[slices.Index(links, l.Link)].info.Name)
	}
	urls := r.task.urls
	if r.task.one != nil {
		urls = []*url.URL{r.task.one.URL}
	}
	n := 0
	for _, u := range urls {
		r.probeOne(ctx, pages, names, n, u)
		n++
	}
	for r.task.one == nil && r.task.list != nil {
		_, u, _, err := r.task.list.next()
		if u == nil {
			if !isEnd(err) {
				r.result.broken(n, nil, err)
			}
			break
		}
		r.probeOne(ctx, pages, names, n, u)
		n++
	}
	for _, l := range links {
		r.totals = append(r.totals, l.Totals())
	}
	return r.result.close(context.Cause(ctx))
}

// probeOne asks for one file over all links at once, and tells what each says.
func (r *run) probeOne(ctx context.Context, p *pages, names []string, n int, u *url.URL) {
	r.web.Named.Add(u)
	job := &engine.Job{ID: fileID(n), URL: u}
	r.bus.Publish(event.FileStarted{At: scheduler.Time(time.Since(r.started)), File: job.ID, URL: fetch.WithoutUser(u).String()})
	found := make([]probed, len(p.links))
	var asking sync.WaitGroup
	for i, l := range p.links {
		asking.Go(func() { found[i] = l.head(ctx, u) })
	}
	asking.Wait()
	best := found[0]
	for i, f := range found {
		if best.err != nil && f.err == nil {
			best = f
		}
		if r.o.spider || len(found) > 1 {
			r.warn(true, names[i]+": "+f.String())
		}
	}
	res := engine.Result{Size: -1}
	if best.err == nil {
		res.Size = best.resp.Object.Size
		r.bus.Publish(event.ObjectKnown{
			At: scheduler.Time(time.Since(r.started)), File: job.ID, EffectiveURL: best.resp.EffectiveURL.String(), Size: res.Size, HTTP: best.resp.Proto,
		})
	}
	r.result.Ended(job, res, best.err)
}

// head asks for the header of what is at u: where the server knows no HEAD, with a byte of
// the body.
func (l pageLink) head(ctx context.Context, u *url.URL) probed {
	resp, err := l.client.Head(ctx, u)
	var web *fetch.Error
	if errors.As(err, &web) && (web.Status == http.StatusMethodNotAllowed || web.Status == http.StatusNotImplemented) {
		if resp, err = l.client.Get(ctx, u, 0, 1); err == nil {
			err = resp.Close()
		}
	}
	return probed{resp, err}
}

// String is the answer as shown to the user.
func (p probed) String() string {
	if p.err != nil {
		return p.err.Error()
	}
	o := p.resp.Object
	parts := []string{"there, size not told"}
	if o.Size >= 0 {
		parts[0] = fmt.Sprintf("there, %s (%d B)", units.Bytes(o.Size), o.Size)
	}
	if o.AcceptsRanges {
		parts = append(parts, "ranges")
	}
	if o.ETag != "" {
		parts = append(parts, "ETag "+o.ETag)
	}
	if o.LastModified != "" {
		parts = append(parts, "changed "+o.LastModified)
	}
	return term.Printable(strings.Join(append(parts, "at "+p.resp.Remote.String()), ", "))
}
