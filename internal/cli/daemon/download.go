package daemon

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"github.com/mlget/mlget/internal/aria2rpc"
	"github.com/mlget/mlget/internal/cli/aria2c"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/daemon"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/metrics"
	"github.com/mlget/mlget/internal/store"
)

// downloader downloads jobs over links that they share. It implements daemon.Downloader.
type downloader struct {
	dir   string   // absolute; all files are below it
	flags []string // of every download
	rule  urlRule
	links *get.Shared
	warn  func(important bool, text string)
	seen  *metrics.Run // nil: metrics are off
	power *energyMeter

	opening  sync.Mutex
	loopback *get.Shared // nil before it is needed

	limiting sync.Mutex
	overall  *rate.Limiter // nil: no limit
}

func (d *downloader) close() {
	d.power.close()
	d.links.Close()
	if d.loopback != nil {
		d.loopback.Close()
	}
}

// Path implements daemon.Downloader.
func (d *downloader) Path(job daemon.Job) (path string, free bool) {
	if len(job.URIs) == 0 || !aria2rpc.Below(d.dir, job.Options.Get("dir")) {
		return "", true // Download says what is wrong
	}
	u, err := flags.ParseURL(job.URIs[0])
	if err != nil {
		return "", true
	}
	path = d.target(job, u).Path(u)
	return path, !exists(path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// partSuffix is behind the name of a file that is not complete; it is internal/store's.
const partSuffix = ".part"

// isWhole says whether a job's file may be complete already: the process was killed before it
// could say so.
func isWhole(job daemon.Job) bool {
	return job.Begun && job.Path != "" && exists(job.Path) && !exists(job.Path+partSuffix)
}

// target is where a job's file is saved: below the directory, under a name made safe, since a
// client chose it.
func (d *downloader) target(job daemon.Job, u *url.URL) store.Target {
	t := store.Target{Dir: d.dir, Name: job.Options.Get("out"), Continue: job.Options.Get("continue") == "true"}
	t.OwnTime = job.Options.Get("remote-time") != "true"
	t.Sub = job.Options.Get("dir")
	if filepath.IsAbs(t.Sub) {
		t.Sub, _ = filepath.Rel(d.dir, t.Sub) // it is below
	}
	if i := strings.LastIndexByte(t.Name, '/'); i >= 0 {
		t.Sub, t.Name = t.Sub+"/"+t.Name[:i], t.Name[i+1:]
	}
	t.Sub = filepath.ToSlash(t.Sub)
	if t.Name == "" {
		t.Name = store.NameFromURL(u)
	}
	switch {
	case job.Begun && job.Path != "":
		t.Name = filepath.Base(job.Path)
	case job.Number > 0:
		t.Name += "." + strconv.Itoa(job.Number)
	}
	return t
}

// jobFlags are the flags of a job's options. They are mlget's own, so that what they mean is
// decided in one place.
func jobFlags(o daemon.Options, u *url.URL) (all []string) {
	add := func(name, value string) { all = append(all, "--"+name+"="+value) }
	for line := range strings.Lines(o["header"]) {
		if line = strings.TrimSpace(line); line != "" {
			add("header", line)
		}
	}
	for _, name := range []string{"referer", "user-agent", "checksum"} {
		if o[name] != "" {
			add(name, o[name])
		}
	}
	if o["http-user"] != "" {
		add("user", o["http-user"])
		add("password", o["http-passwd"])
	}
	if proxy := cmp.Or(o[u.Scheme+"-proxy"], o["all-proxy"]); proxy != "" {
		add("proxy", proxy)
	}
	if user := cmp.Or(o[u.Scheme+"-proxy-user"], o["all-proxy-user"]); user != "" {
		add("proxy-user", user+":"+cmp.Or(o[u.Scheme+"-proxy-passwd"], o["all-proxy-passwd"]))
	}
	if o["no-proxy"] != "" {
		add("noproxy", o["no-proxy"])
	}
	if o["max-tries"] != "" {
		add("tries", o["max-tries"])
	}
	for _, name := range []string{"timeout", "connect-timeout"} {
		if o[name] != "" {
			add(name, o[name]+"s")
		}
	}
	if limit := o["max-download-limit"]; limit != "" && limit != "0" {
		add("limit-rate", limit)
	}
	if o["split"] == "1" || o["max-connection-per-server"] == "1" {
		add("parallelism", "1")
	}
	return all
}

// Download implements daemon.Downloader: the job's URIs are tried one after the other, until
// one gives the file, or an error that is not its server's fault occurs.
func (d *downloader) Download(ctx context.Context, job daemon.Job, p *daemon.Progress) daemon.Outcome {
	ctx, cancel := interruptible(ctx)
	defer cancel()
	d.power.begin()
	defer d.power.end()
	if dir := job.Options.Get("dir"); !aria2rpc.Below(d.dir, dir) { // of a session that served another one
		return daemon.Outcome{Code: aria2c.Option, Message: dir + " is not below " + d.dir}
	}
	out := daemon.Outcome{Code: aria2c.Option, Message: "there is no URL"}
	for i, uri := range job.URIs {
		p.SetUsed(i + 1)
		var another bool
		if out, another = d.try(ctx, job, uri, p); !another || ctx.Err() != nil {
			break
		}
	}
	return out
}

// interruptible is a context that ends with parent, for the reason that lets a download's state
// be kept.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { cancel(engine.ErrInterrupted) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// try downloads what one URI leads to; another says that the next one may be better.
func (d *downloader) try(ctx context.Context, job daemon.Job, uri string, p *daemon.Progress) (out daemon.Outcome, another bool) {
	u, err := flags.ParseURL(uri)
	if err == nil {
		err = d.rule.check(u)
	}
	if err != nil {
		return daemon.Outcome{Code: aria2c.Option, Message: err.Error()}, true
	}
	o, err := get.Parse(append(append([]string(nil), d.flags...), jobFlags(job.Options.All(), u)...))
	if err != nil {
		return daemon.Outcome{Code: aria2c.Option, Message: err.Error()}, false
	}
	links, err := d.over(u)
	if err != nil {
		return daemon.Outcome{Code: aria2c.Network, Message: err.Error(), Retryable: true}, false
	}
	var bus event.Bus
	var heard sync.WaitGroup
	told := bus.Subscribe()
	heard.Go(func() { follow(told, links, p) })
	if links == d.links {
		spent := bus.Subscribe()
		heard.Go(func() { d.power.radios.follow(spent) })
	}
	if d.seen != nil {
		counted := bus.Subscribe()
		heard.Go(func() { d.seen.Follow(counted, links) })
	}
	result, err := links.Download(ctx, o, u, d.target(job, u), isWhole(job), d.limiter(), &bus)
	heard.Wait()
	if err == nil {
		return daemon.Outcome{Path: result.Output, Size: max(0, result.Size)}, false
	}
	code, retryable := aria2c.Code(err)
	return daemon.Outcome{Code: code, Message: err.Error(), Retryable: retryable}, !local(err)
}

// over are the links that lead to a URL.
func (d *downloader) over(u *url.URL) (*get.Shared, error) {
	if !get.Here(u) {
		return d.links, nil
	}
	d.opening.Lock()
	defer d.opening.Unlock()
	if d.loopback != nil {
		return d.loopback, nil
	}
	o, err := get.Parse(d.flags)
	if err != nil {
		return nil, err
	}
	// It outlives the job that needs it first.
	d.loopback, err = o.Share(context.Background(), true, false, d.warn)
	return d.loopback, err
}

// Limit implements daemon.Downloader.
func (d *downloader) Limit(bytes int64) {
	d.limiting.Lock()
	defer d.limiting.Unlock()
	d.overall = engine.NewLimiter(bytes, 0)
}

func (d *downloader) limiter() *rate.Limiter {
	d.limiting.Lock()
	defer d.limiting.Unlock()
	return d.overall
}

// follow tells p where a download stands until its end.
func follow(sub *event.Subscription, links *get.Shared, p *daemon.Progress) {
	for e := range sub.All() {
		switch e := e.(type) {
		case event.FileStarted:
			p.SetPath(e.Output)
		case event.ObjectKnown:
			p.SetSize(e.Size)
			p.SetDone(e.Resumed)
		case event.Sample:
			p.SetSize(e.Size)
			p.SetDone(e.Done)
			connections := 0
			var shares []daemon.LinkShare
			for i, l := range e.Links {
				connections += l.InFlight
				if l.Bytes > 0 || l.InFlight > 0 {
					shares = append(shares, daemon.LinkShare{Name: links.Name(i), Bytes: l.Bytes, Rate: l.Rate})
				}
			}
			p.SetLinks(connections, shares)
		}
	}
}

// local says whether an error has nothing to do with the server, so that another one is of
// no use.
func local(err error) bool {
	return errors.As(err, new(*store.Error)) || errors.As(err, new(exit.UsageError)) || errors.As(err, new(exit.FileError))
}
