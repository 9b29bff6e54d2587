package get

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/joblist"
	"github.com/mlget/mlget/internal/store"
)

// pagesAtOnce is how many indexes are on their way at the same time: their round
// trips should not add up.
const pagesAtOnce = 8

// index is the page of a directory, that has come or is on its way.
type index struct {
	asked *url.URL
	job   *engine.Job   // of a file that may be a directory; nil: it is one
	done  chan struct{} // closed when the rest is set

	page webPage
	err  error
}

// pagesAtOnce is how many pages are on their way at the same time; with a pause between
// them, one.
func (f *feeder) pagesAtOnce() int {
	if f.o.tree.wait > 0 {
		return 1
	}
	return pagesAtOnce
}

// fetchIndex fetches a page beside everything else.
func (f *feeder) fetchIndex(ctx context.Context, i *index) {
	i.done = make(chan struct{})
	f.fetching.Go(func() {
		defer close(i.done)
		i.page, i.err = f.pages.get(ctx, i.asked)
	})
}

// oneSlashEach is u without the slashes that "$BASE/" and "/dir" together leave: a
// tree's paths have none, and no server's index is below them.
func oneSlashEach(u *url.URL) *url.URL {
	if !strings.Contains(u.Path, "//") {
		return u
	}
	one := *u
	for strings.Contains(one.Path, "//") {
		one.Path, one.RawPath = strings.ReplaceAll(one.Path, "//", "/"), strings.ReplaceAll(one.RawPath, "//", "/")
	}
	return &one
}

// crawl makes jobs of all that the directory at u holds. Pages are fetched ahead,
// but taken in order: the same tree gives the same names in every run.
func (f *feeder) crawl(ctx context.Context, u *url.URL, e joblist.Entry) bool {
	u = oneSlashEach(u)
	first, rules := &index{asked: u}, f.fetchRules(ctx, u)
	f.fetchIndex(ctx, first)
	<-first.done
	if first.err != nil {
		return f.lostPage(ctx, u, first.err)
	}
	filter, err := f.o.tree.filter()
	if err != nil {
		f.broken(u, err)
		return true
	}
	tree, err := joblist.NewTree(u, first.page.at, joblist.DefaultBounds(), filter)
	if err != nil {
		f.broken(u, err)
		return true
	}
	if !rules.of(first.page.at) {
		rules = f.fetchRules(ctx, first.page.at)
	}
	if err := rules.wait(); err != nil {
		return f.lostPage(ctx, u, err)
	}
	defer rules.tell(f.warn)
	c := &crawler{feeder: f, tree: tree, rules: rules, entry: e, coming: []*index{first}}
	before := f.made
	if !c.run(ctx) {
		return false
	}
	switch {
	case f.made > before:
	case tree.Unwanted() > 0:
		f.warn(true, flags.Shown(u)+": no file is wanted, as --accept, --reject or --level have it")
	case rules.any(): // which is reported
	case first.page.html: // of an empty directory, perhaps
		f.warn(true, flags.Shown(u)+": the page names no file below itself")
	default:
		f.broken(u, &fetch.Error{Class: fetch.Protocol, Err: errors.New("it is not a page of links: without -r it is downloaded")})
	}
	return true
}

// crawler goes through the pages of a tree.
type crawler struct {
	*feeder
	tree   *joblist.Tree
	rules  *rules
	entry  joblist.Entry
	coming []*index // on their way, or here
	queue  []*index // pages that are not fetched yet
}

// run makes a job of every file of the tree; false: ctx ended. Files that turn out to be
// directories are crawled when everything else is, in the order in which they were found.
func (c *crawler) run(ctx context.Context) bool {
	for {
		for len(c.coming) > 0 {
			i := c.coming[0]
			c.coming = c.coming[1:]
			<-i.done
			if more, ok := c.take(ctx, i); !ok || !more {
				return ok
			}
		}
		found, ok := c.doubtful.wait(ctx)
		if !ok {
			return false
		}
		for _, job := range found {
			c.queue = append(c.queue, &index{asked: job.URL, job: job})
		}
		if !c.fetch(ctx) {
			return false
		}
		if len(c.coming) == 0 {
			return true
		}
	}
}

// fetch has pages come that are waited for.
func (c *crawler) fetch(ctx context.Context) bool {
	for len(c.coming) < c.pagesAtOnce() && len(c.queue) > 0 {
		if !sleep(ctx, c.o.tree.wait) {
			return false
		}
		i := c.queue[0]
		c.queue = c.queue[1:]
		c.fetchIndex(ctx, i)
		c.coming = append(c.coming, i)
	}
	return true
}

