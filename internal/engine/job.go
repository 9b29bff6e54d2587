package engine

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
)

// Job is one object to download.
type Job struct {
	ID     event.FileID
	URL    *url.URL
	Target store.Target
	// Stdout, if set, gets the bytes in order, instead of a file.
	Stdout   io.Writer
	Part     *Part     // which bytes Stdout gets; nil: the whole object
	Checksum *Checksum // nil: not checked
	Size     int64     // bytes, as an index told; 0 or less: not known. Of use in a batch only
	If       Condition // when it is wanted at all
	Listed   bool      // the page of a directory named it, as a file
}

// outputName is the name that the file is to have.
func (j *Job) outputName() string {
	return j.Target.Path(j.URL)
}

// ErrDirectory says that what was listed as a file is the page of a directory, or may be.
// The page that answers is none of the files.
var ErrDirectory = errors.New("it is a directory, though the page that names it does not say so")

// MayBeDirectory says whether what the page of a directory names as a file may be a directory: the page
// does not tell its size, and its name has no extension, or one of digits, as versions have.
func (j *Job) MayBeDirectory() bool {
	return j.Listed && j.Size <= 0 && strings.Trim(j.ending(), ".0123456789") == ""
}

// ending is the extension of the name in the URL, with its dot; empty: it has none.
func (j *Job) ending() string { return path.Ext(j.URL.Path) }

// directory is ErrDirectory if the response to a request for what was listed as a file is that of a
// directory: the server has redirected it to the same name with a slash, or a name without an extension
// is a web page, as a directory's index is.
func (j *Job) directory(resp *fetch.Response) error {
	switch {
	case !j.Listed || resp.EffectiveURL == nil:
	case resp.EffectiveURL.EscapedPath() == j.URL.EscapedPath()+"/", resp.Page && j.MayBeDirectory() && j.ending() == "":
		return ErrDirectory
	}
	return nil
}

// openSink opens the sink of a job. A stream's bytes are written to tee, too.
func (e *Engine) openSink(ctx context.Context, job *Job, tee io.Writer) (to sink, name string, err error) {
	if job.Part != nil {
		return newPartSink(teeTo(job.Stdout, tee), job.Part), "-", nil
	}
	if job.Stdout != nil {
		return newStreamSink(teeTo(job.Stdout, tee), "-"), "-", nil
	}
	if w, ok, err := store.OpenStream(ctx, job.Target); err != nil {
		return nil, job.Target.Name, err
	} else if ok {
		return deviceSink{newStreamSink(teeTo(w, tee), job.Target.Name), w}, job.Target.Name, nil
	}
	f, err := store.Open(job.Target, job.URL)
	if err != nil {
		return nil, job.Target.Name, err
	}
	if n := f.Notice(); n != "" {
		e.notice(true, "%s", n)
	}
	return fileSink{f}, f.Name(), nil
}

func teeTo(w, tee io.Writer) io.Writer {
	if tee == nil {
		return w
	}
	return io.MultiWriter(w, tee)
}

// deviceSink is a stream to a device or pipe that the user named.
type deviceSink struct {
	*streamSink
	device io.Closer
}

func (d deviceSink) Close() error { return firstError(d.streamSink.Close(), d.device.Close()) }

// firstError is the first error of several: the others follow from it.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Result is what came of a download.
type Result struct {
	Output string // the final name
	Size   int64  // bytes; -1: unknown
}

// Download fetches a job's object and gives it its name. When ctx ends, its
// cause is returned and the state is kept for the next run. Errors lead to a
// *fetch.Error, a *store.Error, ErrChecksum, ErrChanged, ErrLonger or ctx's cause.
func (e *Engine) Download(ctx context.Context, job *Job) (Result, error) {
	return e.download(ctx, job, false)
}

// download is Download; begun says that the file was published before.
func (e *Engine) download(ctx context.Context, job *Job, begun bool) (Result, error) {
	var running hash.Hash // of a stream's bytes, which cannot be read again
	var tee io.Writer
	if job.Checksum != nil {
		running = job.Checksum.hash()
		tee = running
	}
	to, name, err := e.openSink(ctx, job, tee)
	if !begun {
		e.cfg.Bus.Publish(event.FileStarted{At: e.now(), File: job.ID, URL: redact(job.URL), Output: name})
	}
	if err != nil {
		return Result{Output: name, Size: -1}, err
	}
	object, err := e.fill(ctx, job, to)
	if err == nil {
		var final string
		if final, err = e.finish(ctx, job, to, object); err == nil {
			name = final
		}
	}
	if err == nil && job.Checksum != nil && to.stream() != nil {
		err = job.Checksum.compare(running.Sum(nil))
	}
	return Result{Output: name, Size: object.Size}, firstError(err, to.Close())
}

// finish checks what can be read again, and gives it its name.
func (e *Engine) finish(ctx context.Context, job *Job, to sink, object store.CommitOptions) (string, error) {
	if job.Checksum != nil && to.stream() == nil {
		if err := job.Checksum.check(ctx, to, object.Size, object.Size > 0); err != nil {
			return "", err
		}
	}
	return to.Commit(ctx, object)
}

// fill gets every byte of the job's object into its sink and returns what is known
// of it: its size, -1 if it is not, and its server's name for it.
// When what is on disk turns out to be of another object, it starts over.
func (e *Engine) fill(ctx context.Context, job *Job, to sink) (store.CommitOptions, error) {
	defer e.unpin()
	var before *download
	disputed, recheck := false, false
	for {
		d, err := newDownload(e, job, to, before, recheck)
		if err != nil {
			return store.CommitOptions{Size: -1}, err
		}
		d.first.disputed = d.first.disputed || disputed
		err = d.run(ctx)
		before, disputed = nil, disputed || !errors.Is(err, errRecheckLast)
		switch {
		case errors.Is(err, errRecheckLast):
			recheck = true
			continue
		case errors.Is(err, errAgain):
			d.discard(false, d.keeps())
			before = d
			continue
		case errors.Is(err, errOutvoted):
			d.identified, before = false, d
		case !errors.Is(err, errStartOver):
			return d.object(), err
		}
		d.discard(true, nil)
		if err := to.Restart(); err != nil {
			e.giveBack(to) // else another run would go on with what turned out to be wrong
			return store.CommitOptions{Size: -1}, err
		}
	}
}

// giveBack leaves what another tool has left as it was.
func (e *Engine) giveBack(to sink) {
	f, ok := to.(fileSink)
	if !ok {
		return
	}
	if err := f.GiveBack(); err != nil {
		e.notice(true, "the earlier file could not be restored: %v", err)
	}
}

// unpin undoes what the download has pinned.
func (e *Engine) unpin() {
	for _, r := range e.routes {
		if r.pinned {
			r.pin("", netip.Addr{}, &e.cfg.HTTP)
		}
	}
}

func (e *Engine) notice(warning bool, format string, args ...any) {
	e.cfg.Bus.Publish(event.Notice{At: e.now(), Warning: warning, Text: fmt.Sprintf(format, args...)})
}

// redact is u as it may be shown: without user and password.
func redact(u *url.URL) string { return fetch.WithoutUser(u).String() }

// classOf is the class of a fetch error in err's chain; 0: there is none.
func classOf(err error) fetch.Class {
	var fe *fetch.Error
	if errors.As(err, &fe) {
		return fe.Class
	}
	return 0
}
