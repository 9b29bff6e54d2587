package get

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/pkg/scheduler"
)

// maxSaid is how many files' errors are printed one by one.
const maxSaid = 20

// outcome gathers the results of a run's files. Its methods may be called from any goroutine.
type outcome struct {
	bus      *event.Bus
	started  time.Time
	streamed bool     // the output takes bytes once and in order
	leftOut  []string // links that were not used, as their data may cost money

	several     bool // files: details of each are shown with -v only
	conditional bool // servers were told when they need not send a file

	mu     sync.Mutex
	first  failure // the first that counts, by the order of the files
	ending error   // what ended the run, if something did
	failed int
	said   []*failure // the first to happen

	statuses map[event.FileID]int // of error responses; nil: not needed
}

// failure is an error at a place in the order of files.
type failure struct {
	at  int
	url *url.URL // nil: it is about no URL
	err error
}

// said is the error as it is printed. With a single URL, a local error (of this machine) does
// not repeat it.
func (f failure) said(several bool) error {
	if f.url == nil || !several && !isWeb(f.err) {
		return f.err
	}
	return jobError{f.url, f.err}
}

// Ended takes in a file's result, and reports it.
func (r *outcome) Ended(job *engine.Job, res engine.Result, err error) {
	if status, ok := r.unwanted(err); ok {
		r.keepStatus(job.ID, status)
		r.left(job, unmodified(job, status))
		return
	}
	end := event.FileEnded{At: scheduler.Time(time.Since(r.started)), File: job.ID, Output: res.Output, Size: res.Size}
	if err != nil {
		end.ExitCode, _ = exit.Classify(err)
		end.Error = err.Error()
		r.fail(failure{int(job.ID), job.URL, err})
		r.note(job.ID, err)
	}
	r.bus.Publish(end)
}

// note keeps the status of an error response if --write-out needs it.
func (r *outcome) note(id event.FileID, err error) {
	var web *fetch.Error
	if errors.As(err, &web) && web.Status != 0 {
		r.keepStatus(id, web.Status)
	}
}

func (r *outcome) keepStatus(id event.FileID, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.statuses != nil {
		r.statuses[id] = status
	}
}

// status is that of the error response that ended a file; 0: none did.
func (r *outcome) status(id event.FileID) int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.statuses[id]
}

// broken records why there is no file at a place, or none of those below u.
func (r *outcome) broken(at int, u *url.URL, err error) { r.fail(failure{at, u, err}) }

func (r *outcome) fail(f failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isEnding(f.err) {
		r.end(f.err)
		return
	}
	r.failed++
	if r.first.err == nil || f.at < r.first.at {
		r.first = f
	}
	if len(r.said) < maxSaid {
		r.said = append(r.said, &f)
	}
}

// isEnding says whether err is no file's own, but the end of the run.
func isEnding(err error) bool {
	return errors.Is(err, engine.ErrInterrupted) || errors.Is(err, exit.ErrMaxTime)
}

// end notes what ended the run, without the file that it happened to end.
func (r *outcome) end(err error) {
	switch {
	case errors.Is(err, engine.ErrInterrupted):
		r.ending = engine.ErrInterrupted
	case r.ending == nil:
		r.ending = exit.ErrMaxTime
	}
}

// close takes in what the whole of the downloads ended with, and gives the error of
// the run: an interruption, which ends all, that of the first file that failed, by
// their order, or what else there is.
func (r *outcome) close(whole error) error {
	if _, ok := r.unwanted(whole); ok {
		whole = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case isEnding(whole):
		r.end(whole)
	case whole != nil && r.first.err == nil:
		r.first = failure{err: whole}
		r.said, r.failed = append(r.said, &failure{err: whole}), 1
	}
	if errors.Is(r.ending, engine.ErrInterrupted) || r.first.err == nil {
		return r.ending
	}
	return r.first.err
}

// say prints the files' errors, as many as people read, and what ended the run; no
// hint comes twice.
func (r *outcome) say(w io.Writer, several bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var hints []string
	say := func(err error) {
		code, hint := exit.Classify(err)
		if code == exit.Network && len(r.leftOut) > 0 && !errors.Is(err, exit.ErrMaxTime) {
			hint = "--links all goes on where this one stopped over " + term.Printable(strings.Join(r.leftOut, ", ")) + " too, which may cost money"
		}
		if r.streamed {
			hint = exit.StreamHint(code, hint)
		}
		if slices.Contains(hints, hint) {
			hint = ""
		}
		hints = append(hints, hint)
		exit.Print(w, err, hint)
	}
	slices.SortFunc(r.said, func(a, b *failure) int { return cmp.Compare(a.at, b.at) })
	for _, f := range r.said {
		say(f.said(several))
	}
	if more := r.failed - len(r.said); more > 0 {
		exit.Print(w, fmt.Errorf("and %d more that failed", more), "")
	}
	if r.ending != nil {
		say(r.ending)
	}
}
