package get

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/joblist"
	"github.com/mlget/mlget/internal/store"
)

// feeder makes jobs of a task as they are needed, in one goroutine, that of run.
type feeder struct {
	o      *Options
	task   *task
	pages  *pages         // of directories
	named  *fetch.Origins // of the URLs that the user gave, and lists hold
	warn   func(important bool, text string)
	out    *outcome
	names  joblist.Names
	common *store.Run

	fetching sync.WaitGroup // pages on their way
	doubtful doubtful

	jobs  chan *engine.Job
	ahead atomic.Int64 // see engine.Batch
	made  int
}

// run makes the jobs, until there are no more or ctx ends, and then closes jobs.
func (f *feeder) run(ctx context.Context) {
	defer close(f.jobs)
	ctx, cancel := context.WithCancel(ctx)
	defer f.fetching.Wait()
	defer cancel()
	f.names.Fold = store.Folds(f.o.dir)
	f.ahead.Store(int64(f.task.files()))
	for _, u := range f.task.urls {
		f.named.Add(u)
	}
	for i, u := range f.task.urls {
		if f.task.names != nil {
			if !f.sendNamed(ctx, u, f.task.names[i]) {
				return
			}
			continue
		}
		if !f.add(ctx, u, joblist.Entry{}, nil) {
			return
		}
	}
	if f.task.list != nil {
		f.read(ctx, f.task.list)
	}
}

// read takes the entries of a list.
func (f *feeder) read(ctx context.Context, l *list) {
	mirrors := false
	for n := 0; ; n++ {
		e, u, sum, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			if n == 0 && len(f.task.urls) == 0 {
				f.out.broken(f.made, nil, exit.Usagef("%s names no URL", l.name))
			}
			return
		case errors.As(err, new(entryError)):
			f.out.broken(f.made, nil, err)
			continue
		case err != nil: // nothing behind it can be understood
			f.out.broken(f.made, nil, err)
			return
		}
		for _, o := range e.Unknown {
			f.warn(true, l.name+", line "+strconv.Itoa(o.Line)+": the option "+o.Key+" is not known here, and of no effect")
		}
		if e.Mirrors > 0 && !mirrors {
			mirrors = true
			f.warn(true, l.name+", line "+strconv.Itoa(e.Line)+": the first URL of a line is used, mirrors are not")
		}
		f.named.Add(u)
		if !f.add(ctx, u, e, sum) {
			return
		}
		if !f.task.trees {
			f.ahead.Store(l.ahead(n + 1))
		}
	}
}

// add makes a job of u, or many of the directory that it is; false: ctx has ended.
func (f *feeder) add(ctx context.Context, u *url.URL, e joblist.Entry, sum *engine.Checksum) bool {
	if f.task.trees {
		return f.crawl(ctx, u, e)
	}
	dir, name := e.Dir, e.Out
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, name = dir+"/"+name[:i], name[i+1:]
	}
	if ok := f.send(ctx, &engine.Job{URL: u, Checksum: sum, Target: store.Target{Sub: dir, Name: name}}); !ok {
		return false
	}
	f.ahead.Store(max(0, f.ahead.Load()-1))
	return true
}

// send gives the job its number and its name, and hands it on.
func (f *feeder) send(ctx context.Context, job *engine.Job) bool {
	job.ID = fileID(f.made)
	job.Target.Dir, job.Target.Continue, job.Target.Rerun, job.Target.Run = f.o.dir, f.o.resume, true, f.common
	job.Target.OwnTime = f.o.ownTime
	job.Target.Served = f.o.served && job.Target.Name == ""
	plain := job.Target
	numbered := func(n int) store.Target {
		t := plain
		if n > 0 {
			if t.Name == "" {
				t.Name = store.NameFromURL(job.URL)
			}
			t.Name += "." + strconv.Itoa(n)
		}
		return t
	}
	job.Target = numbered(f.names.Number(func(n int) string { t := numbered(n); return t.Path(job.URL) }))
	return f.hand(ctx, job)
}

// sendNamed hands on the job of a URL whose file's name the user has given.
func (f *feeder) sendNamed(ctx context.Context, u *url.URL, name string) bool {
	job := &engine.Job{ID: fileID(f.made), URL: u, Target: f.o.target()}
	job.Target.Name, job.Target.Explicit, job.Target.Served = name, true, false
	f.ahead.Store(max(0, f.ahead.Load()-1))
	return f.hand(ctx, job)
}

// hand hands a job on, after the pause that was asked for.
func (f *feeder) hand(ctx context.Context, job *engine.Job) bool {
	if !f.o.conditions.of(job) {
		f.out.keeps(job)
		f.made++
		return true
	}
	if f.made > 0 && f.o.tree.wait > 0 && !sleep(ctx, f.o.tree.wait) {
		return false
	}
	if job.MayBeDirectory() {
		f.doubtful.begin()
	}
	select {
	case f.jobs <- job:
		f.made++
		return true
	case <-ctx.Done():
		return false
	}
}
