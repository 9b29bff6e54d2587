package get

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/curldate"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// conditionOptions holds the flags that leave existing files alone.
type conditionOptions struct {
	newer     bool   // than the file that is there
	keep      bool   // the file that is there, whatever the server has
	time      string // as -z has it
	than      engine.Condition
	unmatched string // time is neither a date nor a file
	etag      string // names the file of an ETag that the object must not have
	saveETag  string // names the file to which the object's ETag is written
}

func (o *conditionOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.newer, "timestamping", "N", false, "replace a file if the server's is newer")
	flags.Detail(f, "timestamping", "It is fetched and replaced if the server's is newer, or of another size; else it is left as it is.")
	f.BoolVar(&o.keep, "no-clobber", false, "skip files that exist")
	flags.Detail(f, "no-clobber", "-nc is the same. The server is not asked.")
	f.StringVarP(&o.time, "time-cond", "z", "", "fetch files only if newer than `TIME`")
	flags.Detail(f, "time-cond", "A date, or a file whose time of change is meant; with - before it, only what is older.")
}

// addHabits defines what curl's users know of ETags.
func (o *conditionOptions) addHabits(f *pflag.FlagSet) {
	f.StringVar(&o.etag, "etag-compare", "", "fetch only if the ETag differs from this file's")
	f.StringVar(&o.saveETag, "etag-save", "", "write the ETag to this file")
	f.Lookup("etag-compare").Hidden, f.Lookup("etag-save").Hidden = true, true
}

// check reads the time, and refuses what does not go together.
func (o *conditionOptions) check(served, stdout bool) error {
	switch {
	case o.newer && o.keep:
		return exit.Usagef("--timestamping and --no-clobber exclude each other")
	case (o.newer || o.keep) && served:
		return exit.Usagef("--timestamping and --no-clobber go by the name in the URL: not with --content-disposition")
	case (o.newer || o.keep) && stdout:
		return exit.Usagef("--timestamping and --no-clobber are about a file: not with --output -")
	case o.time == "":
		return nil
	}
	text, before := strings.CutPrefix(o.time, "-")
	if !before {
		text = strings.TrimLeft(text, "+=")
	}
	at, err := curldate.Parse(text)
	if err != nil {
		fi, err := os.Stat(text)
		if err != nil {
			o.unmatched = text
			return nil //nolint:nilerr // as curl: a file that is not there yet is to be fetched
		}
		at = fi.ModTime()
	}
	if before {
		o.than.Before = at
	} else {
		o.than.After = at
	}
	return nil
}

// apply has servers be asked for files that match only, unless pages are needed to find them.
func (o *conditionOptions) apply(h http.Header, t *task) {
	if t.trees {
		return
	}
	if o.etag != "" {
		tag, _ := os.ReadFile(o.etag) // as curl: one that is not there yet is no object's
		line, _, _ := strings.Cut(string(tag), "\n")
		if line = strings.TrimSpace(line); line == "" || !httpguts.ValidHeaderFieldValue(line) {
			line = `""`
		}
		h.Set("If-None-Match", line)
	}
	for name, at := range map[string]time.Time{"If-Modified-Since": o.than.After, "If-Unmodified-Since": o.than.Before} {
		if !at.IsZero() {
			h.Set(name, at.UTC().Format(http.TimeFormat))
		}
	}
}

// compares says whether the server is to be asked whether its file is newer than the one that
// is there: for one byte, as for a file of several.
func (o *conditionOptions) compares(t store.Target, u *url.URL) bool {
	fi, err := os.Lstat(t.Path(u))
	return o.newer && err == nil && fi.Mode().IsRegular()
}

// of puts the conditions into a job. It is false for a file that is there and is to be kept.
func (o *conditionOptions) of(job *engine.Job) (wanted bool) {
	job.If = o.than
	if !o.newer && !o.keep {
		return true
	}
	fi, err := os.Lstat(job.Target.Path(job.URL))
	switch {
	case err != nil, fi.IsDir():
		return true
	case o.keep:
		return false
	case !fi.Mode().IsRegular():
		return true
	}
	job.Target.Rerun, job.Target.Replace = false, !job.Target.Continue
	if !o.than.After.After(fi.ModTime()) {
		job.If.After, job.If.Local, job.If.Size = fi.ModTime(), true, fi.Size()
	}
	return true
}

// conditional says whether requests have a condition.
func conditional(h http.Header) bool {
	for name, values := range h {
		if strings.HasPrefix(name, "If-") && len(values) > 0 {
			return true
		}
	}
	return false
}

// unwanted says whether an error says that a file is to be left alone, and with which status
// the server has said so, or would have.
func (r *outcome) unwanted(err error) (status int, yes bool) {
	if errors.Is(err, engine.ErrUnwanted) {
		return http.StatusNotModified, true
	}
	web, ok := errors.AsType[*fetch.Error](err)
	if !ok || !r.conditional || web.Status != http.StatusNotModified && web.Status != http.StatusPreconditionFailed {
		return 0, false
	}
	return web.Status, true
}

// left takes in that a file is left alone, and why.
func (r *outcome) left(job *engine.Job, why string) {
	end := event.FileEnded{At: scheduler.Time(time.Since(r.started)), File: job.ID, Size: -1}
	name := job.Target.Path(job.URL)
	if fi, err := os.Lstat(name); job.Stdout == nil && err == nil && fi.Mode().IsRegular() {
		end.Output, end.Size = name, fi.Size()
	}
	r.bus.Publish(event.Notice{At: end.At, Warning: !r.several, Text: why})
	r.bus.Publish(end)
}

// keeps takes in that a file is not fetched, as there is one already.
func (r *outcome) keeps(job *engine.Job) {
	name := job.Target.Path(job.URL)
	r.bus.Publish(event.FileStarted{At: scheduler.Time(time.Since(r.started)), File: job.ID, URL: fetch.WithoutUser(job.URL).String(), Output: name})
	r.left(job, name+" is there already: not fetched")
}

// unmodified says why a file is left alone, by the status that says so.
func unmodified(job *engine.Job, status int) string {
	text := flags.Shown(job.URL)
	switch {
	case job.If.Local:
		return text + ": not newer than " + job.Target.Path(job.URL) + ", which is left as it is"
	case status == http.StatusPreconditionFailed, !job.If.Before.IsZero():
		return text + ": changed meanwhile: not fetched"
	case !job.If.After.IsZero():
		return text + ": not changed since " + job.If.After.UTC().Format(http.TimeFormat) + ": not fetched"
	}
	return text + ": not changed: not fetched"
}
