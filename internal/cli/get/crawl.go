package get

import (
	"context"
	"errors"
	"net/url"
	"strings"

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
func (f *feeder) fetchIndex(ctx context.Context, u *url.URL) *index {
	i := &index{asked: u, done: make(chan struct{})}
	f.fetching.Go(func() {
		defer close(i.done)
		i.page, i.err = f.pages.get(ctx, u)
	})
	return i
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
	first, rules := f.fetchIndex(ctx, u), f.fetchRules(ctx, u)
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
	coming := []*index{first}
	var dirs []string // of which nobody has fetched the page yet
	before := f.made
	for len(coming) > 0 {
		i := coming[0]
		coming = coming[1:]
		<-i.done
		if i.err != nil && !f.lostPage(ctx, i.asked, i.err) {
			return false
		}
		var files, below []joblist.Found
		var err error
		if i.err == nil {
			files, below, err = tree.Page(i.page.at, i.page.text)
			i.page.text = nil
		}
		files, below = rules.allowed(files), rules.allowed(below)
		for _, d := range below {
			dirs = append(dirs, d.URL)
		}
		for len(coming) < f.pagesAtOnce() && len(dirs) > 0 {
			if !sleep(ctx, f.o.tree.wait) {
				return false
			}
			if d, err := url.Parse(dirs[0]); err == nil { // it was one URL already
				coming = append(coming, f.fetchIndex(ctx, d))
			}
			dirs = dirs[1:]
		}
		if !f.sendAll(ctx, files, e) {
			return false
		}
		if err != nil {
			f.broken(i.asked, err)
		}
		if errors.Is(err, joblist.ErrBounds) {
			return true
		}
	}
	switch {
	case f.made > before:
	case tree.Unwanted() > 0:
		f.warn(true, flags.Shown(u)+": no file is wanted, as --accept, --reject or --level have it")
	case rules.any(): // which is told
	case first.page.html: // of an empty directory, perhaps
		f.warn(true, flags.Shown(u)+": the page names no file below itself")
	default:
		f.broken(u, &fetch.Error{Class: fetch.Protocol, Err: errors.New("it is not a page of links: without -r it is downloaded")})
	}
	return true
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