// take makes jobs of a page's files. more is false when the tree has become too large.
func (c *crawler) take(ctx context.Context, i *index) (more, ok bool) {
	var files, below []joblist.Found
	err := i.err
	if err != nil && ctx.Err() != nil {
		return false, false
	}
	isIndex := i.job == nil
	if err == nil && !isIndex && strings.HasSuffix(i.page.at.Path, "/") {
		if isIndex, err = c.tree.Enter(i.page.at); err == nil && !isIndex {
			return true, c.fetch(ctx) // it was found under its own name as well, or is not wanted
		}
	}
	if err == nil {
		files, below, err = c.tree.Page(i.page.at, i.page.text)
		i.page.text = nil
		if i.job != nil && errors.Is(err, joblist.ErrElsewhere) { // a file that is elsewhere
			err = nil
		}
	}
	files, below = c.rules.allowed(files), c.rules.allowed(below)
	for _, d := range below {
		if u, err := url.Parse(d.URL); err == nil { // it was one URL already
			c.queue = append(c.queue, &index{asked: u})
		}
	}
	if !c.fetch(ctx) {
		return false, false
	}
	if !isIndex && i.err == nil && !names(i.asked, files, below) { // a page like any other
		if !c.hand(ctx, &engine.Job{ID: fileID(c.made), URL: i.job.URL, Target: i.job.Target}) {
			return false, false
		}
	}
	if !c.sendAll(ctx, files, c.entry) {
		return false, false
	}
	if err != nil {
		c.broken(i.asked, err)
	}
	return !errors.Is(err, joblist.ErrBounds), true
}

// names says whether something of what a page names is below the page's own name, as in the
// index of a directory.
func names(page *url.URL, found ...[]joblist.Found) bool {
	prefix := page.EscapedPath() + "/"
	return slices.ContainsFunc(slices.Concat(found...), func(f joblist.Found) bool {
		u, err := url.Parse(f.URL)
		return err == nil && strings.HasPrefix(u.EscapedPath(), prefix)
	})
}

// doubtful are the files on their way that may turn out to be directories. Its methods may be
// called from any goroutine.
type doubtful struct {
	mu      sync.Mutex
	pending int
	dirs    []*engine.Job
	none    chan struct{} // closed when none is pending any more; nil: wait was not called
}

func (d *doubtful) begin() {
	d.mu.Lock()
	d.pending++
	d.mu.Unlock()
}

func (d *doubtful) end(job *engine.Job, directory bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if directory {
		d.dirs = append(d.dirs, job)
	}
	if d.pending--; d.pending == 0 && d.none != nil {
		close(d.none)
		d.none = nil
	}
}

// wait waits until none is pending, and returns the jobs that are directories, in order. It
// returns false if ctx ended.
func (d *doubtful) wait(ctx context.Context) ([]*engine.Job, bool) {
	d.mu.Lock()
	if d.pending > 0 {
		none := make(chan struct{})
		d.none = none
		d.mu.Unlock()
		select {
		case <-none:
		case <-ctx.Done():
			return nil, false
		}
		d.mu.Lock()
	}
	defer d.mu.Unlock()
	dirs := d.dirs
	d.dirs = nil
	slices.SortFunc(dirs, func(a, b *engine.Job) int { return cmp.Compare(a.ID, b.ID) })
	return dirs, true
}

// Ended implements engine.Ended: it takes in a job's result. A job that turned out to be a
// directory is no failed file.
func (f *feeder) Ended(job *engine.Job, res engine.Result, err error) {
	directory := errors.Is(err, engine.ErrDirectory)
	if directory {
		err = nil
		res = engine.Result{Output: res.Output}
	}
	f.out.Ended(job, res, err)
	if job.MayBeDirectory() {
		f.doubtful.end(job, directory)
	}
}

// sendAll makes a job of every file of a page.
func (f *feeder) sendAll(ctx context.Context, files []joblist.Found, e joblist.Entry) bool {
	for n, found := range files {
		u, err := url.Parse(found.URL)
		if err != nil {
			continue // it was one already
		}
		f.ahead.Store(int64(len(files) - n))
		job := &engine.Job{URL: u, Size: max(found.Size, 0), Listed: true, Target: store.Target{Sub: e.Dir + "/" + found.Dir}}
		if !f.send(ctx, job) {
			return false
		}
	}
	f.ahead.Store(0)
	return true
}

// lostPage takes in why a directory's page did not come; false: because ctx ended.
func (f *feeder) lostPage(ctx context.Context, u *url.URL, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	f.broken(u, err)
	return true
}

// broken takes in why what is at u, a directory, is not fetched.
func (f *feeder) broken(u *url.URL, err error) {
	if errors.Is(err, joblist.ErrBounds) || errors.Is(err, joblist.ErrElsewhere) {
		err = &fetch.Error{Class: fetch.Protocol, Err: err}
	}
	f.out.broken(f.made, u, err)
}
